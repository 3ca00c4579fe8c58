#include "ops/mask_class/matrix.hpp"

namespace dd::ops {
namespace {

void add_shape(MaskAnalysis& a, std::int64_t q_len, std::int64_t kv_len) {
  const auto say = [&](std::string text) { a.meaning.push_back(std::move(text)); };
  switch (a.shape) {
    case MaskShape::zeros:
      if (!a.biased && !a.zeros_and_ones) say("masks nothing: leave it out, and backends without a mask input (flash) become possible");
      break;
    case MaskShape::closed: say("masks every key: no row has anything to attend to"); break;
    case MaskShape::causal:
      if (a.top_left && q_len == kv_len) say("exactly causal: is_causal=True says the same, and backends without a mask input become possible");
      else if (a.top_left) say("causal from the upper left on a non-square shape: is_causal=True says the same; flash refuses that flag here");
      else say("causal from the lower right: causal_lower_right(q_len, kv_len) says the same; is_causal=True does not");
      break;
    case MaskShape::causal_padding:
      say("causal with padded keys: no flag says it; unpad (ragged tensors with the causal flag), or keep to backends with a mask input");
      break;
    case MaskShape::padding:
      say("padding only: unpad (ragged tensors), sort by length, or keep to backends with a mask input; flash takes none");
      break;
    case MaskShape::window:
      say("a window: kernels with a window argument serve it without a mask; a full-size mask costs memory of q_len * kv_len whatever the window");
      break;
    case MaskShape::blocks:
    case MaskShape::causal_blocks: say("sequences packed after each other: ragged tensors say the same without a mask"); break;
    case MaskShape::other: say("no simple shape: backends with a mask input only"); break;
  }
}

}  // namespace

void add_meaning(MaskAnalysis& a, std::int64_t q_len, std::int64_t kv_len) {
  add_shape(a, q_len, kv_len);
  const auto say = [&](std::string text) { a.meaning.push_back(std::move(text)); };
  if (a.zeros_and_ones) say("floats of 0 and 1 add one to some scores and mask nothing; a boolean mask was probably meant");
  if (a.biased) say("carries finite values, so it is a bias as well as a mask and cannot become a flag");
  if (a.boolean_in_disguise) say("a boolean mask written as floats: the boolean form is smaller by the element size and says the same");
  if (a.per_head_copies) say("all heads are alike: one head (extent 1) broadcasts and saves the copies");
  if (a.per_batch_copies) say("all batch entries are alike: extent 1 broadcasts and saves the copies");
  if (a.empty_rows > 0)
    say(std::to_string(a.empty_rows) + " rows have no key at all: PyTorch gives zeros there from 2.5 on and NaN before; cuDNN up to about 2.11 attends to everything when the mask is boolean");
  if (a.nan) say("contains NaN, which makes whole rows NaN");
}

}  // namespace dd::ops
