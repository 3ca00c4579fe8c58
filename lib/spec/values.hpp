// Text of single values (numbers, shapes, lists, quantization schemes) to types and back. The printed form of a value
// is always accepted again and gives the same value. Nothing here reports: nullopt says that the text was not understood.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/spec.hpp"

namespace dd::spec {

constexpr std::size_t most_axes = 8;

std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<std::uint64_t> parse_unsigned(std::string_view text);
std::optional<double> parse_real(std::string_view text);      // also nan and inf: validation refuses them by name
std::optional<bool> parse_switch(std::string_view text);      // on, off, true, false, yes, no, 1, 0
std::optional<std::int64_t> parse_bytes(std::string_view text);  // 4096, 64KiB, 32MiB, 1GiB
// Axes separated by x: 1x8x256x64. At least one and at most `most` of them.
std::optional<Dims> parse_dims(std::string_view text, std::size_t most = most_axes);
// Whole numbers separated by commas; an empty text is an empty list.
std::optional<Dims> parse_ints(std::string_view text, std::size_t most);
// Names separated by commas; nullopt when one is empty. An empty text is an empty list.
std::optional<std::vector<std::string>> parse_names(std::string_view text);
// NAME=VALUE with a name that is not empty.
std::optional<std::pair<std::string, std::string>> parse_pair(std::string_view text);
// w<bits>a<bits>[:group=N|channel|tensor][:zero][:act-order][:packing=NAME][:scale=TYPE]; `scheme` becomes canonical.
std::optional<Quant> parse_quant(std::string_view text);
constexpr std::string_view quant_syntax =
    "w<bits>a<bits>[:group=N|channel|tensor][:zero][:act-order][:packing=NAME][:scale=f16|bf16|f32|f8_e8m0]";

// Types that a scheme implies where none is given: of the stored weights and of the activations.
DType weight_dtype(const Quant& quant);
DType activation_dtype(const Quant& quant);

std::string format_dims(const Dims& dims, char separator = 'x');
std::string format_real(double value);  // shortest text that reads back to the same value
std::string format_names(const std::vector<std::string>& names);
std::string format_quant(const Quant& quant);  // the canonical scheme text of the fields

// Valid UTF-8 without control characters.
bool is_plain_text(std::string_view text);
// What a message shows of a text that may hold anything: never empty, never long, always printable.
std::string excerpt(std::string_view text, std::size_t most = 100);
// The GPU of this machine that a target names: cuda is 0, cuda:N is N.
constexpr int most_gpus = 1024;
std::optional<int> gpu_ordinal(std::string_view target);
// Lower-case letters, digits, '-', '_' and '.', starting with a letter or digit.
bool is_name(std::string_view text);

// Layouts of attention inputs that have a name.
enum class Layout { bhsd, bshd, sbhd, packed_qkv };
// Strides and offsets that a layout gives to q, k and v (storage is one buffer for packed-qkv). False when the shapes
// do not fit it: rank other than 4, or packed with different batch or length.
bool apply_layout(Layout layout, TensorSpec& q, TensorSpec& k, TensorSpec& v);
// The layout by name whose strides (for packed-qkv also offsets) these tensors have exactly.
std::optional<Layout> layout_of(const TensorSpec& q, const TensorSpec& k, const TensorSpec& v);
// Strides of a logical matrix (…, R, C) whose storage is contiguous as (…, C, R).
Dims transposed_strides(const Dims& shape);

}  // namespace dd::spec

DD_ENUM_TEXT(dd::spec::Layout, {dd::spec::Layout::bhsd, "bhsd"}, {dd::spec::Layout::bshd, "bshd"},
             {dd::spec::Layout::sbhd, "sbhd"}, {dd::spec::Layout::packed_qkv, "packed-qkv"})
