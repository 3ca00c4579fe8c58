// Kernels of further weight-only packages: AutoAWQ, GPTQModel, the first Marlin release and TensorRT-LLM.
#pragma once
#include <span>

#include "rules/rule.hpp"

namespace dd::frameworks::quantizers {

std::span<const rules::Rule> autoawq_gemm();         // scope autoawq-gemm
std::span<const rules::Rule> gptqmodel_machete();    // scope gptqmodel-machete
std::span<const rules::Rule> gptqmodel_marlin();     // scope gptqmodel-marlin
std::span<const rules::Rule> gptqmodel_exllamav2();  // scope gptqmodel-exllamav2
std::span<const rules::Rule> gptqmodel_triton();     // scope gptqmodel-triton
std::span<const rules::Rule> gptqmodel_torch();      // scope gptqmodel-torch
std::span<const rules::Rule> onnxruntime();          // scope onnxruntime-matmulnbits
std::span<const rules::Rule> marlin_original();      // scope marlin-original
std::span<const rules::Rule> tensorrt_llm();         // scope tensorrt-llm-weight-only

}  // namespace dd::frameworks::quantizers
