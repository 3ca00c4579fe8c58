// What each backend folder hands to the catalogue: its rules (pure) and its run half.
#pragma once
#include <span>

#include "backends/backend.hpp"
#include "rules/rule.hpp"

namespace dd::backends {

namespace cpu_naive {
std::span<const rules::Rule> attention_rules();
std::span<const rules::Rule> gemm_rules();
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cpu_naive

namespace cpu_math {
std::span<const rules::Rule> rules();
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cpu_math

namespace cpu_flash {
std::span<const rules::Rule> rules();
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cpu_flash

namespace cpu_blas {
std::span<const rules::Rule> rules();
int rank_for(const spec::OpSpec& spec);
Availability probe();
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cpu_blas

namespace cpu_onednn {
std::span<const rules::Rule> rules();
Availability probe();
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cpu_onednn

namespace cpu_dequant {
std::span<const rules::Rule> rules();
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cpu_dequant

namespace cpu_packed {
std::span<const rules::Rule> rules();
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cpu_packed

namespace cuda_naive {
std::span<const rules::Rule> attention_rules();
std::span<const rules::Rule> gemm_rules();
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run_attention(const RunRequest& request);
RunResult run_gemm(const RunRequest& request);
}  // namespace cuda_naive

namespace cudnn_attention {
std::span<const rules::Rule> rules();
Availability probe();
void add_facts(facts::FactSet& facts);
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cudnn_attention

namespace cuda_flash {
std::span<const rules::Rule> rules();
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cuda_flash

namespace cuda_wmma {
std::span<const rules::Rule> rules();
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cuda_wmma

namespace cuda_packed {
std::span<const rules::Rule> rules();
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cuda_packed

namespace cuda_math {
std::span<const rules::Rule> rules();
void add_call_facts(const spec::OpSpec& spec, facts::FactSet& facts);  // how the result lies
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cuda_math

namespace cuda_dequant {
std::span<const rules::Rule> rules();
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cuda_dequant

// Their rules are declared in cublas/rules.hpp and cublaslt/rules.hpp: frameworks that call the libraries read them too.
namespace cublas {
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cublas

namespace cublaslt {
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cublaslt

namespace cublaslt_s8 {
std::span<const rules::Rule> rules();
std::span<const rules::Rule> native_rules();  // and those of the library's integer products
std::int64_t extra_bytes(const spec::OpSpec& spec);
RunResult run(const RunRequest& request);
}  // namespace cublaslt_s8

}  // namespace dd::backends
