#include "images.hpp"

#define DD_IMAGE(name, file)                        \
  asm(".section .rodata\n.balign 64\n"              \
      "dd_image_" #name ":\n.incbin \"" file "\"\n" \
      "dd_image_" #name "_end:\n.previous\n");      \
  extern "C" const std::byte dd_image_##name[] asm("dd_image_" #name), dd_image_##name##_end[] asm("dd_image_" #name "_end")

DD_IMAGE(attention, DD_IMAGE_DIR "/attention.fatbin");
DD_IMAGE(gemm, DD_IMAGE_DIR "/gemm.fatbin");
DD_IMAGE(quant, DD_IMAGE_DIR "/quant.fatbin");

namespace dd::kernels {

std::span<const std::byte> image(Image which) {
  switch (which) {
    case Image::attention: return {dd_image_attention, dd_image_attention_end};
    case Image::gemm: return {dd_image_gemm, dd_image_gemm_end};
    case Image::quant: return {dd_image_quant, dd_image_quant_end};
  }
  return {};
}
std::string_view image_architectures() { return DD_IMAGE_ARCHITECTURES; }
std::string_view image_compiler() { return DD_IMAGE_COMPILER; }

}  // namespace dd::kernels
