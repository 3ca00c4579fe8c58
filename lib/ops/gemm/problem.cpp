#include <set>

#include "ops/gemm/blocks.hpp"
#include "ops/tensor/philox.hpp"

namespace dd::ops {
namespace {

using Errors = std::vector<std::string>;

bool check_side(const TensorView& t, const char* name, Errors& errors) {
  const std::size_t before = errors.size();
  if (t.rank != 3) errors.push_back(std::string(name) + " must have rank 3 [batch, rows, columns]");
  for (int axis = 0; axis < std::min(t.rank, max_rank); ++axis)
    if (t.shape[axis] < 0) errors.push_back(std::string(name) + " has a negative size");
  if (t.rank == 3 && !t.data && element_count(t) > 0) errors.push_back(std::string(name) + " has no data");
  return errors.size() == before;
}

void check_table(const TensorView& t, const std::string& name, std::int64_t groups, std::int64_t lines,
                 Errors& errors) {
  if (t.rank != 2) {
    errors.push_back(name + " must have rank 2 [groups, lines]");
    return;
  }
  if (t.shape[0] != 1 && t.shape[0] < groups) errors.push_back(name + " has fewer groups than the weights need");
  if (t.shape[1] != 1 && t.shape[1] != lines) errors.push_back(name + " does not match the number of lines");
  if (!t.data) errors.push_back(name + " has no data");
}

void check_quant(const std::optional<QuantParams>& quant, const char* name, std::int64_t k, std::int64_t lines,
                 Errors& errors) {
  if (!quant) return;
  std::int64_t groups = 1;
  if (quant->group_size < 0) errors.push_back(std::string(name) + " group size is negative");
  if (quant->group_size > 0) groups = (k + quant->group_size - 1) / quant->group_size;
  if (!quant->group_of.empty()) {
    if (static_cast<std::int64_t>(quant->group_of.size()) != k)
      errors.push_back(std::string(name) + " group index needs K entries");
    groups = 1;
    for (std::int32_t g : quant->group_of) {
      if (g < 0) {
        errors.push_back(std::string(name) + " group index is negative");
        break;
      }
      groups = std::max<std::int64_t>(groups, std::int64_t{g} + 1);
    }
  }
  check_table(quant->scale, std::string(name) + " scale", groups, lines, errors);
  if (quant->zero) check_table(*quant->zero, std::string(name) + " zero point", groups, lines, errors);
}

}  // namespace

std::vector<std::string> gemm_errors(const GemmProblem& p) {
  Errors errors;
  const bool sides = check_side(p.x, "x", errors) & check_side(p.w, "w", errors);
  if (!sides) return errors;
  const detail::GemmSizes s(p);
  if (p.w.shape[0] != s.batch) errors.push_back("x and w differ in batch size");
  if (p.w.shape[1] != s.k) errors.push_back("columns of x and rows of w differ");
  if (p.bias) {
    const bool fits = p.bias->rank == 3 && (p.bias->shape[0] == s.batch || p.bias->shape[0] == 1) &&
                      (p.bias->shape[1] == s.m || p.bias->shape[1] == 1) &&
                      (p.bias->shape[2] == s.n || p.bias->shape[2] == 1);
    if (!fits) errors.push_back("bias does not broadcast to [batch, M, N]");
    if (!p.bias->data) errors.push_back("bias has no data");
  }
  check_quant(p.w_quant, "w", s.k, s.n, errors);
  check_quant(p.x_quant, "x", s.k, s.m, errors);
  return errors;
}

double gemm_work(const GemmProblem& p) {
  if (!gemm_errors(p).empty()) return 0;
  const detail::GemmSizes s(p);
  return static_cast<double>(s.batch) * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
}

std::vector<GemmRow> sample_gemm_rows(const GemmProblem& p, std::int64_t count, std::uint64_t seed) {
  std::vector<GemmRow> rows;
  if (!gemm_errors(p).empty()) return rows;
  const detail::GemmSizes s(p);
  const std::int64_t total = s.batch * s.m;
  count = std::min(count, total);
  if (count <= 0) return rows;
  std::set<std::int64_t> picked{0};
  if (count > 1) picked.insert(total - 1);
  for (std::int64_t n = 0; static_cast<std::int64_t>(picked.size()) < count; ++n) {
    const auto word = philox({static_cast<std::uint32_t>(n), 0, 0, 0x67656d6du}, seed)[0];
    const double stratum = static_cast<double>(total) / static_cast<double>(count);
    auto flat = static_cast<std::int64_t>((static_cast<double>(n % count) + word * 0x1p-32) * stratum) % total;
    while (picked.count(flat)) flat = (flat + 1) % total;
    picked.insert(flat);
  }
  for (std::int64_t flat : picked) rows.push_back({flat / s.m, flat % s.m});
  return rows;
}

double apply_epilogue(double value, Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::none:
      return value;
    case Epilogue::relu:
      return value < 0 ? 0.0 : value;  // NaN stays NaN
    case Epilogue::gelu_erf:
      // x * Phi(x); at -infinity the limit is 0 although the product is not defined.
      return value == -INFINITY ? -0.0 : 0.5 * value * std::erfc(-value * 0.70710678118654752440);
    case Epilogue::gelu_tanh: {
      if (value == -INFINITY) return -0.0;
      const double inner = 0.79788456080286535588 * (value + 0.044715 * value * value * value);
      return 0.5 * value * (1.0 + std::tanh(inner));
    }
  }
  return value;
}

namespace detail {

std::string gemm_output_error(const GemmProblem& p, const TensorView& out) {
  const GemmSizes s(p);
  if (out.rank != 3 || out.shape[0] != s.batch || out.shape[1] != s.m || out.shape[2] != s.n)
    return "output must have shape [batch, M, N]";
  if (core::info(out.dtype).bits < 8 || out.dtype == DType::boolean)
    return "output must be a number type of 8 bits or more";
  if (!out.data && element_count(out) > 0) return "output has no data";
  return "";
}

}  // namespace detail
}  // namespace dd::ops
