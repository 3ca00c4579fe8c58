#include "evidence/link/link.hpp"

#include <algorithm>

#include "evidence/link/families.hpp"

namespace dd::evidence {
namespace {

using Order = std::vector<std::uint32_t>;

// Indices grouped by thread and in time order. At equal starts the longer operator comes first: it is the outer one.
template <class Record>
Order by_thread_and_time(const Pieces<Record>& records) {
  Order order(records.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const Record &x = records[a], &y = records[b];
    if (x.thread != y.thread) return x.thread < y.thread;
    if (x.start != y.start) return x.start < y.start;
    if (x.duration != y.duration) return x.duration > y.duration;
    return a < b;
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
  return order;
}

// One sweep over each thread: operators nest by their spans, calls fall into the innermost open one.
Order nest(Trace& trace) {
  Order ops = by_thread_and_time(trace.ops);
  const Order calls = by_thread_and_time(trace.calls);
  std::vector<std::uint32_t> open;
  std::size_t o = 0, c = 0;
  std::uint32_t thread = no_index;
  while (o < ops.size() || c < calls.size()) {
    const OpRecord* op = o < ops.size() ? &trace.ops[ops[o]] : nullptr;
    const CallRecord* call = c < calls.size() ? &trace.calls[calls[c]] : nullptr;
    const bool op_next = op != nullptr && (call == nullptr || op->thread < call->thread || (op->thread == call->thread && op->start <= call->start));
    const std::uint32_t now = op_next ? op->thread : call->thread;
    if (now != thread) {
      open.clear();
      thread = now;
    }
    if (op_next) {
      OpRecord& record = trace.ops[ops[o]];
      // Printed times are rounded, so a child may stick out of its parent by a nanosecond.
      while (!open.empty() && trace.ops[open.back()].end() + 1 < record.end()) open.pop_back();
      record.parent = open.empty() ? no_index : open.back();
      open.push_back(ops[o++]);
    } else {
      while (!open.empty() && trace.ops[open.back()].end() < call->start) open.pop_back();
      trace.calls[calls[c++]].op = open.empty() ? no_index : open.back();
    }
  }
  return ops;
}

struct Key {
  std::int64_t id;
  std::uint32_t index;
  bool operator<(const Key& other) const { return id != other.id ? id < other.id : index < other.index; }
};

const Key* find(const std::vector<Key>& keys, std::int64_t id) {
  const auto at = std::lower_bound(keys.begin(), keys.end(), Key{id, 0});
  return at != keys.end() && at->id == id ? &*at : nullptr;
}

// Some exporters write no correlation at all; there launch and kernel share one external id, and other calls have
// ids of their own, so only launches may be matched that way.
bool borrow_external_ids(Trace& trace) {
  for (std::size_t i = 0; i < trace.gpu.size(); ++i)
    if (trace.gpu[i].correlation != no_id) return false;
  bool any = false;
  for (std::size_t i = 0; i < trace.gpu.size(); ++i)
    if (trace.gpu[i].external_id > 0) {
      trace.gpu[i].correlation = trace.gpu[i].external_id;
      any = true;
    }
  if (!any) return false;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    CallRecord& call = trace.calls[i];
    const bool launch = trace.text[call.name].find("aunch") != std::string_view::npos || trace.text[call.name].find("emcpy") != std::string_view::npos ||
                        trace.text[call.name].find("emset") != std::string_view::npos;
    if (call.correlation == no_id && launch) call.correlation = call.external_id;
  }
  return true;
}

void match_launches(Trace& trace, Links& out) {
  std::vector<Key> keys;
  keys.reserve(trace.calls.size());
  for (std::uint32_t i = 0; i < trace.calls.size(); ++i)
    if (trace.calls[i].correlation > 0) keys.push_back({trace.calls[i].correlation, i});
  std::sort(keys.begin(), keys.end());
  std::vector<signed char> replay_names(trace.text.size(), -1);
  out.is_replay.assign(trace.gpu.size(), false);
  out.op_of_gpu.assign(trace.gpu.size(), no_index);
  LinkSummary& s = out.summary;
  s.gpu_events = trace.gpu.size();
  for (std::uint32_t i = 0; i < trace.gpu.size(); ++i) {
    GpuRecord& gpu = trace.gpu[i];
    const Key* key = gpu.correlation > 0 ? find(keys, gpu.correlation) : nullptr;
    if (key == nullptr) {
      ++s.launched_before_window;
      continue;
    }
    gpu.call = key->index;
    const CallRecord& call = trace.calls[key->index];
    ++s.with_launch_call;
    signed char& replay = replay_names[call.name];
    if (replay < 0) replay = is_graph_launch(trace.text[call.name]) ? 1 : 0;
    if (replay == 1) {
      out.is_replay[i] = true;
      ++s.graph_replay;
    }
    if (call.op != no_index) {
      ++s.launch_call_inside_an_op;
      out.op_of_gpu[i] = call.op;
    } else if (replay == 0) {
      ++s.outside_any_op;
    }
  }
}

void check_external_ids(Trace& trace, Links& out) {
  LinkSummary& s = out.summary;
  std::vector<Key> keys;
  keys.reserve(trace.ops.size());
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i)
    if (trace.ops[i].external_id > 0) keys.push_back({trace.ops[i].external_id, i});
  std::sort(keys.begin(), keys.end());
  std::uint64_t with_id = 0;
  for (std::uint32_t i = 0; i < trace.gpu.size(); ++i) {
    const GpuRecord& gpu = trace.gpu[i];
    if (gpu.external_id <= 0) continue;
    ++with_id;
    if (!s.external_id_as_correlation && gpu.external_id == gpu.correlation) ++s.external_id_equals_correlation;
    if (s.external_id_as_correlation || out.op_of_gpu[i] == no_index) continue;
    const Key* key = find(keys, gpu.external_id);
    if (key == nullptr) continue;
    bool same = false;  // several records may carry one id (operators recorded twice)
    for (const Key* each = key; each != keys.data() + keys.size() && each->id == gpu.external_id && !same; ++each) same = each->index == out.op_of_gpu[i];
    ++(same ? s.external_id_names_same_op : s.external_id_names_wrong_op);
  }
  const std::uint64_t compared = s.external_id_names_same_op + s.external_id_names_wrong_op;
  const bool copies_of_correlation = with_id > 4 && s.external_id_equals_correlation * 10 > with_id * 9;
  s.external_id_trusted = !copies_of_correlation && compared >= 16 && s.external_id_names_wrong_op * 200 <= compared;
  if (!s.external_id_trusted) return;
  for (std::uint32_t i = 0; i < trace.gpu.size(); ++i) {
    const GpuRecord& gpu = trace.gpu[i];
    if (out.op_of_gpu[i] != no_index || out.is_replay[i] || gpu.external_id <= 0) continue;
    if (const Key* key = find(keys, gpu.external_id)) {
      out.op_of_gpu[i] = key->index;
      ++s.linked_by_external_id;
    }
  }
}

}  // namespace

Links link(Trace& trace) {
  Links out;
  out.summary.external_id_as_correlation = borrow_external_ids(trace);
  out.op_order = nest(trace);
  match_launches(trace, out);
  check_external_ids(trace, out);
  return out;
}

}  // namespace dd::evidence
