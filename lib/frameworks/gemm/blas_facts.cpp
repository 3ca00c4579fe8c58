#include "frameworks/gemm/facts.hpp"
#include "frameworks/gemm/set.hpp"

namespace dd::frameworks::gemm {
namespace {

// Stride that BLAS gets as leading dimension. A copy is made of what it cannot use, so that case is dense.
std::int64_t leading_dimension(const spec::TensorSpec& t, const std::string& layout, std::int64_t rows, std::int64_t columns) {
  if (t.shape.size() < 2 || layout == "strided") return std::max<std::int64_t>(1, columns);
  const spec::Dims strides = spec::strides_of(t);
  const std::size_t rank = t.shape.size();
  const std::int64_t extent = layout == "row" ? columns : rows;
  const std::int64_t across = layout == "row" ? t.shape[rank - 2] : t.shape[rank - 1];
  const std::int64_t stride = layout == "row" ? strides[rank - 2] : strides[rank - 1];
  return across == 1 ? std::max(stride, std::max<std::int64_t>(1, extent)) : stride;
}

std::string compute_type(const spec::OpSpec& spec, const facts::FactSet& f) {
  const spec::Gemm& g = spec.gemm();
  if (g.compute) {
    switch (*g.compute) {
      case spec::Compute::f32: return "32F";
      case spec::Compute::tf32: return "32F_FAST_TF32";
      case spec::Compute::f16: return "16F";
      case spec::Compute::s32: return "32I";
      case spec::Compute::f64: return "64F";
    }
  }
  const std::string type = text(f, Id::dtype_w);
  if (type == "f64" || type == "c64") return "64F";
  if (type == "s8" || type == "u8") return text(f, Id::dtype_out) == "f32" ? "32F" : "32I";
  if (type == "f32" && spec.flags.tf32) return "32F_FAST_TF32";
  return "32F";
}

std::string epilogue_of(const spec::Gemm& g) {
  switch (g.epilogue) {
    case spec::Epilogue::relu: return "RELU";
    case spec::Epilogue::gelu: return "GELU";
    case spec::Epilogue::bias_relu: return "RELU_BIAS";
    case spec::Epilogue::bias_gelu: return "GELU_BIAS";
    case spec::Epilogue::bias: return "BIAS";
    case spec::Epilogue::none: break;
  }
  return g.bias ? "BIAS" : "DEFAULT";
}

std::optional<std::string> scale_mode(const facts::FactSet& f) {
  const std::string recipe = text(f, Id::scale_recipe);
  static constexpr std::pair<std::string_view, std::string_view> modes[] = {
      {"tensorwise", "SCALAR_32F"}, {"rowwise", "OUTER_VEC_32F"}, {"1x128", "VEC128_32F"}, {"128x128", "BLK128x128_32F"}, {"mxfp8", "VEC32_UE8M0"}, {"nvfp4", "VEC16_UE4M3"}};
  for (const auto& [name, mode] : modes)
    if (recipe == name) return std::string(mode);
  const std::string w = text(f, Id::dtype_w), x = text(f, Id::dtype);
  if (w.starts_with("f8_") || x.starts_with("f8_")) return "SCALAR_32F";
  if (w == "f4_e2m1") return "VEC16_UE4M3";
  return std::nullopt;
}

// Fewer tiles of 128 by 128 than multiprocessors, and a reduction long enough to be worth splitting.
void add_tiles(facts::FactSet& f, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t tiles = times(times((m + 127) / 128, (n + 127) / 128), integer_or(f, Id::gemm_batch, 1));
  const auto sms = integer(f, Id::sm_count);
  if (k < 8192 || tiles >= sms.value_or(264)) set_new(f, Id::few_tiles_long_k, false);
  else if (tiles < sms.value_or(16)) set_new(f, Id::few_tiles_long_k, true);
}

}  // namespace

int bits_of_type(std::string_view name) {
  if (const auto d = core::from_text<core::DType>(name)) return core::info(*d).bits;
  if (name == "c64") return 128;
  if (name == "c32" || name == "s64") return 64;
  if (name == "s16") return 16;
  return 0;
}

void add_blas_facts(const spec::OpSpec& spec, facts::FactSet& f) {
  const spec::Gemm& g = spec.gemm();
  const std::int64_t m = integer_or(f, Id::n, 1), n = integer_or(f, Id::rows, 1), k = integer_or(f, Id::k, 1);
  const std::string w_layout = text(f, Id::w_layout), x_layout = text(f, Id::x_layout);
  set_new(f, Id::blas_m, m);
  set_new(f, Id::blas_n, n);
  set_new(f, Id::op_a, std::string(w_layout == "column" ? "T" : "N"), Provenance::derived, "w.strides");
  set_new(f, Id::op_b, std::string(x_layout == "column" ? "T" : "N"), Provenance::derived, "x.strides");
  const bool a_plain = text(f, Id::op_a) == "N", b_plain = text(f, Id::op_b) == "N";
  f.set(Id::blas_form, text(f, Id::op_a) + text(f, Id::op_b));
  set_new(f, Id::a_rows, a_plain ? m : k);
  set_new(f, Id::b_rows, b_plain ? k : n);
  set_new(f, Id::lda, leading_dimension(g.w, w_layout, k, m), Provenance::derived, "w.strides");
  set_new(f, Id::ldb, leading_dimension(g.x, x_layout, n, k), Provenance::derived, "x.strides");
  const bool out_given = g.out.strides && g.out.strides->size() >= 2 && text(f, Id::out_layout) == "row";
  set_new(f, Id::ldc, out_given ? (*g.out.strides)[g.out.strides->size() - 2] : m, Provenance::derived, "out.strides");
  const int a_bits = bits_of_type(text(f, Id::dtype_w)), b_bits = bits_of_type(text(f, Id::dtype)), c_bits = bits_of_type(text(f, Id::dtype_out));
  const auto bytes = [&](Id to, Id from, int bits) { set_new(f, to, times(integer_or(f, from, 0), bits) / 8); };
  bytes(Id::a_extent_bytes, Id::a_rows, a_bits);
  bytes(Id::b_extent_bytes, Id::b_rows, b_bits);
  bytes(Id::c_extent_bytes, Id::blas_m, c_bits);
  bytes(Id::lda_bytes, Id::lda, a_bits);
  bytes(Id::ldb_bytes, Id::ldb, b_bits);
  bytes(Id::ldc_bytes, Id::ldc, c_bits);
  set_new(f, Id::sliced_ld, integer_or(f, Id::lda, 0) > integer_or(f, Id::a_rows, 0) || integer_or(f, Id::ldb, 0) > integer_or(f, Id::b_rows, 0));
  set_new(f, Id::out_align_bytes, std::int64_t{256}, Provenance::assumed);
  set_new(f, Id::compute_type, compute_type(spec, f), g.compute ? Provenance::spec : Provenance::assumed, "compute");
  const bool integers = text(f, Id::compute_type).starts_with("32I");
  set_new(f, Id::scale_type, std::string(integers && text(f, Id::dtype_out) == "s32" ? "32I" : "32F"), Provenance::assumed);
  set_new(f, Id::lt_epilogue, epilogue_of(g), Provenance::derived, "epilogue");
  if (const auto mode = scale_mode(f)) set_new(f, Id::scale_mode, *mode, Provenance::assumed);
  if (g.workspace) set_new(f, Id::workspace_bytes, *g.workspace, Provenance::spec, "workspace");
  add_tiles(f, m, n, k);
}

}  // namespace dd::frameworks::gemm
