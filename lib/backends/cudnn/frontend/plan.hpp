// cuDNN attention on a GPU that is here: the graph on a handle of the given stream, every engine asked as in ask.hpp, and
// the first plan of the heuristics that can be built. Belongs to one thread and the context that was current at make().
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backends/cudnn/frontend/ask.hpp"

namespace dd::cudnn {

class AttentionPlan {
 public:
  struct Pointers {  // on the device
    void *q = nullptr, *k = nullptr, *v = nullptr, *bias = nullptr, *out = nullptr, *stats = nullptr;
  };
  // Null and `error` filled where cuDNN is not here or declines; `answer` is filled as far as it got.
  static std::unique_ptr<AttentionPlan> make(const AttentionQuestion& question, int compute_capability, void* stream, Answer& answer, report::Error& error);
  ~AttentionPlan();

  const std::string& name() const { return name_; }  // engine and knobs, in cuDNN's own short form
  std::int64_t engine() const { return engine_; }
  std::int64_t workspace_bytes() const { return workspace_; }
  // Puts the work on the stream.
  std::optional<report::Error> execute(const Pointers& pointers, void* workspace);

 private:
  AttentionPlan();
  struct Graph;
  std::unique_ptr<Graph> graph_;
  std::string name_;
  std::int64_t engine_ = -1, workspace_ = 0;
};

}  // namespace dd::cudnn
