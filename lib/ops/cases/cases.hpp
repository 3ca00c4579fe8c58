// From a spec to numbers: the reproducible inputs, the operator problem that reference and backends share, and the
// reference values with their error bound. The spec must have passed validation.
//
// Roles of the tensors: q k v mask | x w bias scales zeros group_index x_scales. Gaps of a strided storage hold a marked NaN
// (floats) so that a read outside the view shows. Mask content: causal (by causal_align), padding:N (the last N keys are
// closed), window:N (|query - key| > N is closed), zeros (every element 0: additive nothing, boolean everything closed),
// random (boolean: three of four open; float: normal), or a file.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/tensor.hpp"
#include "ops/attention/attention.hpp"
#include "ops/gemm/gemm.hpp"
#include "spec/spec.hpp"

namespace dd::ops::cases {

// Fills every input. `data` replaces the spec's own kind of data (the exact integer pass of a matrix product).
// `reader` reads the file that a mask's content may name.
using MaskReader = core::Result<core::Tensor> (*)(const std::string& path);
core::Result<core::TensorMap> make_inputs(const spec::OpSpec& spec, std::optional<spec::Data> data = std::nullopt,
                                          MaskReader reader = nullptr);

// The output tensor's type, logical shape, strides and offset (elements), and the elements of its storage.
struct OutputLayout {
  core::DType dtype;
  std::vector<std::int64_t> shape, strides;
  std::int64_t offset = 0, storage_elements = 0;
};
OutputLayout output_layout(const spec::OpSpec& spec);

TensorView view(const core::Tensor& tensor);
// Rank-4 attention problem over these tensors (rank 3 has one head, rank 2 one batch as well).
AttentionProblem attention_problem(const spec::OpSpec& spec, const core::TensorMap& tensors);
// Rank-3 matrix product: batch axes folded where one stride walks them, else the operand is expanded (see
// GemmProblem::expanded). An error when the result's own batch axes cannot be folded.
core::Result<GemmProblem> gemm_problem(const spec::OpSpec& spec, const core::TensorMap& tensors);
// `out` as rank 4 (attention) or rank 3 (matrix product).
TensorView output_view(const spec::OpSpec& spec, const core::Tensor& out);

// The keep mask of dropout, u8, (B, H, Tq, Tk), for saving and for workers that take it as a tensor.
core::Tensor dropout_keep_tensor(const spec::OpSpec& spec);

struct ReferenceValues {
  std::vector<double> values;      // row-major; all rows, or those in `rows`
  std::vector<double> bound;       // error-model limit per element
  std::vector<std::int64_t> shape, rows, masked_rows;
  std::string name, accumulate, bound_text, scope, mistrust;
  std::string beyond_range;  // what the arithmetic of the call cannot hold, so that a result may be infinite or NaN by right
  double seconds = 0;
  bool freivalds = false;          // past the budget: check the rest of a result with freivalds_check
};

// `budget` in seconds: past it (by estimate) attention computes sampled query rows, GEMM sampled rows and asks for Freivalds' check.
core::Result<ReferenceValues> run_reference(const spec::OpSpec& spec, const core::TensorMap& inputs, double budget = 10.0,
                                            const RunOptions& run = {});

// Probabilistic check of all rows of a claimed product: empty when it passes, else what is off.
std::string freivalds_check(const spec::OpSpec& spec, const core::TensorMap& inputs, const core::Tensor& out);

}  // namespace dd::ops::cases
