#include "backends/common/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <vector>

#include "ops/tensor/convert.hpp"

namespace dd::backends {
namespace {

std::int64_t own_matrices(const ops::TensorView& v) { return v.stride[0] == 0 ? std::min<std::int64_t>(v.shape[0], 1) : v.shape[0]; }

bool unit_rows(const ops::TensorView& v) {
  return (v.stride[2] == 1 || v.shape[2] <= 1) && (v.stride[1] >= std::max<std::int64_t>(v.shape[2], 1) || v.shape[1] <= 1);
}
bool unit_columns(const ops::TensorView& v) {
  return (v.stride[1] == 1 || v.shape[1] <= 1) && (v.stride[2] >= std::max<std::int64_t>(v.shape[1], 1) || v.shape[2] <= 1);
}

void describe(Operand& o) {
  const ops::TensorView& v = o.view;
  o.transposed = !unit_rows(v);
  const std::int64_t width = std::max<std::int64_t>(o.transposed ? v.shape[1] : v.shape[2], 1);
  const std::int64_t lines = o.transposed ? v.shape[2] : v.shape[1];
  // With a single row any leading dimension is right, so the smallest legal one is passed.
  // An empty axis leaves strides of 0, which a BLAS refuses even when it has nothing to read.
  o.leading = lines <= 1 ? width : std::max(width, o.transposed ? v.stride[2] : v.stride[1]);
}

}  // namespace

std::shared_ptr<std::byte> allocate(std::int64_t bytes) {
  const auto rounded = static_cast<std::size_t>((std::max<std::int64_t>(bytes, 1) + 63) / 64 * 64);
  auto* raw = static_cast<std::byte*>(::operator new(rounded, std::align_val_t{64}));
  return {raw, [](std::byte* p) { ::operator delete(p, std::align_val_t{64}); }};
}

const void* Operand::matrix(std::int64_t batch) const {
  return static_cast<const std::byte*>(view.data) + core::bytes_of(view.dtype, view.offset + batch * view.stride[0]);
}

bool is_dense_matrix(const ops::TensorView& v) { return unit_rows(v) || unit_columns(v); }

std::int64_t dense_operand_bytes(const ops::TensorView& v, core::DType dtype) {
  if (v.dtype == dtype && is_dense_matrix(v)) return 0;
  return core::bytes_of(dtype, own_matrices(v) * v.shape[1] * v.shape[2]);
}

void convert_dense(const ops::TensorView& v, core::DType dtype, void* out, const ops::RunOptions& run) {
  const std::int64_t rows = v.shape[1], columns = v.shape[2];
  // Along the axis that is contiguous in memory, a column-major matrix would be read with large strides either way.
  ops::parallel_for(own_matrices(v) * rows, run, [&](std::int64_t row, int) {
    const std::int64_t at = v.offset + row / rows * v.stride[0] + row % rows * v.stride[1];
    if (dtype == core::DType::f64) {
      ops::load_row(v.data, v.dtype, at, v.stride[2], columns, static_cast<double*>(out) + row * columns);
    } else if (dtype == core::DType::f32) {
      ops::load_row(v.data, v.dtype, at, v.stride[2], columns, static_cast<float*>(out) + row * columns);
    } else {
      std::vector<double> line(static_cast<std::size_t>(columns));
      ops::load_row(v.data, v.dtype, at, v.stride[2], columns, line.data());
      ops::store_row(out, dtype, row * columns, 1, columns, line.data());
    }
  });
}

Operand dense_operand(const ops::TensorView& v, core::DType dtype, const std::string& role, report::Evidence& evidence,
                      const ops::RunOptions& run) {
  Operand o;
  o.view = v;
  if (v.dtype == dtype && is_dense_matrix(v)) {
    describe(o);
    return o;
  }
  const std::int64_t bytes = dense_operand_bytes(v, dtype);
  o.buffer = allocate(bytes);
  convert_dense(v, dtype, o.buffer.get(), run);
  o.view.data = o.buffer.get();
  o.view.dtype = dtype;
  o.view.offset = 0;
  o.view.stride[2] = 1;
  o.view.stride[1] = v.shape[2];
  o.view.stride[0] = v.stride[0] == 0 ? 0 : v.shape[1] * v.shape[2];
  describe(o);
  if (v.dtype != dtype) {
    evidence.conversions.push_back({"cast", fmt::format("{} from {} to {}", role, core::to_text(v.dtype), core::to_text(dtype)), bytes});
  } else {
    evidence.conversions.push_back({"copy", role + " to a dense matrix", bytes});
  }
  return o;
}

}  // namespace dd::backends
