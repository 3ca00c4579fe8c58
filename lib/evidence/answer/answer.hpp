// What a trace or a log says about the one question: which operator ran which kernels, and was that the fast path.
// Plain data, filled from records by `answer_trace` and by the log readers; renderers only print it.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "evidence/kernels/kernels.hpp"
#include "evidence/link/link.hpp"
#include "evidence/trace/records.hpp"
namespace dd::evidence {

struct Tally {
  std::uint64_t count = 0;
  double us = 0;
};
using Tallies = std::map<std::string, Tally>;

// no_path: the call failed, nothing ran; in words cannot-tell, for there is no path to tell of (the reason says it failed).
enum class PathVerdict : unsigned char { none, fast_path, fallback, mixed, cannot_tell, no_path };
std::string_view verdict_name(PathVerdict verdict);

struct Verdict {
  PathVerdict sdpa = PathVerdict::none, gemm = PathVerdict::none;
  std::string sdpa_why, gemm_why, other_why;
  std::string grade = "traced";
  // op_level, op_level_partial, mixed_graph, graph_replay_only, kernel_names_only, no_gpu_events, nvtx, library_log
  std::string attribution;
};

enum class GemmState : unsigned char { unknown, fast, degraded, slow, vector };
std::string_view gemm_state_name(GemmState state);

struct TensorInfo {
  std::vector<std::int64_t> dims, strides;
  std::string dtype;  // as the evidence writes it
  bool recorded = false;
};

// Calls of one operator with the same inputs that were served by the same kernels.
struct OperatorGroup {
  std::string op;
  std::vector<std::string> path;     // members of the attention family, outermost first
  std::uint64_t count = 0;
  double gpu_us = 0;
  std::int64_t batch = 0, m = 0, n = 0, k = 0;  // products; 0 when shapes are not recorded
  std::vector<TensorInfo> inputs;
  std::vector<std::string> concrete;
  std::vector<std::string> kernels;        // in launch order, names as recorded
  std::vector<std::string> kernel_classes; // labels of those that are kernels
  std::string main_class;            // what the group counts as
  std::string served_by;             // attention: fused, decomposed, unknown; products: the provider
  std::string backend;               // attention: flash, efficient, cudnn, math, cpu-flash, engine
  GemmState state = GemmState::unknown;
  bool backward = false;
  bool memset_before = false;
  std::vector<std::string> reasons;  // rule ids of findings that name this group
  int spec_index = -1;
};

struct KernelSummary {
  std::string name;
  KernelClass kind = {};
  std::uint64_t count = 0, replayed = 0, unlinked = 0;
  std::uint64_t in_ops = 0;        // launched inside any operator
  std::uint64_t apart = 0;         // launched here, outside any operator and any graph
  std::uint64_t by_other_ops = 0;  // launched inside an operator that is no product, attention or convolution
  double us = 0;
};

// Products and attention kernels by where they were launched.
struct KernelByOperator {
  std::string role, label, op;  // op empty: not launched inside one
  int device = 0;
  std::uint64_t count = 0;
  double us = 0;
};

struct EvidenceFinding {
  std::string id, name, title, level, seen, required, effect, fix, keeps, blame, source, status;
};

struct CallGroup {  // one line form of a library log, or one call with the same arguments
  std::string library, function, implementation, problem, memory, attributes, engine;
  std::map<std::string, std::string> fields;
  std::uint64_t count = 0;
  double ms = 0;
};

struct TraceAnswer {
  std::string file, format;
  bool partial = false;
  std::vector<std::string> warnings;
  std::map<std::string, std::string> header;
  std::vector<Device> devices;
  Verdict verdict;
  LinkSummary linking;
  std::uint64_t kernels_seen = 0, copies_seen = 0, fills_seen = 0, kernels_unclassified = 0;
  double gpu_us = 0;
  std::map<std::string, std::uint64_t> gemm_ops;
  std::uint64_t gemm_ops_recorded_twice = 0;
  Tallies gemm_by_class;                    // operators, with all GPU time inside them
  std::vector<OperatorGroup> gemms, attention, written_out;
  std::uint64_t written_out_attention = 0;  // bmm, softmax, bmm in a row
  Tallies by_role, memcpy_by_name, copies_by_origin, replayed;
  std::map<std::string, std::uint64_t> sync_calls, graph_launches, other_events, nvtx_ranges;
  std::vector<KernelByOperator> kernels_by_operator;
  std::map<std::string, std::uint64_t> sync_kinds;  // nsys only
  std::uint64_t item_calls = 0, cuda_sync_events = 0, compiled_regions = 0;
  bool has_operators = false;
  bool on_processor = false;  // no GPU event, and nothing that hints at a GPU
  std::map<std::string, std::uint64_t> sync_by_op;
  std::vector<KernelSummary> kernels;
  std::vector<CallGroup> calls;             // library logs
  std::map<std::string, std::uint64_t> log_lines;
  std::vector<std::string> versions;
  std::vector<std::string> remarks;         // notable log lines (refusals, errors), shortened
  std::vector<EvidenceFinding> findings;
  std::vector<std::string> specs;           // one JSON object each, in the form that `run` reads
};

struct AnswerOptions {
  bool verbose = false;
};

// Links, classifies, counts and judges. The records are consumed (their link fields are filled).
TraceAnswer answer_trace(Trace& trace, const AnswerOptions& options = {});

nlohmann::json to_json(const TraceAnswer& answer, bool verbose = false);
std::string to_text(const TraceAnswer& answer, bool verbose = false);

}  // namespace dd::evidence
