#include <algorithm>

#include "spec/spec.hpp"

namespace dd::spec {

Dims contiguous_strides(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    const std::int64_t extent = std::max<std::int64_t>(shape[i], 1);
    // Saturates: a shape this large is refused by validation, which must be able to ask.
    if (__builtin_mul_overflow(strides[i], extent, &strides[i - 1])) strides[i - 1] = INT64_MAX;
  }
  return strides;
}

Dims strides_of(const TensorSpec& tensor) { return tensor.strides ? *tensor.strides : contiguous_strides(tensor.shape); }

std::optional<std::int64_t> element_count(const Dims& shape) {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  }
  return count;
}

std::optional<std::int64_t> storage_span(const Dims& shape, const Dims& strides, std::int64_t offset) {
  if (shape.size() != strides.size() || offset < 0) return std::nullopt;
  std::int64_t last = offset;
  bool empty = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0 || strides[i] < 0) return std::nullopt;
    empty = empty || shape[i] == 0;
    if (shape[i] <= 1) continue;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach)) return std::nullopt;
    if (__builtin_add_overflow(last, reach, &last)) return std::nullopt;
  }
  if (empty) return 0;
  if (__builtin_add_overflow(last, std::int64_t{1}, &last)) return std::nullopt;
  return last;
}

AttentionDims attention_dims(const Dims& shape) {
  const std::size_t rank = shape.size();
  if (rank < 2) return {};
  AttentionDims out;
  out.size = shape[rank - 1];
  out.length = shape[rank - 2];
  out.heads = rank >= 4 ? shape[rank - 3] : 1;
  out.batch = rank >= 3 ? shape[0] : 1;
  // Recorded calls and case files may have further axes in front; they count as batch.
  for (std::size_t i = 1; i + 3 < rank; ++i)
    if (__builtin_mul_overflow(out.batch, shape[i], &out.batch)) out.batch = INT64_MAX;
  return out;
}

Dims out_shape(const Attention& attention) {
  Dims shape = attention.q.shape;
  if (!shape.empty() && !attention.v.shape.empty()) shape.back() = attention.v.shape.back();
  return shape;
}

Dims out_shape(const Gemm& gemm) {
  const Dims &x = gemm.x.shape, &w = gemm.w.shape;
  if (x.size() < 2 || w.size() < 2) return {};
  const std::size_t batch_rank = std::max(x.size(), w.size()) - 2;
  Dims shape(batch_rank + 2, 1);
  for (std::size_t i = 0; i < batch_rank; ++i) {
    const auto extent = [&](const Dims& of) -> std::int64_t {
      const std::size_t own = of.size() - 2, missing = batch_rank - own;
      return i < missing ? 1 : of[i - missing];
    };
    const std::int64_t a = extent(x), b = extent(w);
    shape[i] = a == 1 ? b : a;
  }
  shape[batch_rank] = x[x.size() - 2];
  shape[batch_rank + 1] = w[w.size() - 1];
  return shape;
}

DType out_dtype(const Gemm& gemm) {
  if (gemm.out_dtype) return *gemm.out_dtype;
  if (core::is_float(gemm.x.dtype)) return gemm.x.dtype;
  if (!gemm.quant) return DType::s32;
  return gemm.quant->scale_dtype == DType::f8_e8m0 ? DType::bf16 : gemm.quant->scale_dtype;
}

Compute compute_of(const Gemm& gemm, const Flags& flags) {
  if (gemm.compute) return *gemm.compute;
  if (gemm.x.dtype == DType::f64) return Compute::f64;
  if (!core::is_float(gemm.x.dtype)) return Compute::s32;
  return gemm.x.dtype == DType::f32 && flags.tf32 ? Compute::tf32 : Compute::f32;
}

}  // namespace dd::spec
