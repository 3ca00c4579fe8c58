// The device code of this build, as images that the driver loads (cubins for the compiled architectures and PTX for newer
// ones). Empty in a build without nvcc: images_absent.cpp takes the place of images.cpp.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace dd::kernels {

enum class Image { attention, gemm, quant };

std::span<const std::byte> image(Image which);
std::string_view image_architectures();  // "80 90 100", empty without device code
std::string_view image_compiler();       // nvcc's version, empty without device code

}  // namespace dd::kernels
