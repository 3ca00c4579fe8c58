// What a case file states that no rule of ours reads. A note is shown; it decides nothing.
#include <algorithm>
#include <string_view>

#include "gemm_case.hpp"
#include "gemm_case_fields.hpp"

namespace dd::cases {
namespace {

using nlohmann::json;

template <std::size_t N>
bool among(const Renamed (&table)[N], const std::string& name) {
  return std::any_of(std::begin(table), std::end(table), [&](const Renamed& row) { return name == row.theirs; });
}

template <std::size_t N>
bool among(const char* const (&table)[N], const std::string& name) {
  return std::any_of(std::begin(table), std::end(table), [&](const char* row) { return name == row; });
}

constexpr const char* read_apart[] = {"backend", "convention", "op", "m", "n", "k", "batch", "cc", "device", "dtype_a", "dtype_b", "dtype_out", "mat1_layout", "mat2_layout",
                                      "mat1_stride", "mat2_stride", "batch_inner_stride", "out_stride", "align_bytes", "quant", "flags", "versions", "candidates", "fast_accum",
                                      "workspace_bytes", "head_dim", "kv_len", "kv_types", "gqa", "mask_ne2"};
constexpr const char* quant_apart[] = {"bits", "group_size", "zero_point", "act_order", "packing"};
constexpr const char* flags_apart[] = {"input_noncontiguous", "bias_noncontiguous", "deterministic", "allow_tf32", "requires_grad", "compiling", "threshold", "toolkit",
                                       "toolkit_ge_13_2_1", "has_bias", "mask"};
constexpr const char* align_apart[] = {"a", "b", "c", "bias", "scale"};
constexpr const char* version_names[] = {"torch", "cuda", "cublas", "vllm", "bnb", "bitsandbytes"};

template <class Known>
void unread(const json& s, const char* part, Known known, std::vector<std::string>& notes) {
  const auto it = s.find(part);
  if (it == s.end() || it->is_null()) return;
  if (!it->is_object()) {
    notes.push_back(std::string(part) + " is no object and is not read");
    return;
  }
  for (const auto& [name, value] : it->items())
    if (!value.is_null() && !known(name)) notes.push_back(std::string(part) + "." + name + " is not read");
}

}  // namespace

std::vector<std::string> gemm_case_notes(const json& s) {
  std::vector<std::string> notes;
  for (const auto& [name, value] : s.items())
    if (!value.is_null() && !among(plain_fields, name) && !among(read_apart, name)) notes.push_back(name + " is not read");
  unread(s, "quant", [](const std::string& name) { return among(quant_fields, name) || among(quant_apart, name); }, notes);
  unread(s, "flags", [](const std::string& name) { return among(flag_fields, name) || among(build_flags, name) || among(environment_flags, name) || among(flags_apart, name); }, notes);
  unread(s, "align_bytes", [](const std::string& name) { return among(align_apart, name); }, notes);
  unread(s, "versions", [](const std::string& name) { return among(version_names, name); }, notes);
  return notes;
}

}  // namespace dd::cases
