// Where a dense product goes: straight into the output where its type and layout allow it, else into a buffer that is
// cast or copied afterwards (a conversion, with bytes). Bias and activation that the library did not fuse run here.
#pragma once
#include <cstdint>
#include <memory>

#include "ops/gemm/gemm.hpp"
#include "report/report.hpp"

namespace dd::backends {

struct ProductBuffer {
  std::shared_ptr<std::byte> buffer;  // null: the product is written into the output itself
  core::DType dtype = core::DType::f32;
  std::int64_t leading = 1, matrix_step = 0;  // elements
  std::byte* base = nullptr;
  void* matrix(std::int64_t batch) const { return base + core::bytes_of(dtype, batch * matrix_step); }
};

// Bytes that product_buffer would allocate.
std::int64_t product_buffer_bytes(const ops::TensorView& out, core::DType dtype);
ProductBuffer product_buffer(const ops::TensorView& out, core::DType dtype, report::Evidence& evidence);
// Adds the bias and applies the activation of `problem` (those that are still due), then writes `out`.
void finish_product(const ops::GemmProblem& problem, const ProductBuffer& product, const ops::TensorView& out, bool bias_due,
                    bool activation_due, const ops::RunOptions& run);

}  // namespace dd::backends
