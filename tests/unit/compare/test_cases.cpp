#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/cases/cases.hpp"
#include "ops/tensor/convert.hpp"
#include "support/catch.hpp"

using namespace dd;
using core::DType;

namespace {

spec::OpSpec sdpa(spec::Dims q, spec::Dims kv, DType dtype = DType::f32) {
  spec::Attention a;
  a.q.shape = std::move(q);
  a.k.shape = a.v.shape = std::move(kv);
  a.q.dtype = a.k.dtype = a.v.dtype = dtype;
  spec::OpSpec s;
  s.op = a;
  return s;
}

spec::OpSpec gemm(spec::Dims x, spec::Dims w, DType dtype = DType::f32) {
  spec::Gemm g;
  g.x.shape = std::move(x);
  g.w.shape = std::move(w);
  g.x.dtype = g.w.dtype = dtype;
  spec::OpSpec s;
  s.op = g;
  return s;
}

double at(const core::Tensor& t, std::int64_t flat) {
  const ops::TensorView v = ops::cases::view(t);
  return ops::load(v.data, v.dtype, ops::element_index(v, flat));
}

}  // namespace

TEST_CASE("the same seed gives the same bits whatever the layout, another seed others") {
  auto plain = sdpa({1, 2, 4, 8}, {1, 2, 4, 8});
  auto strided = plain;
  std::get<0>(strided.op).q.strides = spec::Dims{64, 8, 16, 1};
  std::get<0>(strided.op).q.offset = 3;
  const auto a = ops::cases::make_inputs(plain), b = ops::cases::make_inputs(strided);
  plain.seed = 2;
  const auto c = ops::cases::make_inputs(plain);
  REQUIRE(a);
  REQUIRE(b);
  int differing = 0;
  for (std::int64_t i = 0; i < 64; ++i) {
    CHECK(at(a->at("q"), i) == at(b->at("q"), i));
    differing += at(a->at("q"), i) != at(c->at("q"), i);
  }
  CHECK(differing > 60);
  CHECK(at(a->at("q"), 0) != at(a->at("k"), 0));
}

TEST_CASE("mask contents close what their name says") {
  const auto open = [](const char* content, spec::CausalAlign align, DType dtype, std::int64_t i, std::int64_t j) {
    auto s = sdpa({1, 1, 3, 4}, {1, 1, 5, 4});
    spec::MaskSpec m;
    m.dtype = dtype;
    m.shape = {3, 5};
    m.content = content;
    std::get<0>(s.op).mask = m;
    std::get<0>(s.op).causal_align = align;
    const auto inputs = ops::cases::make_inputs(s);
    REQUIRE(inputs);
    const double v = at(inputs->at("mask"), i * 5 + j);
    return dtype == DType::boolean ? v == 1.0 : v == 0.0;
  };
  using spec::CausalAlign;
  for (DType d : {DType::boolean, DType::f16}) {
    CHECK(open("causal", CausalAlign::top_left, d, 1, 1));
    CHECK_FALSE(open("causal", CausalAlign::top_left, d, 1, 2));
    CHECK(open("causal", CausalAlign::bottom_right, d, 0, 2));
    CHECK_FALSE(open("causal", CausalAlign::bottom_right, d, 0, 3));
    CHECK(open("padding:2", CausalAlign::top_left, d, 0, 2));
    CHECK_FALSE(open("padding:2", CausalAlign::top_left, d, 0, 3));
    CHECK(open("window:1", CausalAlign::top_left, d, 2, 3));
    CHECK_FALSE(open("window:1", CausalAlign::top_left, d, 2, 4));
  }
  CHECK(open("zeros", CausalAlign::top_left, DType::f32, 0, 4));           // additive nothing
  CHECK_FALSE(open("zeros", CausalAlign::top_left, DType::boolean, 0, 4));  // everything closed
}

TEST_CASE("a causal mask and the causal flag give one reference") {
  auto flag = sdpa({1, 2, 6, 8}, {1, 2, 6, 8});
  auto mask = flag;
  std::get<0>(flag.op).is_causal = true;
  spec::MaskSpec m;
  m.shape = {6, 6};
  m.content = "causal";
  std::get<0>(mask.op).mask = m;
  const auto a = ops::cases::run_reference(flag, *ops::cases::make_inputs(flag));
  const auto b = ops::cases::run_reference(mask, *ops::cases::make_inputs(mask));
  REQUIRE(a);
  REQUIRE(b);
  REQUIRE(a->values.size() == 96);
  for (std::size_t i = 0; i < 96; ++i) CHECK(std::fabs(a->values[i] - b->values[i]) < 1e-12);
}

TEST_CASE("a budget of nothing samples rows, and they are the rows of the full result") {
  const auto s = sdpa({2, 2, 64, 8}, {2, 2, 64, 8});
  const auto inputs = ops::cases::make_inputs(s);
  const auto all = ops::cases::run_reference(s, *inputs), some = ops::cases::run_reference(s, *inputs, 1e-9);
  REQUIRE(some);
  REQUIRE(some->rows.size() == 16);
  CHECK(some->scope == "16 sampled rows of 256");
  for (std::size_t r = 0; r < 16; ++r)
    for (std::size_t d = 0; d < 8; ++d) CHECK(some->values[r * 8 + d] == all->values[static_cast<std::size_t>(some->rows[r]) * 8 + d]);
}

TEST_CASE("a small head size does not make a score cheap: the budget counts its exponential") {
  const auto rows = [](std::int64_t head_size, double dropout) {
    auto s = sdpa({1, 1, 1024, head_size}, {1, 1, 1024, head_size});
    std::get<0>(s.op).dropout_p = dropout;
    const auto r = ops::cases::run_reference(s, *ops::cases::make_inputs(s), 2e-3, {1, nullptr});
    REQUIRE(r);
    return static_cast<double>(r->rows.size());
  };
  const double narrow = rows(8, 0), wide = rows(64, 0);
  CHECK(narrow > wide);
  CHECK(narrow < 5 * wide);  // by the products alone it would be eight times
  CHECK(rows(8, 0.5) < narrow);
}

TEST_CASE("the budget counts the elements of a result whose sums are short") {
  for (const auto& [s, rows] : {std::pair{gemm({20000, 2}, {2, 2000}), 20000}, {sdpa({1, 1, 400000, 16}, {1, 1, 2, 16}), 400000}}) {
    const auto r = ops::cases::run_reference(s, *ops::cases::make_inputs(s), 0.05, {1, nullptr});
    REQUIRE(r);
    CHECK_FALSE(r->rows.empty());
    CHECK(static_cast<int>(r->rows.size()) < rows);
  }
}

TEST_CASE("sums that 32-bit integers may not hold are beyond what can be judged") {
  for (const auto& [k, beyond] : {std::pair<std::int64_t, bool>{100000, false}, {140000, true}}) {
    const auto s = gemm({2, k}, {k, 2}, DType::u8);
    const auto r = ops::cases::run_reference(s, *ops::cases::make_inputs(s));
    REQUIRE(r);
    CHECK((r->beyond_range.find("s32 arithmetic ends at") != std::string::npos) == beyond);
  }
}

TEST_CASE("the limit of 8-bit attention can tell right from wrong") {
  for (const DType type : {DType::f8_e4m3, DType::f8_e5m2}) {
    const auto s = sdpa({1, 2, 256, 64}, {1, 2, 256, 64}, type);
    const auto r = ops::cases::run_reference(s, *ops::cases::make_inputs(s));
    REQUIRE(r);
    std::size_t tells = 0;
    for (std::size_t e = 0; e < r->bound.size(); ++e) tells += r->bound[e] < std::fabs(r->values[e]);
    CHECK(tells > r->bound.size() / 10);
  }
}

TEST_CASE("FP8 products are allowed what the tensor cores of a GPU lose, and only there") {
  auto s = gemm({4, 256}, {256, 4}, DType::f8_e4m3);
  std::get<1>(s.op).out_dtype = DType::f32;
  const auto here = ops::cases::run_reference(s, *ops::cases::make_inputs(s));
  s.context.target = "cuda:0";
  const auto there = ops::cases::run_reference(s, *ops::cases::make_inputs(s));
  REQUIRE(here);
  REQUIRE(there);
  CHECK(there->bound[0] > 20 * here->bound[0]);
  CHECK(there->bound[0] < 0.1 * std::fabs(*std::max_element(there->values.begin(), there->values.end())));
}

TEST_CASE("fully masked rows are named and everything masked is mistrusted") {
  auto s = sdpa({1, 1, 4, 8}, {1, 1, 4, 8});
  spec::MaskSpec m;
  m.shape = {4, 4};
  m.content = "padding:4";
  std::get<0>(s.op).mask = m;
  const auto r = ops::cases::run_reference(s, *ops::cases::make_inputs(s));
  REQUIRE(r);
  CHECK(r->masked_rows.size() == 4);
  CHECK(r->mistrust == "every row is fully masked");
}

TEST_CASE("batch axes broadcast and fold") {
  auto s = gemm({2, 3, 4, 5}, {3, 5, 6});
  const auto inputs = ops::cases::make_inputs(s);
  const auto p = ops::cases::gemm_problem(s, *inputs);
  // (2, 3) times a broadcast (3): the folded axis would need two strides, so w is expanded.
  REQUIRE(p);
  REQUIRE(p->expanded.size() == 1);
  CHECK(p->expanded[0].name == "w");
  CHECK(p->expanded[0].bytes == 6 * 30 * 4);
  const auto reference = ops::cases::run_reference(s, *inputs);
  REQUIRE(reference);
  double sum = 0;  // element (1, 2, 3, 4) by hand
  for (std::int64_t k = 0; k < 5; ++k) sum += at(inputs->at("x"), ((1 * 3 + 2) * 4 + 3) * 5 + k) * at(inputs->at("w"), (2 * 5 + k) * 6 + 4);
  CHECK(std::fabs(reference->values[((1 * 3 + 2) * 4 + 3) * 6 + 4] - sum) < 1e-12);
  s = gemm({2, 3, 4, 5}, {5, 6});
  const auto q = ops::cases::gemm_problem(s, *ops::cases::make_inputs(s));
  REQUIRE(q);
  CHECK(q->x.shape[0] == 6);
  CHECK(q->w.stride[0] == 0);
}

TEST_CASE("a wrong product fails Freivalds' check, the right one passes") {
  auto s = gemm({8, 16}, {16, 8}, DType::f64);
  const auto inputs = ops::cases::make_inputs(s);
  const auto r = ops::cases::run_reference(s, *inputs);
  core::Tensor out;
  out.dtype = DType::f64;
  out.shape = {8, 8};
  out.strides = {8, 1};
  out.storage_bytes = 512;
  out.storage = std::shared_ptr<std::byte>(new std::byte[512], std::default_delete<std::byte[]>());
  for (std::int64_t i = 0; i < 64; ++i) ops::store(out.storage.get(), DType::f64, i, r->values[static_cast<std::size_t>(i)]);
  CHECK(ops::cases::freivalds_check(s, *inputs, out).empty());
  ops::store(out.storage.get(), DType::f64, 19, r->values[19] + 1e-3);
  CHECK_FALSE(ops::cases::freivalds_check(s, *inputs, out).empty());
}

TEST_CASE("quantized inputs carry codes, scales, zero points and the group index") {
  auto s = gemm({4, 64}, {64, 8}, DType::f16);
  auto& g = std::get<1>(s.op);
  g.w.dtype = DType::u4;
  g.quant = spec::Quant{};
  g.quant->group_size = 32;
  g.quant->zero_point = true;
  g.quant->act_order = true;
  const auto inputs = ops::cases::make_inputs(s);
  REQUIRE(inputs);
  CHECK(inputs->at("scales").shape == spec::Dims{2, 8});
  CHECK(inputs->at("zeros").shape == spec::Dims{2, 8});
  REQUIRE(inputs->at("group_index").shape == spec::Dims{64});
  int first = 0;
  for (std::int64_t i = 0; i < 64; ++i) first += at(inputs->at("group_index"), i) == 0.0;
  CHECK(first == 32);
  const auto r = ops::cases::run_reference(s, *inputs);
  REQUIRE(r);
  CHECK(r->mistrust.empty());
}

TEST_CASE("a mask file is read in the spec's shape, and another shape is refused") {
  auto s = sdpa({1, 1, 2, 4}, {1, 1, 3, 4});
  spec::MaskSpec m;
  m.shape = {2, 3};
  m.content = "mask.npy";
  std::get<0>(s.op).mask = m;
  CHECK_FALSE(ops::cases::make_inputs(s));  // nobody to read it
  static double other = 0.0;  // of element 4
  static const auto read = [](const std::string&) -> core::Result<core::Tensor> {
    core::Tensor t;
    t.dtype = DType::f32;
    t.shape = {2, 3};
    t.strides = {1, 2};  // stored column by column
    t.storage_bytes = 24;
    t.storage = std::shared_ptr<std::byte>(new std::byte[24], std::default_delete<std::byte[]>());
    for (std::int64_t i = 0; i < 6; ++i) ops::store(t.storage.get(), DType::f32, i, i == 4 ? other : static_cast<double>(i % 2));
    return t;
  };
  const auto inputs = ops::cases::make_inputs(s, std::nullopt, +[](const std::string& p) { return read(p); });
  REQUIRE(inputs);
  // Row by row: 0 2 4 and 1 3 5 of the file.
  for (std::int64_t i = 0; i < 6; ++i) CHECK(at(inputs->at("mask"), i) == (i < 3 ? 0.0 : 1.0));
  // 0 keeps and -inf masks in a float mask: the contrary of a boolean one.
  for (const double value : {-std::numeric_limits<double>::infinity(), 2.0, 0.5, std::numeric_limits<double>::quiet_NaN()}) {
    other = value;
    const auto inverted = ops::cases::make_inputs(s, std::nullopt, +[](const std::string& p) { return read(p); });
    REQUIRE_FALSE(inverted);
    CHECK(inverted.problems()[0].seen.find("mask.npy: " + fmt::format("{}", value)) == 0);
    CHECK(inverted.problems()[0].wanted.find("--mask float") != std::string::npos);
    std::get<0>(s.op).mask->dtype = DType::f32;
    CHECK(ops::cases::make_inputs(s, std::nullopt, +[](const std::string& p) { return read(p); }));
    std::get<0>(s.op).mask->dtype = DType::boolean;
  }
  other = 0.0;
  std::get<0>(s.op).mask->shape = {1, 3};
  const auto refused = ops::cases::make_inputs(s, std::nullopt, +[](const std::string& p) { return read(p); });
  REQUIRE_FALSE(refused);
  CHECK(refused.problems()[0].field == "mask.content");
}
