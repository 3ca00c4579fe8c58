#include <array>

#include "evidence/trace/event.hpp"
#include "evidence/trace/scan.hpp"
#include "evidence/trace/space.hpp"

namespace dd::evidence {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return text_[at_]; }
  void step() { ++at_; }
  void skip_space() {
    while (!at_end() && is_space(peek())) step();
  }
  // A string whose closing quote is one that structure follows. The opening quote is at the read position.
  std::string_view string() {
    const std::size_t begin = ++at_;
    bool escaped = false;
    for (; !at_end(); ++at_) {
      if (escaped) {
        escaped = false;
        continue;
      }
      if (peek() == '\\') {
        escaped = true;
      } else if (peek() == '"' && structure_follows(at_ + 1)) {
        const std::string_view out = text_.substr(begin, at_ - begin);
        step();
        return out;
      }
    }
    return text_.substr(begin);
  }
  // A list, an object or a bare word, as text.
  std::string_view raw() {
    const std::size_t begin = at_;
    if (!at_end() && (peek() == '[' || peek() == '{')) {
      ScanState state;
      const char* from = text_.data() + at_;
      scan_to_close_plain(from, text_.data() + text_.size(), state);
      at_ = static_cast<std::size_t>(from - text_.data());
    } else {
      while (!at_end() && peek() != ',' && peek() != '}' && peek() != ']' && !is_space(peek())) step();
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  bool structure_follows(std::size_t at) const {
    while (at < text_.size() && is_space(text_[at])) ++at;
    if (at >= text_.size()) return true;
    const char c = text_[at];
    if (c == ':' || c == '}' || c == ']') return true;
    if (c != ',') return false;
    ++at;
    while (at < text_.size() && is_space(text_[at])) ++at;
    // behind a comma stands a key, a value or the end, never plain text
    return at >= text_.size() || text_[at] == '"' || text_[at] == '{' || text_[at] == '[' || text_[at] == '-' ||
           (text_[at] >= '0' && text_[at] <= '9') || text_[at] == 'n' || text_[at] == 't' || text_[at] == 'f';
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

struct Slot {
  std::string_view key;
  std::string_view EventView::*field;
};
constexpr std::array<Slot, 7> outer = {{{"ph", &EventView::phase}, {"cat", &EventView::category}, {"name", &EventView::name},
    {"pid", &EventView::pid}, {"tid", &EventView::tid}, {"ts", &EventView::start}, {"dur", &EventView::duration}}};
constexpr std::array<Slot, 13> inner = {{{"correlation", &EventView::correlation}, {"External id", &EventView::external_id},
    {"external id", &EventView::external_id}, {"Sequence number", &EventView::sequence}, {"device", &EventView::device},
    {"stream", &EventView::stream}, {"bytes", &EventView::bytes}, {"Input type", &EventView::types}, {"Input Dims", &EventView::dims},
    {"Input dims", &EventView::dims}, {"Input Strides", &EventView::strides}, {"Concrete Inputs", &EventView::concrete}, {"grid", &EventView::grid}}};

template <std::size_t N>
void store(const std::array<Slot, N>& slots, std::string_view key, std::string_view value, EventView& out) {
  for (const Slot& slot : slots)
    if (slot.key == key) out.*slot.field = value;
}

// Anything that could upset a terminal or a later JSON writer becomes a question mark.
std::string cleaned(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return out;
}

}  // namespace

bool parse_lenient(std::string_view text, EventView& out, std::string& names) {
  Reader reader(text);
  reader.skip_space();
  if (reader.at_end() || reader.peek() != '{') return false;
  reader.step();
  int depth = 1;
  bool in_arguments = false;
  while (!reader.at_end()) {
    reader.skip_space();
    if (reader.at_end()) break;
    if (reader.peek() == '}') {
      in_arguments = false;
      if (--depth == 0) break;
      reader.step();
      continue;
    }
    if (reader.peek() != '"') {
      reader.step();
      continue;
    }
    const std::string_view key = reader.string();
    reader.skip_space();
    if (reader.at_end() || reader.peek() != ':') continue;
    reader.step();
    reader.skip_space();
    if (reader.at_end()) break;
    if (depth == 1 && key == "args" && reader.peek() == '{') {
      reader.step();
      ++depth;
      in_arguments = true;
      continue;
    }
    const std::string_view value = reader.peek() == '"' ? reader.string() : reader.raw();
    if (in_arguments) store(inner, key, value, out);
    else store(outer, key, value, out);
  }
  names = cleaned(out.name);
  out.name = names;
  return !out.phase.empty() && !out.start.empty();
}

}  // namespace dd::evidence
