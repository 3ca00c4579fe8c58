// Random specs for property tests: every field is reached, all are valid, small unless asked otherwise.
// The same seed gives the same spec on every machine.
#pragma once
#include <cstdint>
#include <string>

#include "spec/options.hpp"
#include "spec/validate.hpp"

namespace dd::test {

class RandomSpec {
 public:
  explicit RandomSpec(std::uint64_t seed) : state_(seed * 2 + 1) {}

  spec::OpSpec next() {
    spec::OpSpec out;
    if (chance(2))
      out.op = attention();
    else
      out.op = gemm();
    common(out);
    return out;
  }

  // splitmix64
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::int64_t upto(std::int64_t most) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(most + 1)); }
  bool chance(int one_in) { return bits() % static_cast<std::uint64_t>(one_in) == 0; }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[static_cast<std::size_t>(upto(static_cast<std::int64_t>(from.size()) - 1))];
  }

 private:
  using Dims = spec::Dims;
  using DType = spec::DType;

  std::int64_t extent(std::int64_t most) { return chance(20) ? 0 : 1 + upto(most - 1); }

  template <class T>
  void random_strides(T& view, const Dims& shape, bool output) {
    Dims strides = spec::contiguous_strides(shape);
    if (chance(2)) {  // a wider row
      std::int64_t factor = 1 + upto(3);
      for (std::size_t i = 0; i + 1 < strides.size(); ++i) strides[i] *= factor;
    }
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (shape[i] <= 1 && chance(3)) strides[i] = upto(7);  // an odd stride of a size-1 axis is kept
      if (shape[i] > 1 && !output && chance(12)) strides[i] = 0;  // expanded
    }
    if (strides != spec::contiguous_strides(shape)) view.strides = strides;
  }
  template <class T>
  void random_place(T& view, const Dims& shape) {
    if (chance(4)) view.offset = 8 * upto(5);
    if (!chance(6)) return;
    const auto span = spec::storage_span(shape, view.strides ? *view.strides : spec::contiguous_strides(shape), view.offset);
    if (span) view.storage = *span + upto(9);
  }

  spec::Attention attention() {
    spec::Attention a;
    const std::int64_t b = extent(3), hkv = 1 + upto(2), sq = extent(9), skv = extent(9), d = 1 + upto(15), dv = extent(16);
    a.enable_gqa = chance(3);
    const std::int64_t h = a.enable_gqa ? hkv * (1 + upto(2)) : hkv;
    a.q.shape = {b, h, sq, d};
    a.k.shape = {b, hkv, skv, d};
    a.v.shape = {b, hkv, skv, dv};
    if (chance(8))
      for (auto* t : {&a.q, &a.k, &a.v}) t->shape.erase(t->shape.begin() + 1);
    a.q.dtype = pick({DType::f16, DType::bf16, DType::f32, DType::f64, DType::f8_e4m3});
    a.k.dtype = chance(9) ? DType::f32 : a.q.dtype;
    a.v.dtype = chance(9) ? DType::f64 : a.k.dtype;
    if (chance(2)) {
      const auto layout = pick({spec::Layout::bshd, spec::Layout::sbhd, spec::Layout::packed_qkv});
      spec::apply_layout(layout, a.q, a.k, a.v);
    } else if (chance(2)) {
      for (auto* t : {&a.q, &a.k, &a.v}) {
        random_strides(*t, t->shape, false);
        random_place(*t, t->shape);
      }
    }
    const Dims result = spec::out_shape(a);
    if (chance(5)) random_strides(a.out, result, true);
    if (chance(5)) random_place(a.out, result);
    if (chance(2)) a.mask = mask(a);
    a.is_causal = chance(3);
    a.causal_align = chance(4) ? spec::CausalAlign::bottom_right : spec::CausalAlign::top_left;
    if (chance(4)) a.scale = pick({0.0, -0.5, 0.1, 1e-300, 1.0 / 3.0});
    a.dropout_p = chance(4) ? pick({0.1, 0.25, 0.999}) : 0.0;
    a.requires_grad = chance(4);
    if (chance(8) && a.q.shape.size() == 4) {
      spec::Nested nested;
      for (std::int64_t i = 0; i < b; ++i) {
        nested.q_lengths.push_back(upto(a.q.shape[2]));
        nested.kv_lengths.push_back(upto(a.k.shape[2]));
      }
      if (a.q.shape[2] == a.k.shape[2] && chance(2)) nested.kv_lengths = nested.q_lengths;
      a.nested = nested;
    }
    if (chance(6)) a.extra = extras(spec::Op::sdpa);
    return a;
  }

  spec::MaskSpec mask(const spec::Attention& a) {
    spec::MaskSpec m;
    m.dtype = pick({DType::boolean, DType::f32, a.q.dtype});
    if (core::info(m.dtype).bits == 8 && m.dtype != DType::boolean) m.dtype = DType::boolean;
    m.shape = a.q.shape;
    m.shape.back() = spec::attention_dims(a.k.shape).length;
    while (m.shape.size() > 1 && chance(2)) m.shape.erase(m.shape.begin());
    for (auto& extent : m.shape)
      if (chance(4)) extent = 1;
    const std::int64_t keys = spec::attention_dims(a.k.shape).length;
    m.content = pick<std::string>({"causal", "padding:" + std::to_string(upto(keys)), "window:3", "zeros", "random", "my mask's $file.npy"});
    const bool folded = m.shape.back() == 1 || m.shape.size() < 2 || m.shape[m.shape.size() - 2] == 1;
    if (folded && m.content != "random" && !m.content.ends_with(".npy")) m.content = "zeros";
    m.requires_grad = m.dtype != DType::boolean && chance(3);
    if (chance(3)) random_strides(m, m.shape, false);
    if (chance(4)) m.offset = upto(9);
    return m;
  }

  spec::Gemm gemm() {
    spec::Gemm g;
    const std::int64_t m = extent(9), n = extent(9), k = extent(4) * 8;
    g.x.shape = {m, k};
    g.w.shape = {k, n};
    if (chance(3)) g.x.shape.insert(g.x.shape.begin(), 1 + upto(3));
    if (chance(3)) g.w.shape.insert(g.w.shape.begin(), g.x.shape.size() > 2 ? g.x.shape[0] : 2);
    const DType type = pick({DType::f16, DType::bf16, DType::f32, DType::f64, DType::s8, DType::u8, DType::f8_e5m2});
    g.x.dtype = g.w.dtype = type;
    const bool whole = !core::is_float(type);
    if (chance(3)) quantize(g, k);
    if (chance(3)) g.out_dtype = pick({DType::f32, DType::f64, DType::f16, DType::s32});
    if (!g.quant && chance(4)) g.compute = whole ? spec::Compute::s32 : pick({spec::Compute::f32, spec::Compute::f64, spec::Compute::tf32});
    place(g.x, g.trans_x);
    place(g.w, g.trans_w);
    const Dims result = spec::out_shape(g);
    if (chance(5)) random_strides(g.out, result, true);
    if (chance(5)) random_place(g.out, result);
    g.epilogue = pick({spec::Epilogue::none, spec::Epilogue::bias, spec::Epilogue::relu, spec::Epilogue::gelu, spec::Epilogue::bias_relu, spec::Epilogue::bias_gelu});
    if (g.epilogue == spec::Epilogue::bias || g.epilogue == spec::Epilogue::bias_relu || g.epilogue == spec::Epilogue::bias_gelu) {
      spec::TensorSpec bias;
      bias.shape = chance(3) ? Dims{m, 1} : Dims{n};
      bias.dtype = chance(3) ? DType::f64 : spec::out_dtype(g);
      if (chance(4)) random_strides(bias, bias.shape, false);
      if (chance(4)) random_place(bias, bias.shape);
      g.bias = bias;
    }
    if (chance(5)) g.workspace = upto(1 << 30);
    g.requires_grad = chance(4);
    if (chance(5)) g.extra = extras(spec::Op::gemm);
    return g;
  }

  void place(spec::TensorSpec& t, bool& trans) {
    trans = chance(4);
    if (trans)
      t.strides = spec::transposed_strides(t.shape);
    else if (chance(3))
      random_strides(t, t.shape, false);
    random_place(t, t.shape);
  }

  void quantize(spec::Gemm& g, std::int64_t k) {
    spec::Quant q;
    q.bits = pick({2, 3, 4, 8});
    q.act_bits = pick({8, 16, 32});
    q.group_size = pick<std::int64_t>({-1, 0, 4, 8});
    if (q.group_size > 0 && k % q.group_size != 0) q.group_size = -1;
    q.zero_point = chance(2);
    q.act_order = chance(3);
    if (chance(3)) q.packing = "marlin";
    q.scale_dtype = pick({DType::f16, DType::bf16, DType::f32, DType::f8_e8m0});
    q.scheme = spec::format_quant(q);
    g.x.dtype = chance(4) && q.act_bits == 8 ? DType::bf16 : spec::activation_dtype(q);
    g.w.dtype = spec::weight_dtype(q);
    g.quant = q;
  }

  std::map<std::string, std::string> extras(spec::Op op) {
    std::map<std::string, std::string> out;
    for (const spec::ExtraField& field : spec::extra_fields()) {
      if (!(field.ops & spec::mask_of(op)) || !chance(6)) continue;
      constexpr const char* values[] = {"-12", "0.25", "true", "some name=1", "a,b"};
      out[std::string(field.name)] = values[static_cast<int>(field.type)];
    }
    return out;
  }

  void common(spec::OpSpec& s) {
    s.flags.deterministic = pick({spec::Deterministic::off, spec::Deterministic::warn_only, spec::Deterministic::strict});
    s.flags.tf32 = chance(3);
    s.flags.reduced_precision = chance(3);
    if (chance(5)) s.flags.autocast = pick({DType::f16, DType::bf16});
    s.flags.flash = !chance(5);
    s.flags.efficient = !chance(5);
    s.flags.cudnn = !chance(5);
    s.flags.math = !chance(5);
    s.mode = pick({spec::Mode::eager, spec::Mode::compiled});
    if (chance(4)) s.further_modes = {spec::Mode::captured};
    if (chance(4)) s.policy.allow = std::vector<std::string>{"cpu-flash", "cpu-math"};
    if (chance(4)) s.policy.deny = {"cpu-naive"};
    if (chance(4)) s.policy.force = "cpu-math";
    if (chance(4)) s.policy.order = std::vector<std::string>{"cpu-math", "cpu-flash"};
    if (chance(3)) s.context.target = pick<std::string>({"cpu", "sm_90", "h100-sxm,a100-80", "my profile.json"});
    s.context.framework = pick<std::string>({"native", "torch", "vllm"});
    if (chance(3)) s.context.torch = "2.6.0+cu124";
    if (chance(4)) s.context.cuda = "12.4";
    if (chance(4)) s.context.cudnn = "9.1.0";
    if (chance(5)) s.context.versions = {{"vllm", "2026-08"}, {"bitsandbytes", "0.49"}};
    if (chance(5)) s.context.env = {{"A_B", "it's \"quoted\" \\ $x `y` #z"}, {"EMPTY", ""}, {"UTF", "gr\xc3\xbc\xc3\x9f"}};
    if (chance(5)) s.context.build = {{"flash", false}, {"mslk", true}};
    s.seed = chance(3) ? bits() : 1;
    s.data = pick({spec::Data::normal, spec::Data::uniform, spec::Data::integers, spec::Data::outliers});
    if (chance(4)) s.rtol = pick({0.0, 1e-3, 0.1});
    if (chance(4)) s.atol = pick({0.0, 1e-5, 2.0});
  }

  std::uint64_t state_;
};

}  // namespace dd::test
