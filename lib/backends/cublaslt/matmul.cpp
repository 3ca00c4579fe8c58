#include "backends/cublaslt/matmul.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/common/run.hpp"

namespace dd::backends::cublaslt {
namespace {

namespace blas = cuda::blas;
namespace lt = cuda::lt;

struct EpilogueRow {
  std::string_view text;
  int epilogue;
};
constexpr EpilogueRow epilogues[] = {{"DEFAULT", lt::epilogue_default}, {"RELU", lt::epilogue_relu}, {"BIAS", lt::epilogue_bias}, {"RELU_BIAS", lt::epilogue_relu_bias},
                                     {"GELU", lt::epilogue_gelu},       {"GELU_BIAS", lt::epilogue_gelu_bias}};
std::string_view epilogue_text(int epilogue) {
  for (const EpilogueRow& row : epilogues)
    if (row.epilogue == epilogue) return row.text;
  return "unknown";
}

// What the preference may be told about a pointer: 256 bytes at most.
std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return bits == 0 ? 256 : static_cast<std::uint32_t>(std::min<std::uintptr_t>(bits & (~bits + 1), 256));
}

std::string units_text(std::uint64_t flags) {
  if (flags & lt::impl_hmma) return "tensor cores (16-bit and narrower floats, TF32)";
  if (flags & lt::impl_imma) return "tensor cores (integers)";
  if (flags & lt::impl_dmma) return "tensor cores (f64)";
  return flags & lt::impl_fma ? "plain arithmetic units" : "units not stated";
}

}  // namespace

std::optional<int> epilogue_code(std::string_view name) {
  for (const EpilogueRow& row : epilogues)
    if (row.text == name) return row.epilogue;
  return std::nullopt;
}

Matmul::~Matmul() {
  for (void* layout : {a_, b_, c_, d_})
    if (layout) api_.layout_destroy(layout);
  if (preference_) api_.preference_destroy(preference_);
  if (desc_) api_.desc_destroy(desc_);
}

Matmul::Error Matmul::check(int status, const char* name) const { return cuda::blas_error(status, name, "cuBLASLt", api_.status_name, api_.status_text); }

template <class T>
Matmul::Error Matmul::set(int attribute, const T& value) {
  return check(api_.desc_set(desc_, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
}
template <class T>
Matmul::Error Matmul::prefer(int attribute, const T& value) {
  return check(api_.preference_set(preference_, attribute, &value, sizeof value), "cublasLtMatmulPreferenceSetAttribute");
}

Matmul::Error Matmul::describe_layout(const BlasMatrix& m, void*& layout) {
  if (auto e = check(api_.layout_create(&layout, m.type, static_cast<std::uint64_t>(m.rows), static_cast<std::uint64_t>(m.columns), m.leading), "cublasLtMatrixLayoutCreate")) {
    layout = nullptr;
    return e;
  }
  const auto count = static_cast<std::int32_t>(call_.product.batch);
  if (count == 1) return std::nullopt;
  if (auto e = check(api_.layout_set(layout, lt::layout_batch_count, &count, sizeof count), "cublasLtMatrixLayoutSetAttribute")) return e;
  return check(api_.layout_set(layout, lt::layout_batch_offset, &m.step, sizeof m.step), "cublasLtMatrixLayoutSetAttribute");
}

Matmul::Error Matmul::describe() {
  const BlasProduct& p = call_.product;
  if (auto e = check(api_.desc_create(&desc_, call_.compute, call_.scale_type), "cublasLtMatmulDescCreate")) {
    desc_ = nullptr;
    return e;
  }
  if (auto e = set(lt::desc_transa, std::int32_t{p.transpose_a})) return e;
  if (auto e = set(lt::desc_transb, std::int32_t{p.transpose_b})) return e;
  if (auto e = set(lt::desc_epilogue, std::int32_t{call_.epilogue})) return e;
  if (call_.bias) {
    if (auto e = set(lt::desc_bias_pointer, call_.bias)) return e;
    if (auto e = set(lt::desc_bias_data_type, std::int32_t{call_.bias_type})) return e;
  }
  struct Row {
    const ScaleSet& scale;
    int pointer, mode;
  };
  for (const Row& row : {Row{call_.scale_a, lt::desc_a_scale_pointer, lt::desc_a_scale_mode}, Row{call_.scale_b, lt::desc_b_scale_pointer, lt::desc_b_scale_mode}}) {
    if (!row.scale.address) continue;
    if (auto e = set(row.pointer, row.scale.address)) return e;
    // Releases before 12.8 know no modes, only scalars.
    if (row.scale.mode != lt::scale_scalar_32f)
      if (auto e = set(row.mode, std::int32_t{row.scale.mode})) return e;
  }
  if (call_.fast_accumulation)
    if (auto e = set(lt::desc_fast_accum, std::int8_t{1})) return e;
  if (auto e = describe_layout(p.a, a_)) return e;
  if (auto e = describe_layout(p.b, b_)) return e;
  if (p.d.type == blas::r_8f_e4m3 || p.d.type == blas::r_8f_e5m2) {
    // An FP8 result goes with a C of a wider type only; 16-bit, as the bias would be.
    BlasMatrix c = p.d;
    c.type = call_.bias ? call_.bias_type : blas::r_16bf;
    if (auto e = describe_layout(c, c_)) return e;
  }
  return describe_layout(p.d, d_);
}

std::string Matmul::candidate_text(const lt::Heuristic& found, std::size_t number) const {
  if (found.state != 0) {
    const auto e = check(found.state, "");
    return fmt::format("candidate {}: {}", number, e->name);
  }
  const auto config = [&](int attribute) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    return api_.config_get(&found.algo, attribute, &value, sizeof value, &written) == 0 ? std::optional(value) : std::nullopt;
  };
  const auto number_of = [&](int attribute) {
    const auto value = config(attribute);
    return value ? std::to_string(*value) : "not stated";
  };
  std::uint64_t flags = 0;
  std::size_t written = 0;
  api_.cap_get(&found.algo, lt::cap_impl_flags, &flags, sizeof flags, &written);
  return fmt::format("candidate {}: algorithm {}, tile {}, stages {}, split-k {}, reduction scheme {}, workspace {} bytes, waves {:.2f}, {}", number, number_of(lt::config_id),
                     lt::tile_text(config(lt::config_tile).value_or(0)), lt::stages_text(config(lt::config_stages).value_or(0)), number_of(lt::config_split_k),
                     number_of(lt::config_reduction), found.workspace, found.waves, units_text(flags));
}

Matmul::Error Matmul::choose() {
  const BlasProduct& p = call_.product;
  if (auto e = check(api_.preference_create(&preference_), "cublasLtMatmulPreferenceCreate")) {
    preference_ = nullptr;
    return e;
  }
  if (auto e = prefer(lt::pref_max_workspace, static_cast<std::uint64_t>(call_.workspace))) return e;
  if (auto e = prefer(lt::pref_reduction_schemes, call_.reduced_precision ? lt::reduction_all : lt::reduction_in_compute_type)) return e;
  if (auto e = prefer(lt::pref_align_a, alignment_of(p.a.address))) return e;
  if (auto e = prefer(lt::pref_align_b, alignment_of(p.b.address))) return e;
  for (const int attribute : {lt::pref_align_c, lt::pref_align_d})
    if (auto e = prefer(attribute, alignment_of(p.d.address))) return e;
  std::vector<lt::Heuristic> found(static_cast<std::size_t>(std::max(call_.wanted, 1)));
  int count = 0;
  constexpr const char* name = "cublasLtMatmulAlgoGetHeuristic";
  if (auto e = check(api_.heuristic(handle_, desc_, a_, b_, c_layout(), d_, preference_, call_.wanted, found.data(), &count), name)) return e;
  found.resize(static_cast<std::size_t>(std::clamp(count, 0, static_cast<int>(found.size()))));
  const lt::Heuristic* best = nullptr;
  for (const lt::Heuristic& one : found) {
    candidates_.push_back(candidate_text(one, candidates_.size() + 1));
    if (best || one.state != 0 || one.workspace > static_cast<std::size_t>(call_.workspace)) continue;
    best = &one;
    chosen_text_ = candidates_.back();
  }
  if (best) {
    chosen_ = *best;
    return std::nullopt;
  }
  auto none = check(cuda::blas::not_supported, name);
  none->text = candidates_.empty() ? "the heuristic found no algorithm for this combination" : fmt::format("none of {} algorithms can run: {}", candidates_.size(), candidates_.front());
  return none;
}

std::shared_ptr<Matmul> Matmul::make(DeviceCall& device, const Call& call, RunResult& problem) {
  std::string why;
  const cuda::CublasLtApi* api = cuda::cublaslt_api(why);
  if (!api) {
    problem = failure(report::Outcome::unavailable, "ENV024", why, "cuBLASLt");
    return nullptr;
  }
  std::shared_ptr<Matmul> out(new Matmul(*api, call));
  Error e = cuda::cublaslt_handle(*api, device.device(), out->handle_);
  if (!e) e = out->describe();
  if (!e) e = out->choose();
  if (e) {
    problem = device_failure(*e);
    problem.evidence.notes = out->candidates_;
    return nullptr;
  }
  if (out->chosen_.workspace > 0) out->workspace_ = device.scratch(static_cast<std::int64_t>(out->chosen_.workspace));
  return out;
}

DeviceCall::LibraryCall Matmul::step(const std::shared_ptr<Matmul>& self) const {
  const BlasProduct& p = call_.product;
  const std::string detail = fmt::format("{}, {} x {} -> {}, epilogue {}; {}", p.text(), blas_type_text(p.a.type), blas_type_text(p.b.type), blas_type_text(p.d.type),
                                         epilogue_text(call_.epilogue), chosen_text_);
  return {"cublasLtMatmul", detail, [self](void* stream) {
            const Matmul& m = *self;
            const BlasProduct& q = m.call_.product;
            return m.check(m.api_.matmul(m.handle_, m.desc_, m.scalars_.one, q.a.address, m.a_, q.b.address, m.b_, m.scalars_.zero, m.c_ ? nullptr : q.d.address, m.c_layout(), q.d.address, m.d_,
                                         &m.chosen_.algo, m.workspace_, m.chosen_.workspace, stream),
                           "cublasLtMatmul");
          }};
}

}  // namespace dd::backends::cublaslt
