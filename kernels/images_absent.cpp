// This build has no device code: nvcc was not found, or DD_CUDA is OFF.
#include "images.hpp"

namespace dd::kernels {

std::span<const std::byte> image(Image) { return {}; }
std::string_view image_architectures() { return ""; }
std::string_view image_compiler() { return ""; }

}  // namespace dd::kernels
