#include "spec/validate_parts.hpp"
#include "spec/values.hpp"
#include "support/catch.hpp"

using namespace dd::spec;

TEST_CASE("numbers, lists and shapes", "[spec]") {
  CHECK(parse_dims("1x8x256x64") == Dims{1, 8, 256, 64});
  CHECK(parse_dims("2X3") == Dims{2, 3});
  CHECK(parse_dims("7") == Dims{7});
  for (const char* bad : {"", "x", "1x", "x1", "1xx2", "1 x 2", "1x2.5", "1,2", "1x9223372036854775808", "1x1x1x1x1x1x1x1x1", "+1x2", "0x10z"})
    CHECK_FALSE(parse_dims(bad));
  CHECK(parse_ints("5,7,3", 3) == Dims{5, 7, 3});
  CHECK(parse_ints("", 3) == Dims{});
  CHECK_FALSE(parse_ints("5,7,3", 2));
  CHECK(parse_bytes("32MiB") == 33554432);
  CHECK(parse_bytes("5") == 5);
  CHECK_FALSE(parse_bytes("9999999999GiB"));
  CHECK_FALSE(parse_bytes("5MB"));
  CHECK(parse_switch("off") == false);
  CHECK_FALSE(parse_switch("maybe"));
  CHECK_FALSE(parse_names("a,,b"));
  CHECK_FALSE(parse_names(",a"));
  CHECK_FALSE(parse_names("a,"));
  CHECK_FALSE(parse_pair("=x"));
  CHECK(parse_pair("A=b=c")->second == "b=c");
  CHECK(format_real(*parse_real("0.1")) == "0.1");
  CHECK_FALSE(parse_real("1.0x"));
}

TEST_CASE("quantization schemes", "[spec]") {
  const auto q = parse_quant("w4a16:zero:group=128:packing=gptq:scale=bf16:act-order");
  REQUIRE(q);
  CHECK(q->bits == 4);
  CHECK(q->act_bits == 16);
  CHECK(q->group_size == 128);
  CHECK(q->zero_point);
  CHECK(q->act_order);
  CHECK(q->packing == "gptq");
  CHECK(q->scale_dtype == DType::bf16);
  CHECK(q->scheme == "w4a16:group=128:zero:act-order:packing=gptq:scale=bf16");
  CHECK(parse_quant(q->scheme) == q);
  CHECK(parse_quant("w8a8:group=tensor")->group_size == 0);
  CHECK(parse_quant("w8a8")->group_size == -1);
  for (const char* bad : {"", "w4", "a16", "w4a", "wa", "w4a16:", "w4a16:zero:", "w4a16:group=0", "w4a16:group=-8", "w4a16:group=x", "w4a16:packing=",
                          "w4a16:scale=f17", "w4a16:huh", "4a16", "w-4a16"})
    CHECK_FALSE(parse_quant(bad));
}

TEST_CASE("layouts become exact strides", "[spec]") {
  TensorSpec q, k, v;
  q.shape = {2, 4, 10, 8};
  k.shape = {2, 2, 10, 8};
  v.shape = {2, 2, 10, 6};
  REQUIRE(apply_layout(Layout::bshd, q, k, v));
  CHECK(q.strides == Dims{320, 8, 32, 1});
  CHECK(v.strides == Dims{120, 6, 12, 1});
  CHECK(layout_of(q, k, v) == Layout::bshd);
  REQUIRE(apply_layout(Layout::sbhd, q, k, v));
  CHECK(q.strides == Dims{32, 8, 64, 1});
  REQUIRE(apply_layout(Layout::packed_qkv, q, k, v));
  CHECK(q.strides == Dims{600, 8, 60, 1});
  CHECK(k.strides == Dims{600, 8, 60, 1});
  CHECK(v.strides == Dims{600, 6, 60, 1});
  CHECK(k.offset == 32);
  CHECK(v.offset == 48);
  CHECK(layout_of(q, k, v) == Layout::packed_qkv);
  REQUIRE(apply_layout(Layout::bhsd, q, k, v));
  CHECK_FALSE(q.strides);
  k.shape[2] = 11;
  CHECK_FALSE(apply_layout(Layout::packed_qkv, q, k, v));
  CHECK(transposed_strides({5, 16, 32}) == Dims{512, 1, 16});
}

TEST_CASE("overlap of strides", "[spec]") {
  CHECK_FALSE(may_overlap({2, 3}, {3, 1}));
  CHECK_FALSE(may_overlap({2, 3}, {1, 2}));
  CHECK(may_overlap({2, 3}, {0, 1}));
  CHECK(may_overlap({2, 3}, {2, 1}));
  CHECK_FALSE(may_overlap({2, 3}, {3, 2}));   // interlaced but apart: 0 2 4 3 5 7
  CHECK(may_overlap({3, 3}, {2, 4}));         // 4 = 2 * 2
  CHECK_FALSE(may_overlap({1, 3}, {0, 1}));   // the stride of a size-1 axis reaches nothing
  CHECK_FALSE(may_overlap({0, 3}, {0, 0}));
  CHECK(may_overlap({1 << 20, 1 << 20}, {3, 2}));  // too large for the exact answer: not shown to be apart
  CHECK(may_overlap({INT64_MAX, 2}, {INT64_MAX, 1}));
}

TEST_CASE("texts that can be printed", "[spec]") {
  CHECK(is_plain_text("gr\xc3\xbc\xc3\x9f \xf0\x9f\x8e\x89"));
  for (const char* bad : {"a\nb", "\x7f", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\x80", "\xe2\x82"}) CHECK_FALSE(is_plain_text(bad));
  CHECK(is_name("cpu-flash"));
  for (const char* bad : {"", "-a", "A", "a b", "a,b"}) CHECK_FALSE(is_name(bad));
}

TEST_CASE("storage spans", "[spec]") {
  CHECK(storage_span({2, 3}, {3, 1}, 0) == 6);
  CHECK(storage_span({2, 3}, {3, 1}, 4) == 10);
  CHECK(storage_span({2, 3}, {0, 1}, 0) == 3);
  CHECK(storage_span({0, 3}, {3, 1}, 5) == 0);
  CHECK_FALSE(storage_span({3, 3}, {INT64_MAX / 2, 1}, 3));
  CHECK_FALSE(storage_span({3, 3}, {3, -1}, 0));
}
