#include "backends/cuda_runtime/capture.hpp"

#include <fmt/format.h>

#include "backends/cuda_runtime/graph_node.hpp"
#include "evidence/cupti.hpp"

namespace dd::cuda {
namespace {

constexpr int capture_thread_local = 1;
constexpr std::size_t most_nodes = 5000;

// CUgraphNodeType
enum NodeType { kernel = 0, copy = 1, fill = 2, host = 3, child = 4, empty = 5, wait = 6, record = 7, alloc = 10, free = 11 };

const char* plain_name(int type) {
  switch (type) {
    case host: return "[host function]";
    case empty: return "[empty]";
    case wait: return "[wait for an event]";
    case record: return "[record an event]";
    case alloc: return "[allocate]";
    case free: return "[free]";
    default: return nullptr;
  }
}

}  // namespace

Graph::~Graph() {
  if (exec_) api_.graph_exec_destroy(exec_);
  if (graph_) api_.graph_destroy(graph_);
}

std::optional<CallError> Graph::capture(void* stream, const Work& work) {
  if (auto e = api_.check(api_.capture_begin(stream, capture_thread_local), "cuStreamBeginCapture")) return e;
  auto failed = work();
  auto ended = api_.check(api_.capture_end(stream, &graph_), "cuStreamEndCapture");
  return failed ? failed : ended;
}

std::optional<CallError> Graph::instantiate() { return api_.check(api_.graph_instantiate(&exec_, graph_, 0), "cuGraphInstantiateWithFlags"); }
std::optional<CallError> Graph::launch(void* stream) const { return api_.check(api_.graph_launch(exec_, stream), "cuGraphLaunch"); }

std::optional<CallError> Graph::nodes(std::vector<GraphNode>& out) const { return nodes_of(graph_, 0, out); }

std::optional<CallError> Graph::nodes_of(void* graph, int depth, std::vector<GraphNode>& out) const {
  std::size_t count = 0;
  if (auto e = api_.check(api_.graph_nodes(graph, nullptr, &count), "cuGraphGetNodes")) return e;
  std::vector<void*> nodes(count);
  if (count > 0)
    if (auto e = api_.check(api_.graph_nodes(graph, nodes.data(), &count), "cuGraphGetNodes")) return e;
  for (void* node : nodes) {
    if (out.size() >= most_nodes) return std::nullopt;
    int type = -1;
    if (!api_.graph_node_type || api_.graph_node_type(node, &type) != 0) {
      out.push_back({"[node that the driver does not describe]", {}, false});
      continue;
    }
    void* inner = nullptr;
    if (type == child && depth < 8 && api_.graph_child && api_.graph_child(node, &inner) == 0) {
      if (auto e = nodes_of(inner, depth + 1, out)) return e;
      continue;
    }
    out.push_back(describe(node, type));
  }
  return std::nullopt;
}

GraphNode Graph::describe(void* node, int type) const {
  if (type == kernel) {
    KernelNode p{};
    if (!api_.graph_kernel_parameters || api_.graph_kernel_parameters(node, &p) != 0) return {"kernel whose name the driver does not tell", {}, true};
    // Kernels of a library object come without a function.
    if (!p.function && p.kernel && api_.kernel_function) api_.kernel_function(&p.function, p.kernel);
    const char* name = nullptr;
    const bool named = (p.function && api_.function_name && api_.function_name(&name, p.function) == 0 && name) ||
                       (p.kernel && api_.kernel_name && api_.kernel_name(&name, p.kernel) == 0 && name);
    if (!named) return {"kernel whose name the driver does not tell", {}, true};
    evidence::GpuActivity a;
    a.name = evidence::demangled(name);
    for (int i = 0; i < 3; ++i) a.grid[i] = static_cast<std::int32_t>(p.grid[i]), a.block[i] = static_cast<std::int32_t>(p.block[i]);
    constexpr int static_shared_attribute = 1, registers_attribute = 4;
    int fixed = 0;
    if (p.function && api_.function_value) {
      api_.function_value(&a.registers, registers_attribute, p.function);
      api_.function_value(&fixed, static_shared_attribute, p.function);
    }
    a.shared_bytes = std::int64_t{fixed} + p.shared;
    return {a.name, evidence::kernel_description(a), true};
  }
  if (type == fill) {
    FillNode p{};
    const bool known = api_.graph_fill_parameters && api_.graph_fill_parameters(node, &p) == 0;
    return {evidence::fill_name, known ? fmt::format("{} bytes", p.width * p.height * p.element_size) : "", false};
  }
  if (type == copy) {
    CopyNode p{};
    if (!api_.graph_copy_parameters || api_.graph_copy_parameters(node, &p) != 0) return {evidence::copy_name(0), {}, false};
    return {evidence::copy_name(p.activity_kind()), fmt::format("{} bytes", p.width * p.height * p.depth), false};
  }
  if (const char* name = plain_name(type)) return {name, {}, false};
  return {fmt::format("[node of type {}]", type), {}, false};
}

}  // namespace dd::cuda
