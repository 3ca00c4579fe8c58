#include "backends/cudnn/frontend/reasons.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace dd::cudnn {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

// The first CUDNN_STATUS_... name in a line.
std::string status_in(std::string_view line) {
  const std::size_t at = line.find("CUDNN_STATUS_");
  if (at == std::string_view::npos) return {};
  std::size_t end = at;
  while (end < line.size() && (isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_')) ++end;
  return std::string(line.substr(at, end - at));
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Texts that speak of the shape of the graph or of a knob, not of the call.
bool is_generic(const Reason& r) {
  static constexpr std::array<std::string_view, 9> phrases = {
      "does not support this graph pattern", "isValidSetting", "This engine config is not supported", "treamK", "not enabled for",
      "should either be an entrance node", "engine does not support", "knob", "No valid"};
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view p) { return contains(r.text, p); });
}

// Lower is more telling. Order of the sub-codes: what the machine lacks, then the call's own properties, then the
// architecture, then the pattern.
int rank(const Reason& r) {
  static constexpr std::array<std::string_view, 8> codes = {"PREREQUISITE", "DATA_TYPE", "SHAPE",         "LAYOUT",
                                                            "SHARED_MEMORY", "ARCH_MISMATCH", "BAD_PARAM", "GRAPH_PATTERN"};
  int place = static_cast<int>(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (contains(r.code, codes[i])) {
      place = static_cast<int>(i);
      break;
    }
  return place + (is_generic(r) ? 100 : 0);
}

}  // namespace

std::vector<Reason> reasons_in(std::span<const std::string> messages) {
  // A block begins with the function that was called; its first reason is the root, the others are the calls on the way.
  std::vector<Reason> out;
  bool root_seen = false;
  for (const std::string& message : messages)
    for (std::size_t at = 0; at < message.size();) {
      const std::size_t end = std::min(message.find('\n', at), message.size());
      std::string_view line = trimmed(std::string_view(message).substr(at, end - at));
      at = end + 1;
      if (contains(line, "() called")) root_seen = false;
      const std::size_t reason = line.find("Reason:");
      if (reason == std::string_view::npos || root_seen) continue;
      root_seen = true;
      Reason r{status_in(line.substr(0, reason)), {}};
      line = trimmed(line.substr(reason + 7));
      r.text = std::string(trimmed(line.substr(0, line.rfind(" at: "))));  // what follows is a piece of cuDNN's source
      if (!r.text.empty()) out.push_back(std::move(r));
    }
  return out;
}

Reason most_telling(const std::vector<Reason>& reasons) {
  const auto best = std::min_element(reasons.begin(), reasons.end(), [](const Reason& a, const Reason& b) { return rank(a) < rank(b); });
  return best == reasons.end() ? Reason{} : *best;
}

bool only_generic(const std::vector<Reason>& reasons) {
  return std::all_of(reasons.begin(), reasons.end(), [](const Reason& r) { return is_generic(r); });
}

cuda::CallError call_error(const char* call, const std::string& words, const char* fallback) {
  using Fault = cuda::CallError::Fault;
  struct Row {
    const char* part;
    Fault fault;
  };
  // The first that is part of the status decides; what cuDNN says no to is the call's matter, the rest is a failure.
  static constexpr Row meanings[] = {{"ALLOC_FAILED", Fault::out_of_memory},   {"ALLOCATION_FAILED", Fault::out_of_memory}, {"NOT_INITIALIZED", Fault::unavailable},
                                     {"PREREQUISITE", Fault::unavailable},     {"VERSION_MISMATCH", Fault::unavailable},  {"LOADING_FAILED", Fault::unavailable},
                                     {"NOT_SUPPORTED", Fault::refused},        {"BAD_PARAM", Fault::refused},             {"ARCH_MISMATCH", Fault::refused}};
  const std::size_t at = words.rfind("CUDNN_STATUS_");
  cuda::CallError error{0, at == std::string::npos ? fallback : status_in(std::string_view(words).substr(at)), std::string(trimmed(words)), call, "cuDNN", Fault::failed};
  if (at == std::string::npos) {
    // The frontend's own words: it says no to a call, unless it repeats CUDA's error or lacks a library.
    static constexpr Row own[] = {{"bad_alloc", Fault::out_of_memory}, {"Unable to load", Fault::unavailable}, {"Unable to find symbol", Fault::unavailable},
                                  {" failed with ", Fault::failed}};
    error.fault = Fault::refused;
    for (const Row& row : own)
      if (contains(words, row.part)) {
        error.fault = row.fault;
        break;
      }
  }
  for (const Row& row : meanings)
    if (contains(error.name, row.part)) {
      error.fault = row.fault;
      break;
    }
  return error;
}

std::int64_t engine_in(const std::string& plan) {
  const std::size_t at = plan.rfind("eng");
  if (at == std::string::npos) return -1;
  std::size_t end = at + 3;
  while (end < plan.size() && end < at + 12 && isdigit(static_cast<unsigned char>(plan[end]))) ++end;
  return end == at + 3 ? -1 : std::stoll(plan.substr(at + 3, end - at - 3));
}

std::string engine_name(bool attention, std::int64_t id) {
  struct Row {
    std::int64_t id;
    const char* name;
  };
  static constexpr Row attention_rows[] = {{1, "sm80 kernels, composite graph"},  {2, "Hopper, composite graph"}, {3, "Blackwell 10.x and 11.x, composite graph"},
                                           {4, "12.x, composite graph"},          {8, "sm80 kernels"},            {9, "Hopper"},
                                           {10, "Blackwell 10.x and 11.x"},       {11, "12.x"}};
  static constexpr Row product_rows[] = {{0, "cuBLASLt"}, {1, "CUTLASS sm80"}, {2, "xmma sm90"}, {3, "CUTLASS sm75"},
                                         {4, "native 9.x"}, {7, "native 8.x and newer"}, {9, "native 10.x"}, {10, "native 12.x"}};
  if (attention) {
    for (const Row& r : attention_rows)
      if (r.id == id) return r.name;
  } else {
    for (const Row& r : product_rows)
      if (r.id == id) return r.name;
  }
  return {};
}

}  // namespace dd::cudnn
