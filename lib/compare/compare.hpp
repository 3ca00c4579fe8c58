// Closeness of one result to the reference. The limit of an element is the greater of an error model's bound (made by
// the operator from reduction length, magnitudes, dtype and accumulator) and an assert_close-style constant pair of the
// output dtype; with --rtol/--atol it is atol + rtol * |want| alone. NaN and infinities are compared, never ignored.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "report/report.hpp"

namespace dd::compare {

struct Tolerance {
  double rtol, atol;
};
// Constants by output dtype, in the manner of torch.testing.assert_close (f64 1e-7/1e-7, f32 1.3e-6/1e-5, f16 1e-3/1e-5,
// bf16 1.6e-2/1e-5; f8 half a unit in the last place; integers exact).
Tolerance default_tolerance(core::DType dtype);

struct Wanted {
  std::span<const double> values;    // reference, row-major, only the elements that were computed
  std::span<const double> bound;     // error-model limit per element; empty: constants only
  std::vector<std::int64_t> shape;   // logical output shape
  std::vector<std::int64_t> rows;    // flat row numbers (all axes but the last) that `values` holds; empty: all
  std::vector<std::int64_t> masked_rows;  // rows with nothing to attend to, ascending
  std::string bound_text;            // how the bound was made
  std::string mistrust = {};         // known before the run: why the data cannot tell right from wrong
  std::string beyond_range = {};     // why even a right backend may give infinities or NaN; then no mismatch proves it wrong
  bool masked_rows_are_zero = true;  // the reference's convention for them (else NaN)
};

struct Got {
  const std::byte* storage;         // poisoned before the run
  std::int64_t storage_elements;
  core::DType dtype;
  std::vector<std::int64_t> strides;  // elements; empty: contiguous in Wanted::shape
  std::int64_t offset = 0;            // elements
  std::int64_t guard_damaged = 0;     // bytes, from guard_damage()
};

// Verdict: close, off, or mistrusted (the data could not have told, or the call is beyond the range of its arithmetic).
report::Comparison compare(const Got& got, const Wanted& wanted, std::optional<double> rtol, std::optional<double> atol);

// Reasons that the wanted values themselves cannot tell right from wrong: all zero, one constant, nothing finite, or
// every limit as large as the value. Empty when they can.
std::string cannot_tell(const Wanted& wanted, core::DType dtype);

}  // namespace dd::compare
