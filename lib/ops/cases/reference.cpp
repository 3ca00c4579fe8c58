#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "ops/cases/cases.hpp"
#include "spec/validate.hpp"
#include "ops/tensor/convert.hpp"

namespace dd::ops::cases {
namespace {

using core::DType;

constexpr std::uint64_t sample_seed = 0x5eed;

core::Problem failed(const std::string& text) { return {"reference", "", "", text, "", 0}; }

// Growth of rounding errors over a sum of n terms, in units of the accumulator's roundoff: the worst case is n, and
// errors of random sign stay far below 8 sqrt(n).
double growth(std::int64_t n) {
  const auto terms = static_cast<double>(std::max<std::int64_t>(n, 1));
  return std::min(terms, 8 * std::sqrt(terms)) + 2;
}

double accumulator_roundoff(DType in) { return in == DType::f64 ? 0x1p-53 : 0x1p-24; }

bool is_f8(DType t) { return t == DType::f8_e4m3 || t == DType::f8_e5m2; }

// What products lose on the way to the accumulator, relative to the sum of their magnitudes. TF32 rounds both operands. The
// FP8 tensor cores of a GPU keep about 14 bits of a running sum (DeepSeek-V3 technical report, 2024, on Hopper), cut off
// once for every few terms; four bits are left for the way that these errors add up.
double narrowed_products(const spec::OpSpec& spec) {
  if (spec::compute_of(spec.gemm(), spec.flags) == spec::Compute::tf32) return 0x1p-10;
  const bool on_gpu = spec.context.target.starts_with("cuda");
  return on_gpu && is_f8(spec.gemm().x.dtype) && is_f8(spec.gemm().w.dtype) ? 0x1p-10 : 0.0;
}

// A value that the output type cannot hold becomes what the type makes of it (infinity, or saturation for integers).
void fit(std::vector<double>& values, DType out) {
  const double greatest = core::info(out).max_finite;
  for (double& v : values)
    if (std::fabs(v) > greatest || !core::is_float(out)) v = round_to(v, out);
}

// Multiply-adds a second that the reference reaches, on the careful side.
double rate(int threads) {
#if defined(__x86_64__)
  const double core = __builtin_cpu_supports("avx512f") ? 2.0e10 : __builtin_cpu_supports("avx2") ? 8e9 : 1.5e9;
#else
  const double core = 1.5e9;
#endif
  return core * thread_count(threads);
}

// Seconds that go into the elements of a result whatever the length of their sums: they are written in f64, with their
// magnitudes and bounds beside them. On the careful side too.
double output_seconds(double elements) { return 5e-8 * elements; }

// Seconds that the attention reference takes, on the careful side. Beside the two products it adds up magnitudes, which is
// the second product once more, and every score costs an exponential (and a random number under dropout), whatever the
// head size: at a head size of 8 that is most of the time.
double attention_seconds(const AttentionProblem& p, int threads) {
  constexpr double exponential = 32, random_number = 24;  // in multiply-adds
  const auto d = static_cast<double>(p.q.shape[3]), dv = static_cast<double>(p.v.shape[3]);
  const double scores = attention_work(p) / std::max(d + dv, 1.0);
  const double rows = static_cast<double>(p.q.shape[0]) * static_cast<double>(p.q.shape[1]) * static_cast<double>(p.q.shape[2]);
  return scores * (d + 2 * dv + exponential + (p.dropout_p > 0 ? random_number : 0)) / rate(threads) + output_seconds(rows * dv);
}

// Rows that fit into the budget; at least 16, so that a tiny budget still tests something.
std::int64_t rows_for(double budget, double estimate, std::int64_t rows) {
  const double share = budget / std::max(estimate, 1e-12);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(share * static_cast<double>(rows)), std::min<std::int64_t>(16, rows),
                                  std::max<std::int64_t>(rows, 1));
}

// Bound of one attention element. Errors of a score s are at most ds, which scales a weight by exp(+-ds) and the norm
// likewise; 16-bit types may round scores and weights to the input type on the way. The rounding of a score counts for
// scores up to 3: larger ones are rare among the weights that matter, and a bound for the worst would hide real errors.
constexpr double usual_score = 3.0;
std::vector<double> attention_bound(const AttentionProblem& p, const AttentionResult& r, DType in, DType out, bool tf32) {
  const double u = accumulator_roundoff(in);
  // Nobody rounds scores to 8 bits: those that take such inputs compute in 16 bits or more.
  const DType between = core::info(in).bits <= 8 ? DType::bf16 : in;
  const double narrow = core::info(between).bits <= 16 ? core::info(between).unit_roundoff : in == DType::f32 && tf32 ? 0x1p-11 : 0.0;
  const std::int64_t width = p.v.shape[3];
  std::vector<double> bound(r.out.size());
  for (std::size_t row = 0; row < r.lse.size(); ++row) {
    const double ds = r.score_bound[row] * u * growth(p.q.shape[3]) + narrow * std::min(r.score_bound[row], usual_score) + 16 * u;
    const double relative = std::expm1(std::min(2 * ds, 700.0)) + u * growth(p.k.shape[2]) + 2 * narrow;
    for (std::int64_t d = 0; d < width; ++d) {
      const std::size_t e = row * static_cast<std::size_t>(width) + static_cast<std::size_t>(d);
      bound[e] = relative * r.abs_sum[e] + 2 * core::info(out).unit_roundoff * std::fabs(r.out[e]);
    }
  }
  return bound;
}

// "scores reach 6e+300, f32 arithmetic ends at 3.4e+38", or empty. `sizes` are bounds of what is added up.
std::string beyond(const char* what, const std::vector<double>& sizes, const char* arithmetic, double greatest) {
  const double reached = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  return reached > greatest ? fmt::format("{} reach {:.2g}, {} arithmetic ends at {:.2g}", what, reached, arithmetic, greatest) : std::string();
}

core::Result<ReferenceValues> attention(const spec::OpSpec& spec, const core::TensorMap& inputs, double budget, const RunOptions& run) {
  const AttentionProblem p = attention_problem(spec, inputs);
  if (const auto errors = attention_errors(p); !errors.empty()) return failed(errors.front());
  ReferenceValues out;
  out.shape = spec::out_shape(spec.attention());
  const std::int64_t rows = p.q.shape[0] * p.q.shape[1] * p.q.shape[2];
  const double estimate = attention_seconds(p, run.threads);
  const AttentionWant want{.abs_sum = true, .score_bound = true};
  AttentionResult r;
  if (estimate <= budget) {
    r = attention_reference(p, want, run);
    out.scope = "all rows";
  } else {
    const auto sampled = sample_rows(p, rows_for(budget, estimate, rows), sample_seed);
    r = attention_reference_rows(p, sampled, want, run);
    for (const RowIndex& i : sampled) out.rows.push_back((i.b * p.q.shape[1] + i.h) * p.q.shape[2] + i.i);
    out.scope = fmt::format("{} sampled rows of {}", sampled.size(), rows);
  }
  if (!r.ok()) return failed(r.error);
  const DType in = spec.attention().q.dtype;
  out.bound = attention_bound(p, r, in, in, spec.flags.tf32);
  if (in != DType::f64) out.beyond_range = beyond("scores", r.score_bound, "f32", core::info(DType::f32).max_finite);
  out.values = std::move(r.out);
  for (std::size_t row = 0; row < r.lse.size(); ++row)
    if (std::isinf(r.lse[row]) && r.lse[row] < 0) out.masked_rows.push_back(out.rows.empty() ? static_cast<std::int64_t>(row) : out.rows[row]);
  fit(out.values, in);
  out.name = "attention, double accumulation";
  out.bound_text = fmt::format("an error model (D = {}, Tk = {}, {} accumulation)", p.q.shape[3], p.k.shape[2],
                               in == DType::f64 ? "f64" : "f32");
  return out;
}

std::vector<double> gemm_bound(const spec::OpSpec& spec, const GemmProblem& p, const GemmResult& r) {
  const spec::Gemm& g = spec.gemm();
  const DType in = g.x.dtype, out = spec::out_dtype(g);
  const spec::Compute compute = spec::compute_of(g, spec.flags);
  if (compute == spec::Compute::s32 && !g.quant) {
    // Integer sums are exact; only a narrower result type rounds.
    return std::vector<double>(r.out.size(), core::is_float(out) ? 0.0 : out == DType::s32 ? 0.0 : 1.0);
  }
  const double u = compute == spec::Compute::f16 ? 0x1p-11 : compute == spec::Compute::f64 ? 0x1p-53 : 0x1p-24;
  // Dequantized weights are rounded to the type of the activations.
  const double narrow = narrowed_products(spec) + (g.quant && core::is_float(in) ? 2 * core::info(in).unit_roundoff : 0.0);
  const double split = spec.flags.reduced_precision && core::info(in).bits == 16 ? 4 * core::info(in).unit_roundoff : 0.0;
  const double relative = u * growth(p.x.shape[2]) + narrow + split;
  const double slope = p.epilogue == Epilogue::gelu_tanh ? 1.13 : 1.0;  // greatest derivative of the activation
  // The tanh form and the erf form of GELU differ by less than 5e-4; both are accepted as GELU.
  const double form = p.epilogue == Epilogue::gelu_tanh ? 5e-4 : 0.0;
  const double u_out = core::is_float(out) ? core::info(out).unit_roundoff : 0.0;
  std::vector<double> bound(r.out.size());
  for (std::size_t e = 0; e < bound.size(); ++e)
    bound[e] = slope * relative * r.abs_sum[e] + 2 * u_out * std::fabs(r.out[e]) + form + (core::is_float(out) ? 0.0 : 1.0);
  return bound;
}

core::Result<ReferenceValues> gemm(const spec::OpSpec& spec, const core::TensorMap& inputs, double budget, const RunOptions& run) {
  const auto problem = gemm_problem(spec, inputs);
  if (!problem) return problem.problems();
  const GemmProblem& p = *problem;
  if (const auto errors = gemm_errors(p); !errors.empty()) return failed(errors.front());
  ReferenceValues out;
  out.shape = spec::out_shape(spec.gemm());
  const std::int64_t rows = p.x.shape[0] * p.x.shape[1];
  // Twice: the magnitudes are a second product.
  const double estimate = 2 * gemm_work(p) / rate(run.threads) + output_seconds(static_cast<double>(rows) * static_cast<double>(p.w.shape[2]));
  GemmResult r;
  if (estimate <= budget) {
    r = gemm_reference(p, true, run);
    out.scope = "all rows";
  } else {
    const auto sampled = sample_gemm_rows(p, rows_for(budget, estimate, rows), sample_seed);
    r = gemm_reference_rows(p, sampled, true, run);
    for (const GemmRow& i : sampled) out.rows.push_back(i.b * p.x.shape[1] + i.m);
    out.freivalds = p.epilogue == Epilogue::none;
    out.scope = fmt::format("{} sampled rows of {}{}", sampled.size(), rows, out.freivalds ? ", and Freivalds' check of all" : "");
  }
  if (!r.ok()) return failed(r.error);
  out.bound = gemm_bound(spec, p, r);
  const spec::Compute compute = spec::compute_of(spec.gemm(), spec.flags);
  if (compute == spec::Compute::f16) out.beyond_range = beyond("sums", r.abs_sum, "f16", core::info(DType::f16).max_finite);
  if (compute == spec::Compute::s32) out.beyond_range = beyond("sums", r.abs_sum, "s32", std::numeric_limits<std::int32_t>::max());
  out.values = std::move(r.out);
  fit(out.values, spec::out_dtype(spec.gemm()));
  out.name = spec.gemm().quant ? "quantized matrix product, double accumulation" : "matrix product, double accumulation";
  out.bound_text = fmt::format("an error model (K = {}, {} arithmetic)", p.x.shape[2], core::to_text(spec::compute_of(spec.gemm(), spec.flags)));
  return out;
}

bool constant(const core::Tensor& t) {
  const TensorView v = view(t);
  const std::int64_t n = element_count(v);
  if (n < 2) return false;
  const double first = load(v.data, v.dtype, element_index(v, 0));
  for (std::int64_t i = 1; i < n; ++i)
    if (load(v.data, v.dtype, element_index(v, i)) != first) return false;
  return true;
}

}  // namespace

core::Result<ReferenceValues> run_reference(const spec::OpSpec& spec, const core::TensorMap& inputs, double budget,
                                            const RunOptions& run) {
  // A spec for a framework's rules need not be one that can be computed.
  if (spec.context.framework != "native")
    if (auto problems = spec::validate_to_compute(spec); !problems.empty()) return problems;
  const auto start = std::chrono::steady_clock::now();
  auto result = spec.is_attention() ? attention(spec, inputs, budget, run) : gemm(spec, inputs, budget, run);
  if (!result) return result;
  result->accumulate = "f64";
  // With one value everywhere, a kernel that mixes up indices gives the right numbers all the same.
  for (const char* role : {"q", "k", "v", "x", "w"}) {
    const auto it = inputs.find(role);
    if (it == inputs.end() || !constant(it->second)) continue;
    const bool softmax_only = std::string(role) == "q" || std::string(role) == "k";
    if (!softmax_only) result->mistrust = fmt::format("every element of {} has one value", role);
  }
  if (spec.is_attention() && result->mistrust.empty() && !result->values.empty()) {
    const std::int64_t width = std::max<std::int64_t>(result->shape.back(), 1);
    if (static_cast<std::int64_t>(result->masked_rows.size()) * width >= static_cast<std::int64_t>(result->values.size()))
      result->mistrust = "every row is fully masked";
  }
  result->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

std::string freivalds_check(const spec::OpSpec& spec, const core::TensorMap& inputs, const core::Tensor& out) {
  const auto problem = gemm_problem(spec, inputs);
  if (!problem) return core::to_text(problem.problems().front());
  const FreivaldsResult r = freivalds(*problem, output_view(spec, out), spec.seed + 1);
  if (!r.ok()) return r.error;
  const DType in = spec.gemm().x.dtype;
  const double relative = accumulator_roundoff(in) * growth(problem->x.shape[2]) + 4 * core::info(out.dtype).unit_roundoff +
                          (spec.gemm().quant && core::is_float(in) ? 2 * core::info(in).unit_roundoff : 0.0) + narrowed_products(spec);
  std::int64_t off = 0;
  const FreivaldsRow* worst = nullptr;
  for (const FreivaldsRow& row : r.rows) {
    if (row.difference <= relative * row.magnitude) continue;
    ++off;
    if (!worst || !(row.difference <= worst->difference)) worst = &row;
  }
  if (off == 0) return {};
  return fmt::format("{} of {} rows fail Freivalds' check, worst batch {} row {}: {:.3g}, allowed {:.3g}", off, r.rows.size(), worst->b,
                     worst->m, worst->difference, relative * worst->magnitude);
}

}  // namespace dd::ops::cases
