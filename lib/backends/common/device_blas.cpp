#include "backends/common/device_blas.hpp"

#include <fmt/format.h>

#include <climits>
#include <cstring>
#include <memory>

#include "backends/common/operands.hpp"
#include "backends/common/run.hpp"
#include "backends/cuda_runtime/environment.hpp"
#include "backends/cuda_runtime/libraries.hpp"
#include "facts/derive.hpp"
#include "frameworks/gemm/facts.hpp"
#include "frameworks/gemm/set.hpp"

namespace dd::backends {
namespace {

namespace blas = cuda::blas;
using core::DType;

struct TypeRow {
  DType dtype;
  int type;
  std::string_view text;
};
constexpr TypeRow types[] = {
    {DType::f64, blas::r_64f, "R_64F"}, {DType::f32, blas::r_32f, "R_32F"}, {DType::f16, blas::r_16f, "R_16F"}, {DType::bf16, blas::r_16bf, "R_16BF"},
    {DType::f8_e4m3, blas::r_8f_e4m3, "R_8F_E4M3"}, {DType::f8_e5m2, blas::r_8f_e5m2, "R_8F_E5M2"}, {DType::s8, blas::r_8i, "R_8I"}, {DType::u8, blas::r_8u, "R_8U"},
    {DType::s32, blas::r_32i, "R_32I"},
};

struct ComputeRow {
  std::string_view text;
  int compute, scale_type;
};
constexpr ComputeRow computes[] = {
    {"16F", blas::compute_16f, blas::r_16f}, {"16F_PEDANTIC", blas::compute_16f_pedantic, blas::r_16f}, {"32F", blas::compute_32f, blas::r_32f},
    {"32F_PEDANTIC", blas::compute_32f_pedantic, blas::r_32f}, {"32F_FAST_16F", blas::compute_32f_fast_16f, blas::r_32f},
    {"32F_FAST_16BF", blas::compute_32f_fast_16bf, blas::r_32f}, {"32F_FAST_TF32", blas::compute_32f_fast_tf32, blas::r_32f},
    {"32F_EMULATED_16BFX9", blas::compute_32f_emulated_16bfx9, blas::r_32f}, {"64F", blas::compute_64f, blas::r_64f}, {"64F_PEDANTIC", blas::compute_64f_pedantic, blas::r_64f},
    {"64F_EMULATED_FIXEDPOINT", blas::compute_64f_emulated_fixedpoint, blas::r_64f}, {"32I", blas::compute_32i, blas::r_32i}, {"32I_PEDANTIC", blas::compute_32i_pedantic, blas::r_32i},
};

// A row-major matrix as the column-major one that its memory also is. `plain` is the transposition that reads it as is.
bool describe_matrix(const Placed& p, BlasMatrix& out, bool& transposed) {
  const auto type = blas_type(p.view.dtype);
  if (!type || !is_dense_matrix(p.view)) return false;
  report::Evidence nothing;  // a dense matrix of its own type is never copied
  const Operand o = dense_operand(p.view, p.view.dtype, "", nothing, {});
  transposed = o.transposed;
  out = {p.address, *type, o.transposed ? p.view.shape[1] : p.view.shape[2], o.transposed ? p.view.shape[2] : p.view.shape[1], o.leading,
         p.view.shape[0] > 1 ? p.view.stride[0] : 0};
  return true;
}

char letter(bool transposed) { return transposed ? 'T' : 'N'; }
bool fits_int(std::int64_t v) { return v >= 0 && v <= INT_MAX; }

}  // namespace

std::string BlasProduct::text() const {
  return fmt::format("{}{}, m {}, n {}, k {}, lda {}, ldb {}, ldd {}, batch {}", letter(transpose_a), letter(transpose_b), m, n, k, a.leading, b.leading, d.leading, batch);
}

std::optional<int> blas_type(DType dtype) {
  for (const TypeRow& row : types)
    if (row.dtype == dtype) return row.type;
  return std::nullopt;
}

std::string_view blas_type_text(int type) {
  for (const TypeRow& row : types)
    if (row.type == type) return row.text;
  return "unknown type";
}

std::optional<int> blas_compute(std::string_view name) {
  for (const ComputeRow& row : computes)
    if (row.text == name) return row.compute;
  return std::nullopt;
}

int blas_scale_type(int compute) {
  for (const ComputeRow& row : computes)
    if (row.compute == compute) return row.scale_type;
  return blas::r_32f;
}

bool describe_product(const Placed& x, const Placed& w, const Placed& out, BlasProduct& p, std::string& why) {
  bool out_transposed = false;
  if (!describe_matrix(w, p.a, p.transpose_a) || !describe_matrix(x, p.b, p.transpose_b)) {
    why = "an operand has no axis of unit stride, or a type that the library does not know";
    return false;
  }
  if (!describe_matrix(out, p.d, out_transposed) || out_transposed) {
    why = "the rows of the result are not dense";
    return false;
  }
  p.m = out.view.shape[2];
  p.n = out.view.shape[1];
  p.k = x.view.shape[2];
  p.batch = out.view.shape[0];
  if (p.m < 1 || p.n < 1 || p.k < 1 || p.batch < 1) {
    why = "an extent is 0";
    return false;
  }
  // One w for the whole batch, and x and the result go on where a matrix ends: all of it is one product with more rows.
  const bool one_product = p.batch > 1 && p.a.step == 0 && !p.transpose_b && p.b.step == p.n * p.b.leading && p.d.step == p.n * p.d.leading;
  if (one_product) {
    p.n *= p.batch;
    p.b.columns = p.d.columns = p.n;
    p.batch = 1;
  }
  if (p.batch == 1) p.a.step = p.b.step = p.d.step = 0;
  for (const std::int64_t v : {p.m, p.n, p.k, p.a.leading, p.b.leading, p.d.leading, p.batch})
    if (!fits_int(v)) {
      why = "an extent or a leading dimension does not fit into 32 bits";
      return false;
    }
  return true;
}

BlasScalars::BlasScalars(int scale_type) {
  const auto put = [&](const auto& value) { std::memcpy(one, &value, sizeof value); };
  switch (scale_type) {
    case blas::r_64f: put(1.0); break;
    case blas::r_16f: put(std::uint16_t{0x3C00}); break;
    case blas::r_32i: put(std::int32_t{1}); break;
    default: put(1.0f);
  }
}

std::int64_t advised_workspace(int compute_capability) {
  const std::int64_t mib = std::int64_t{1} << 20;
  if (compute_capability >= 120) return 12 * mib;
  return compute_capability >= 90 ? 32 * mib : 4 * mib;
}

std::optional<Cublas> open_cublas(DeviceCall& call, std::optional<std::int64_t> workspace, bool reduced_precision, RunResult& problem) {
  Cublas out;
  std::string why;
  out.api = cuda::cublas_api(why);
  if (!out.api) {
    problem = failure(report::Outcome::unavailable, "ENV023", why, "cuBLAS");
    return std::nullopt;
  }
  const auto check = [&](int status, const char* name) {
    auto e = cuda::blas_error(status, name, "cuBLAS", out.api->status_name, out.api->status_text);
    if (e) problem = device_failure(*e);
    return !e;
  };
  if (auto e = cuda::cublas_handle(*out.api, call.device(), out.handle)) {
    problem = device_failure(*e);
    return std::nullopt;
  }
  out.workspace = workspace.value_or(advised_workspace(call.device().info().compute_capability));
  void* memory = out.workspace > 0 ? call.scratch(out.workspace) : nullptr;
  // Setting the stream takes the workspace away, so it comes first.
  if (!check(out.api->set_stream(out.handle, call.device().stream()), "cublasSetStream")) return std::nullopt;
  if (memory && !check(out.api->set_workspace(out.handle, memory, static_cast<std::size_t>(out.workspace)), "cublasSetWorkspace")) return std::nullopt;
  // The library's own default lets the parts of a split reduction be added in the narrower type of the result.
  if (!check(out.api->set_math_mode(out.handle, reduced_precision ? blas::math_default : blas::math_no_narrow_reduction), "cublasSetMathMode")) return std::nullopt;
  return out;
}

DeviceCall::LibraryCall gemm_step(const Cublas& cublas, const BlasProduct& p, int compute) {
  const bool batched = p.batch > 1;
  const char* name = batched ? "cublasGemmStridedBatchedEx" : "cublasGemmEx";
  const auto scalars = std::make_shared<BlasScalars>(blas_scale_type(compute));
  std::string_view compute_text;
  for (const ComputeRow& row : computes)
    if (row.compute == compute) compute_text = row.text;
  const std::string detail = fmt::format("{}, {} x {} -> {}, compute {}, {}", p.text(), blas_type_text(p.a.type), blas_type_text(p.b.type), blas_type_text(p.d.type),
                                         compute_text, cublas.workspace > 0 ? fmt::format("workspace {} bytes", cublas.workspace) : "the library's own workspace");
  return {name, detail, [=](void*) {
            const auto i = [](std::int64_t v) { return static_cast<int>(v); };
            const int status =
                batched ? cublas.api->gemm_strided(cublas.handle, p.transpose_a, p.transpose_b, i(p.m), i(p.n), i(p.k), scalars->one, p.a.address, p.a.type, i(p.a.leading), p.a.step,
                                                   p.b.address, p.b.type, i(p.b.leading), p.b.step, scalars->zero, p.d.address, p.d.type, i(p.d.leading), p.d.step, i(p.batch), compute,
                                                   blas::algorithm_default)
                        : cublas.api->gemm(cublas.handle, p.transpose_a, p.transpose_b, i(p.m), i(p.n), i(p.k), scalars->one, p.a.address, p.a.type, i(p.a.leading), p.b.address, p.b.type,
                                           i(p.b.leading), scalars->zero, p.d.address, p.d.type, i(p.d.leading), compute, blas::algorithm_default);
            return cuda::blas_error(status, name, "cuBLAS", cublas.api->status_name, cublas.api->status_text);
          }};
}

namespace {

Availability with_cublas(const Availability& base) {
  std::string why;
  cuda::cublas_api(why);
  const cuda::LibraryRecord& r = cuda::library(cuda::Library::cublas);
  return with_library(base, why, "ENV023", fmt::format("cuBLAS {} ({})", r.version, r.path));
}

Availability with_cublaslt(const Availability& base) {
  std::string why;
  cuda::cublaslt_api(why);
  const cuda::LibraryRecord& r = cuda::library(cuda::Library::cublaslt);
  return with_library(base, why, "ENV024", fmt::format("cuBLASLt {} ({})", r.version, r.path));
}

}  // namespace

Availability cublas_available() { return with_cublas(device_available()); }
Availability cublaslt_available() { return with_cublaslt(device_available()); }
Availability own_kernels_and_cublas() { return with_cublas(own_kernels_available()); }
Availability own_kernels_and_cublaslt() { return with_cublaslt(own_kernels_available()); }

void add_cublas_facts(facts::FactSet& facts) {
  add_device_facts(facts);
  const cuda::LibraryRecord& driver = cuda::library(cuda::Library::driver);
  if (!driver || driver.stub) return;  // nothing can run: the rules keep to what the spec states
  cuda::add_library_facts(cuda::Library::cublas, facts);
  cuda::add_library_facts(cuda::Library::cublaslt, facts);
  std::size_t (*release)() = nullptr;
  if (cuda::library(cuda::Library::cublaslt).find(release, "cublasLtGetCudartVersion"))
    if (const auto code = static_cast<std::int64_t>(release()); code > 0)
      facts.set(facts::Id::cuda_version, facts::Version::of(code / 1000, code % 1000 / 10), facts::Provenance::library, "cublasLtGetCudartVersion");
}

void add_blas_facts(const spec::OpSpec& spec, facts::FactSet& facts) {
  if (spec.is_attention()) return;
  const spec::Gemm& g = spec.gemm();
  using facts::Id;
  using frameworks::gemm::set_new;
  const auto own = facts::Provenance::derived;
  const std::int64_t workspace = g.workspace.value_or(advised_workspace(static_cast<int>(frameworks::gemm::integer_or(facts, Id::compute_capability, 90))));
  const auto fill = [&](Id id, facts::Value value) { set_new(facts, id, std::move(value), own, "how this tool calls the library"); };
  fill(Id::workspace_bytes, workspace);
  fill(Id::pref_workspace_bytes, workspace);
  fill(Id::requested_algo_count, std::int64_t{8});
  // Captured mode asks for algorithms, and runs once, before the capture starts.
  set_new(facts, Id::capturing, false, own, "how this tool calls the library: asked before a capture starts");
  fill(Id::scale_align_bytes, std::int64_t{256});
  const spec::TensorSpec out{{}, spec::out_dtype(g), {}, g.out.offset, {}};
  fill(Id::out_align_bytes, facts::alignment_bytes(out));
  frameworks::gemm::add_gemm_facts(spec, facts);
}

}  // namespace dd::backends
