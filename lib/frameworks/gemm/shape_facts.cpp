#include <bit>

#include "frameworks/gemm/facts.hpp"
#include "frameworks/gemm/set.hpp"

namespace dd::frameworks::gemm {
namespace {

using spec::Dims;

// The last two axes of a tensor as a matrix; a vector counts as one row (x) or one column (w).
struct Matrix {
  std::int64_t rows = 1, columns = 1, row_stride = 1, column_stride = 1;
};

Matrix matrix_of(const spec::TensorSpec& t, bool vector_is_row) {
  const Dims strides = spec::strides_of(t);
  const std::size_t rank = t.shape.size();
  Matrix m;
  if (rank == 0) return m;
  if (rank == 1) {
    if (vector_is_row) return {1, t.shape[0], t.shape[0], strides[0]};
    return {t.shape[0], 1, strides[0], 1};
  }
  return {t.shape[rank - 2], t.shape[rank - 1], strides[rank - 2], strides[rank - 1]};
}

std::int64_t leading_product(const Dims& shape, std::size_t axes_left) {
  std::int64_t out = 1;
  for (std::size_t i = 0; i + axes_left < shape.size(); ++i) out = times(out, shape[i]);
  return out;
}

// Each leading axis steps over exactly the one behind it. Strides of size-1 axes count, as they do in PyTorch 2.6.
bool leading_axes_follow(const spec::TensorSpec& t) {
  const Dims strides = spec::strides_of(t);
  for (std::size_t i = 0; i + 2 < t.shape.size(); ++i)
    if (strides[i] != times(strides[i + 1], t.shape[i + 1])) return false;
  return true;
}

// Two or more batch axes, of which an operand repeats some but not all.
bool broadcasts_partly(const Dims& x, const Dims& w) {
  const std::size_t xb = x.size() > 2 ? x.size() - 2 : 0, wb = w.size() > 2 ? w.size() - 2 : 0;
  const std::size_t axes = std::max(xb, wb);
  if (axes < 2 || xb == 0 || wb == 0) return false;
  int repeated_x = 0, repeated_w = 0, kept = 0;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t a = i < axes - xb ? 1 : x[i - (axes - xb)];
    const std::int64_t b = i < axes - wb ? 1 : w[i - (axes - wb)];
    if (a == b) {
      kept += a > 1;
    } else {
      (a == 1 ? repeated_x : repeated_w) += 1;
    }
  }
  const bool partly_x = repeated_x > 0 && (repeated_w > 0 || kept > 0);
  const bool partly_w = repeated_w > 0 && (repeated_x > 0 || kept > 0);
  return partly_x || partly_w;
}

std::int64_t alignment(const spec::TensorSpec& t, int bits) {
  const std::int64_t bytes = times(t.offset, bits) / 8;
  if (bytes <= 0) return 256;
  return std::min<std::int64_t>(256, std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(bytes)));
}

bool is_contiguous(const spec::TensorSpec& t) {
  const Dims strides = spec::strides_of(t), wanted = spec::contiguous_strides(t.shape);
  for (std::size_t i = 0; i < t.shape.size(); ++i)
    if (t.shape[i] != 1 && strides[i] != wanted[i]) return false;
  return true;
}

void add_types(const spec::OpSpec& spec, facts::FactSet& f) {
  const spec::Gemm& g = spec.gemm();
  const auto name = [](core::DType d) { return std::string(core::to_text(d)); };
  set_new(f, Id::dtype, name(g.x.dtype), Provenance::spec, "x.dtype");
  set_new(f, Id::dtype_w, name(g.w.dtype), Provenance::spec, "w.dtype");
  const bool integers = g.x.dtype == core::DType::s8 || g.x.dtype == core::DType::u8;
  set_new(f, Id::dtype_out, name(g.out_dtype.value_or(integers ? core::DType::s32 : g.x.dtype)), Provenance::spec, "out_dtype");
  if (g.bias) set_new(f, Id::dtype_bias, name(g.bias->dtype), Provenance::spec, "bias.dtype");
  set_new(f, Id::dtype_bias, facts::NotApplicable{});
}

void add_bias(const spec::OpSpec& spec, facts::FactSet& f) {
  const spec::Gemm& g = spec.gemm();
  set_new(f, Id::has_bias, g.bias.has_value(), Provenance::spec, "bias");
  if (!g.bias) {
    for (const Id id : {Id::bias_rank, Id::bias_contiguous, Id::bias_align_bytes}) set_new(f, id, facts::NotApplicable{});
    return;
  }
  set_new(f, Id::bias_rank, static_cast<std::int64_t>(g.bias->shape.size()), Provenance::spec, "bias.shape");
  set_new(f, Id::bias_contiguous, is_contiguous(*g.bias));
  set_new(f, Id::bias_align_bytes, alignment(*g.bias, core::info(g.bias->dtype).bits), Provenance::derived, "bias.offset");
}

void add_layouts(const spec::OpSpec& spec, facts::FactSet& f) {
  const spec::Gemm& g = spec.gemm();
  const Matrix x = matrix_of(g.x, true), w = matrix_of(g.w, false);
  f.set(Id::x_layout, blas_layout(x.rows, x.columns, x.row_stride, x.column_stride), Provenance::derived, "x.strides");
  f.set(Id::w_layout, blas_layout(w.rows, w.columns, w.row_stride, w.column_stride), Provenance::derived, "w.strides");
  std::string out = "row";
  if (g.out.strides && g.out.strides->size() >= 2) {
    const Dims& s = *g.out.strides;
    out = blas_layout(x.rows, w.columns, s[s.size() - 2], s[s.size() - 1]);
  }
  set_new(f, Id::out_layout, out, Provenance::derived, "out.strides");
  set_new(f, Id::x_contiguous, is_contiguous(g.x), Provenance::derived, "x.strides");
  const spec::TensorSpec& larger = g.x.shape.size() >= g.w.shape.size() ? g.x : g.w;
  set_new(f, Id::leading_contiguous, leading_axes_follow(larger), Provenance::derived, "strides");
  set_new(f, Id::partial_broadcast, broadcasts_partly(g.x.shape, g.w.shape), Provenance::derived, "shapes");
}

}  // namespace

std::string blas_layout(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride) {
  // A matrix with an axis of size 1 is dense whatever that axis' stride says.
  if (rows <= 1 && (columns <= 1 || column_stride == 1)) return "row";
  if (columns <= 1 && row_stride == 1) return "row";
  if (column_stride == 1 && row_stride >= std::max<std::int64_t>(1, columns)) return "row";
  if (row_stride == 1 && column_stride >= std::max<std::int64_t>(1, rows)) return "column";
  return "strided";
}

void add_shape_facts(const spec::OpSpec& spec, facts::FactSet& f) {
  const spec::Gemm& g = spec.gemm();
  const Matrix x = matrix_of(g.x, true), w = matrix_of(g.w, false);
  add_types(spec, f);
  set_new(f, Id::x_rank, static_cast<std::int64_t>(g.x.shape.size()), Provenance::spec, "x.shape");
  set_new(f, Id::w_rank, static_cast<std::int64_t>(g.w.shape.size()), Provenance::spec, "w.shape");
  set_new(f, Id::m, x.rows, Provenance::spec, "x.shape");
  set_new(f, Id::n, w.columns, Provenance::spec, "w.shape");
  set_new(f, Id::k, x.columns, Provenance::spec, "x.shape");
  const bool folded = g.w.shape.size() <= 2;
  // With one weight for all, the leading axes of x are rows of one product; else every batch has its own.
  const std::int64_t rows = g.x.shape.size() <= 1 ? 1 : folded ? leading_product(g.x.shape, 1) : x.rows;
  set_new(f, Id::rows, rows, Provenance::derived, "x.shape");
  f.set(Id::gemm_batch, folded ? std::int64_t{1} : std::max(leading_product(g.x.shape, 2), leading_product(g.w.shape, 2)), Provenance::derived, "shapes");
  set_new(f, Id::x_batch_rank, static_cast<std::int64_t>(g.x.shape.size() > 2 ? g.x.shape.size() - 2 : 0));
  const std::int64_t m = integer_or(f, Id::m, 1), n = integer_or(f, Id::n, 1), k = integer_or(f, Id::k, 1);
  set_new(f, Id::product_size, times(times(m, n), k));
  set_new(f, Id::largest_extent, std::max({rows, n, k}));
  set_new(f, Id::weight_elements, times(n, k));
  set_new(f, Id::x_row_bytes, times(k, bits_of_type(text(f, Id::dtype))) / 8);
  set_new(f, Id::w_row_bytes, times(n, bits_of_type(text(f, Id::dtype_w))) / 8);
  set_new(f, Id::x_align_bytes, alignment(g.x, core::info(g.x.dtype).bits), Provenance::derived, "x.offset");
  set_new(f, Id::w_align_bytes, alignment(g.w, core::info(g.w.dtype).bits), Provenance::derived, "w.offset");
  if (const auto at = integer(f, Id::w_file_offset_bytes); at && core::info(g.w.dtype).bits >= 8)
    set_new(f, Id::w_file_rest, *at % (core::info(g.w.dtype).bits / 8), Provenance::derived, "w_file_offset_bytes");
  add_bias(spec, f);
  add_layouts(spec, f);
  set_new(f, Id::requires_grad, g.requires_grad, Provenance::spec, "requires_grad");
  set_new(f, Id::x_requires_grad, g.requires_grad, Provenance::spec, "requires_grad");
  set_new(f, Id::w_requires_grad, g.requires_grad, Provenance::spec, "requires_grad");
  set_new(f, Id::call, std::string(g.bias ? "linear" : "matmul"), Provenance::assumed);
}

}  // namespace dd::frameworks::gemm
