// Checks of one tensor's shape, strides and place in its storage.
#include <algorithm>
#include <numeric>
#include <vector>

#include "spec/validate_parts.hpp"
#include "spec/values.hpp"

namespace dd::spec {
namespace {

bool check_extents(const View& v, std::size_t least, std::size_t most, Checks& checks) {
  const std::string field = fmt::format("{}.shape", v.name);
  if (v.shape.size() < least || v.shape.size() > most) {
    checks.fail(field, fmt::format("{} axes in {}", v.shape.size(), format_dims(v.shape)),
                least == most ? fmt::format("{} axes", least) : fmt::format("{} to {} axes", least, most),
                "the number of axes is wrong");
    return false;
  }
  bool ok = true;
  for (std::size_t i = 0; i < v.shape.size(); ++i) {
    if (v.shape[i] >= 0) continue;
    checks.fail(fmt::format("{}[{}]", field, i), fmt::format("{}", v.shape[i]), "at least 0", "an extent is negative");
    ok = false;
  }
  if (!ok) return false;
  const auto count = element_count(v.shape);
  std::int64_t bit_count = 0;
  if (!count) {
    checks.fail(field, format_dims(v.shape), "at most 2^63-1 elements", "the number of elements overflows");
    return false;
  }
  if (__builtin_mul_overflow(*count, static_cast<std::int64_t>(v.bits), &bit_count) || bit_count > INT64_MAX - 7) {
    checks.fail(field, fmt::format("{} elements of {} bits", *count, v.bits), "at most 2^63-1 bits in all",
                "the size in bytes overflows");
    return false;
  }
  return true;
}

bool check_strides(const View& v, Checks& checks) {
  if (!v.strides) return true;
  const std::string field = fmt::format("{}.strides", v.name);
  if (v.strides->size() != v.shape.size()) {
    checks.fail(field, fmt::format("{} strides", v.strides->size()),
                fmt::format("{}, one per axis of {}", v.shape.size(), format_dims(v.shape)),
                "the number of strides is wrong");
    return false;
  }
  bool ok = true;
  for (std::size_t i = 0; i < v.strides->size(); ++i) {
    if ((*v.strides)[i] >= 0) continue;
    checks.fail(fmt::format("{}[{}]", field, i), fmt::format("{}", (*v.strides)[i]), "at least 0",
                "a stride is negative");
    ok = false;
  }
  return ok;
}

void check_place(const View& v, Checks& checks) {
  const std::string field = fmt::format("{}.offset", v.name);
  if (v.storage && *v.storage < 0)
    checks.fail(fmt::format("{}.storage", v.name), fmt::format("{}", *v.storage), "at least 0",
                "the storage size is negative");
  if (v.offset < 0) {
    checks.fail(field, fmt::format("{}", v.offset), "at least 0", "the offset lies before the storage");
    return;
  }
  if (v.bits < 8 && v.offset * v.bits % 8 != 0)
    checks.fail(field, fmt::format("{}", v.offset), fmt::format("a multiple of {}", 8 / v.bits),
                "the first element does not start on a byte");
  const auto span = storage_span(v.shape, v.strides ? *v.strides : contiguous_strides(v.shape), v.offset);
  std::int64_t bit_count = 0;
  if (!span || __builtin_mul_overflow(*span, static_cast<std::int64_t>(v.bits), &bit_count) || bit_count > INT64_MAX - 7) {
    checks.fail(fmt::format("{}.strides", v.name),
                fmt::format("strides {} from offset {}", format_dims(v.strides ? *v.strides : contiguous_strides(v.shape)),
                            v.offset),
                "a last element below 2^63 bits", "the place of the last element overflows");
    return;
  }
  if (v.storage && *v.storage >= 0 && *span > *v.storage)
    checks.fail(field, fmt::format("offset {}, last element at {}", v.offset, *span - 1),
                fmt::format("below {}, the size of the storage", *v.storage), "the view reaches past its storage");
}

// All offsets of a small tensor, sorted: two equal ones are an overlap.
bool overlaps_exactly(const Dims& shape, const Dims& strides) {
  std::vector<std::int64_t> places{0};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::vector<std::int64_t> next;
    next.reserve(places.size() * static_cast<std::size_t>(shape[i]));
    for (std::int64_t at = 0; at < shape[i]; ++at)
      for (std::int64_t place : places) next.push_back(place + at * strides[i]);
    places = std::move(next);
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

}  // namespace

bool may_overlap(const Dims& shape, const Dims& strides) {
  constexpr std::int64_t exact_limit = 1 << 16;
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return false;
    if (shape[i] > 1) axes.push_back(i);
  }
  std::sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  std::int64_t reach = 0;  // greatest place of the axes so far
  bool nested = true;
  for (std::size_t i : axes) {
    if (strides[i] <= reach) nested = false;
    std::int64_t step = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &step) || __builtin_add_overflow(reach, step, &reach)) return true;
  }
  if (nested) return false;
  const auto count = element_count(shape);
  return !count || *count > exact_limit || overlaps_exactly(shape, strides);
}

bool check_view(const View& v, std::size_t least, std::size_t most, Checks& checks) {
  if (!check_extents(v, least, most, checks)) return false;
  if (!check_strides(v, checks)) return true;
  check_place(v, checks);
  if (v.is_output && v.strides && v.offset >= 0 && storage_span(v.shape, *v.strides, v.offset) &&
      may_overlap(v.shape, *v.strides))
    checks.fail(fmt::format("{}.strides", v.name), format_dims(*v.strides),
                fmt::format("strides under which all elements of {} are apart", format_dims(v.shape)),
                "elements of an output overlap");
  return true;
}

}  // namespace dd::spec
