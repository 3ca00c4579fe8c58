#include "ops/mask_class/mask_class.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "ops/tensor/convert.hpp"
#include "support/catch.hpp"

using namespace dd;
using core::DType;
using ops::analyse_mask;
using ops::MaskAnalysis;
using ops::MaskShape;

namespace {

using Open = std::function<bool(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j)>;

core::Tensor make(DType dtype, std::vector<std::int64_t> shape, const std::function<double(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>& value) {
  core::Tensor t;
  t.dtype = dtype;
  t.shape = shape;
  t.strides.assign(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) t.strides[i - 1] = t.strides[i] * shape[i];
  std::int64_t count = 1;
  for (auto e : shape) count *= e;
  t.storage_bytes = core::bytes_of(dtype, count) + 8;
  t.storage = std::shared_ptr<std::byte>(new std::byte[static_cast<std::size_t>(t.storage_bytes)](), std::default_delete<std::byte[]>());
  std::int64_t full[4] = {1, 1, 1, 1};
  for (std::size_t i = 0; i < shape.size(); ++i) full[4 - shape.size() + i] = shape[i];
  std::int64_t at = 0;
  for (std::int64_t b = 0; b < full[0]; ++b)
    for (std::int64_t h = 0; h < full[1]; ++h)
      for (std::int64_t i = 0; i < full[2]; ++i)
        for (std::int64_t j = 0; j < full[3]; ++j) ops::store(t.storage.get(), dtype, at++, value(b, h, i, j));
  return t;
}

// A boolean mask, and the same written as floats.
MaskAnalysis analyse(std::vector<std::int64_t> shape, const Open& open, std::int64_t q, std::int64_t k, DType dtype = DType::boolean) {
  const double closed = dtype == DType::boolean ? 0 : dtype == DType::f16 ? -65504.0 : -std::numeric_limits<double>::infinity();
  const double is_open = dtype == DType::boolean ? 1 : 0;
  return analyse_mask(make(dtype, shape, [&](auto b, auto h, auto i, auto j) { return open(b, h, i, j) ? is_open : closed; }), q, k);
}

}  // namespace

TEST_CASE("causal, both alignments, square and not") {
  for (DType dtype : {DType::boolean, DType::f32, DType::f16}) {
    const auto square = analyse({8, 8}, [](auto, auto, auto i, auto j) { return j <= i; }, 8, 8, dtype);
    CHECK(square.shape == MaskShape::causal);
    CHECK((square.top_left && square.bottom_right));
    CHECK(square.name == "causal");
    CHECK(square.boolean_in_disguise == (dtype != DType::boolean));
    CHECK(square.empty_rows == 0);
  }
  const auto top = analyse({4, 9}, [](auto, auto, auto i, auto j) { return j <= i; }, 4, 9);
  CHECK((top.shape == MaskShape::causal && top.top_left && !top.bottom_right));
  const auto bottom = analyse({4, 9}, [](auto, auto, auto i, auto j) { return j <= i + 5; }, 4, 9);
  CHECK((bottom.shape == MaskShape::causal && !bottom.top_left && bottom.bottom_right));
  const auto tall = analyse({9, 4}, [](auto, auto, auto i, auto j) { return j <= i - 5; }, 9, 4);
  CHECK((tall.shape == MaskShape::causal && tall.bottom_right));
  CHECK(tall.empty_rows == 5);
  // One element off is no longer causal.
  CHECK(analyse({8, 8}, [](auto, auto, auto i, auto j) { return j <= i || (i == 3 && j == 4); }, 8, 8).shape != MaskShape::causal);
}

TEST_CASE("nothing masked, everything masked") {
  const auto zeros = analyse({1, 1, 6, 6}, [](auto...) { return true; }, 6, 6, DType::bf16);
  CHECK((zeros.shape == MaskShape::zeros && zeros.name == "zeros" && zeros.open_share == 1.0));
  const auto closed = analyse({6, 6}, [](auto...) { return false; }, 6, 6);
  CHECK((closed.shape == MaskShape::closed && closed.empty_rows == 6));
}

TEST_CASE("padding: one length, lengths per batch entry, left, and as a column of keys") {
  const auto one = analyse({2, 1, 4, 10}, [](auto, auto, auto, auto j) { return j < 7; }, 4, 10);
  CHECK((one.shape == MaskShape::padding && one.name == "padding:3" && one.per_batch_copies));
  const auto varying = analyse({3, 1, 1, 10}, [](auto b, auto, auto, auto j) { return j < 10 - b; }, 4, 10);
  CHECK((varying.shape == MaskShape::padding && varying.name == "padding:varying"));
  CHECK(varying.lengths == std::vector<std::int64_t>{10, 9, 8});
  const auto left = analyse({1, 1, 1, 10}, [](auto, auto, auto, auto j) { return j >= 2; }, 4, 10);
  CHECK((left.shape == MaskShape::padding && left.left_padding));
}

TEST_CASE("causal with padding, on either side") {
  const auto right = analyse({2, 1, 8, 8}, [](auto b, auto, auto i, auto j) { return j <= i && j < 8 - 2 * b; }, 8, 8);
  CHECK(right.shape == MaskShape::causal_padding);
  CHECK(right.lengths == std::vector<std::int64_t>{8, 6});
  const auto left = analyse({1, 1, 8, 8}, [](auto, auto, auto i, auto j) { return j <= i && j >= 3; }, 8, 8);
  CHECK((left.shape == MaskShape::causal_padding && left.left_padding && left.empty_rows == 3 && left.first_empty_row == 0));
}

TEST_CASE("windows and blocks") {
  const auto both = analyse({12, 12}, [](auto, auto, auto i, auto j) { return std::llabs(i - j) <= 2; }, 12, 12);
  CHECK((both.shape == MaskShape::window && both.window_left == 2 && both.window_right == 2));
  const auto sliding = analyse({12, 12}, [](auto, auto, auto i, auto j) { return j <= i && j > i - 4; }, 12, 12);
  CHECK((sliding.shape == MaskShape::window && sliding.window_left == 3 && sliding.window_right == 0 && sliding.name == "window:3,0"));
  const auto blocks = analyse({12, 12}, [](auto, auto, auto i, auto j) { return i / 4 == j / 4; }, 12, 12);
  CHECK((blocks.shape == MaskShape::blocks && blocks.block == 4));
  const auto packed = analyse({12, 12}, [](auto, auto, auto i, auto j) { return (i < 5) == (j < 5) && j <= i; }, 12, 12);
  CHECK((packed.shape == MaskShape::causal_blocks && packed.block == 0));
}

TEST_CASE("copies per head, biases, zeros and ones, NaN") {
  const auto copies = analyse({2, 3, 4, 4}, [](auto b, auto, auto i, auto j) { return j <= i + b; }, 4, 4);
  CHECK((copies.per_head_copies && !copies.per_batch_copies));
  const auto bias = analyse_mask(make(DType::f32, {4, 4}, [](auto, auto, auto i, auto j) { return 0.5 * static_cast<double>(i - j); }), 4, 4);
  CHECK((bias.biased && !bias.boolean_in_disguise));
  const auto ones = analyse_mask(make(DType::f32, {4, 4}, [](auto, auto, auto i, auto j) { return j <= i ? 1.0 : 0.0; }), 4, 4);
  CHECK((ones.zeros_and_ones && ones.shape == MaskShape::zeros));
  const auto nan = analyse_mask(make(DType::f32, {4, 4}, [](auto, auto, auto i, auto j) { return i == j ? std::nan("") : 0.0; }), 4, 4);
  CHECK(nan.nan);
  for (const std::string& sentence : ones.meaning) CHECK_FALSE(sentence.empty());
}

TEST_CASE("strided and broadcast views read the right elements; shapes that do not fit say so") {
  core::Tensor wide = make(DType::boolean, {8, 16}, [](auto, auto, auto i, auto j) { return j <= i ? 1.0 : 0.0; });
  wide.shape = {8, 8};  // a column slice of a larger mask
  CHECK(analyse_mask(wide, 8, 8).shape == MaskShape::causal);
  core::Tensor row = make(DType::boolean, {1, 8}, [](auto, auto, auto, auto j) { return j < 5 ? 1.0 : 0.0; });
  row.shape = {8, 8};
  row.strides = {0, 1};
  CHECK(analyse_mask(row, 8, 8).shape == MaskShape::padding);
  CHECK(analyse_mask(row, 7, 8).shape == MaskShape::other);
  core::Tensor five = row;
  five.shape = {1, 1, 1, 8, 8};
  five.strides = {0, 0, 0, 0, 1};
  CHECK(analyse_mask(five, 8, 8).shape == MaskShape::other);
}
