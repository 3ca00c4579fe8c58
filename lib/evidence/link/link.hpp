// Operator -> launch call -> GPU event, and operator inside operator.
// Launches are matched by correlation; calls go to the innermost operator of their thread that holds their start.
// External ids are compared with that and used for what is left over only in files where they agree.
// Nothing is guessed from counts: what cannot be linked stays unlinked, with the reason counted.
#pragma once
#include <cstdint>
#include <vector>

#include "evidence/trace/records.hpp"
namespace dd::evidence {

struct LinkSummary {
  std::uint64_t gpu_events = 0;
  std::uint64_t with_launch_call = 0;
  std::uint64_t launch_call_inside_an_op = 0;
  std::uint64_t launched_before_window = 0;  // GPU event there, its launch call not
  std::uint64_t outside_any_op = 0;          // launched by a call that no operator holds, graph launches aside
  std::uint64_t graph_replay = 0;
  std::uint64_t external_id_names_same_op = 0;
  std::uint64_t external_id_names_wrong_op = 0;
  std::uint64_t external_id_equals_correlation = 0;
  std::uint64_t linked_by_external_id = 0;
  bool external_id_as_correlation = false;   // exporter without correlation keys
  bool external_id_trusted = false;
};

// Fills parent, op and call of the records. `is_replay[i]` tells whether GPU event i was replayed from a graph.
struct Links {
  LinkSummary summary;
  std::vector<bool> is_replay;
  std::vector<std::uint32_t> op_of_gpu;  // innermost operator, or no_index
  std::vector<std::uint32_t> op_order;   // by thread and time: parents before children
};

Links link(Trace& trace);

}  // namespace dd::evidence
