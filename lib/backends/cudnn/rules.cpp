// What cuDNN's fused attention takes, release by release. Read from the support checks of cudnn-frontend 1.32 (which name
// the releases), and held against what cuDNN 9.19 answers about devices given as properties.
#include "backends/tables.hpp"

namespace dd::backends::cudnn_attention {

using namespace rules;
using facts::Id;

namespace {

constexpr std::string_view checked = "2026-11-29";
const Source frontend = {"cudnn-frontend, support checks of its attention node", "1.32.0", checked};
const Source asked = {"answers of cuDNN about devices given as properties", "9.19.0", checked};
const Source own = {"the graph that this tool builds", "0.1", checked};

Condition of_generation(int major) { return between(Id::compute_capability, 10 * major, 10 * major + 9); }
Condition until(const char* version) { return version_in(Id::cudnn_version, "", version); }
Condition sizes_at_most(int limit) { return all({at_most(Id::head_dim, limit), at_most(Id::head_dim_v, limit)}); }
Condition bottom_right() { return all({is_true(Id::is_causal), equals(Id::causal_align, "bottom-right")}); }
Condition half() { return one_of(Id::dtype, std::vector<std::string>{"f16", "bf16"}); }

// Rows about the call: q, k, v, mask.
Rule call(std::string_view id, std::string_view name, std::string_view title, Condition applies, Condition needs, std::string_view effect, Fix fix,
          Source source, std::string_view blocked, std::string_view passing) {
  return {.id = id, .name = name, .title = title, .level = Level::blocks, .blame = Blame::spec, .scope = "cudnn", .applies = std::move(applies),
          .requires_that = std::move(needs), .effect = effect, .fix = std::move(fix), .source = source, .blocked_example = blocked, .passing_example = passing};
}
// Rows about what a release does not have yet.
Rule release(std::string_view id, std::string_view name, std::string_view title, Condition applies, Condition needs, std::string_view effect, Fix fix,
             std::string_view blocked, std::string_view passing) {
  Rule out = call(id, name, title, std::move(applies), std::move(needs), effect, std::move(fix), frontend, blocked, passing);
  out.blame = Blame::library_version;
  return out;
}
Rule hardware(std::string_view id, std::string_view name, std::string_view title, Condition applies, Condition needs, std::string_view effect, Fix fix,
              Source source, std::string_view blocked, std::string_view passing) {
  Rule out = call(id, name, title, std::move(applies), std::move(needs), effect, std::move(fix), source, blocked, passing);
  out.blame = Blame::hardware;
  return out;
}

constexpr std::string_view over = "passed over; no engine of cuDNN takes it";
const Fix newer = {"use cuDNN 9.10.2 or newer", Keeps::function, {Change::change_version}};
const Fix padded = {"pad q, k and v with zeros to a multiple of 8, keep the scale of the true head size, slice the output", Keeps::function, {Change::pad_head_dim}};
const Fix contiguous = {"make q, k and v contiguous", Keeps::function, {Change::make_contiguous}};

const std::vector<Rule>& table() {
  static const std::vector<Rule> rows = {
      hardware("CUD001", "cudnn-gpu-before-ampere", "the GPU is older than compute capability 8.0", always(), at_least(Id::compute_capability, 80),
               "passed over; every attention engine needs Ampere or newer", {"use cuda-naive, or another GPU", Keeps::function, {}}, frontend,
               "sdpa --q 1x8x256x64 --dtype f16 --target sm_75", "sdpa --q 1x8x256x64 --dtype f16 --target sm_80"),
      hardware("CUD002", "cudnn-gpu-beyond-release", "the GPU is newer than what this release has engines for", until("9.19.99"),
               below(Id::compute_capability, 130), over, {"use a newer cuDNN", Keeps::function, {Change::change_version}}, asked,
               "sdpa --q 1x8x256x64 --dtype f16 --target sm_130 --cudnn-version 9.19.0", "sdpa --q 1x8x256x64 --dtype f16 --target sm_121 --cudnn-version 9.19.0"),
      call("CUD003", "cudnn-attention-dtype", "q, k and v are not all f16, all bf16 or all f32", always(),
           all({one_of(Id::dtype, std::vector<std::string>{"f16", "bf16", "f32"}), equals(Id::dtype_k, Id::dtype), equals(Id::dtype_v, Id::dtype)}),
           "passed over; 8-bit floats would need scale tensors, which the call does not have, and there is no other type",
           {"cast q, k and v to bf16 or f16", Keeps::precision, {Change::cast_dtype}}, asked, "sdpa --q 1x8x256x64 --dtype f64 --target sm_90",
           "sdpa --q 1x8x256x64 --dtype f32 --target sm_90"),
      call("CUD004", "cudnn-head-dim-not-of-8", "a head size is not a multiple of 8", always(), all({multiple_of(Id::head_dim, 8), multiple_of(Id::head_dim_v, 8)}), over,
           padded, frontend, "sdpa --q 1x8x256x100 --dtype f16 --target sm_90", "sdpa --q 1x8x256x104 --dtype f16 --target sm_90"),
      call("CUD005", "cudnn-head-dim-too-wide", "the head size of q is above 1024 or that of v above 512", always(),
           all({at_most(Id::head_dim, 1024), at_most(Id::head_dim_v, 512)}), over, {"split the heads, or use cuda-naive", Keeps::meaning, {}}, asked,
           "sdpa --q 1x8x256x1032 --v 1x8x256x64 --dtype f16 --target sm_90", "sdpa --q 1x8x256x512 --dtype f16 --target sm_90"),
      release("CUD006", "cudnn-head-dim-above-128-on-ampere", "a head size is above 128 on a GPU of generation 8", all({of_generation(8), until("9.9.0")}),
              sizes_at_most(128), over, newer, "sdpa --q 1x8x256x256 --dtype f16 --target sm_80 --cudnn-version 9.8.0",
              "sdpa --q 1x8x256x256 --dtype f16 --target sm_80 --cudnn-version 9.19.0"),
      release("CUD007", "cudnn-head-dim-above-256-on-hopper", "a head size is above 256 on Hopper", all({of_generation(9), until("9.9.0")}), sizes_at_most(256),
              over, newer, "sdpa --q 1x8x256x512 --dtype f16 --target sm_90 --cudnn-version 9.8.0",
              "sdpa --q 1x8x256x512 --dtype f16 --target sm_90 --cudnn-version 9.19.0"),
      release("CUD008", "cudnn-head-dim-above-128-on-blackwell", "a head size is above 128 on data-centre Blackwell",
              all({of_generation(10), until("9.8.99")}), sizes_at_most(128), over, newer,
              "sdpa --q 1x8x256x256 --dtype f16 --target sm_100 --cudnn-version 9.8.0", "sdpa --q 1x8x256x256 --dtype f16 --target sm_100 --cudnn-version 9.19.0"),
      call("CUD009", "cudnn-attention-last-axis-strided", "the last axis of q, k or v is not of unit stride", always(),
           all({equals(Id::q_last_stride, 1), equals(Id::k_last_stride, 1), equals(Id::v_last_stride, 1)}), over, contiguous, frontend,
           "sdpa --q 1x2x64x32 --q-strides 4096x2048x1x64 --dtype f16 --target sm_90", "sdpa --q 1x2x64x32 --layout bshd --dtype f16 --target sm_90"),
      call("CUD010", "cudnn-rows-unaligned", "a row, head or batch stride of q, k or v is not a multiple of 16 bytes", always(), multiple_of(Id::qkv_stride_align_bytes, 16),
           "passed over; its kernels copy 16 bytes at a time (the frontend looks at this since 1.32, cuDNN 9.19 itself does not)", contiguous, frontend,
           "sdpa --q 1x2x64x32 --q-strides 4224x2112x33x1 --dtype f16 --target sm_90", "sdpa --q 1x2x64x32 --q-strides 5120x2560x40x1 --dtype f16 --target sm_90"),
      call("CUD011", "cudnn-base-unaligned", "q, k or v does not start at a multiple of 16 bytes", always(),
           all({multiple_of(Id::q_align_bytes, 16), multiple_of(Id::k_align_bytes, 16), multiple_of(Id::v_align_bytes, 16)}),
           "passed over; its kernels copy 16 bytes at a time", {"move the tensor to an offset that is a multiple of 16 bytes", Keeps::function, {Change::align_offset}},
           {"alignment of 16 bytes that the frontend states for every tensor unless told otherwise", "1.32.0", checked},
           "sdpa --q 1x8x256x64 --dtype f16 --q-offset 1 --target sm_90", "sdpa --q 1x8x256x64 --dtype f16 --q-offset 8 --target sm_90"),
      call("CUD014", "cudnn-empty-call", "batch, heads or a length is 0", always(),
           all({at_least(Id::batch, 1), at_least(Id::q_heads, 1), at_least(Id::kv_heads, 1), at_least(Id::q_len, 1), at_least(Id::kv_len, 1)}),
           "passed over; cuDNN divides by such extents before it looks at them", {"skip the call for empty inputs", Keeps::function, {}}, asked,
           "sdpa --q 1x8x0x64 --dtype f16 --target sm_90", "sdpa --q 1x8x1x64 --dtype f16 --target sm_90"),
      call("CUD015", "cudnn-bottom-right-query-longer", "causal to the bottom right with more queries than keys", bottom_right(), at_most(Id::q_len, Id::kv_len),
           "passed over; the first rows would have nothing to attend to", {"slice q to as many rows as there are keys", Keeps::meaning, {}}, frontend,
           "sdpa --q 1x8x256x64 --k 1x8x128x64 --dtype f16 --causal --causal-align bottom-right --target sm_90",
           "sdpa --q 1x8x128x64 --k 1x8x256x64 --dtype f16 --causal --causal-align bottom-right --target sm_90"),
      call("CUD016", "cudnn-bottom-right-with-mask-or-dropout", "causal to the bottom right together with a mask or dropout", bottom_right(),
           all({equals(Id::mask_kind, "none"), at_most(Id::dropout_p, 0)}), over, {"put the causal part into the mask", Keeps::function, {Change::drop_causal}}, frontend,
           "sdpa --q 1x8x128x64 --k 1x8x256x64 --dtype f16 --causal --causal-align bottom-right --dropout 0.125 --target sm_90",
           "sdpa --q 1x8x128x64 --k 1x8x256x64 --dtype f16 --causal --causal-align bottom-right --target sm_90"),
      release("CUD017", "cudnn-bottom-right-odd-lengths", "causal to the bottom right with lengths that are no multiples of 64", all({bottom_right(), until("9.5.99")}),
              all({multiple_of(Id::q_len, 64), multiple_of(Id::kv_len, 64)}), over, {"use cuDNN 9.6 or newer", Keeps::function, {Change::change_version}},
              "sdpa --q 1x8x100x64 --dtype f16 --causal --causal-align bottom-right --target sm_90 --cudnn-version 9.5.0",
              "sdpa --q 1x8x100x64 --dtype f16 --causal --causal-align bottom-right --target sm_90 --cudnn-version 9.6.0"),
      release("CUD018", "cudnn-attention-broken-in-9-10", "cuDNN 9.10.0 and 9.10.1 have known faults in attention", always(),
              unless(version_in(Id::cudnn_version, "9.10.0", "9.10.1")), "passed over; the frontend refuses these two releases", newer,
              "sdpa --q 1x8x256x64 --dtype f16 --target sm_90 --cudnn-version 9.10.1", "sdpa --q 1x8x256x64 --dtype f16 --target sm_90 --cudnn-version 9.10.2"),
      release("CUD019", "cudnn-one-query-with-causal", "one query together with the causal flag", all({equals(Id::q_len, 1), is_true(Id::is_causal), until("9.9.0")}), never(),
              over, {"drop the causal flag where the one query sees all keys, or use cuDNN 9.10.2 or newer", Keeps::meaning, {Change::drop_causal, Change::change_version}},
              "sdpa --q 1x8x1x64 --k 1x8x256x64 --dtype f16 --causal --target sm_90 --cudnn-version 9.8.0",
              "sdpa --q 1x8x1x64 --k 1x8x256x64 --dtype f16 --causal --target sm_90 --cudnn-version 9.19.0"),
      release("CUD020", "cudnn-one-query-wide-on-blackwell", "one query with a head size above 128 on data-centre Blackwell",
              all({equals(Id::q_len, 1), of_generation(10), until("9.9.0")}), sizes_at_most(128), over, newer,
              "sdpa --q 1x8x1x256 --k 1x8x256x256 --dtype f16 --target sm_100 --cudnn-version 9.9.0",
              "sdpa --q 1x8x1x256 --k 1x8x256x256 --dtype f16 --target sm_100 --cudnn-version 9.19.0"),
      hardware("CUD021", "cudnn-backward-head-dim", "gradients are needed for a head size that has no backward engine here", is_true(Id::requires_grad),
               any({sizes_at_most(128), all({of_generation(9), sizes_at_most(256)}), all({of_generation(10), equals(Id::head_dim, 192), equals(Id::head_dim_v, 128)})}),
               "passed over; the backward pass ends at 128, on Hopper at 256, on data-centre Blackwell it also has 192 with 128",
               {"run inference without gradients, or another backend", Keeps::meaning, {Change::disable_grad}}, asked,
               "sdpa --q 1x8x256x256 --dtype f16 --train --target sm_80", "sdpa --q 1x8x256x256 --dtype f16 --train --target sm_90"),
      call("CUD022", "cudnn-backward-dtype", "gradients are needed in f32", is_true(Id::requires_grad), half(), "passed over; the backward engines take f16 and bf16 only",
           {"cast q, k and v to bf16 or f16", Keeps::precision, {Change::cast_dtype}}, asked, "sdpa --q 1x8x256x64 --dtype f32 --train --target sm_90",
           "sdpa --q 1x8x256x64 --dtype bf16 --train --target sm_90"),
      call("CUD023", "cudnn-ragged-not-built", "q, k and v are ragged", always(), is_false(Id::nested), "passed over; the graph built here has one length for the whole batch",
           {"pad to one length and mask the rest", Keeps::function, {}}, own, "sdpa --b 2 --h 2 --sq 64 --d 64 --dtype f16 --nested 64,32 --target sm_90",
           "sdpa --b 2 --h 2 --sq 64 --d 64 --dtype f16 --target sm_90"),
      release("CUD024", "cudnn-before-9", "cuDNN is older than 9.0", always(), version_in(Id::cudnn_version, "9.0.0", ""),
              "passed over; the graphs built here need release 9", {"use cuDNN 9", Keeps::function, {Change::change_version}},
              "sdpa --q 1x8x256x64 --dtype f16 --target sm_90 --cudnn-version 8.9.7", "sdpa --q 1x8x256x64 --dtype f16 --target sm_90 --cudnn-version 9.1.0"),
      {.id = "CUD025", .name = "cudnn-bool-mask-written-out", .title = "a boolean mask is written out as an additive one", .level = Level::slows, .blame = Blame::spec,
       .scope = "cudnn", .applies = differs(Id::mask_kind, "none"), .requires_that = equals(Id::mask_kind, "float"),
       .effect = "the mask takes 2 or 4 bytes an element instead of 1, and is converted before the call",
       .fix = {"use the causal flag where the mask is causal, or keep an additive mask", Keeps::function, {Change::mask_to_causal, Change::cast_mask}}, .source = frontend,
       .blocked_example = "sdpa --q 1x2x64x64 --dtype f16 --mask bool --target sm_90", .passing_example = "sdpa --q 1x2x64x64 --dtype f16 --mask float --target sm_90"},
      {.id = "CUD026", .name = "cudnn-draws-its-own-dropout", .title = "dropout is drawn by cuDNN's own random numbers", .level = Level::changes, .blame = Blame::spec,
       .scope = "cudnn", .applies = always(), .requires_that = at_most(Id::dropout_p, 0), .effect = "the result cannot be compared with any other backend's",
       .fix = {"compare without dropout", Keeps::meaning, {Change::drop_dropout}}, .source = frontend,
       .blocked_example = "sdpa --q 1x2x64x64 --dtype f16 --dropout 0.125 --target sm_90", .passing_example = "sdpa --q 1x2x64x64 --dtype f16 --target sm_90"},
      {.id = "CUD027", .name = "cudnn-mask-written-out-dense", .title = "the last axis of the mask is strided", .level = Level::slows, .blame = Blame::spec,
       .scope = "cudnn", .applies = equals(Id::mask_kind, "float"), .requires_that = one_of(Id::mask_last_stride, std::vector<std::int64_t>{0, 1}),
       .effect = "the mask is copied to dense storage before the call; so is one whose start or rows are off 16 bytes",
       .fix = {"keep the mask contiguous along the keys", Keeps::function, {Change::make_contiguous}}, .source = frontend,
       .blocked_example = "sdpa --q 1x2x64x64 --dtype f16 --mask float:64x64 --mask-strides 1x64 --target sm_90",
       .passing_example = "sdpa --q 1x2x64x64 --dtype f16 --mask float:64x64 --target sm_90"},
      {.id = "CUD028", .name = "cudnn-f32-without-tensor-cores", .title = "f32 attention runs on plain arithmetic units", .level = Level::slows, .blame = Blame::spec,
       .scope = "cudnn", .applies = always(), .requires_that = differs(Id::dtype, "f32"),
       .effect = "several times the time of f16; the kernel has a tensor-core name and no tensor-core instruction",
       .fix = {"cast q, k and v to bf16 or f16", Keeps::precision, {Change::cast_dtype}},
       .source = {"machine code that cuDNN generates for an f32 call on compute capability 9.0", "9.19.0", "2026-11-30"},
       .blocked_example = "sdpa --q 1x8x256x64 --target sm_90", .passing_example = "sdpa --q 1x8x256x64 --dtype f16 --target sm_90"},
  };
  return rows;
}

}  // namespace

std::span<const Rule> rules() { return table(); }

}  // namespace dd::backends::cudnn_attention
