#include "session/mask_file.hpp"

#include <fmt/format.h>

#include <cstring>
#include <fstream>

#include "ops/cases/mask_content.hpp"
#include "session/safetensors.hpp"

namespace dd::session {
namespace {

using core::DType;
using core::Problem;
using core::Result;

constexpr std::int64_t largest = std::int64_t{4} << 30;
constexpr std::size_t largest_header = 1 << 16;

// The text between `key` and the next of the `ends` in the header's dictionary.
std::string entry(const std::string& header, const std::string& key) {
  const auto at = header.find("'" + key + "'");
  if (at == std::string::npos) return {};
  const auto colon = header.find(':', at);
  return colon == std::string::npos ? std::string() : header.substr(colon + 1);
}

std::optional<DType> type_of(const std::string& descr) {
  const auto first = descr.find('\''), last = descr.find('\'', first + 1);
  if (first == std::string::npos || last == std::string::npos) return std::nullopt;
  const std::string name = descr.substr(first + 1, last - first - 1);
  static const std::pair<const char*, DType> names[] = {{"|b1", DType::boolean}, {"<f2", DType::f16}, {"<f4", DType::f32},
                                                        {"<f8", DType::f64}, {"|i1", DType::s8}, {"|u1", DType::u8}, {"<i4", DType::s32}};
  for (const auto& [text, dtype] : names)
    if (name == text) return dtype;
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> shape_of(const std::string& text) {
  const auto open = text.find('('), close = text.find(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  std::vector<std::int64_t> shape;
  std::int64_t value = -1;
  for (std::size_t i = open + 1; i <= close; ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      value = (value < 0 ? 0 : value) * 10 + (c - '0');
      if (value > largest) return std::nullopt;
    } else if (c == ',' || c == ')') {
      if (value >= 0) shape.push_back(value);
      value = -1;
    } else if (c != ' ' && c != 'L') {
      return std::nullopt;
    }
  }
  if (shape.size() > 8) return std::nullopt;
  return shape;
}

std::optional<std::string> read_header(std::ifstream& in) {
  unsigned char start[12] = {};
  in.read(reinterpret_cast<char*>(start), 8);
  if (in.gcount() != 8 || std::memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3) return std::nullopt;
  const int bytes = start[6] == 1 ? 2 : 4;
  in.read(reinterpret_cast<char*>(start + 8), bytes);
  if (in.gcount() != bytes) return std::nullopt;
  std::size_t length = 0;
  for (int i = bytes; i-- > 0;) length = length * 256 + start[8 + i];
  if (length > largest_header) return std::nullopt;
  std::string header(length, ' ');
  in.read(header.data(), static_cast<std::streamsize>(length));
  if (in.gcount() != static_cast<std::streamsize>(length)) return std::nullopt;
  return header;
}

}  // namespace

Result<core::Tensor> read_npy(const std::string& path) {
  const auto bad = [&](std::string message) { return Problem{"mask.content", path, {}, std::move(message), {}, 0}; };
  std::ifstream in(path, std::ios::binary);
  if (!in) return bad("cannot open this file");
  const auto header = read_header(in);
  if (!header) return bad("not a NumPy file");
  const auto dtype = type_of(entry(*header, "descr"));
  const auto shape = shape_of(entry(*header, "shape"));
  if (!dtype) return bad("an element type that no mask has");
  if (!shape) return bad("a shape that cannot be read");
  const auto count = spec::element_count(*shape);
  if (!count || *count > largest / std::max(1, core::info(*dtype).bits / 8)) return bad("larger than 4 GiB");
  const std::int64_t bytes = core::bytes_of(*dtype, *count);
  const auto data = in.tellg();
  in.seekg(0, std::ios::end);
  if (in.tellg() - data < bytes) return bad("shorter than its header says");
  in.seekg(data);
  core::Tensor t = make_tensor(*dtype, *shape);
  in.read(reinterpret_cast<char*>(t.storage.get()), bytes);
  if (in.gcount() != bytes) return bad("shorter than its header says");
  if (entry(*header, "fortran_order").find("True") < entry(*header, "fortran_order").find(',')) {
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < shape->size(); ++i) {
      t.strides[i] = stride;
      stride *= std::max<std::int64_t>((*shape)[i], 1);
    }
  }
  return t;
}

Result<core::Tensor> read_mask_file(const std::string& path) {
  if (path.ends_with(".npy")) return read_npy(path);
  auto file = read_safetensors(path);
  if (!file) return file.problems();
  for (const char* name : {"mask", "attn_mask"})
    if (const auto it = file->tensors.find(name); it != file->tensors.end()) return it->second;
  if (file->tensors.size() == 1) return file->tensors.begin()->second;
  return Problem{"mask.content", path, "a tensor named mask or attn_mask", "which of several tensors is the mask is not clear", {}, 0};
}

bool is_mask_file(const std::string& content) { return content.ends_with(".npy") || content.ends_with(".safetensors"); }

void add_mask_content(const spec::OpSpec& spec, facts::FactSet& facts, std::vector<std::string>& notes) {
  if (!spec.is_attention() || !spec.attention().mask || !is_mask_file(spec.attention().mask->content)) return;
  const spec::Attention& a = spec.attention();
  const auto tensor = read_mask_file(a.mask->content);
  if (!tensor) {
    for (const Problem& p : tensor.problems()) notes.push_back(core::to_text(p));
    return;
  }
  if (a.mask->dtype == core::DType::boolean)
    if (const auto problem = ops::cases::not_boolean(*tensor, a.mask->content)) {
      notes.push_back(core::to_text(*problem));
      return;
    }
  const ops::MaskAnalysis m = ops::analyse_mask(*tensor, spec::attention_dims(a.q.shape).length, spec::attention_dims(a.k.shape).length);
  using facts::Id;
  // A triangle that only fits the lower right is not what the flag means.
  const bool flag_says_it = m.shape == ops::MaskShape::causal && m.top_left;
  const std::string name = m.shape == ops::MaskShape::causal && !flag_says_it ? "causal-bottom-right" : m.name.substr(0, m.name.find(':'));
  const bool plain = !m.biased && !m.zeros_and_ones && !m.nan;
  facts.set(Id::mask_content, plain ? name : std::string("bias"), facts::Provenance::measured, a.mask->content);
  facts.set(Id::mask_empty_rows, m.empty_rows > 0, facts::Provenance::measured, a.mask->content);
  const std::string said = !m.biased ? m.name : m.shape == ops::MaskShape::zeros ? "a bias" : m.name + ", with a bias";
  notes.push_back(fmt::format("mask {}: {}, {:.1f} per cent open", a.mask->content, said, m.open_share * 100));
  for (const std::string& sentence : m.meaning) notes.push_back("mask: " + sentence);
}

spec::OpSpec with_plain_mask(const spec::OpSpec& spec, const facts::FactSet& facts) {
  spec::OpSpec out = spec;
  if (!spec.is_attention() || !spec.attention().mask || !is_mask_file(spec.attention().mask->content)) return out;
  const auto* said = std::get_if<std::string>(&facts.value(facts::Id::mask_content));
  if (!said) return out;
  spec::MaskSpec& mask = *std::get<spec::Attention>(out.op).mask;
  // A boolean mask that is open everywhere pads nothing; the word zeros would close it.
  if (*said == "zeros") mask.content = mask.dtype == core::DType::boolean ? "padding:0" : "zeros";
  if (*said == "causal") mask.content = "causal";
  return out;
}

}  // namespace dd::session
