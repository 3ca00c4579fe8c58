#include "session/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "session/mapped_file.hpp"
#include "spec/spec.hpp"

namespace dd::session {
namespace {

using core::DType;
using core::Problem;
using core::Tensor;
using nlohmann::json;

constexpr std::int64_t header_limit = 16 << 20;  // bytes of JSON; ours need a few hundred
constexpr std::size_t rank_limit = 16;
constexpr auto tensors_key = "dispatchdoctor.tensors";

struct TypeName {
  DType dtype;
  std::string_view name;
};
// 4-bit types are packed two to a byte and appear as U8.
constexpr TypeName type_names[] = {{DType::f64, "F64"},         {DType::f32, "F32"},         {DType::f16, "F16"},
                                   {DType::bf16, "BF16"},       {DType::f8_e4m3, "F8_E4M3"}, {DType::f8_e5m2, "F8_E5M2"},
                                   {DType::f8_e8m0, "F8_E8M0"}, {DType::s32, "I32"},         {DType::s8, "I8"},
                                   {DType::u8, "U8"},           {DType::boolean, "BOOL"}};

std::string_view file_type(DType dtype) {
  for (const TypeName& t : type_names)
    if (t.dtype == dtype) return t.name;
  return "U8";
}

std::optional<DType> from_file_type(std::string_view name) {
  for (const TypeName& t : type_names)
    if (t.name == name) return t.dtype;
  return std::nullopt;
}

Problem bad(const std::string& path, std::string field, std::string message, std::string seen = {}, std::string wanted = {}) {
  return {std::move(field), std::move(seen), std::move(wanted), std::move(message), path, 0};
}

std::shared_ptr<std::byte> allocate(std::int64_t bytes) {
  const std::size_t rounded = static_cast<std::size_t>((std::max<std::int64_t>(bytes, 1) + 63) / 64 * 64);
  auto* raw = static_cast<std::byte*>(::operator new(rounded, std::align_val_t{64}));
  std::memset(raw, 0, rounded);
  return {raw, [](std::byte* p) { ::operator delete(p, std::align_val_t{64}); }};
}

bool plain(const Tensor& t) {  // the storage is just the tensor, in order
  const auto count = spec::element_count(t.shape);
  return count && core::info(t.dtype).bits >= 8 && t.offset == 0 && t.strides == spec::contiguous_strides(t.shape) &&
         core::bytes_of(t.dtype, *count) == t.storage_bytes;
}

// One stretch of the data section.
struct Entry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0, bytes = 0;
  const std::byte* data = nullptr;
};

struct Layout {
  std::vector<Entry> entries;
  json tensors = json::object();
  std::int64_t total = 0;
};

Layout lay_out(const core::TensorMap& tensors, bool aligned) {
  Layout out;
  std::map<const std::byte*, std::string> stored;  // storage -> entry
  std::map<const std::byte*, int> users;
  for (const auto& [name, t] : tensors) users[t.storage.get()]++;
  int fills = 0;
  const auto append = [&](Entry e) {
    if (aligned && out.total % 64 != 0) {
      const std::int64_t gap = 64 - out.total % 64;
      out.entries.push_back({fmt::format("_fill_{}", fills++), "U8", {gap}, out.total, gap, nullptr});
      out.total += gap;
    }
    e.begin = out.total;
    out.total += e.bytes;
    out.entries.push_back(std::move(e));
  };
  for (const auto& [name, t] : tensors) {
    const bool shared = users[t.storage.get()] > 1;
    json view = {{"dtype", core::to_text(t.dtype)}, {"shape", t.shape}, {"strides", t.strides}, {"offset", t.offset}};
    auto it = stored.find(t.storage.get());
    if (it == stored.end()) {
      const std::string entry = shared ? name + ".storage" : name;
      const int bits = core::info(t.dtype).bits;
      const std::int64_t elements = bits >= 8 ? t.storage_bytes * 8 / bits : t.storage_bytes;
      const bool whole = bits < 8 || elements * bits / 8 == t.storage_bytes;
      Entry e{entry, std::string(whole ? file_type(t.dtype) : "U8"), {whole ? elements : t.storage_bytes}, 0, t.storage_bytes, t.storage.get()};
      if (!shared && plain(t)) e.shape = t.shape;
      append(std::move(e));
      it = stored.emplace(t.storage.get(), entry).first;
    }
    view["entry"] = it->second;
    if (shared || !plain(t)) out.tensors[name] = std::move(view);
  }
  return out;
}

}  // namespace

core::Tensor make_tensor(DType dtype, std::vector<std::int64_t> shape) {
  Tensor t;
  t.dtype = dtype;
  t.strides = spec::contiguous_strides(shape);
  t.storage_bytes = core::bytes_of(dtype, spec::element_count(shape).value_or(0));
  t.shape = std::move(shape);
  t.storage = allocate(t.storage_bytes);
  return t;
}

core::Tensor contiguous_copy(const Tensor& from) {
  Tensor to = make_tensor(from.dtype, from.shape);
  const int bits = core::info(from.dtype).bits;
  const std::int64_t count = spec::element_count(from.shape).value_or(0);
  std::vector<std::int64_t> index(from.shape.size(), 0);
  std::int64_t at = from.offset;
  const auto* source = from.storage.get();
  auto* target = to.storage.get();
  for (std::int64_t i = 0; i < count; ++i) {
    if (bits >= 8) {
      std::memcpy(target + i * (bits / 8), source + at * (bits / 8), static_cast<std::size_t>(bits / 8));
    } else {
      const auto nibble = (source[at / 2] >> (at % 2 ? 4 : 0)) & std::byte{15};
      target[i / 2] |= nibble << (i % 2 ? 4 : 0);
    }
    for (std::size_t axis = index.size(); axis-- > 0;) {
      at += from.strides[axis];
      if (++index[axis] < from.shape[axis]) break;
      at -= from.strides[axis] * from.shape[axis];
      index[axis] = 0;
    }
  }
  return to;
}

core::Result<std::int64_t> write_safetensors(const std::string& path, const core::TensorMap& tensors,
                                             const SafetensorsOptions& options) {
  const Layout layout = lay_out(tensors, options.aligned);
  json header = json::object();
  json metadata = {{"format", "dispatchdoctor"}};
  for (const auto& [key, value] : options.metadata) metadata[key] = value;
  if (!layout.tensors.empty()) metadata[tensors_key] = layout.tensors.dump();
  header["__metadata__"] = std::move(metadata);
  for (const Entry& e : layout.entries)
    header[e.name] = {{"dtype", e.dtype}, {"shape", e.shape}, {"data_offsets", {e.begin, e.begin + e.bytes}}};
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((64 - (8 + text.size()) % 64) % 64, ' ');
  const std::int64_t start = 8 + static_cast<std::int64_t>(text.size());
  auto file = MappedFile::open(path, MapMode::create, start + layout.total);
  if (!file) return file.problems();
  std::byte* at = (*file)->data();
  std::uint64_t length = text.size();
  for (int i = 0; i < 8; ++i) at[i] = static_cast<std::byte>(length >> (8 * i));
  std::memcpy(at + 8, text.data(), text.size());
  for (const Entry& e : layout.entries)
    if (e.data && e.bytes > 0) std::memcpy(at + start + e.begin, e.data, static_cast<std::size_t>(e.bytes));
  return start + layout.total;
}

namespace {

class Reader {
 public:
  Reader(std::string path, std::shared_ptr<MappedFile> file) : path_(std::move(path)), file_(std::move(file)) {}

  core::Result<SafetensorsFile> read() {
    if (auto problem = read_header()) return *problem;
    for (const auto& [name, entry] : header_.items())
      if (name != "__metadata__") read_entry(name, entry);
    check_coverage();
    read_metadata();
    if (!problems_.empty()) return problems_;
    return std::move(out_);
  }

 private:
  struct Span {
    std::int64_t begin, end;
    std::string name;
  };

  void fail(const std::string& field, std::string message, std::string seen = {}, std::string wanted = {}) {
    if (problems_.size() < 20) problems_.push_back(bad(path_, field, std::move(message), std::move(seen), std::move(wanted)));
  }

  std::optional<Problem> read_header() {
    if (file_->size() < 8) return bad(path_, "header", "too short for a safetensors file", fmt::format("{} bytes", file_->size()));
    std::uint64_t length = 0;
    for (int i = 0; i < 8; ++i) length |= static_cast<std::uint64_t>(file_->data()[i]) << (8 * i);
    if (length > static_cast<std::uint64_t>(std::min(header_limit, file_->size() - 8)))
      return bad(path_, "header", "header is longer than the file or the limit", fmt::format("{} bytes", length),
                 fmt::format("at most {}", std::min(header_limit, file_->size() - 8)));
    start_ = 8 + static_cast<std::int64_t>(length);
    const char* text = reinterpret_cast<const char*>(file_->data()) + 8;
    // A limit on the nesting: a parser that recurses must not be led into the depths by a hostile header.
    const auto shallow = [](int depth, json::parse_event_t, json&) { return depth <= 8; };
    header_ = json::parse(text, text + length, shallow, false);
    if (!header_.is_object()) return bad(path_, "header", "not a JSON object");
    return std::nullopt;
  }

  static bool integer(const json& j, std::int64_t& out) {
    if (!j.is_number_integer()) return false;
    if (j.is_number_unsigned() && j.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) return false;
    out = j.get<std::int64_t>();
    return true;
  }

  static bool integers(const json& j, std::vector<std::int64_t>& out) {
    if (!j.is_array() || j.size() > rank_limit) return false;
    for (const json& part : j) {
      std::int64_t v = 0;
      if (!integer(part, v)) return false;
      out.push_back(v);
    }
    return true;
  }

  void read_entry(const std::string& name, const json& e) {
    std::vector<std::int64_t> shape, offsets;
    if (!e.is_object() || !e.contains("dtype") || !e["dtype"].is_string() || !e.contains("shape") || !integers(e["shape"], shape) ||
        !e.contains("data_offsets") || !integers(e["data_offsets"], offsets) || offsets.size() != 2)
      return fail(name, "entry needs dtype, shape and data_offsets");
    const std::int64_t room = file_->size() - start_;
    if (offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > room)
      return fail(name, "data lies outside the file", fmt::format("[{}, {}]", offsets[0], offsets[1]), fmt::format("within 0 and {}", room));
    spans_.push_back({offsets[0], offsets[1], name});
    const std::int64_t bytes = offsets[1] - offsets[0];
    const std::string dtype_name = e["dtype"].get<std::string>();
    const auto dtype = from_file_type(dtype_name);
    if (!dtype) {
      out_.skipped.push_back(name + ": " + dtype_name.substr(0, 32));
      return;
    }
    const auto count = spec::element_count(shape);
    if (!count || *count > INT64_MAX / 64 || core::bytes_of(*dtype, *count) != bytes)
      return fail(name, "shape and bytes do not agree", fmt::format("{} bytes", bytes),
                  count ? fmt::format("{} elements of {}", *count, dtype_name) : "an element count that fits 63 bits");
    Tensor t;
    t.dtype = *dtype;
    t.shape = std::move(shape);
    t.strides = spec::contiguous_strides(t.shape);
    t.storage = {file_, file_->data() ? file_->data() + start_ + offsets[0] : nullptr};
    t.storage_bytes = bytes;
    out_.tensors[name] = std::move(t);
  }

  void check_coverage() {
    std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
    for (std::size_t i = 1; i < spans_.size(); ++i)
      if (spans_[i].begin < spans_[i - 1].end)
        fail(spans_[i].name, "data overlaps another tensor", fmt::format("from {}", spans_[i].begin), fmt::format("from {} on, after {}", spans_[i - 1].end, spans_[i - 1].name));
  }

  void read_metadata() {
    const auto it = header_.find("__metadata__");
    if (it == header_.end()) return;
    if (!it->is_object()) return fail("__metadata__", "not a JSON object");
    for (const auto& [key, value] : it->items())
      if (value.is_string() && key != tensors_key) out_.metadata[key] = value.get<std::string>();
    for (auto t = out_.tensors.begin(); t != out_.tensors.end();)
      t = t->first.starts_with("_fill_") ? out_.tensors.erase(t) : std::next(t);
    const auto views = it->find(tensors_key);
    if (views == it->end()) return;
    if (!views->is_string()) return fail(tensors_key, "not a text");
    const json list = json::parse(views->get<std::string>(), [](int depth, json::parse_event_t, json&) { return depth <= 8; }, false);
    if (!list.is_object()) return fail(tensors_key, "not a JSON object");
    const core::TensorMap entries = out_.tensors;
    std::vector<std::string> storages;
    core::TensorMap made;
    for (const auto& [name, view] : list.items()) read_view(name, view, entries, made, storages);
    for (const std::string& name : storages) out_.tensors.erase(name);
    for (auto& [name, tensor] : made) out_.tensors[name] = std::move(tensor);
  }

  void read_view(const std::string& name, const json& view, const core::TensorMap& entries, core::TensorMap& made,
                 std::vector<std::string>& storages) {
    Tensor t;
    if (!view.is_object() || !view.contains("dtype") || !view["dtype"].is_string() || !view.contains("shape") ||
        !integers(view["shape"], t.shape) || !view.contains("strides") || !integers(view["strides"], t.strides) ||
        !view.contains("offset") || !integer(view["offset"], t.offset) || !view.contains("entry") || !view["entry"].is_string())
      return fail(name, "view needs dtype, shape, strides, offset and entry");
    const auto dtype = core::from_text<DType>(view["dtype"].get<std::string>());
    const auto source = entries.find(view["entry"].get<std::string>());
    if (!dtype) return fail(name, "unknown element type", view["dtype"].get<std::string>().substr(0, 32), core::choices<DType>());
    if (source == entries.end()) return fail(name, "view of an entry that is not there", view["entry"].get<std::string>().substr(0, 64));
    t.dtype = *dtype;
    t.storage = source->second.storage;
    t.storage_bytes = source->second.storage_bytes;
    const bool sane = t.shape.size() == t.strides.size() && t.offset >= 0 && t.offset <= INT64_MAX / 64;
    std::optional<std::int64_t> span;
    if (sane) span = spec::storage_span(t.shape, t.strides, t.offset);
    const std::int64_t held = core::info(t.dtype).bits >= 8 ? t.storage_bytes / (core::info(t.dtype).bits / 8)
                                                            : t.storage_bytes * (8 / core::info(t.dtype).bits);
    if (!span || *span > held)
      return fail(name, "view reaches outside its storage", span ? fmt::format("{} elements", *span) : "strides that overflow or do not fit the shape",
                  fmt::format("at most {}", held));
    storages.push_back(source->first);
    made[name] = std::move(t);
  }

  std::string path_;
  std::shared_ptr<MappedFile> file_;
  json header_;
  std::int64_t start_ = 0;
  std::vector<Span> spans_;
  core::Problems problems_;
  SafetensorsFile out_;
};

}  // namespace

core::Result<SafetensorsFile> read_safetensors(const std::string& path) {
  auto file = MappedFile::open(path, MapMode::read);
  if (!file) return file.problems();
  return Reader(path, *file).read();
}

}  // namespace dd::session
