#include "backends/tables.hpp"

namespace dd::backends::cpu_flash {

using namespace rules;
using facts::Id;

std::span<const Rule> rules() {
  static const std::vector<std::string> types = {"f32", "f16", "bf16"};
  static const Source kernel = {"flash kernel of this tool", "0.1", "2026-11-29"};
  static const Rule table[] = {
      {.id = "FLA001", .name = "flash-dtype-unsupported", .title = "an element type of q, k or v is not f32, f16 or bf16",
       .level = Level::blocks, .blame = Blame::spec, .scope = "cpu-flash", .applies = always(),
       .requires_that = all({one_of(Id::dtype, types), one_of(Id::dtype_k, types), one_of(Id::dtype_v, types)}),
       .effect = "passed over; the kernel works in f32 and would lose digits of f64, and it has no loader for narrower types",
       .fix = {"cast q, k and v to f32, f16 or bf16", Keeps::precision, {Change::cast_dtype}}, .source = kernel,
       .blocked_example = "sdpa --q 1x8x256x64 --dtype f64", .passing_example = "sdpa --q 1x8x256x64 --dtype bf16"},
      {.id = "FLA002", .name = "flash-head-dim-too-large", .title = "the head size is above 512", .level = Level::blocks,
       .blame = Blame::spec, .scope = "cpu-flash", .applies = always(), .requires_that = at_most(Id::head_dim, 512),
       .effect = "passed over; a block of queries of that width does not fit into the kernel's tile",
       .fix = {"split the head, or accept cpu-math", Keeps::meaning, {}}, .source = kernel,
       .blocked_example = "sdpa --q 1x2x64x576", .passing_example = "sdpa --q 1x2x64x512"},
      {.id = "FLA003", .name = "flash-value-dim-too-large", .title = "the head size of v is above 512", .level = Level::blocks,
       .blame = Blame::spec, .scope = "cpu-flash", .applies = always(), .requires_that = at_most(Id::head_dim_v, 512),
       .effect = "passed over; the running sums of that width do not fit into the kernel's tile",
       .fix = {"split v along its last axis into parts of at most 512 and concatenate the outputs", Keeps::function, {}},
       .source = kernel, .blocked_example = "sdpa --b 1 --h 2 --sq 64 --d 64 --dv 640",
       .passing_example = "sdpa --b 1 --h 2 --sq 64 --d 64 --dv 512"},
      {.id = "FLA004", .name = "flash-no-backward", .title = "gradients are needed and the kernel keeps nothing for them",
       .level = Level::blocks, .blame = Blame::build, .scope = "cpu-flash", .applies = always(),
       .requires_that = is_false(Id::requires_grad),
       .effect = "passed over; the softmax statistics that a backward pass reads are not stored",
       .fix = {"run inference without gradients", Keeps::meaning, {Change::disable_grad}}, .source = kernel,
       .blocked_example = "sdpa --q 1x8x256x64 --train", .passing_example = "sdpa --q 1x8x256x64"},
      {.id = "FLA005", .name = "flash-not-eager", .title = "the mode is not eager", .level = Level::blocks, .blame = Blame::spec,
       .scope = "cpu-flash", .applies = always(), .requires_that = equals(Id::mode, "eager"),
       .effect = "passed over; nothing is compiled or captured on the processor",
       .fix = {"use --mode eager", Keeps::function, {Change::change_setting}}, .source = kernel,
       .blocked_example = "sdpa --q 1x8x256x64 --mode captured", .passing_example = "sdpa --q 1x8x256x64 --mode eager"},
      {.id = "FLA006", .name = "flash-strided-rows", .title = "the last axis of q, k or v is not of unit stride",
       .level = Level::slows, .blame = Blame::spec, .scope = "cpu-flash", .applies = always(),
       .requires_that = all({any({equals(Id::q_last_stride, 1), at_most(Id::head_dim, 1)}), any({equals(Id::k_last_stride, 1), at_most(Id::head_dim, 1)}),
                             any({equals(Id::v_last_stride, 1), at_most(Id::head_dim_v, 1)})}),
       .effect = "elements are gathered one by one while tiles are packed",
       .fix = {"make q, k and v contiguous along the head size", Keeps::function, {Change::make_contiguous}}, .source = kernel,
       .blocked_example = "sdpa --q 1x2x64x32 --q-strides 4096x2048x1x64", .passing_example = "sdpa --q 1x2x64x32 --layout bshd"},
  };
  return table;
}

}  // namespace dd::backends::cpu_flash
