// This build cannot speak to cuDNN: the headers of cudnn-frontend or of cuDNN were not found when it was configured.
#include "backends/cudnn/frontend/ask.hpp"
#include "backends/cudnn/frontend/plan.hpp"

namespace dd::cudnn {
namespace {
constexpr const char* why = "this build was configured without the headers of cudnn-frontend and cuDNN";
}

bool ask_built() { return false; }
std::string frontend_version() { return {}; }
Answer ask(const AttentionQuestion&, const std::string&) { return not_asked("not-built", why); }
Answer ask(const ProductQuestion&, const std::string&) { return not_asked("not-built", why); }

struct AttentionPlan::Graph {};
AttentionPlan::AttentionPlan() = default;
AttentionPlan::~AttentionPlan() = default;
std::unique_ptr<AttentionPlan> AttentionPlan::make(const AttentionQuestion&, int, void*, Answer& answer, cuda::CallError& error) {
  answer = not_asked("not-built", why);
  error = {0, "not-built", why, "make", "this build", cuda::CallError::Fault::unavailable};
  return nullptr;
}
std::optional<cuda::CallError> AttentionPlan::execute(const Pointers&, void*) {
  return cuda::CallError{0, "not-built", why, "execute", "this build", cuda::CallError::Fault::unavailable};
}

}  // namespace dd::cudnn
