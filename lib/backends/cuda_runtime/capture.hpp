// Stream capture: work recorded into a CUDA graph, its nodes listed, instantiated and replayed. Nothing runs while it is
// captured, so the caller can spoil the result in between and see that the replay made it.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda_runtime/driver_api.hpp"

namespace dd::cuda {

using Work = std::function<std::optional<CallError>()>;

struct GraphNode {
  std::string name;    // kernels: demangled; others: "[fill]", "[copy]", "[host function]", ...
  std::string detail;  // geometry and registers, or bytes
  bool kernel = false;
};

class Graph {
 public:
  explicit Graph(const DriverApi& api) : api_(api) {}
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Ends the capture in every case, so that the stream can be used again. An error says why the work cannot be captured.
  std::optional<CallError> capture(void* stream, const Work& work);
  std::optional<CallError> instantiate();
  std::optional<CallError> launch(void* stream) const;
  // In the order in which the driver gives them; child graphs in place of their node.
  std::optional<CallError> nodes(std::vector<GraphNode>& out) const;

 private:
  std::optional<CallError> nodes_of(void* graph, int depth, std::vector<GraphNode>& out) const;
  GraphNode describe(void* node, int type) const;
  const DriverApi& api_;
  void *graph_ = nullptr, *exec_ = nullptr;
};

}  // namespace dd::cuda
