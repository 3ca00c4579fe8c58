// Checks of matrix products: how x, w and the bias fit together, types, and quantized weights.
#include <algorithm>
#include <array>

#include "spec/validate_parts.hpp"
#include "spec/values.hpp"

namespace dd::spec {
namespace {

constexpr std::size_t most_rank = 8;

std::string name_of(DType type) { return std::string(core::to_text(type)); }
bool is_integer(DType t) { return !core::is_float(t) && t != DType::boolean; }

void check_input_type(const char* name, DType type, Checks& checks) {
  if (type == DType::boolean || type == DType::f8_e8m0 || type == DType::s32)
    checks.fail(fmt::format("{}.dtype", name), name_of(type), "f64|f32|f16|bf16|f8_e4m3|f8_e5m2|s8|u8|s4|u4",
                "a matrix product has no such element type");
}

void check_types(const Gemm& g, Checks& checks) {
  check_input_type("x", g.x.dtype, checks);
  check_input_type("w", g.w.dtype, checks);
  if (!g.quant && is_integer(g.x.dtype) != is_integer(g.w.dtype))
    checks.fail("w.dtype", fmt::format("x of {} and w of {}", name_of(g.x.dtype), name_of(g.w.dtype)),
                "both float, both integer, or quant", "a float and an integer operand need a quantization scheme");
  constexpr std::array<DType, 5> never = {DType::boolean, DType::f8_e8m0, DType::f4_e2m1, DType::s4, DType::u4};
  if (g.out_dtype && std::find(never.begin(), never.end(), *g.out_dtype) != never.end())
    checks.fail("out_dtype", name_of(*g.out_dtype), "a type of at least 8 bits", "a result has no such type");
  if (g.bias && std::find(never.begin(), never.end(), g.bias->dtype) != never.end())
    checks.fail("bias.dtype", name_of(g.bias->dtype), "a type of at least 8 bits", "a bias has no such type");
  if (!g.compute || g.quant) return;
  if ((*g.compute == Compute::s32) != is_integer(g.x.dtype))
    checks.fail("compute", fmt::format("{} with x of {}", core::to_text(*g.compute), name_of(g.x.dtype)),
                is_integer(g.x.dtype) ? "s32" : "f32|tf32|f16|f64", "the arithmetic does not fit the element type");
}

void check_epilogue(const Gemm& g, Checks& checks) {
  const bool asked = g.epilogue == Epilogue::bias || g.epilogue == Epilogue::bias_relu || g.epilogue == Epilogue::bias_gelu;
  const std::string seen(core::to_text(g.epilogue));
  if (asked && !g.bias) checks.fail("epilogue", seen + " without a bias", "a bias, or none|relu|gelu", "the epilogue adds a bias that is not there");
  if (!asked && g.bias) {
    const std::string with = g.epilogue == Epilogue::none ? "bias" : "bias+" + seen;
    checks.fail("epilogue", seen + " beside a bias", with, "there is a bias that the epilogue does not add");
  }
  if (g.workspace && *g.workspace < 0)
    checks.fail("workspace", fmt::format("{}", *g.workspace), "at least 0 bytes", "the workspace is negative");
}

void check_quant_types(const Gemm& g, const Quant& q, Checks& checks) {
  const DType x = g.x.dtype, w = g.w.dtype;
  const int x_bits = core::info(x).bits;
  const bool x_fits = q.act_bits >= 16 ? core::is_float(x) && x_bits == q.act_bits
                                       : x_bits == q.act_bits || (core::is_float(x) && x_bits >= 16);
  if (!x_fits)
    checks.fail("x.dtype", name_of(x),
                q.act_bits >= 16 ? fmt::format("a float type of {} bits", q.act_bits)
                                 : fmt::format("a type of {} bits, or a float type that is quantized in the call", q.act_bits),
                fmt::format("activations of {} bits have no such type", q.act_bits));
  const int w_bits = core::info(w).bits;
  if (w_bits != (q.bits <= 4 ? 4 : 8))
    checks.fail("w.dtype", name_of(w), q.bits <= 4 ? "s4|u4|f4_e2m1" : "s8|u8|f8_e4m3|f8_e5m2",
                fmt::format("weights of {} bits are not stored in this type", q.bits));
  constexpr std::array<DType, 5> scales = {DType::f16, DType::bf16, DType::f32, DType::f8_e8m0, DType::f8_e4m3};
  if (std::find(scales.begin(), scales.end(), q.scale_dtype) == scales.end())
    checks.fail("quant.scale_dtype", name_of(q.scale_dtype), "f16|bf16|f32|f8_e8m0|f8_e4m3", "scales have no such type");
}

void check_quant(const Gemm& g, bool whole_groups, Checks& checks) {
  if (!g.quant) return;
  const Quant& q = *g.quant;
  constexpr std::array<int, 6> widths = {2, 3, 4, 5, 6, 8};
  const bool bits_known = std::find(widths.begin(), widths.end(), q.bits) != widths.end();
  if (!bits_known) checks.fail("quant.bits", fmt::format("{}", q.bits), "2|3|4|5|6|8", "weights of this width are not known");
  const bool acts_known = q.act_bits == 4 || q.act_bits == 8 || q.act_bits == 16 || q.act_bits == 32;
  if (!acts_known)
    checks.fail("quant.act_bits", fmt::format("{}", q.act_bits), "4|8|16|32", "activations of this width are not known");
  if (bits_known && acts_known) check_quant_types(g, q, checks);
  if (!q.packing.empty() && !is_name(q.packing))
    checks.fail("quant.packing", excerpt(q.packing),
                "lower-case letters, digits, '-', '_' and '.'", "this is not a packing name");
  if (q.group_size < -1) {
    checks.fail("quant.group_size", fmt::format("{}", q.group_size), "at least 1, -1 (per channel) or 0 (one scale)",
                "this is not a group size");
  } else if (whole_groups && q.group_size > 0 && g.w.shape.size() >= 2) {
    const std::int64_t k = g.w.shape[g.w.shape.size() - 2];
    if (k % q.group_size != 0)
      checks.fail("quant.group_size", fmt::format("{} with k = {}", q.group_size, k), fmt::format("a divisor of {}", k),
                  "the groups do not divide the reduction length");
  }
}

// Whether the batch axes of x and w broadcast; reports each axis that does not.
bool check_batch(const Gemm& g, Checks& checks) {
  bool ok = true;
  const std::size_t x = g.x.shape.size(), w = g.w.shape.size();
  for (std::size_t back = 3; back <= std::min(x, w); ++back) {
    const std::int64_t a = g.x.shape[x - back], b = g.w.shape[w - back];
    if (a == b || a == 1 || b == 1) continue;
    checks.fail(fmt::format("w.shape[{}]", w - back), fmt::format("{}", b), fmt::format("{} (as in x) or 1", a),
                "the batch axes of x and w do not broadcast");
    ok = false;
  }
  return ok;
}

void check_bias_shape(const Gemm& g, const Dims& result, Checks& checks) {
  if (!g.bias) return;
  const TensorSpec& b = *g.bias;
  if (!check_view({"bias", b.shape, b.strides, b.offset, b.storage, core::info(b.dtype).bits}, 1, result.size(), checks)) return;
  const std::size_t missing = result.size() - b.shape.size();
  for (std::size_t i = 0; i < b.shape.size(); ++i) {
    const std::int64_t wanted = result[i + missing];
    if (b.shape[i] == wanted || b.shape[i] == 1) continue;
    checks.fail(fmt::format("bias.shape[{}]", i), fmt::format("{}", b.shape[i]),
                wanted == 1 ? "1" : fmt::format("{} or 1, to broadcast to {}", wanted, format_dims(result)),
                "the bias does not broadcast to the result");
  }
}

}  // namespace

void check_gemm(const Gemm& g, bool shapes, bool odd_groups, Checks& checks) {
  check_types(g, checks);
  check_epilogue(g, checks);
  if (shapes) {
    const auto view = [&](const char* name, const TensorSpec& t, int bits) {
      return check_view({name, t.shape, t.strides, t.offset, t.storage, bits}, 2, most_rank, checks);
    };
    const bool x_ok = view("x", g.x, core::info(g.x.dtype).bits);
    const bool w_ok = view("w", g.w, core::info(g.w.dtype).bits);
    if (x_ok && w_ok) {
      const std::int64_t x_k = g.x.shape.back(), w_k = g.w.shape[g.w.shape.size() - 2];
      if (x_k != w_k)
        checks.fail(fmt::format("w.shape[{}]", g.w.shape.size() - 2), fmt::format("{}", w_k),
                    fmt::format("{}, the last extent of x", x_k), "the reduction lengths of x and w differ");
      if (check_batch(g, checks)) {
        const Dims result = out_shape(g);
        check_view({"out", result, g.out.strides, g.out.offset, g.out.storage, core::info(out_dtype(g)).bits, true}, 2,
                   most_rank, checks);
        check_bias_shape(g, result, checks);
      }
    }
    check_quant(g, w_ok && !odd_groups, checks);
  } else {
    check_quant(g, false, checks);
  }
}

}  // namespace dd::spec
