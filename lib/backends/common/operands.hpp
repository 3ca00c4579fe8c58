// Operands as a BLAS takes them: dense matrices of one type, rows or columns of unit stride. What is not so is copied or
// cast, and each such copy is written down as a conversion with its bytes: no hidden work.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "ops/tensor/parallel.hpp"
#include "ops/tensor/view.hpp"
#include "report/report.hpp"

namespace dd::backends {

// 64-byte aligned, uninitialised; throws std::bad_alloc, which run_guarded turns into an outcome.
std::shared_ptr<std::byte> allocate(std::int64_t bytes);

struct Operand {
  ops::TensorView view;               // rank 3: batch (stride 0 where one matrix serves all), rows, columns
  std::shared_ptr<std::byte> buffer;  // owns a copy, when one was made
  bool transposed = false;            // columns are of unit stride instead of rows
  std::int64_t leading = 1;           // leading dimension in elements
  const void* matrix(std::int64_t batch) const;
};

// Whether each matrix has unit stride along one axis and rows (columns) that do not overlap along the other.
bool is_dense_matrix(const ops::TensorView& view);
// `role` names the tensor in the conversion. Casts to `dtype`, copies when not dense.
Operand dense_operand(const ops::TensorView& view, core::DType dtype, const std::string& role, report::Evidence& evidence,
                      const ops::RunOptions& run);
// Bytes that dense_operand would allocate.
std::int64_t dense_operand_bytes(const ops::TensorView& view, core::DType dtype);
// Copies a view into a dense row-major buffer of another type; one matrix when the batch stride is 0.
void convert_dense(const ops::TensorView& view, core::DType dtype, void* out, const ops::RunOptions& run);

}  // namespace dd::backends
