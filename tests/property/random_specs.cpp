#include "random_specs.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "spec/validate.hpp"

namespace dd::test {
namespace {

using core::DType;
using spec::Dims;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1)); }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <class T, std::size_t N>
  T of(const T (&list)[N]) {
    return list[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(N) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

// Contiguous, padded rows, swapped axes, a spread last axis, or an expanded first axis.
std::optional<Dims> some_strides(Draw& draw, const Dims& shape) {
  if (draw.one_in(2) || shape.size() < 2) return std::nullopt;
  const std::size_t rank = shape.size();
  Dims strides = spec::contiguous_strides(shape);
  switch (draw.between(0, 3)) {
    case 0: {  // rows with gaps
      const std::int64_t extra = draw.between(1, 5);
      std::int64_t step = shape[rank - 1] + extra;
      for (std::size_t i = rank - 1; i-- > 0;) {
        strides[i] = step;
        step *= std::max<std::int64_t>(shape[i], 1);
      }
      return strides;
    }
    case 1: {  // the last two axes swapped in storage
      strides[rank - 2] = 1;
      strides[rank - 1] = std::max<std::int64_t>(shape[rank - 2], 1);
      return strides;
    }
    case 2:
      for (std::int64_t& s : strides) s *= 2;
      return strides;
    default:
      if (rank > 2) strides[0] = 0;
      return strides;
  }
}

spec::TensorSpec tensor(Draw& draw, Dims shape, DType type, bool plain) {
  spec::TensorSpec t;
  t.shape = std::move(shape);
  t.dtype = type;
  if (plain) return t;
  t.strides = some_strides(draw, t.shape);
  if (draw.one_in(4)) t.offset = draw.between(1, 4);
  return t;
}

spec::Attention attention(Draw& draw) {
  const DType types[] = {DType::f32, DType::f32, DType::f16, DType::bf16, DType::f64, DType::f8_e4m3};
  const DType type = draw.of(types);
  const std::int64_t b = draw.between(1, 2), hkv = draw.between(1, 3), group = draw.between(1, 3), tq = draw.between(1, 40), tk = draw.between(1, 60);
  const std::int64_t d = draw.one_in(20) ? draw.between(505, 520) : draw.between(1, 40), dv = draw.one_in(2) ? d : draw.between(1, 40);
  const bool plain = draw.one_in(2);
  spec::Attention a;
  a.q = tensor(draw, {b, hkv * group, tq, d}, type, plain);
  a.k = tensor(draw, {b, hkv, tk, d}, type, plain);
  a.v = tensor(draw, {b, hkv, tk, dv}, type, plain);
  a.enable_gqa = group > 1;
  if (draw.one_in(4)) {
    a.is_causal = true;
    a.causal_align = draw.one_in(2) ? spec::CausalAlign::top_left : spec::CausalAlign::bottom_right;
  } else if (draw.one_in(2)) {
    const char* contents[] = {"random", "causal", "padding:1", "window:3"};
    const Dims shapes[] = {{tq, tk}, {1, 1, tq, tk}, {b, 1, 1, tk}, {b, hkv * group, tq, tk}, {tk}};
    a.mask = spec::MaskSpec{draw.one_in(2) ? DType::boolean : type, draw.of(shapes), {}, 0, draw.of(contents), false};
    const Dims& shape = a.mask->shape;
    const bool one_row = tq > 1 && (shape.size() < 2 || shape[shape.size() - 2] == 1);
    if (one_row && (a.mask->content == "causal" || a.mask->content == "window:3")) a.mask->content = "padding:1";
    if (a.mask->dtype == DType::f8_e4m3) a.mask->dtype = DType::f32;
  }
  if (draw.one_in(4)) a.scale = 0.25 * static_cast<double>(draw.between(1, 4));
  if (draw.one_in(6)) a.dropout_p = 0.25;
  a.requires_grad = draw.one_in(10);
  return a;
}

void add_epilogue(Draw& draw, spec::Gemm& g) {
  const spec::Epilogue all[] = {spec::Epilogue::none, spec::Epilogue::none, spec::Epilogue::bias, spec::Epilogue::relu, spec::Epilogue::gelu,
                                spec::Epilogue::bias_relu, spec::Epilogue::bias_gelu};
  g.epilogue = draw.of(all);
  const bool bias = g.epilogue == spec::Epilogue::bias || g.epilogue == spec::Epilogue::bias_relu || g.epilogue == spec::Epilogue::bias_gelu;
  if (bias) g.bias = spec::TensorSpec{{g.w.shape.back()}, core::is_float(g.x.dtype) ? g.x.dtype : DType::f32, {}, 0, {}};
}

spec::Gemm dense(Draw& draw) {
  struct Pair {
    DType x, w;
  };
  const Pair pairs[] = {{DType::f32, DType::f32}, {DType::f32, DType::f32},   {DType::f64, DType::f64}, {DType::f16, DType::f16},
                        {DType::bf16, DType::bf16}, {DType::s8, DType::s8}, {DType::u8, DType::s8},   {DType::f8_e4m3, DType::f8_e5m2}};
  const Pair pair = draw.of(pairs);
  const std::int64_t m = draw.between(0, 40), n = draw.between(1, 40), k = draw.between(0, 70);
  const bool plain = draw.one_in(2);
  Dims x = {m, k}, w = {k, n};
  if (draw.one_in(4)) x.insert(x.begin(), draw.between(1, 3));
  if (x.size() == 3 && draw.one_in(2)) w.insert(w.begin(), draw.one_in(3) ? 1 : x[0]);
  spec::Gemm g;
  g.x = tensor(draw, x, pair.x, plain);
  g.w = tensor(draw, w, pair.w, plain);
  const DType outs[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::s32};
  if (draw.one_in(4)) g.out_dtype = draw.of(outs);
  const spec::Compute computes[] = {spec::Compute::f32, spec::Compute::f64, spec::Compute::tf32, spec::Compute::s32};
  if (draw.one_in(5)) g.compute = draw.of(computes);
  add_epilogue(draw, g);
  return g;
}

spec::Gemm quantized(Draw& draw) {
  const DType activations[] = {DType::f16, DType::bf16, DType::f32, DType::s8};
  spec::Quant q;
  const DType x = draw.of(activations);
  q.act_bits = core::info(x).bits;
  q.bits = draw.one_in(2) ? 4 : 8;
  q.zero_point = draw.one_in(2);
  const std::int64_t groups[] = {-1, 0, 16, 32};
  q.group_size = draw.of(groups);
  q.act_order = q.group_size > 0 && draw.one_in(4);
  const DType scales[] = {DType::f16, DType::f32, DType::bf16};
  q.scale_dtype = draw.of(scales);
  const DType w = q.bits == 4 ? (q.zero_point ? DType::u4 : DType::s4) : (q.zero_point ? DType::u8 : DType::s8);
  const std::int64_t m = draw.between(1, 20), n = 2 * draw.between(1, 20), k = 32 * draw.between(1, 4);
  spec::Gemm g;
  g.x = tensor(draw, {m, k}, x, draw.one_in(2));
  g.w = tensor(draw, {k, n}, w, true);
  if (draw.one_in(3)) g.w.strides = Dims{1, k};
  g.quant = q;
  if (draw.one_in(8)) g.compute = spec::Compute::f64;
  add_epilogue(draw, g);
  return g;
}

}  // namespace

spec::OpSpec random_spec(std::uint64_t seed) {
  Draw draw(seed);
  for (;;) {
    spec::OpSpec s;
    const std::int64_t kind = draw.between(0, 2);
    if (kind == 0) s.op = attention(draw);
    if (kind == 1) s.op = dense(draw);
    if (kind == 2) s.op = quantized(draw);
    const spec::Data data[] = {spec::Data::normal, spec::Data::uniform, spec::Data::integers};
    s.data = draw.of(data);
    s.seed = seed + 1;
    s.context.target = "cpu";
    if (draw.one_in(30)) s.mode = spec::Mode::captured;
    if (spec::validate(s).empty()) return s;
  }
}

}  // namespace dd::test
