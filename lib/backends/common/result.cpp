#include "backends/common/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backends/common/operands.hpp"
#include "ops/tensor/convert.hpp"

namespace dd::backends {
namespace {

bool direct(const ops::TensorView& out, core::DType dtype) {
  return out.dtype == dtype && out.stride[2] == 1 && (out.shape[1] <= 1 || out.stride[1] >= out.shape[2]);
}

void add_bias(const ops::TensorView& bias, std::int64_t b, std::int64_t row, std::vector<double>& line) {
  const auto columns = static_cast<std::int64_t>(line.size());
  const std::int64_t at = bias.offset + (bias.shape[0] > 1 ? b * bias.stride[0] : 0) + (bias.shape[1] > 1 ? row * bias.stride[1] : 0);
  for (std::int64_t j = 0; j < columns; ++j)
    line[static_cast<std::size_t>(j)] += ops::load(bias.data, bias.dtype, at + (bias.shape[2] > 1 ? j * bias.stride[2] : 0));
}

}  // namespace

std::int64_t product_buffer_bytes(const ops::TensorView& out, core::DType dtype) {
  return direct(out, dtype) ? 0 : core::bytes_of(dtype, out.shape[0] * out.shape[1] * out.shape[2]);
}

ProductBuffer product_buffer(const ops::TensorView& out, core::DType dtype, report::Evidence& evidence) {
  ProductBuffer p;
  p.dtype = dtype;
  if (direct(out, dtype)) {
    p.base = static_cast<std::byte*>(out.data) + core::bytes_of(dtype, out.offset);
    p.leading = out.shape[1] <= 1 ? std::max<std::int64_t>(out.shape[2], 1) : out.stride[1];
    p.matrix_step = out.stride[0];
    return p;
  }
  const std::int64_t bytes = product_buffer_bytes(out, dtype);
  p.buffer = allocate(bytes);
  p.base = p.buffer.get();
  p.leading = std::max<std::int64_t>(out.shape[2], 1);
  p.matrix_step = out.shape[1] * out.shape[2];
  if (out.dtype == dtype) {
    evidence.conversions.push_back({"copy", "result from a dense matrix", bytes});
  } else {
    evidence.conversions.push_back({"cast", fmt::format("result from {} to {}", core::to_text(dtype), core::to_text(out.dtype)), bytes});
  }
  return p;
}

void finish_product(const ops::GemmProblem& problem, const ProductBuffer& product, const ops::TensorView& out, bool bias_due,
                    bool activation_due, const ops::RunOptions& run) {
  const bool bias = bias_due && problem.bias.has_value();
  const bool activation = activation_due && problem.epilogue != ops::Epilogue::none;
  if (!product.buffer && !bias && !activation) return;
  const std::int64_t rows = out.shape[1], columns = out.shape[2];
  ops::parallel_for(out.shape[0] * rows, run, [&](std::int64_t index, int) {
    const std::int64_t b = index / rows, row = index % rows;
    std::vector<double> line(static_cast<std::size_t>(columns));
    ops::load_row(product.matrix(b), product.dtype, row * product.leading, 1, columns, line.data());
    if (bias) add_bias(*problem.bias, b, row, line);
    if (activation)
      for (double& value : line) value = ops::apply_epilogue(value, problem.epilogue);
    ops::store_row(out.data, out.dtype, out.offset + b * out.stride[0] + row * out.stride[1], out.stride[2], columns, line.data());
  });
}

}  // namespace dd::backends
