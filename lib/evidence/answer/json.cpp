#include <nlohmann/json.hpp>

#include "evidence/answer/answer.hpp"

namespace dd::evidence {
namespace {

using Json = nlohmann::ordered_json;

Json tallies(const Tallies& all) {
  Json out = Json::object();
  for (const auto& [key, tally] : all) out[key] = {{"count", tally.count}, {"gpu_us", tally.us}};
  return out;
}

Json kernel_json(const KernelSummary& each) {
  const KernelClass& kind = each.kind;
  Json out = {{"name", each.name}, {"count", each.count}, {"gpu_us", each.us}, {"role", role_name(kind.role)}, {"class", kind.label},
              {"row", kind.known() ? Json(kind.row->id) : Json(nullptr)}, {"provider", kind.known() ? Json(kind.row->provider) : Json(nullptr)},
              {"family", kind.known() ? Json(kind.row->family) : Json(nullptr)}, {"tensor_cores", tri_name(kind.tensor_cores)}};
  if (!kind.dtype.empty()) out["dtype"] = kind.dtype;
  if (kind.alignment > 0) out["alignment"] = kind.alignment;
  if (kind.build_sm > 0) out["build_family_sm"] = kind.build_sm;
  if (!kind.layout.empty()) out["layout"] = kind.layout;
  if (each.replayed > 0) out["replayed_from_graph"] = each.replayed;
  if (each.in_ops > 0) out["inside_operators"] = each.in_ops;
  if (each.unlinked > 0) out["launched_before_window"] = each.unlinked;
  return out;
}

Json tensor_json(const TensorInfo& tensor) {
  if (!tensor.recorded) return tensor.dtype.empty() ? Json(nullptr) : Json{{"dtype", tensor.dtype}};
  Json out = {{"shape", tensor.dims}, {"dtype", tensor.dtype}};
  if (!tensor.strides.empty()) out["strides"] = tensor.strides;
  return out;
}

Json group_json(const OperatorGroup& group, std::string_view kind) {
  Json out = {{"class", kind}, {"op", group.op}, {"count", group.count}, {"gpu_us", group.gpu_us}, {"main_class", group.main_class},
              {"state", gemm_state_name(group.state)}, {"kernels", group.kernels}, {"kernel_classes", group.kernel_classes}};
  if (!group.served_by.empty()) out["served_by"] = group.served_by;
  if (!group.backend.empty()) out["backend"] = group.backend;
  if (!group.path.empty()) out["op_path"] = group.path;
  if (group.m > 0) out["product"] = {{"batch", group.batch}, {"m", group.m}, {"k", group.k}, {"n", group.n}};
  if (group.backward) out["backward"] = true;
  if (group.memset_before) out["memset_before"] = true;
  if (!group.inputs.empty()) {
    out["inputs"] = Json::array();
    for (const TensorInfo& tensor : group.inputs) out["inputs"].push_back(tensor_json(tensor));
  }
  if (!group.reasons.empty()) out["finding_ids"] = group.reasons;
  if (group.spec_index >= 0) out["spec"] = group.spec_index;
  return out;
}

Json call_json(const CallGroup& call) {
  Json out = {{"class", "library-call"}, {"library", call.library}, {"function", call.function}, {"count", call.count}};
  if (!call.implementation.empty()) out["implementation"] = call.implementation;
  if (!call.engine.empty()) out["engine"] = call.engine;
  if (!call.memory.empty()) out["memory"] = call.memory;
  if (!call.attributes.empty()) out["attributes"] = call.attributes;
  if (!call.problem.empty()) out["problem"] = call.problem;
  if (call.ms > 0) out["ms"] = call.ms;
  if (!call.fields.empty()) out["fields"] = call.fields;
  return out;
}

Json linking_json(const LinkSummary& s) {
  return {{"gpu_events", s.gpu_events}, {"with_launch_call", s.with_launch_call}, {"launch_call_inside_an_op", s.launch_call_inside_an_op},
          {"launched_before_window", s.launched_before_window}, {"outside_any_op", s.outside_any_op}, {"graph_replay", s.graph_replay},
          {"external_id_names_same_op", s.external_id_names_same_op}, {"external_id_names_wrong_op", s.external_id_names_wrong_op},
          {"external_id_equals_correlation", s.external_id_equals_correlation}, {"linked_by_external_id", s.linked_by_external_id},
          {"external_id_as_correlation", s.external_id_as_correlation}, {"external_id_trusted", s.external_id_trusted}};
}

}  // namespace

nlohmann::json to_json(const TraceAnswer& a, bool verbose) {
  Json out;
  out["file"] = a.file;
  out["format"] = a.format;
  out["partial"] = a.partial;
  out["verdict"] = {{"sdpa", verdict_name(a.verdict.sdpa)}, {"gemm", verdict_name(a.verdict.gemm)}, {"grade", a.verdict.grade},
                    {"attribution", a.verdict.attribution}, {"sdpa_why", a.verdict.sdpa_why}, {"gemm_why", a.verdict.gemm_why}};
  out["warnings"] = a.warnings;
  out["header"] = a.header;
  out["devices"] = Json::array();
  for (const Device& d : a.devices) out["devices"].push_back({{"name", d.name}, {"compute", {d.major, d.minor}}, {"processors", d.processors}});
  out["events"] = {{"kernel", a.kernels_seen}, {"memcpy", a.copies_seen}, {"memset", a.fills_seen}, {"gpu_us", a.gpu_us}};
  out["linking"] = linking_json(a.linking);
  out["gemm_ops"] = a.gemm_ops;
  out["gemm_ops_recorded_twice"] = a.gemm_ops_recorded_twice;
  out["gemm_by_kernel_class"] = tallies(a.gemm_by_class);
  out["written_out_attention"] = a.written_out_attention;
  out["by_role"] = tallies(a.by_role);
  out["memcpy"] = tallies(a.memcpy_by_name);
  out["copies_by_origin"] = tallies(a.copies_by_origin);
  out["syncs"] = {{"runtime_calls", a.sync_calls}, {"item", a.item_calls}, {"cuda_sync_events", a.cuda_sync_events}, {"by_operator", a.sync_by_op}};
  out["graph_launches"] = a.graph_launches;
  out["graph_replay_kernels"] = tallies(a.replayed);
  if (!a.nvtx_ranges.empty()) out["nvtx_ranges"] = a.nvtx_ranges;
  if (!a.log_lines.empty()) out["log_lines"] = a.log_lines;
  if (!a.versions.empty()) out["versions"] = a.versions;
  if (!a.remarks.empty()) out["remarks"] = a.remarks;
  out["kernels_by_operator"] = Json::array();
  for (const auto& each : a.kernels_by_operator)
    out["kernels_by_operator"].push_back({{"role", each.role}, {"class", each.label}, {"op", each.op.empty() ? Json(nullptr) : Json(each.op)}, {"device", each.device},
                                          {"count", each.count}, {"gpu_us", each.us}});
  if (!a.sync_kinds.empty()) out["syncs"]["by_kind"] = a.sync_kinds;
  out["operators"] = Json::array();
  for (const auto& group : a.attention) out["operators"].push_back(group_json(group, "attention"));
  for (const auto& group : a.written_out) out["operators"].push_back(group_json(group, "attention-written-out"));
  for (const auto& group : a.gemms) out["operators"].push_back(group_json(group, "gemm"));
  for (const auto& call : a.calls) out["operators"].push_back(call_json(call));
  out["kernels"] = Json::array();
  for (const auto& each : a.kernels) out["kernels"].push_back(kernel_json(each));
  out["findings"] = Json::array();
  for (const auto& f : a.findings) {
    if (f.status == "met" && !verbose) continue;
    out["findings"].push_back({{"id", f.id}, {"name", f.name}, {"title", f.title}, {"level", f.level}, {"seen", f.seen}, {"required", f.required}, {"effect", f.effect},
                               {"fix", f.fix}, {"keeps", f.keeps}, {"blame", f.blame}, {"source", f.source}, {"status", f.status}});
  }
  if (verbose) out["other_events"] = a.other_events;
  return nlohmann::json(out);
}

}  // namespace dd::evidence
