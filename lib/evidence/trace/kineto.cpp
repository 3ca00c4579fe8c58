#include "evidence/trace/kineto.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "evidence/kernels/kernels.hpp"
#include "evidence/link/families.hpp"
#include "evidence/trace/event.hpp"
#include "evidence/trace/header.hpp"
#include "evidence/trace/splitter.hpp"

namespace dd::evidence {

bool keeps_inputs(std::string_view name) {
  return is_gemm_op(name) || is_attention_op(name) || name == "aten::copy_" || name == "aten::_softmax" || name == "aten::softmax" ||
         name == "aten::matmul" || name == "aten::linear" || name == "aten::to" || name == "aten::_to_copy";
}

namespace {

enum class Kind : unsigned char { other, ours, loose, op, call, kernel, copy, fill, sync };
constexpr std::size_t most_loose = 4u << 20;

Kind kind_of(std::string_view category) {
  struct Entry {
    std::string_view name;
    Kind kind;
  };
  static constexpr std::array<Entry, 32> table = {{{"cpu_op", Kind::op}, {"Operator", Kind::op}, {"cuda_runtime", Kind::call},
      {"cuda_driver", Kind::call}, {"Runtime", Kind::call}, {"kernel", Kind::kernel}, {"Kernel", Kind::kernel}, {"gpu_memcpy", Kind::copy},
      {"Memcpy", Kind::copy}, {"gpu_memset", Kind::fill}, {"Memset", Kind::fill}, {"cuda_sync", Kind::sync}, {"hip_runtime", Kind::call},
      {"xpu_runtime", Kind::call}, {"xpu_driver", Kind::call}, {"privateuse1_runtime", Kind::call}, {"privateuse1_driver", Kind::call},
      {"mtia_runtime", Kind::call}, {"user_annotation", Kind::ours}, {"gpu_user_annotation", Kind::ours}, {"python_function", Kind::ours},
      {"cpu_instant_event", Kind::ours}, {"overhead", Kind::ours}, {"ac2g", Kind::ours}, {"fwdbwd", Kind::ours}, {"async_cpu_to_gpu", Kind::ours},
      {"async_gpu", Kind::ours}, {"Trace", Kind::ours}, {"collective_comm", Kind::ours}, {"xpu_sync", Kind::ours}, {"mtia_ccp_events", Kind::ours},
      {"hpu_op", Kind::ours}}};
  for (const Entry& each : table)
    if (each.name == category) return each.kind;
  return Kind::other;
}

class KinetoReader {
 public:
  KinetoReader(ByteSource& source, Trace& trace)
      : source_(source), trace_(trace),
        splitter_(source, trace.losses, [this](std::string_view key, std::string_view value) { read_header(key, value, trace_); }) {}

  void run(const Progress& progress) {
    std::uint64_t next_report = 0;
    for (std::string_view text = splitter_.next(); !text.empty(); text = splitter_.next()) {
      ++trace_.events;
      take(text);
      if (progress && source_.stored_read() >= next_report) {
        progress(source_.stored_read(), source_.stored_size());
        next_report = source_.stored_read() + (4u << 20);
      }
    }
    for (std::size_t i = 0; i < dropped_.size(); ++i) trace_.other_events[std::string(dropped_names_[i])] += dropped_[i];
    trace_.bytes = source_.stored_read();
    trace_.text_bytes = splitter_.text_bytes();
    if (!known_ && trace_.events > 0) use_loose();
  }

 private:
  void take(std::string_view text) {
    std::string_view kind;
    if (only_counted(text, kind)) {
      count_dropped(kind);
      return;
    }
    EventView event;
    if (!parser_.parse(text, event)) {
      if (splitter_.look_again_inside()) {
        ++trace_.losses.damaged_events;
        return;
      }
      event = {};
      if (!parse_lenient(text, event, lenient_name_)) {
        ++trace_.losses.damaged_events;
        return;
      }
      ++trace_.losses.repaired_events;
    }
    use(event);
  }

  void use(const EventView& event) {
    if (event.phase != "X") {
      ++trace_.other_events[event.category.empty() ? "instant" : std::string(event.category.substr(0, 64))];
      return;
    }
    Kind kind = kind_of(event.category);
    if (event.category.empty()) kind = event.pid == "CPU functions" ? Kind::op : Kind::loose;  // the profiler before Kineto; another tool
    if (kind == Kind::other || kind == Kind::ours || kind == Kind::loose) {
      if (trace_.other_events.size() < 1000) ++trace_.other_events[event.category.empty() ? "no category" : std::string(event.category.substr(0, 64))];
      known_ = known_ || kind == Kind::ours;
      if (kind != Kind::loose || known_) return;
    } else if (!known_) {
      known_ = true;
      loose_ = {};
    }
    long long start = 0, duration = 0;
    if (!read_time(event.start, start) || (!event.duration.empty() && !read_time(event.duration, duration)) || duration < 0) {
      ++trace_.losses.odd_numbers;
      return;
    }
    switch (kind) {
      case Kind::op: return add_op(event, start, duration);
      case Kind::call: return add_call(event, start, duration);
      case Kind::sync: ++trace_.cuda_sync_events; return;
      case Kind::kernel: return trace_.gpu.push_back(gpu_record(event, start, duration, GpuKind::kernel));
      case Kind::copy: return trace_.gpu.push_back(gpu_record(event, start, duration, GpuKind::copy));
      case Kind::fill: return trace_.gpu.push_back(gpu_record(event, start, duration, GpuKind::fill));
      case Kind::loose:
        if (loose_.size() < most_loose) loose_.push_back(gpu_record(event, start, duration, GpuKind::kernel));
        return;
      case Kind::ours:
      case Kind::other: return;
    }
  }

  // Nothing of the torch profiler in the file: what has the name of a known kernel is one, whoever recorded it.
  void use_loose() {
    trace_.format = TraceFormat::chrome_json;
    std::vector<signed char> is_kernel(trace_.text.size(), -1);
    for (std::size_t i = 0; i < loose_.size(); ++i) {
      signed char& known = is_kernel[loose_[i].name];
      if (known < 0) known = classify_kernel(trace_.text[loose_[i].name]).known() ? 1 : 0;
      if (known == 0) continue;
      trace_.gpu.push_back(loose_[i]);
      ++trace_.named_kernels;
    }
  }

  void add_op(const EventView& event, long long start, long long duration) {
    OpRecord op;
    op.start = start;
    op.duration = duration;
    op.name = trace_.text.add(event.name);
    op.thread = thread_of(event);
    op.external_id = number(event.external_id);
    op.sequence = number(event.sequence);
    if (wants_inputs(op.name) && !event.dims.empty()) {
      scratch_.clear();
      scratch_ += R"({"t":)";
      scratch_ += event.types.empty() ? "[]" : event.types;
      scratch_ += R"(,"d":)";
      scratch_ += event.dims;
      scratch_ += R"(,"s":)";
      scratch_ += event.strides.empty() ? "[]" : event.strides;
      scratch_ += R"(,"c":)";
      scratch_ += event.concrete.empty() ? "[]" : event.concrete;
      scratch_ += '}';
      op.inputs = trace_.text.add(scratch_);
    }
    trace_.has_op_records = true;
    trace_.ops.push_back(op);
  }

  void add_call(const EventView& event, long long start, long long duration) {
    CallRecord call;
    call.start = start;
    call.duration = duration;
    call.name = trace_.text.add(event.name);
    call.thread = thread_of(event);
    call.correlation = number(event.correlation);
    call.external_id = number(event.external_id);
    trace_.calls.push_back(call);
  }

  GpuRecord gpu_record(const EventView& event, long long start, long long duration, GpuKind kind) {
    GpuRecord gpu;
    gpu.kind = kind;
    gpu.start = start;
    gpu.duration = duration;
    gpu.name = trace_.text.add(event.name);
    gpu.correlation = number(event.correlation);
    gpu.external_id = number(event.external_id);
    gpu.bytes = std::max<std::int64_t>(0, number(event.bytes));
    gpu.device = static_cast<std::uint16_t>(std::clamp<std::int64_t>(number(event.device.empty() ? event.pid : event.device), 0, 0xffff));
    gpu.blocks = blocks_of(event.grid);
    return gpu;
  }

  static std::int64_t number(std::string_view text) {
    long long value = 0;
    return !text.empty() && read_integer(text, value) ? value : no_id;
  }

  // [x, y, z] -> x*y*z; 0 for anything else.
  static std::uint32_t blocks_of(std::string_view grid) {
    std::uint64_t product = 1;
    bool any = false;
    for (std::size_t at = 0; at < grid.size();) {
      if (grid[at] < '0' || grid[at] > '9') {
        ++at;
        continue;
      }
      std::uint64_t value = 0;
      for (; at < grid.size() && grid[at] >= '0' && grid[at] <= '9'; ++at) value = std::min<std::uint64_t>(value * 10 + static_cast<std::uint64_t>(grid[at] - '0'), 1u << 31);
      product = std::min<std::uint64_t>(product * value, 0xffffffffu);
      any = true;
    }
    return any ? static_cast<std::uint32_t>(product) : 0;
  }

  // Traces repeat a handful of threads: remember the last one before asking the table.
  std::uint32_t thread_of(const EventView& event) {
    if (event.pid == last_pid_ && event.tid == last_tid_ && !last_tid_.empty()) return last_thread_;
    last_pid_ = event.pid;
    last_tid_ = event.tid;
    const std::uint32_t text = trace_.text.add(last_pid_ + '/' + last_tid_);
    const auto [at, fresh] = threads_.emplace(text, static_cast<std::uint32_t>(trace_.threads.size()));
    if (fresh) trace_.threads.push_back(text);
    return last_thread_ = at->second;
  }

  bool wants_inputs(std::uint32_t name) {
    if (name >= wants_.size()) wants_.resize(std::max<std::size_t>(name + 1, wants_.size() * 2), 0);
    if (wants_[name] == 0) wants_[name] = keeps_inputs(trace_.text[name]) ? 2 : 1;
    return wants_[name] == 2;
  }

  void count_dropped(std::string_view kind) {
    for (std::size_t i = 0; i < dropped_names_.size(); ++i)
      if (dropped_names_[i] == kind) {
        ++dropped_[i];
        return;
      }
    dropped_names_.push_back(kind);
    dropped_.push_back(1);
    known_ = known_ || kind_of(kind) != Kind::other;
  }

  ByteSource& source_;
  Trace& trace_;
  Splitter splitter_;
  EventParser parser_;
  std::string scratch_, lenient_name_, last_pid_, last_tid_;
  std::uint32_t last_thread_ = 0;
  bool known_ = false;  // an event of the torch profiler was seen
  Pieces<GpuRecord> loose_;
  std::unordered_map<std::uint32_t, std::uint32_t> threads_;
  std::vector<unsigned char> wants_;
  std::vector<std::string_view> dropped_names_;
  std::vector<std::uint64_t> dropped_;
};

}  // namespace

void read_kineto(ByteSource& source, Trace& trace, const Progress& progress) {
  trace.format = TraceFormat::kineto_json;
  KinetoReader(source, trace).run(progress);
}

}  // namespace dd::evidence
