// Cuts a Chrome trace into its events without holding the file: one window at a time, each event handed out whole.
// Keys may stand before or behind `traceEvents`; the top level may also be a bare list, or one event a line. Damage is skipped by looking
// for the next thing that begins like an event. The text handed out is followed by readable padding.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/trace/scan.hpp"
#include "evidence/trace/source.hpp"
namespace dd::evidence {

constexpr std::size_t read_padding = 64;             // what the JSON parser may read behind a value
constexpr std::size_t window_bytes = 256 * 1024;
constexpr std::size_t largest_event = 4u << 20;      // a larger one is skipped and counted
constexpr std::size_t largest_header_value = 4u << 20;

class Splitter {
 public:
  // `header` gets every other top-level key with the text of its value, as far as it is of sane size.
  Splitter(ByteSource& source, Losses& losses, std::function<void(std::string_view key, std::string_view value)> header);
  // The next event; empty at the end. Valid until the next call.
  std::string_view next();
  // Told by the caller when the text handed out was no JSON: looks inside it for a later start of an event.
  // True when one was found; next() then continues there.
  bool look_again_inside();
  std::uint64_t text_bytes() const { return total_; }
  bool saw_events() const { return saw_events_; }

 private:
  bool fill();
  bool need(std::size_t bytes);
  int peek();
  bool skip_space();
  std::string_view value(std::size_t limit, bool event);
  bool restart_inside(std::size_t scanned);
  bool may_rescan(std::size_t bytes);
  bool enter();
  bool next_key();
  bool read_scalar_or_string(std::string_view& out);
  bool find_event_start(std::size_t from);

  enum class State { start, keys, events, after, done };
  ByteSource& source_;
  Losses& losses_;
  std::function<void(std::string_view, std::string_view)> header_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // unread part
  std::size_t last_begin_ = 0, last_size_ = 0;
  std::uint64_t total_ = 0, rescanned_ = 0;
  State state_ = State::start;
  bool list_ = false, lines_ = false;
  bool ended_ = false;
  bool saw_events_ = false;
};

// Offset of the next text that begins like an event behind `from`, or npos.
std::size_t find_event_like(std::string_view text, std::size_t from);

}  // namespace dd::evidence
