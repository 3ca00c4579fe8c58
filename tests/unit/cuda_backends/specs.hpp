// Specs of small calls on a device, and one attempt at them.
#pragma once
#include <algorithm>

#include "../backends/cases.hpp"

namespace dd::test {

using core::DType;
using spec::Dims;

inline spec::OpSpec attention(DType type, std::int64_t b, std::int64_t h, std::int64_t hkv, std::int64_t tq, std::int64_t tk, std::int64_t d, std::int64_t dv) {
  spec::OpSpec s;
  spec::Attention a;
  a.q = {{b, h, tq, d}, type, {}, 0, {}};
  a.k = {{b, hkv, tk, d}, type, {}, 0, {}};
  a.v = {{b, hkv, tk, dv}, type, {}, 0, {}};
  a.enable_gqa = h != hkv;
  s.op = a;
  s.context.target = "cuda:0";
  return s;
}
inline spec::Attention& of(spec::OpSpec& s) { return std::get<0>(s.op); }

inline spec::OpSpec product(DType type, std::int64_t m, std::int64_t n, std::int64_t k) {
  spec::OpSpec s;
  spec::Gemm g;
  g.x = {{m, k}, type, {}, 0, {}};
  g.w = {{k, n}, type, {}, 0, {}};
  s.op = g;
  s.context.target = "cuda:0";
  return s;
}
inline spec::Gemm& gemm(spec::OpSpec& s) { return std::get<1>(s.op); }

inline spec::OpSpec quantized(int bits, bool zero, std::int64_t group, std::int64_t m, std::int64_t n, std::int64_t k) {
  spec::OpSpec s = product(DType::f16, m, n, k);
  spec::Quant q;
  q.bits = bits;
  q.group_size = group;
  q.zero_point = zero;
  q.scale_dtype = DType::f16;
  gemm(s).quant = q;
  gemm(s).w.dtype = bits == 4 ? (zero ? DType::u4 : DType::s4) : (zero ? DType::u8 : DType::s8);
  return s;
}

inline backends::RunResult run(const char* name, const spec::OpSpec& s) {
  const backends::Backend* backend = backends::find_backend(name, s.is_attention() ? spec::Op::sdpa : spec::Op::gemm);
  REQUIRE(backend);
  return run_and_compare(*backend, s).run;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
inline bool noted(const backends::RunResult& r, const std::string& part) {
  return std::any_of(r.evidence.notes.begin(), r.evidence.notes.end(), [&](const std::string& n) { return contains(n, part); });
}

}  // namespace dd::test
