// One trace event taken apart: only the fields that linking and the answer need, as views into the event's text.
// Two readers fill it: the JSON parser, and a lenient one for text that is no JSON (stray quotes, control characters).
#pragma once
#include <memory>
#include <string>
#include <string_view>
namespace dd::evidence {

struct EventView {
  std::string_view phase, category, name;       // unescaped
  std::string_view pid, tid, start, duration;   // as written, quotes removed
  std::string_view correlation, external_id, sequence, device, stream, bytes;
  std::string_view types, dims, strides, concrete, grid;  // JSON text
};

class EventParser {
 public:
  EventParser();
  ~EventParser();
  EventParser(const EventParser&) = delete;
  EventParser& operator=(const EventParser&) = delete;
  // `text` must be followed by readable padding. False when it is no JSON object.
  bool parse(std::string_view text, EventView& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads what can be read: a quote ends a string only where a comma, colon or bracket follows. `names` keeps decoded text.
bool parse_lenient(std::string_view text, EventView& out, std::string& names);

// The category and phase of most events can be read without parsing: true when the event is of a kind that is only
// counted (Python frames, flows, names of processes). `kind` gets what it is counted as.
bool only_counted(std::string_view text, std::string_view& kind);

// Text of a number in microseconds -> nanoseconds. False when it is no number or out of range.
bool read_time(std::string_view text, long long& nanoseconds);
bool read_integer(std::string_view text, long long& value);

}  // namespace dd::evidence
