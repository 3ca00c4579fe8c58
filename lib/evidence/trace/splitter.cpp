#include "evidence/trace/splitter.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "evidence/trace/space.hpp"

namespace dd::evidence {
namespace {

std::size_t skip(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// An object whose first key is one that events have. `brace` is where it opens.
bool opens_event(std::string_view text, std::size_t brace) {
  static constexpr std::array<std::string_view, 7> keys = {"\"ph\"", "\"name\"", "\"cat\"", "\"ts\"", "\"pid\"", "\"tid\"", "\"args\""};
  const std::size_t key = skip(text, brace + 1);
  for (const std::string_view each : keys) {
    if (text.substr(key, each.size()) != each) continue;
    const std::size_t colon = skip(text, key + each.size());
    if (colon < text.size() && text[colon] == ':') return true;
  }
  return false;
}

}  // namespace

std::size_t find_event_like(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('{', from); at != std::string_view::npos; at = text.find('{', at + 1)) {
    // An event follows a comma, the opening of the list or (JSON lines) another one; its keys also begin inner objects.
    std::size_t before = at;
    while (before > 0 && is_space(text[before - 1])) --before;
    if (before > 0 && text[before - 1] != ',' && text[before - 1] != '[' && text[before - 1] != '}') continue;
    if (opens_event(text, at)) return at;
  }
  return std::string_view::npos;
}

Splitter::Splitter(ByteSource& source, Losses& losses, std::function<void(std::string_view, std::string_view)> header)
    : source_(source), losses_(losses), header_(std::move(header)), buffer_(window_bytes + read_padding) {}

// Moves the unread part to the front and reads more. False at the end of the source.
bool Splitter::fill() {
  if (ended_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - read_padding - end_ < window_bytes / 4)
    buffer_.resize(std::max(buffer_.size() * 2, buffer_.size() + window_bytes));
  const std::size_t got = source_.read(buffer_.data() + end_, buffer_.size() - read_padding - end_, losses_);
  if (got == 0) {
    ended_ = true;
    std::memset(buffer_.data() + end_, ' ', read_padding);
    return false;
  }
  end_ += got;
  total_ += got;
  return true;
}

bool Splitter::need(std::size_t bytes) {
  while (end_ - begin_ < bytes)
    if (!fill()) return false;
  return true;
}

int Splitter::peek() { return need(1) ? static_cast<unsigned char>(buffer_[begin_]) : -1; }

bool Splitter::skip_space() {
  while (true) {
    while (begin_ < end_ && is_space(buffer_[begin_])) ++begin_;
    if (begin_ < end_) return true;
    if (!fill()) return false;
  }
}

// Going back into text that was already scanned is what makes damaged files readable, and what would make hostile
// ones slow: beyond this allowance the whole stretch is skipped instead.
bool Splitter::may_rescan(std::size_t bytes) {
  rescanned_ += bytes;
  return rescanned_ < (64u << 20) + 2 * total_;
}

// An event that does not end where events end: a lost quote has hidden its end. Goes on at the next event inside.
bool Splitter::restart_inside(std::size_t scanned) {
  if (!may_rescan(scanned)) return false;
  const std::size_t found = find_event_like({buffer_.data() + begin_, scanned}, 1);
  if (found == std::string_view::npos) return false;
  ++losses_.damaged_events;
  begin_ += found;
  return true;
}

// The object or list at the read position, consumed. Larger than `limit`: consumed, counted, handed out empty.
std::string_view Splitter::value(std::size_t limit, bool event) {
  ScanState state;
  std::size_t scanned = 0;
  bool dropped = false;
  while (true) {
    const char* at = buffer_.data() + begin_ + scanned;
    const char* end = buffer_.data() + end_;
    const bool complete = scan_to_close(at, end, state);
    scanned = static_cast<std::size_t>(at - buffer_.data()) - begin_;
    if (complete) break;
    const bool full = scanned > limit;
    if (!full && fill()) continue;
    if (event && !dropped && restart_inside(scanned)) {
      state = {};
      scanned = 0;
      continue;
    }
    if (!full) {
      losses_.truncated = true;
      begin_ += scanned;
      return {};
    }
    dropped = true;  // keep counting depth, but let the bytes go
    begin_ += scanned;
    scanned = 0;
    if (!fill()) {
      losses_.truncated = true;
      return {};
    }
  }
  last_begin_ = begin_;
  last_size_ = scanned;
  begin_ += scanned;
  if (dropped) {
    ++losses_.oversized_events;
    return {};
  }
  return {buffer_.data() + last_begin_, last_size_};
}

bool Splitter::read_scalar_or_string(std::string_view& out) {
  std::size_t n = 1;
  const bool text = buffer_[begin_] == '"';
  bool escaped = false;
  while (true) {
    if (!need(n + 1)) return false;
    const char c = buffer_[begin_ + n];
    if (text) {
      if (escaped) escaped = false;
      else if (c == '\\') escaped = true;
      else if (c == '"') {
        ++n;
        break;
      }
    } else if (c == ',' || c == '}' || c == ']' || is_space(c)) {
      break;
    }
    if (++n > largest_header_value) return false;
  }
  out = {buffer_.data() + begin_, n};
  begin_ += n;
  return true;
}

// From the first byte of the file to the first key or event.
bool Splitter::enter() {
  if (need(3) && std::memcmp(buffer_.data() + begin_, "\xef\xbb\xbf", 3) == 0) begin_ += 3;
  if (!skip_space()) return false;
  if (buffer_[begin_] == '[') {
    ++begin_;
    list_ = saw_events_ = true;
    state_ = State::events;
    return true;
  }
  if (buffer_[begin_] != '{') return false;
  need(256);
  // Events one behind the other without a list around them: JSON lines.
  if (opens_event({buffer_.data() + begin_, end_ - begin_}, 0)) {
    lines_ = saw_events_ = true;
    state_ = State::events;
    return true;
  }
  ++begin_;
  state_ = State::keys;
  return true;
}

// One top-level key with its value. False at the end of the object or of the file.
bool Splitter::next_key() {
  while (true) {
    if (!skip_space()) return false;
    const char c = buffer_[begin_];
    if (c == ',') {
      ++begin_;
      continue;
    }
    if (c == '}') return state_ = State::done, false;
    if (c != '"') {
      // Damage between keys: go on at the next event, if there is one.
      losses_.truncated = true;
      return find_event_start(0);
    }
    std::string_view key_text;
    if (!read_scalar_or_string(key_text)) return losses_.truncated = true, false;
    const std::string key(key_text.substr(1, key_text.size() - 2));
    if (!skip_space() || buffer_[begin_] != ':') return losses_.truncated = true, false;
    ++begin_;
    if (!skip_space()) return losses_.truncated = true, false;
    if (key == "traceEvents" && buffer_[begin_] == '[') {
      ++begin_;
      saw_events_ = true;
      state_ = State::events;
      return true;
    }
    std::string_view text;
    if (buffer_[begin_] == '{' || buffer_[begin_] == '[') {
      text = value(largest_header_value, false);
      if (text.empty() && ended_ && begin_ == end_) return false;
    } else if (!read_scalar_or_string(text)) {
      return losses_.truncated = true, false;
    }
    header_(key, text);
  }
}

bool Splitter::find_event_start(std::size_t from) {
  while (true) {
    const std::string_view text(buffer_.data() + begin_, end_ - begin_);
    const std::size_t found = find_event_like(text, std::min(from, text.size()));
    if (found != std::string_view::npos) {
      begin_ += found;
      saw_events_ = true;
      state_ = State::events;
      return true;
    }
    const std::size_t keep = std::min<std::size_t>(text.size(), 256);  // a start may lie across the window
    begin_ = end_ - keep;
    from = 0;
    const std::size_t had = end_ - begin_;
    if (!fill()) return false;
    if (end_ - begin_ == had) return false;
  }
}

std::string_view Splitter::next() {
  while (true) {
    if (state_ == State::start && !enter()) state_ = State::done;
    if (state_ == State::keys && !next_key()) state_ = State::done;
    if (state_ == State::done) return {};
    if (!skip_space()) {
      losses_.truncated = losses_.truncated || !lines_;  // the list never closed
      state_ = State::done;
      return {};
    }
    const char c = buffer_[begin_];
    if (c == ',') {
      ++begin_;
    } else if (c == ']') {
      ++begin_;
      state_ = list_ ? State::done : State::keys;
    } else if (c == '{') {
      const std::string_view event = value(largest_event, true);
      if (!event.empty()) return event;
    } else {
      ++losses_.damaged_events;
      if (!find_event_start(1)) state_ = State::done;
    }
  }
}

bool Splitter::look_again_inside() {
  if (!may_rescan(last_size_)) return false;
  const std::size_t found = find_event_like({buffer_.data() + last_begin_, last_size_}, 1);
  if (found == std::string_view::npos) return false;
  begin_ = last_begin_ + found;
  return true;
}

}  // namespace dd::evidence
