#include "ops/cases/mask_content.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

#include "ops/cases/cases.hpp"
#include "ops/tensor/convert.hpp"
#include "ops/tensor/fill.hpp"
#include "ops/tensor/parallel.hpp"

namespace dd::ops::cases {
namespace {

using core::DType;

// Whether key j is open to query i.
using Open = std::function<bool(std::int64_t i, std::int64_t j)>;

void fill_open(core::Tensor& mask, std::int64_t queries, std::int64_t keys, const Open& open) {
  const TensorView v = view(mask);
  const bool boolean = mask.dtype == DType::boolean;
  const std::int64_t rows = v.rank >= 2 ? v.shape[v.rank - 2] : 1, columns = v.shape[v.rank - 1];
  const std::int64_t matrices = rows * columns == 0 ? 0 : element_count(v) / (rows * columns);
  const double closed = boolean ? 0.0 : -std::numeric_limits<double>::infinity();
  for (std::int64_t m = 0; m < matrices; ++m)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        // A mask axis of size 1 stands for all queries or keys; position 0 speaks for them.
        const bool is_open = open(rows == 1 ? queries - 1 : i, columns == 1 ? keys - 1 : j);
        store(v.data, v.dtype, element_index(v, (m * rows + i) * columns + j), is_open ? (boolean ? 1.0 : 0.0) : closed);
      }
}

std::optional<std::int64_t> argument(std::string_view content, std::string_view name) {
  if (content.substr(0, name.size()) != name || content.size() <= name.size() || content[name.size()] != ':') return std::nullopt;
  std::int64_t n = 0;
  const char* end = content.data() + content.size();
  const auto [at, error] = std::from_chars(content.data() + name.size() + 1, end, n);
  if (error != std::errc{} || at != end || n < 0) return std::nullopt;
  return n;
}

void fill_random(core::Tensor& mask, std::uint64_t seed, std::uint32_t stream) {
  Fill f;
  f.seed = seed;
  f.stream = stream;
  if (mask.dtype != DType::boolean) {
    fill(view(mask), f);
    return;
  }
  const TensorView v = view(mask);
  const std::int64_t n = element_count(v), columns = v.shape[v.rank - 1];
  f.kind = FillKind::uniform;
  for (std::int64_t e = 0; e < n; ++e) {
    // Three of four open, and one key of every row always, so that no row is masked by accident.
    const bool anchor = (e / columns) % columns == e % columns;
    const bool open = anchor || fill_value(DType::f32, f, static_cast<std::uint64_t>(e)) < 0.5;
    store(v.data, v.dtype, element_index(v, e), open ? 1.0 : 0.0);
  }
}

// The file's elements in the spec's shape and type.
std::optional<core::Problem> copy_mask(core::Tensor& mask, const core::Tensor& file, const std::string& name) {
  if (file.shape != mask.shape) {
    return core::Problem{"mask.content", fmt::format("{} of shape {}", name, fmt::join(file.shape, "x")), fmt::format("{}", fmt::join(mask.shape, "x")),
                         "the mask file has another shape than the mask", "", 0};
  }
  if (file.dtype == DType::boolean && mask.dtype != DType::boolean) {
    return core::Problem{"mask.dtype", std::string(core::to_text(mask.dtype)), "bool", "the mask file holds a boolean mask", "", 0};
  }
  if (mask.dtype == DType::boolean)
    if (auto problem = not_boolean(file, name)) return problem;
  const TensorView from = view(file), to = view(mask);
  const std::int64_t n = element_count(to);
  for (std::int64_t e = 0; e < n; ++e) store(to.data, to.dtype, element_index(to, e), load(from.data, from.dtype, element_index(from, e)));
  return std::nullopt;
}

}  // namespace

std::optional<core::Problem> not_boolean(const core::Tensor& file, const std::string& name) {
  const TensorView v = view(file);
  const std::int64_t n = element_count(v);
  for (std::int64_t e = 0; e < n; ++e) {
    const double value = load(v.data, v.dtype, element_index(v, e));
    if (value == 0.0 || value == 1.0) continue;
    return core::Problem{"mask.content", fmt::format("{}: {} at element {} of a mask of {}", name, value, e, core::to_text(file.dtype)),
                         "0 (closed) and 1 (open) alone; --mask float for values that are added to the scores",
                         "the mask file holds no boolean mask", "", 0};
  }
  return std::nullopt;
}

std::optional<core::Problem> fill_mask(core::Tensor& mask, const spec::Attention& a, std::uint64_t seed, std::uint32_t stream,
                                       MaskReader reader) {
  const std::int64_t queries = spec::attention_dims(a.q.shape).length, keys = spec::attention_dims(a.k.shape).length;
  const std::string& content = a.mask->content;
  if (content == "zeros") return std::nullopt;  // the storage is zeroed already
  if (content == "random") {
    fill_random(mask, seed, stream);
    return std::nullopt;
  }
  if (content == "causal") {
    const std::int64_t shift = a.causal_align == spec::CausalAlign::bottom_right ? keys - queries : 0;
    fill_open(mask, queries, keys, [=](std::int64_t i, std::int64_t j) { return j <= i + shift; });
    return std::nullopt;
  }
  if (const auto n = argument(content, "padding")) {
    fill_open(mask, queries, keys, [=](std::int64_t, std::int64_t j) { return j < keys - *n; });
    return std::nullopt;
  }
  if (const auto n = argument(content, "window")) {
    fill_open(mask, queries, keys, [=](std::int64_t i, std::int64_t j) { return std::llabs(i - j) <= *n; });
    return std::nullopt;
  }
  if (!reader) return core::Problem{"mask.content", content, "causal, padding:N, window:N, zeros or random", "unknown mask content", "", 0};
  const auto read = reader(content);
  if (!read) return read.problems().front();
  return copy_mask(mask, *read, content);
}

}  // namespace dd::ops::cases
