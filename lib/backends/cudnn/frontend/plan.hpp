// cuDNN attention on a GPU that is here: the graph on a handle of the given stream, every engine asked as in ask.hpp, and
// the first plan of the heuristics that can be built. Belongs to one thread and the context that was current at make();
// a CUDA graph that captured execute() must not outlive it. Works with releases that cannot be asked about other devices.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda_runtime/driver_api.hpp"
#include "backends/cudnn/frontend/ask.hpp"

namespace dd::cudnn {

class AttentionPlan {
 public:
  struct Pointers {  // on the device
    void *q = nullptr, *k = nullptr, *v = nullptr, *bias = nullptr, *out = nullptr, *stats = nullptr;
  };
  // Null and `error` filled where cuDNN is not here or declines; `answer` is filled as far as it got.
  static std::unique_ptr<AttentionPlan> make(const AttentionQuestion& question, int compute_capability, void* stream, Answer& answer, cuda::CallError& error);
  ~AttentionPlan();

  const std::string& name() const { return name_; }  // engine and knobs, in cuDNN's own short form
  std::int64_t workspace_bytes() const { return workspace_; }
  // What the heuristics offered, in their order, each with why it could not be built where that was tried.
  const std::vector<std::string>& candidates() const { return candidates_; }
  // Puts the work on the stream.
  std::optional<cuda::CallError> execute(const Pointers& pointers, void* workspace);

 private:
  AttentionPlan();
  bool build();
  struct Graph;
  std::unique_ptr<Graph> graph_;
  std::string name_, last_words_;
  std::int64_t workspace_ = 0;
  std::vector<std::string> candidates_;
};

}  // namespace dd::cudnn
