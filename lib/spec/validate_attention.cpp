// Checks of attention: how q, k, v and the mask fit together.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "spec/validate_parts.hpp"
#include "spec/values.hpp"

namespace dd::spec {
namespace {

std::string number(std::int64_t value) { return fmt::format("{}", value); }

bool check_tensor(const char* name, const TensorSpec& t, Checks& checks) {
  if (t.dtype == DType::boolean || t.dtype == DType::f8_e8m0 || t.dtype == DType::f4_e2m1 || t.dtype == DType::s32)
    checks.fail(fmt::format("{}.dtype", name), std::string(core::to_text(t.dtype)),
                "f64|f32|f16|bf16|f8_e4m3|f8_e5m2|s8|u8|s4|u4", "attention has no such element type");
  return check_view({name, t.shape, t.strides, t.offset, t.storage, core::info(t.dtype).bits}, 2, 4, checks);
}

void check_heads(const Attention& a, const AttentionDims& q, const AttentionDims& k, Checks& checks) {
  if (k.heads == q.heads) return;
  if (a.enable_gqa) {
    if (k.heads == 0 || q.heads % k.heads != 0)
      checks.fail("k.shape[1]", fmt::format("{} key heads for {} query heads", k.heads, q.heads),
                  fmt::format("a divisor of {}", q.heads), "the key heads do not divide the query heads");
  } else if (k.heads != 1) {
    const bool divides = k.heads > 0 && q.heads % k.heads == 0;
    checks.fail("k.shape[1]", fmt::format("{} key heads for {} query heads", k.heads, q.heads),
                divides ? fmt::format("{} (or 1), or enable_gqa", q.heads) : fmt::format("{} (or 1)", q.heads),
                "the numbers of heads differ");
  }
}

void check_fit(const Attention& a, Checks& checks) {
  const std::size_t rank = a.q.shape.size();
  if (a.k.shape.size() != rank || a.v.shape.size() != rank) {
    checks.fail(a.k.shape.size() != rank ? "k.shape" : "v.shape",
                fmt::format("{}, {} and {} axes", rank, a.k.shape.size(), a.v.shape.size()), "one number of axes for q, k and v",
                "q, k and v differ in their number of axes");
    return;
  }
  const AttentionDims q = attention_dims(a.q.shape), k = attention_dims(a.k.shape), v = attention_dims(a.v.shape);
  const auto same = [&](std::string field, std::int64_t seen, std::int64_t wanted, const char* of, const char* message) {
    if (seen != wanted) checks.fail(std::move(field), number(seen), fmt::format("{}, as in {}", wanted, of), message);
  };
  if (rank >= 3) {
    same("k.shape[0]", k.batch, q.batch, "q", "the batch sizes differ");
    same("v.shape[0]", v.batch, q.batch, "q", "the batch sizes differ");
  }
  if (rank == 4) {
    check_heads(a, q, k, checks);
    same("v.shape[1]", v.heads, k.heads, "k", "the numbers of key and value heads differ");
  }
  same(fmt::format("v.shape[{}]", rank - 2), v.length, k.length, "k", "the key and value lengths differ");
  same(fmt::format("k.shape[{}]", rank - 1), k.size, q.size, "q", "the head sizes of q and k differ");
  if (q.size == 0)
    checks.fail(fmt::format("q.shape[{}]", rank - 1), "0", "at least 1", "a head size of 0 leaves the scores undefined");
}

void check_result(const Attention& a, Checks& checks) {
  const Dims shape = out_shape(a);
  check_view({"out", shape, a.out.strides, a.out.offset, a.out.storage, core::info(a.q.dtype).bits, true}, 2, 4, checks);
}

// Whether it broadcasts to the scores.
bool check_mask_shape(const Attention& a, const MaskSpec& mask, Checks& checks) {
  static const std::optional<std::int64_t> none;
  const std::size_t rank = a.q.shape.size();
  if (!check_view({"mask", mask.shape, mask.strides, mask.offset, none, core::info(mask.dtype).bits}, 1, rank, checks)) return false;
  Dims scores = a.q.shape;
  if (a.k.shape.size() < 2) return false;
  scores.back() = attention_dims(a.k.shape).length;
  const std::size_t missing = rank - mask.shape.size();
  bool fits = true;
  for (std::size_t i = 0; i < mask.shape.size(); ++i) {
    const std::int64_t wanted = scores[i + missing];
    if (mask.shape[i] == 1 || mask.shape[i] == wanted) continue;
    checks.fail(fmt::format("mask.shape[{}]", i), number(mask.shape[i]),
                wanted == 1 ? "1" : fmt::format("{} or 1, to broadcast to {}", wanted, format_dims(scores)),
                "the mask does not broadcast to the scores");
    fits = false;
  }
  return fits;
}

void check_mask_content(const Attention& a, const MaskSpec& mask, bool shapes, Checks& checks) {
  const std::string& content = mask.content;
  const std::string field = "mask.content";
  if (!is_plain_text(content) || content.size() > 4096) {
    checks.fail(field, "a text that cannot be printed, or is too long", "UTF-8 without control characters, at most 4096 bytes",
                "this mask content is not known");
    return;
  }
  const std::string seen = excerpt(content);
  const auto parameter = [&](std::string_view prefix) -> std::optional<std::string_view> {
    if (!content.starts_with(prefix)) return std::nullopt;
    return std::string_view(content).substr(prefix.size());
  };
  const std::int64_t keys = shapes ? attention_dims(a.k.shape).length : INT64_MAX;
  if (const auto text = parameter("padding:")) {
    const auto count = parse_int(*text);
    if (!count || *count < 0 || *count > keys)
      checks.fail(field, seen, shapes ? fmt::format("padding:0 to padding:{}", keys) : "padding:N with N at least 0",
                  "this is not a number of padded keys");
    return;
  }
  if (const auto text = parameter("window:")) {
    const auto count = parse_int(*text);
    if (!count || *count < 1) checks.fail(field, seen, "window:N with N at least 1", "this is not a window size");
    return;
  }
  if (content == "zeros" || content == "random" || content == "causal") return;
  if (!content.ends_with(".npy") && !content.ends_with(".safetensors"))
    checks.fail(field, seen,
                "causal, padding:N, window:N, zeros, random, or a .npy or .safetensors file", "this mask content is not known");
}

// A triangle or a band differs from query to query, padding from key to key: an axis of 1 that stands for many holds neither.
void check_mask_pattern(const Attention& a, const MaskSpec& mask, Checks& checks) {
  const std::string kind = mask.content.substr(0, mask.content.find(':'));
  const bool by_query = kind == "causal" || kind == "window";
  if ((!by_query && kind != "padding") || mask.content == "padding:0") return;
  const std::int64_t queries = attention_dims(a.q.shape).length, keys = attention_dims(a.k.shape).length;
  const std::size_t rank = mask.shape.size();
  const bool lacks_queries = by_query && queries > 1 && (rank < 2 || mask.shape[rank - 2] == 1);
  const bool lacks_keys = keys > 1 && rank > 0 && mask.shape[rank - 1] == 1;
  if (!lacks_queries && !lacks_keys) return;
  checks.fail("mask.shape", format_dims(mask.shape), by_query ? fmt::format("{}x{} at the end", queries, keys) : fmt::format("{} as its last axis", keys),
              fmt::format("a mask of this shape cannot say {}", kind));
}

void check_mask(const Attention& a, bool shapes, Checks& checks) {
  if (!a.mask) return;
  const MaskSpec& mask = *a.mask;
  if (mask.dtype != DType::boolean && (!core::is_float(mask.dtype) || core::info(mask.dtype).bits < 16))
    checks.fail("mask.dtype", std::string(core::to_text(mask.dtype)), "bool|f64|f32|f16|bf16", "a mask has no such type");
  if (mask.requires_grad && mask.dtype == DType::boolean)
    checks.fail("mask.requires_grad", "a bool mask with a gradient", "a float mask", "a bool mask has no gradient");
  check_mask_content(a, mask, shapes, checks);
  if (!shapes || !check_mask_shape(a, mask, checks)) return;
  check_mask_pattern(a, mask, checks);
}

void check_lengths(const char* field, const Dims& lengths, std::int64_t batch, std::int64_t most, Checks& checks) {
  if (static_cast<std::int64_t>(lengths.size()) != batch)
    checks.fail(field, fmt::format("{} lengths", lengths.size()), fmt::format("{}, one per sequence of the batch", batch),
                "the number of lengths is wrong");
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] >= 0 && lengths[i] <= most) continue;
    checks.fail(fmt::format("{}[{}]", field, i), number(lengths[i]), fmt::format("0 to {}", most),
                "a sequence is longer than its axis");
    return;  // the first of possibly thousands
  }
}

void check_nested(const Attention& a, Checks& checks) {
  if (!a.nested) return;
  if (a.q.shape.size() != 4) {
    checks.fail("nested", fmt::format("q with {} axes", a.q.shape.size()), "q with 4 axes", "only four axes can be ragged");
    return;
  }
  const AttentionDims q = attention_dims(a.q.shape), k = attention_dims(a.k.shape);
  check_lengths("nested.q_lengths", a.nested->q_lengths, q.batch, q.length, checks);
  check_lengths("nested.kv_lengths", a.nested->kv_lengths, q.batch, k.length, checks);
}

}  // namespace

void check_attention(const Attention& a, bool shapes, bool fit, Checks& checks) {
  if (!(a.dropout_p >= 0.0 && a.dropout_p < 1.0))
    checks.fail("dropout_p", format_real(a.dropout_p), "at least 0 and below 1", "this is not a dropout probability");
  if (a.scale && !std::isfinite(*a.scale))
    checks.fail("scale", format_real(*a.scale), "a finite number", "this is not a scale");
  if (!shapes) {
    check_mask(a, false, checks);
    return;
  }
  // Each tensor on its own first; what follows needs all three.
  bool ok = check_tensor("q", a.q, checks);
  ok = check_tensor("k", a.k, checks) && ok;
  ok = check_tensor("v", a.v, checks) && ok;
  check_mask(a, ok, checks);
  if (!ok) return;
  // How the three fit together is what a framework's own rules are about.
  if (fit) {
    check_fit(a, checks);
    check_result(a, checks);
  }
  check_nested(a, checks);
}

}  // namespace dd::spec
