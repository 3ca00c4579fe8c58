#include <array>

#include "frameworks/framework.hpp"
#include "frameworks/gemm/product_framework.hpp"
#include "frameworks/torch/torch.hpp"

namespace dd::frameworks {

// The one list of frameworks. A name may stand for two: one dispatcher for attention, one for matrix products.
std::span<const Framework* const> all_frameworks() {
  static const std::array list = {&torch_framework(),     &gemm::torch_products(), &gemm::vllm(),         &gemm::bitsandbytes(),
                                  &gemm::torchao(),       &gemm::ggml(),           &gemm::autoawq(),      &gemm::gptqmodel(),
                                  &gemm::onnxruntime(),  &gemm::marlin(),        &gemm::tensorrt_llm(),   &gemm::transformer_engine(), &gemm::cublas()};
  return list;
}

const Framework* find_framework(std::string_view name) {
  for (const Framework* framework : all_frameworks())
    if (framework->name() == name) return framework;
  return nullptr;
}

const Framework* find_framework(std::string_view name, const spec::OpSpec& spec) {
  for (const Framework* framework : all_frameworks())
    if (framework->name() == name && framework->serves(spec)) return framework;
  return nullptr;
}

}  // namespace dd::frameworks
