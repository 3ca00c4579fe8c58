// One engine asked through cuDNN's backend interface, because the frontend's own message is that of the first engine alone.
#include <iterator>

#include "backends/cudnn/frontend/library.hpp"
#include "backends/cudnn/frontend/reasons.hpp"

namespace dd::cudnn {
namespace {

class EngineQuestion {
 public:
  EngineQuestion(const BackendApi& api, cudnnBackendDescriptor_t graph, cudnnBackendDescriptor_t properties, EngineAnswer& answer)
      : api_(api), answer_(answer), engine_(api, CUDNN_BACKEND_ENGINE_DESCRIPTOR) {
    engine_.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, &graph);
    engine_.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, &answer.id);
    if (properties) engine_.set(CUDNN_ATTR_ENGINE_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, &properties);
  }

  // Some engines decline their default knobs whatever the call, so the kernel configurations are tried as well, as the
  // heuristics would.
  void put() {
    take_messages();
    cudnnStatus_t status = engine_.finalize();
    collect();
    if (status == CUDNN_STATUS_SUCCESS) read_notes();
    if (status == CUDNN_STATUS_SUCCESS) {
      status = configuration(-1);
      constexpr std::int64_t last_kernel = 36;
      for (std::int64_t kernel = 0; status != CUDNN_STATUS_SUCCESS && kernel <= last_kernel && only_generic(reasons_); ++kernel) status = configuration(kernel);
    }
    answer_.accepted = status == CUDNN_STATUS_SUCCESS;
    if (answer_.accepted) return;
    const Reason best = most_telling(reasons_);
    answer_.code = best.code.empty() ? api_.error_string(status) : best.code;
    answer_.reason = best.text;
  }

 private:
  void read_notes() {
    // By number: the headers that this is built with may be older than the library.
    static constexpr const char* names[] = {"runtime-compilation", "requires-filter-int8x32-reorder", "requires-bias-int8x32-reorder",
                                            "supports-cuda-graph-native-api", "cublaslt-dependency"};
    cudnnBackendBehaviorNote_t notes[16];
    std::int64_t count = 0;
    if (api_.get(engine_.raw(), CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, std::size(notes), &count, notes) != CUDNN_STATUS_SUCCESS) return;
    for (std::int64_t i = 0; i < count && i < static_cast<std::int64_t>(std::size(notes)); ++i) {
      const auto number = static_cast<std::size_t>(notes[i]);
      answer_.notes.push_back(number < std::size(names) ? names[number] : "note-" + std::to_string(number));
    }
  }

  cudnnStatus_t configuration(std::int64_t kernel) {
    Descriptor config(api_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), knob(api_, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    config.set(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, &engine_.raw());
    if (kernel >= 0) {
      const cudnnBackendKnobType_t type = CUDNN_KNOB_TYPE_KERNEL_CFG;
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, &type);
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, &kernel);
      if (knob.finalize() != CUDNN_STATUS_SUCCESS) return CUDNN_STATUS_NOT_SUPPORTED;
      config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, &knob.raw());
    }
    const cudnnStatus_t status = config.finalize();
    std::int64_t bytes = -1, count = 0;
    if (status == CUDNN_STATUS_SUCCESS &&
        api_.get(config.raw(), CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes) == CUDNN_STATUS_SUCCESS && count == 1)
      answer_.workspace = bytes;
    collect();
    return status;
  }

  void collect() {
    for (Reason& r : reasons_in(take_messages())) reasons_.push_back(std::move(r));
  }

  const BackendApi& api_;
  EngineAnswer& answer_;
  Descriptor engine_;
  std::vector<Reason> reasons_;
};

}  // namespace

void ask_engine(const BackendApi& api, cudnnBackendDescriptor_t graph, cudnnBackendDescriptor_t properties, EngineAnswer& answer) {
  EngineQuestion(api, graph, properties, answer).put();
}

}  // namespace dd::cudnn
