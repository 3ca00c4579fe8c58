// Why a vLLM kernel takes or declines a quantized linear layer: one table per kernel, in the order of its own checks.
// Sizes are per tensor-parallel rank where a kernel sees only its own shard. Two snapshots: August 2025 and August 2026.
#pragma once
#include <span>

#include "rules/rule.hpp"

namespace dd::frameworks::vllm {

// What the rows of these tables say again and again.
constexpr auto stops = rules::Level::blocks, slow = rules::Level::slows;
constexpr auto same = rules::Keeps::function, less_precise = rules::Keeps::precision;

// The two snapshots, as versions by year and month.
inline rules::Condition version_2025() { return rules::version_in(facts::Id::vllm_version, "", "2025.8"); }
inline rules::Condition version_2026() { return rules::version_in(facts::Id::vllm_version, "2025.9", ""); }

using Table = std::span<const rules::Rule>;

Table selection();      // scope vllm-mp-select: the variable that leaves kernels out, then the outcome
Table outcome();        // the part of it that looks at what was chosen
Table machete();        // weight-only integer kernels
Table cutlass_w4a8();
Table allspark();
Table marlin();
Table conch();
Table exllama();
Table triton_w4a16();
Table humming();
Table dynamic_4bit();
Table cpu_wna16();
Table gptq();           // checkpoint methods
Table gptq_legacy();
Table awq();
Table awq_plain();
Table fp8_marlin();     // scaled kernels
Table fp8_flashinfer();
Table fp8_cutlass();
Table fp8_torch();
Table fp8_block_deepgemm();
Table fp8_block_cutlass();
Table fp8_block_torch();
Table fp8_block_triton();
Table mxfp4_native();
Table int8_cutlass();
Table nvfp4_flashinfer();
Table nvfp4_cutlass();
Table nvfp4_marlin();
Table nvfp4_emulation();

}  // namespace dd::frameworks::vllm
