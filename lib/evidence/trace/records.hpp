// Compact records of what must be linked: operators, launch calls, GPU events. Text is kept once in a pool and
// referred to by number; everything else of a trace is counted and dropped while reading.
// Times are integer nanoseconds, so that nesting is exact. Environment values never reach these records.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dd::evidence {

// Grows in pieces: no copy of everything at each doubling, so the peak stays near the size.
template <class T>
class Pieces {
 public:
  void push_back(const T& value) {
    if (size_ % piece == 0) pieces_.push_back(std::make_unique<T[]>(piece));
    pieces_.back()[size_++ % piece] = value;
  }
  T& operator[](std::size_t i) { return pieces_[i / piece][i % piece]; }
  const T& operator[](std::size_t i) const { return pieces_[i / piece][i % piece]; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr std::size_t piece = 4096;
  std::vector<std::unique_ptr<T[]>> pieces_;
  std::size_t size_ = 0;
};

// Each distinct text once. Number 0 is the empty text.
class TextPool {
 public:
  TextPool();
  std::uint32_t add(std::string_view text);
  std::string_view operator[](std::uint32_t id) const { return texts_[id]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(texts_.size()); }

 private:
  void grow();
  std::string_view store(std::string_view text);
  std::vector<std::string_view> texts_;
  std::vector<std::uint32_t> slots_;  // open addressing; 0 = free
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_used_ = 0, block_size_ = 0;
};

constexpr std::int64_t no_id = -1;
constexpr std::uint32_t no_index = 0xffffffffu;

struct OpRecord {
  std::int64_t start = 0, duration = 0;
  std::int64_t external_id = no_id;
  std::int64_t sequence = no_id;
  std::uint32_t name = 0;
  std::uint32_t thread = 0;
  std::uint32_t inputs = 0;  // text: {"t":types,"d":dims,"s":strides,"c":concrete}; 0 when not recorded or not needed
  std::uint32_t parent = no_index;
  std::int64_t end() const { return start + duration; }
};

struct CallRecord {
  std::int64_t start = 0, duration = 0;
  std::int64_t correlation = no_id;
  std::int64_t external_id = no_id;
  std::uint32_t name = 0;
  std::uint32_t thread = 0;
  std::uint32_t op = no_index;  // innermost operator that holds the start
};

enum class GpuKind : std::uint8_t { kernel, copy, fill };

struct GpuRecord {
  std::int64_t start = 0, duration = 0;
  std::int64_t correlation = no_id;
  std::int64_t external_id = no_id;
  std::int64_t bytes = 0;
  std::uint32_t name = 0;
  std::uint32_t blocks = 0;  // work groups of the launch; 0 = not recorded
  std::uint32_t call = no_index;
  std::uint16_t device = 0;
  GpuKind kind = GpuKind::kernel;
  std::uint8_t order_in_op = 0;
};

struct Device {
  std::string name;
  int major = 0, minor = 0, processors = 0, warp = 0;
};

// What could not be read. Every field that is not zero becomes a warning.
struct Losses {
  std::uint64_t damaged_events = 0;    // not readable even leniently
  std::uint64_t repaired_events = 0;   // read leniently
  std::uint64_t oversized_events = 0;
  std::uint64_t odd_numbers = 0;       // events dropped for times out of range or of the wrong type
  std::uint64_t broken_rows = 0;       // nsys
  bool truncated = false;
  bool bomb = false;                   // expansion limit reached
  bool compression_error = false;
  std::string detail;
  bool any() const {
    return damaged_events || oversized_events || odd_numbers || broken_rows || truncated || bomb || compression_error || !detail.empty();
  }
};

// chrome_json: the Chrome form, but no event of the torch profiler in it.
enum class TraceFormat : std::uint8_t { none, kineto_json, chrome_json, nsys_sqlite };

struct Trace {
  std::string file;
  TraceFormat format = TraceFormat::none;
  TextPool text;
  Pieces<OpRecord> ops;
  Pieces<CallRecord> calls;
  Pieces<GpuRecord> gpu;
  std::vector<std::uint32_t> threads;  // text of each thread, by number
  std::vector<Device> devices;
  std::map<std::string, std::string> header;         // numbers and versions only
  std::map<std::string, std::uint64_t> other_events; // category -> count of what was dropped
  std::uint64_t named_kernels = 0;                   // chrome_json: events taken as kernels because their names are known
  std::uint64_t cuda_sync_events = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;       // as stored
  std::uint64_t text_bytes = 0;  // as expanded
  bool has_op_records = false;
  Losses losses;
  std::map<std::uint32_t, std::uint64_t> sync_kinds;    // nsys syncType -> count
};

}  // namespace dd::evidence
