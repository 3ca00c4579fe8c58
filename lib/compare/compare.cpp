#include "compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compare/guard.hpp"
#include "ops/tensor/convert.hpp"

namespace dd::compare {
namespace {

using core::DType;

std::vector<std::int64_t> unravel(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = shape[i] > 0 ? flat % shape[i] : 0;
    flat /= shape[i] > 0 ? shape[i] : 1;
  }
  return index;
}

// Where the elements that were computed lie, logically and in the storage.
class Places {
 public:
  Places(const Wanted& wanted, const Got& got) : wanted_(wanted), got_(got) {
    width_ = wanted.shape.empty() ? 1 : std::max<std::int64_t>(wanted.shape.back(), 1);
  }
  std::int64_t logical(std::int64_t e) const {
    return wanted_.rows.empty() ? e : wanted_.rows[static_cast<std::size_t>(e / width_)] * width_ + e % width_;
  }
  std::int64_t stored(std::int64_t logical) const {
    if (got_.strides.empty()) return got_.offset + logical;
    std::int64_t at = got_.offset;
    for (std::size_t i = wanted_.shape.size(); i-- > 0;) {
      at += logical % wanted_.shape[i] * got_.strides[i];
      logical /= wanted_.shape[i];
    }
    return at;
  }
  std::int64_t rows() const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i + 1 < wanted_.shape.size(); ++i) n *= wanted_.shape[i];
    return n;
  }

 private:
  const Wanted& wanted_;
  const Got& got_;
  std::int64_t width_;
};

struct Limits {
  const Wanted& wanted;
  Tolerance constants;
  bool given;

  double operator()(std::size_t e) const {
    const double want = wanted.values[e];
    const double constant = constants.atol + constants.rtol * std::fabs(want);
    if (given || wanted.bound.empty()) return constant;
    return std::max(constant, wanted.bound[e]);
  }
};

std::string bound_text(const Wanted& w, const Tolerance& t, std::optional<double> rtol, std::optional<double> atol) {
  const std::string constants = fmt::format("rtol {:.3g}, atol {:.3g}", t.rtol, t.atol);
  if (rtol && atol) return constants + " as given";
  if (rtol || atol) return fmt::format("{} ({} as given, the other by element type)", constants, rtol ? "rtol" : "atol");
  if (w.bound.empty() || w.bound_text.empty()) return constants;
  return fmt::format("the greater of {} and {}", w.bound_text, constants);
}

}  // namespace

Tolerance default_tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64: return {1e-7, 1e-7};
    case DType::f32: return {1.3e-6, 1e-5};
    case DType::f16: return {1e-3, 1e-5};
    case DType::bf16: return {1.6e-2, 1e-5};
    case DType::f8_e4m3:
    case DType::f8_e5m2: return {core::info(dtype).unit_roundoff, 1e-3};
    default: return {0.0, 0.0};
  }
}

std::string cannot_tell(const Wanted& w, DType dtype) {
  if (w.values.empty()) return "the output has no elements";
  const Limits limit{w, default_tolerance(dtype), false};
  const double first = w.values[0];
  bool all_zero = true, constant = true, none_finite = true, all_loose = true;
  for (std::size_t e = 0; e < w.values.size(); ++e) {
    const double v = w.values[e];
    all_zero &= v == 0.0;
    constant &= v == first || (std::isnan(v) && std::isnan(first));
    none_finite &= !std::isfinite(v);
    all_loose &= !(std::fabs(v) > limit(e));
  }
  if (all_zero) return "every wanted element is zero";
  if (none_finite) return "no wanted element is finite";
  if (constant && w.values.size() > 1) return "every wanted element has one value";
  if (all_loose) return "every wanted element is smaller than its own limit";
  return {};
}

report::Comparison compare(const Got& got, const Wanted& wanted, std::optional<double> rtol, std::optional<double> atol) {
  const bool given = rtol || atol;
  Tolerance constants = default_tolerance(got.dtype);
  if (given) constants = {rtol.value_or(constants.rtol), atol.value_or(constants.atol)};
  const Limits limit{wanted, constants, given};

  report::Comparison c;
  c.rtol = constants.rtol;
  c.atol = constants.atol;
  c.bound = bound_text(wanted, constants, rtol, atol);
  c.total = static_cast<std::int64_t>(wanted.values.size());
  c.guard_damaged = got.guard_damaged;
  const Places places(wanted, got);
  const std::vector<std::uint8_t> poison = unwritten(got.storage, got.dtype, got.storage_elements);
  const bool nan_is_certain = core::is_float(got.dtype) && got.dtype != DType::f8_e4m3 && got.dtype != DType::f8_e5m2;
  double worst_absolute = -1, worst_relative = -1;
  for (std::size_t e = 0; e < wanted.values.size(); ++e) {
    const std::int64_t logical = places.logical(static_cast<std::int64_t>(e));
    const std::int64_t at = places.stored(logical);
    const double want = wanted.values[e];
    const double seen = ops::load(got.storage, got.dtype, at);
    c.nan_got += std::isnan(seen);
    c.nan_want += std::isnan(want);
    c.inf_got += std::isinf(seen);
    c.inf_want += std::isinf(want);
    c.zero_got += seen == 0.0;
    c.zero_want += want == 0.0;
    const bool same_special = (std::isnan(seen) && std::isnan(want)) || seen == want;
    const double error = same_special ? 0.0 : std::fabs(seen - want);
    const double allowed = limit(e);
    const bool close = same_special || (std::isfinite(seen) && std::isfinite(want) && error <= allowed);
    c.mismatched += !close;
    // Poison that is also the right answer can only happen for types without room for a marked NaN.
    c.unwritten += poison[static_cast<std::size_t>(at)] && (nan_is_certain || !close);
    // A NaN or infinity on one side only is an error without bound.
    const double shown = std::isnan(error) ? HUGE_VAL : error;
    const double relative = shown == 0.0 ? 0.0 : want == 0.0 ? HUGE_VAL : shown / std::fabs(want);
    const auto note = [&](report::Worst& worst, double value) { worst = {value, allowed, seen, want, unravel(logical, wanted.shape)}; };
    if (shown > worst_absolute) note(c.absolute, worst_absolute = shown);
    if (std::isfinite(relative) && relative > worst_relative) note(c.relative, worst_relative = relative);
  }
  c.mistrust = wanted.mistrust.empty() ? cannot_tell(wanted, got.dtype) : wanted.mistrust;
  const bool bad = c.mismatched > 0 || c.unwritten > 0 || c.guard_damaged > 0;
  // Memory that was left or damaged is wrong whatever the numbers.
  if (c.mismatched > 0 && !wanted.beyond_range.empty() && c.unwritten == 0 && c.guard_damaged == 0) {
    c.mistrust = wanted.beyond_range;
    c.verdict = "mistrusted";
  } else {
    c.verdict = bad ? "off" : c.mistrust.empty() ? "close" : "mistrusted";
  }
  if (!wanted.rows.empty()) c.sampled = fmt::format("{} of {} rows", wanted.rows.size(), places.rows());
  return c;
}

}  // namespace dd::compare
