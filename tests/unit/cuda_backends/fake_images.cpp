// Stands in for the device images, so that the backends run over the fake driver in a build without nvcc as well.
#include "images.hpp"

namespace dd::kernels {

std::span<const std::byte> image(Image) {
  static const std::byte some[16] = {};
  return some;
}
std::string_view image_architectures() { return "90"; }
std::string_view image_compiler() { return "none"; }

}  // namespace dd::kernels
