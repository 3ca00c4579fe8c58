#include "backends/libraries/onednn.hpp"

#include <stdlib.h>

#include <map>
#include <mutex>

#include "backends/libraries/capture.hpp"
#include "backends/libraries/onednn_api.hpp"
#include "backends/libraries/trial.hpp"

namespace dd::backends {
namespace {

constexpr const char* names[] = {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"};

// Fills the table; returns the first symbol that is missing.
std::string find_symbols(const SharedLibrary& library, OneDnnApi& api) {
  std::string missing;
  const auto need = [&](auto*& slot, const char* name) {
    if (!library.find(slot, name) && missing.empty()) missing = name;
  };
  need(api.version, "dnnl_version");
  if (!missing.empty()) return missing;
  api.generation = api.version()->major;
  need(api.set_verbose, "dnnl_set_verbose");
  need(api.engine_create, "dnnl_engine_create");
  need(api.stream_create, "dnnl_stream_create");
  need(api.stream_wait, "dnnl_stream_wait");
  need(api.stream_destroy, "dnnl_stream_destroy");
  need(api.memory_create, "dnnl_memory_create");
  need(api.memory_destroy, "dnnl_memory_destroy");
  need(api.attr_create, "dnnl_primitive_attr_create");
  need(api.attr_destroy, "dnnl_primitive_attr_destroy");
  need(api.attr_set_post_ops, "dnnl_primitive_attr_set_post_ops");
  need(api.post_ops_create, "dnnl_post_ops_create");
  need(api.post_ops_destroy, "dnnl_post_ops_destroy");
  need(api.primitive_desc_destroy, "dnnl_primitive_desc_destroy");
  need(api.primitive_desc_query, "dnnl_primitive_desc_query");
  need(api.primitive_create, "dnnl_primitive_create");
  need(api.primitive_destroy, "dnnl_primitive_destroy");
  need(api.primitive_execute, "dnnl_primitive_execute");
  if (api.generation == 2) {
    need(api.memory_desc_init_by_strides, "dnnl_memory_desc_init_by_strides");
    need(api.matmul_desc_init, "dnnl_matmul_desc_init");
    need(api.primitive_desc_create, "dnnl_primitive_desc_create");
    need(api.append_eltwise_v2, "dnnl_post_ops_append_eltwise");
  } else {
    need(api.memory_desc_create_with_strides, "dnnl_memory_desc_create_with_strides");
    need(api.memory_desc_destroy, "dnnl_memory_desc_destroy");
    need(api.matmul_primitive_desc_create, "dnnl_matmul_primitive_desc_create");
    need(api.append_eltwise_v3, "dnnl_post_ops_append_eltwise");
  }
  library.find(api.effective_isa, "dnnl_get_effective_cpu_isa");
  library.find(api.omp_set_num_threads, "omp_set_num_threads");
  return missing;
}

std::string isa_name(int isa) {
  struct Row {
    int isa;
    const char* name;
  };
  static constexpr Row table[] = {
      {0x1, "sse41"},           {0x3, "avx"},           {0x7, "avx2"},           {0x27, "avx512_core"},
      {0x67, "avx512_core_vnni"}, {0xe7, "avx512_core_bf16"},
      {0x407, "avx2_vnni"},     {0x3e7, "avx512_core_amx"},  // 2.x
      {0xf, "avx2_vnni"},       {0x1f, "avx2_vnni_2"},  {0x1ef, "avx512_core_fp16"}, {0xfef, "avx512_core_amx"},
      {0x1fef, "avx512_core_amx_fp16"},                      // 3.x
  };
  for (const Row& row : table)
    if (row.isa == isa) return row.name;
  return {};
}

std::string cap() {
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"})
    if (const std::string value = environment_value(name); !value.empty() && value != "ALL" && value != "DEFAULT" && value != "all" && value != "default")
      return std::string(name) + "=" + value;
  return {};
}

// From 3.2 on, dispatch reasons come only when the variable says so at the first look. It is put back, so that the
// environment that is reported stays the user's.
struct VerboseAtStart {
  bool changed;
  std::string before;
  explicit VerboseAtStart(bool wanted) : changed(wanted) {
    if (!changed) return;
    before = environment_value("ONEDNN_VERBOSE");
    setenv("ONEDNN_VERBOSE", "all", 1);
  }
  ~VerboseAtStart() {
    if (!changed) return;
    if (before.empty()) {
      unsetenv("ONEDNN_VERBOSE");
    } else {
      setenv("ONEDNN_VERBOSE", before.c_str(), 1);
    }
  }
};

// A product of two numbers: proves that the library works, and makes it read its environment.
std::string try_out(const OneDnn& library) {
  float x = 3, w = 2, y = 0;
  MatmulCall call;
  call.x = {core::DType::f32, {1, 1, 1}, {1, 1, 1}, &x};
  call.w = {core::DType::f32, {1, 1, 1}, {1, 1, 1}, &w};
  call.y = {core::DType::f32, {1, 1, 1}, {1, 1, 1}, &y};
  const MatmulAnswer answer = matmul(library, call);
  if (!answer.ok()) return answer.failed_call + " gave " + std::string(status_name(answer.status)) + " for a 1x1 product";
  return y == 6 ? "" : "a 1x1 product gave a wrong result";
}

OneDnn open_here() {
  OneDnn d;
  d.library = open_library("DD_ONEDNN", names);
  if (!d.library) {
    d.problem = "oneDNN could not be opened: " + d.library.error;
    return d;
  }
  d.api = std::make_shared<OneDnnApi>();
  if (const std::string missing = find_symbols(d.library, *d.api); !missing.empty()) {
    d.problem = d.library.path + " lacks " + missing;
    return d;
  }
  const OneDnnVersion& v = *d.api->version();
  d.version = facts::Version::of(v.major, v.minor, v.patch);
  if (d.api->generation < 2 || d.api->generation > 3) {
    d.problem = "oneDNN " + d.version.to_text() + " is neither 2.x nor 3.x";
    return d;
  }
  const VerboseAtStart verbose(d.dispatch_reasons());
  OutputCapture quiet;
  if (!d.dispatch_reasons()) d.api->set_verbose(0);
  if (d.api->effective_isa) d.isa = isa_name(d.api->effective_isa());
  d.capped_by = cap();
  if (const int status = d.api->engine_create(&d.api->engine, onednn_c::engine_cpu, 0); status != 0) {
    d.problem = "dnnl_engine_create gave " + std::string(status_name(status));
    return d;
  }
  quiet.finish();
  d.problem = try_out(d);
  return d;
}

OneDnn open() {
  if (const std::string trouble = trial_problem([] { open_here(); }); !trouble.empty()) {
    OneDnn d;
    d.problem = "oneDNN cannot be used: " + trouble;
    return d;
  }
  return open_here();
}

}  // namespace

std::string_view status_name(int status) {
  static constexpr std::string_view names_by_number[] = {"success",         "out of memory", "invalid arguments", "unimplemented",
                                                         "last implementation reached", "runtime error", "not required"};
  return status >= 0 && status < 7 ? names_by_number[status] : "an unknown status";
}

const OneDnn& onednn() {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<OneDnn>> opened;  // by DD_ONEDNN; entries never move
  const std::lock_guard lock(mutex);
  auto& slot = opened[environment_value("DD_ONEDNN")];
  if (!slot) slot = std::make_unique<OneDnn>(open());
  return *slot;
}

void add_onednn_facts(facts::FactSet& facts) {
  using facts::Id;
  const OneDnn& d = onednn();
  const auto set = [&](Id id, facts::Value value, std::string where) {
    facts.set(id, std::move(value), facts::Provenance::library, std::move(where));
  };
  set(Id::onednn_available, d.ok(), d.ok() ? "oneDNN" : "dlopen");
  set(Id::onednn_isa_capped, d.ok() && !d.capped_by.empty(), d.capped_by);
  if (!d.ok()) {
    set(Id::onednn_version, facts::NotApplicable{}, "");
    set(Id::onednn_isa, facts::NotApplicable{}, "");
    return;
  }
  set(Id::onednn_version, d.version, "dnnl_version");
  if (!d.isa.empty()) set(Id::onednn_isa, d.isa, "dnnl_get_effective_cpu_isa");
}

}  // namespace dd::backends
