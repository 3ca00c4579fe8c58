// A libcupti.so.13 for tests: turns what the fake driver does into activity records in the layout of CUPTI 13.0, handed
// over through buffers as CUPTI does it (on flush, or when one is full).
// DD_FAKE_CUPTI: "not-permitted", "busy" (another profiler), "no-correlation" (no external ids), "blind" (no kernels),
// "dropped" (says that three records were lost).
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "fake_event.hpp"

namespace {

bool is(const char* what) {
  const char* mode = std::getenv("DD_FAKE_CUPTI");
  return mode && std::string(mode) == what;
}

using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Complete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);
Request request = nullptr;
Complete complete = nullptr;
bool on[64] = {};
std::vector<std::uint64_t> ids;
std::uint32_t correlation = 100;
std::uint64_t clock_ns = 1000000;
std::uint8_t* buffer = nullptr;
std::size_t room = 0, used = 0;

std::size_t size_of(std::uint32_t kind) {
  switch (kind) {
    case 1: return 88;
    case 2: return 80;
    case 10: return 216;
    case 38: return 56;
    case 39: return 24;
    default: return 0;
  }
}

void hand_over() {
  if (buffer) complete(nullptr, 0, buffer, room, used);
  buffer = nullptr;
  room = used = 0;
}

void append(const std::vector<std::uint8_t>& record) {
  if (buffer && used + record.size() > room) hand_over();
  std::size_t most = 0;
  if (!buffer) request(&buffer, &room, &most);
  if (!buffer || record.size() > room) return;
  std::memcpy(buffer + used, record.data(), record.size());
  used += record.size();
}

class Record {
 public:
  explicit Record(std::uint32_t kind) : bytes_(size_of(kind), 0) { put(0, kind); }
  template <class T>
  Record& put(std::size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

void write_down(const DdFakeEvent& e) {
  const auto kind = static_cast<std::uint32_t>(e.kind);
  if (!on[kind] || (kind == 10 && is("blind"))) return;
  ++correlation;
  if (!ids.empty() && on[39] && (on[4] || on[5]) && !is("no-correlation"))
    append(Record(39).put<std::uint32_t>(4, 3).put(8, ids.back()).put(16, correlation).bytes());
  const std::uint64_t start = clock_ns, end = clock_ns += 2000;
  Record r(kind);
  if (kind == 10) {
    r.put<std::uint16_t>(6, 40).put(16, start).put(24, end).put<std::uint32_t>(48, 7).put(80, e.shared).put(92, correlation).put(104, e.name);
    for (std::size_t i = 0; i < 3; ++i) r.put(52 + 4 * i, e.grid[i]).put(64 + 4 * i, e.block[i]);
    if (e.from_graph) r.put<std::uint64_t>(144, 1);
  } else if (kind == 38) {
    r.put<std::uint32_t>(4, 3).put(8, start).put(16, end).put(24, correlation).put<std::uint32_t>(32, 7);
  } else {
    if (kind == 1) r.put<std::uint8_t>(4, static_cast<std::uint8_t>(e.copy_kind));
    r.put(8, e.bytes).put(16, start).put(24, end).put<std::uint32_t>(40, 7).put(44, correlation);
  }
  append(r.bytes());
}

}  // namespace

extern "C" {
void dd_fake_observe(const DdFakeEvent& event) { write_down(event); }
int cuptiGetVersion(std::uint32_t* v) { return *v = 130001, 0; }
int cuptiActivityRegisterCallbacks(Request r, Complete c) { return request = r, complete = c, 0; }
int cuptiActivityEnable(int kind) {
  if (is("not-permitted")) return 35;
  if (is("busy")) return 39;
  if (kind <= 0 || kind >= 64) return 21;
  on[kind] = true;
  return 0;
}
int cuptiActivityDisable(int kind) { return kind > 0 && kind < 64 ? (on[kind] = false, 0) : 21; }
int cuptiActivityFlushAll(std::uint32_t) { return hand_over(), 0; }
int cuptiActivityGetNextRecord(std::uint8_t* from, std::size_t valid, unsigned char** record) {
  std::size_t at = 0;
  if (*record) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, *record, sizeof kind);
    at = static_cast<std::size_t>(*record - from) + size_of(kind);
  }
  if (at >= valid) return 12;
  *record = from + at;
  return 0;
}
int cuptiActivityPushExternalCorrelationId(int, std::uint64_t id) { return ids.push_back(id), 0; }
int cuptiActivityPopExternalCorrelationId(int, std::uint64_t* last) {
  if (ids.empty()) return 18;
  *last = ids.back();
  ids.pop_back();
  return 0;
}
int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) { return *dropped = is("dropped") ? 3 : 0, 0; }
int cuptiGetResultString(int code, const char** text) {
  *text = code == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : code == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR_UNKNOWN";
  return 0;
}
}
