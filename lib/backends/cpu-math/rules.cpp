#include "backends/tables.hpp"

namespace dd::backends::cpu_math {

using namespace rules;
using facts::Id;

std::span<const Rule> rules() {
  static const std::vector<std::string> types = {"f64", "f32", "f16", "bf16", "f8_e4m3", "f8_e5m2"};
  static const Source code = {"decomposed attention of this tool", "0.1", "2026-11-29"};
  static const Rule table[] = {
      {.id = "MTH001", .name = "math-dtype-unsupported", .title = "an element type of q, k or v is not a float type",
       .level = Level::blocks, .blame = Blame::spec, .scope = "cpu-math", .applies = always(),
       .requires_that = all({one_of(Id::dtype, types), one_of(Id::dtype_k, types), one_of(Id::dtype_v, types)}),
       .effect = "passed over; integer codes without scales are no attention inputs",
       .fix = {"dequantize q, k and v to a float type", Keeps::function, {Change::cast_dtype}}, .source = code,
       .blocked_example = "sdpa --q 1x2x64x32 --dtype s8", .passing_example = "sdpa --q 1x2x64x32 --dtype f64"},
      {.id = "MTH002", .name = "math-scores-exceed-memory", .title = "the score matrix does not fit into memory",
       .level = Level::blocks, .blame = Blame::hardware, .scope = "cpu-math", .applies = always(),
       .requires_that = at_most(Id::score_bytes, Id::memory_available),
       .effect = "passed over; the scores of all heads are held at once",
       .fix = {"split the batch or the heads into several calls", Keeps::function, {Change::split_batch}}, .source = code,
       .blocked_example = "sdpa --q 64x64x131072x8 --dtype f16", .passing_example = "sdpa --q 1x2x64x32"},
      {.id = "MTH003", .name = "math-scores-materialised", .title = "the score matrix is larger than 1 MiB and is written out",
       .level = Level::slows, .blame = Blame::heuristic, .scope = "cpu-math", .applies = always(),
       .requires_that = at_most(Id::score_bytes, 1 << 20),
       .effect = "time and memory grow with query length times key length, and the scores leave the cache",
       .fix = {"clear what keeps the call off cpu-flash", Keeps::function, {}}, .source = code,
       .blocked_example = "sdpa --q 1x8x2048x64", .passing_example = "sdpa --q 1x2x64x32"},
      {.id = "MTH004", .name = "math-inputs-cast", .title = "q, k and v are cast to f32 first", .level = Level::slows,
       .blame = Blame::spec, .scope = "cpu-math", .applies = always(),
       .requires_that = any({all({equals(Id::dtype, "f32"), equals(Id::dtype_k, "f32"), equals(Id::dtype_v, "f32")}),
                             all({equals(Id::dtype, "f64"), equals(Id::dtype_k, "f64"), equals(Id::dtype_v, "f64")})}),
       .effect = "a copy of every input in the wider type is written and read",
       .fix = {"pass f32 inputs", Keeps::function, {Change::cast_dtype}}, .source = code,
       .blocked_example = "sdpa --q 1x8x256x64 --dtype f16", .passing_example = "sdpa --q 1x8x256x64 --dtype f32"},
      {.id = "MTH005", .name = "math-without-blas", .title = "no BLAS library could be opened", .level = Level::slows,
       .blame = Blame::build, .scope = "cpu-math", .applies = always(), .requires_that = is_true(Id::blas_available),
       .effect = "the products run on this tool's own loops",
       .fix = {"install OpenBLAS, or name one with DD_OPENBLAS", Keeps::function, {Change::change_setting}}, .source = code,
       .blocked_example = "sdpa --q 1x2x64x32", .passing_example = "sdpa --q 1x2x64x32"},
      {.id = "MTH006", .name = "math-forward-only", .title = "gradients are needed and only the forward pass is run here",
       .level = Level::informs, .blame = Blame::build, .scope = "cpu-math", .applies = always(),
       .requires_that = is_false(Id::requires_grad),
       .effect = "the stored weights are what a backward pass needs, but the comparison covers the forward pass alone",
       .fix = {"judge gradients in the framework that computes them", Keeps::function, {}}, .source = code,
       .blocked_example = "sdpa --q 1x8x256x64 --train", .passing_example = "sdpa --q 1x8x256x64"},
      {.id = "MTH007", .name = "math-not-eager", .title = "the mode is not eager", .level = Level::blocks, .blame = Blame::spec,
       .scope = "cpu-math", .applies = always(), .requires_that = equals(Id::mode, "eager"),
       .effect = "passed over; nothing is compiled or captured on the processor",
       .fix = {"use --mode eager", Keeps::function, {Change::change_setting}}, .source = code,
       .blocked_example = "sdpa --q 1x8x256x64 --mode compiled", .passing_example = "sdpa --q 1x8x256x64 --mode eager"},
  };
  return table;
}

}  // namespace dd::backends::cpu_math
