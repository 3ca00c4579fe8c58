#include <algorithm>

#include "backends/tables.hpp"

namespace dd::backends::cpu_blas {

using namespace rules;
using facts::Id;

namespace {

const Source interface_of = {"C interface of OpenBLAS (cblas_sgemm, cblas_dgemm)", "0.3.21", "2026-11-29"};

// All in f32, or all in f64 (f64 arithmetic on f32 operands needs wider copies).
Condition operands_as_they_are() {
  return any({all({equals(Id::dtype, "f32"), equals(Id::dtype_w, "f32"), differs(Id::compute, "f64")}),
              all({equals(Id::dtype, "f64"), equals(Id::dtype_w, "f64")})});
}

// Up to 64 cubed the call itself is what counts, and a primitive of oneDNN costs more to set up than the product takes.
constexpr std::int64_t small_product = 64 * 64 * 64;
constexpr int before_onednn = 5, behind_onednn = 20;

}  // namespace

int rank_for(const spec::OpSpec& spec) {
  const spec::Gemm& g = spec.gemm();
  const bool plain = g.x.dtype == core::DType::f32 && g.w.dtype == core::DType::f32 && spec::out_dtype(g) == core::DType::f32 && g.epilogue == spec::Epilogue::none;
  const auto results = spec::element_count(spec::out_shape(g));
  const std::int64_t depth = g.x.shape.empty() ? 0 : g.x.shape.back();
  return plain && results && *results <= small_product && *results * std::min(depth, small_product + 1) <= small_product ? before_onednn : behind_onednn;
}

std::span<const Rule> rules() {
  static const std::vector<std::string> types = {"f64", "f32", "f16", "bf16"};
  static const std::vector<std::string> dense = {"row", "column"};
  static const Rule table[] = {
      {.id = "ENV001", .name = "openblas-unavailable", .title = "OpenBLAS could not be opened", .level = Level::blocks,
       .blame = Blame::build, .scope = "cpu-blas", .applies = always(), .requires_that = is_true(Id::blas_available),
       .effect = "passed over; the backends command tells what was tried",
       .fix = {"install OpenBLAS (libopenblas0), or name one with DD_OPENBLAS", Keeps::function, {Change::change_setting}},
       .source = interface_of, .blocked_example = "gemm --m 8 --n 8 --k 8", .passing_example = "gemm --m 8 --n 8 --k 8"},
      {.id = "CPU020", .name = "blas-dtype-unsupported", .title = "an operand is not f64, f32, f16 or bf16", .level = Level::blocks,
       .blame = Blame::library_version, .scope = "cpu-blas", .applies = is_false(Id::quantized),
       .requires_that = all({one_of(Id::dtype, types), one_of(Id::dtype_w, types)}),
       .effect = "passed over; a BLAS multiplies f32 and f64 only, and only 16-bit floats are cast for it here",
       .fix = {"cast the operands to f32", Keeps::function, {Change::cast_dtype}}, .source = interface_of,
       .blocked_example = "gemm --m 8 --n 8 --k 8 --dtype s8", .passing_example = "gemm --m 8 --n 8 --k 8 --dtype bf16"},
      {.id = "CPU021", .name = "blas-operands-cast", .title = "the operands are cast to a wider type first", .level = Level::slows,
       .blame = Blame::library_version, .scope = "cpu-blas", .applies = all({one_of(Id::dtype, types), one_of(Id::dtype_w, types)}),
       .requires_that = operands_as_they_are(),
       .effect = "wider copies of the operands are written and read; not the fast path of the type asked for",
       .fix = {"use f32 operands, or a library that multiplies this type", Keeps::function, {Change::cast_dtype}}, .source = interface_of,
       .blocked_example = "gemm --m 8 --n 8 --k 8 --dtype f16", .passing_example = "gemm --m 8 --n 8 --k 8 --dtype f32"},
      {.id = "CPU022", .name = "blas-result-cast", .title = "the result type differs from the type of the product",
       .level = Level::slows, .blame = Blame::spec, .scope = "cpu-blas", .applies = operands_as_they_are(),
       .requires_that = equals(Id::dtype_out, Id::dtype), .effect = "the product goes through a buffer and is converted afterwards",
       .fix = {"take the result in the type of the operands", Keeps::function, {Change::cast_dtype}}, .source = interface_of,
       .blocked_example = "gemm --m 8 --n 8 --k 8 --dtype f32 --out-dtype bf16",
       .passing_example = "gemm --m 8 --n 8 --k 8 --dtype f32 --out-dtype f32"},
      {.id = "CPU023", .name = "blas-strided-operand", .title = "an operand has no axis of unit stride", .level = Level::slows,
       .blame = Blame::spec, .scope = "cpu-blas", .applies = operands_as_they_are(),
       .requires_that = all({any({one_of(Id::x_layout, dense), at_most(Id::m, 1), at_most(Id::k, 1)}), any({one_of(Id::w_layout, dense), at_most(Id::k, 1), at_most(Id::n, 1)})}),
       .effect = "the operand is copied to a dense matrix before every product",
       .fix = {"make the operand contiguous once", Keeps::function, {Change::make_contiguous}}, .source = interface_of,
       .blocked_example = "gemm --x 8x8 --w 8x8 --x-strides 32x2", .passing_example = "gemm --x 8x8 --w 8x8 --trans-x"},
      {.id = "CPU025", .name = "blas-size-above-int", .title = "an extent does not fit a 32-bit integer", .level = Level::blocks,
       .blame = Blame::build, .scope = "cpu-blas", .applies = always(),
       .requires_that = all({at_most(Id::m, 2147483647), at_most(Id::n, 2147483647), at_most(Id::k, 2147483647)}),
       .effect = "passed over; sizes are passed as 32-bit integers",
       .fix = {"split the product into parts", Keeps::function, {Change::split_batch}}, .source = interface_of,
       .blocked_example = "gemm --m 2147483648 --n 1 --k 1", .passing_example = "gemm --m 4096 --n 1 --k 1"},
      {.id = "CPU026", .name = "blas-kernels-pinned-below-processor",
       .title = "an environment variable pins kernels that use less than the processor has", .level = Level::warns,
       .blame = Blame::setting, .scope = "cpu-blas", .applies = all({is_true(Id::blas_available), is_true(Id::blas_core_pinned), one_of(Id::cpu_isa, {"avx2", "avx512"})}),
       .requires_that = equals(Id::blas_core_isa, Id::cpu_isa),
       .effect = "products run with narrower vectors than the processor offers",
       .fix = {"unset OPENBLAS_CORETYPE, unless it is there because this OpenBLAS is older than the processor", Keeps::function,
               {Change::change_setting}},
       .source = {"kernel sets of OpenBLAS and OPENBLAS_CORETYPE", "0.3.21", "2026-11-29"},
       .blocked_example = "gemm --m 512 --n 512 --k 512", .passing_example = "gemm --m 512 --n 512 --k 512"},
      {.id = "CPU027", .name = "blas-kernels-below-processor", .title = "the library picked kernels that use less than the processor has",
       .level = Level::warns, .blame = Blame::library_version, .scope = "cpu-blas",
       .applies = all({is_true(Id::blas_available), is_false(Id::blas_core_pinned), one_of(Id::cpu_isa, {"avx2", "avx512"})}),
       .requires_that = equals(Id::blas_core_isa, Id::cpu_isa),
       .effect = "products run with narrower vectors than the processor offers",
       .fix = {"use an OpenBLAS that knows this processor and is built with DYNAMIC_ARCH", Keeps::function, {Change::change_version}},
       .source = {"kernel sets of OpenBLAS", "0.3.21", "2026-11-29"}, .blocked_example = "gemm --m 512 --n 512 --k 512",
       .passing_example = "gemm --m 512 --n 512 --k 512"},
      {.id = "CPU028", .name = "blas-epilogue-separate", .title = "bias and activation run as a separate pass", .level = Level::informs,
       .blame = Blame::library_version, .scope = "cpu-blas", .applies = always(), .requires_that = equals(Id::epilogue, "none"),
       .effect = "the result is read and written once more", .fix = {"use a library with fused epilogues", Keeps::function, {}},
       .source = interface_of, .blocked_example = "gemm --m 8 --n 8 --k 8 --epilogue relu",
       .passing_example = "gemm --m 8 --n 8 --k 8 --epilogue none"},
      {.id = "CPU029", .name = "blas-quantized-weights", .title = "the weights are quantized", .level = Level::blocks, .blame = Blame::spec,
       .scope = "cpu-blas", .applies = always(), .requires_that = is_false(Id::quantized),
       .effect = "passed over; a BLAS does not read codes and scales",
       .fix = {"use cpu-packed, or dequantize the weights once", Keeps::function, {}}, .source = interface_of,
       .blocked_example = "gemm --m 1 --n 64 --k 64 --quant w8a16", .passing_example = "gemm --m 1 --n 64 --k 64"},
      {.id = "CPU030", .name = "blas-not-eager", .title = "the mode is not eager", .level = Level::blocks, .blame = Blame::spec,
       .scope = "cpu-blas", .applies = always(), .requires_that = equals(Id::mode, "eager"),
       .effect = "passed over; nothing is compiled or captured on the processor",
       .fix = {"use --mode eager", Keeps::function, {Change::change_setting}}, .source = interface_of,
       .blocked_example = "gemm --m 8 --n 8 --k 8 --mode captured", .passing_example = "gemm --m 8 --n 8 --k 8 --mode eager"},
  };
  return table;
}

}  // namespace dd::backends::cpu_blas
