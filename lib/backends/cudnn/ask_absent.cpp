// This build cannot ask cuDNN: the headers of cudnn-frontend or of cuDNN were not found when it was configured.
#include "backends/cudnn/ask.hpp"

namespace dd::cudnn {
namespace {
Answer absent() {
  Answer answer;
  answer.problem = "this build was configured without the headers of cudnn-frontend and cuDNN";
  return answer;
}
}  // namespace

bool ask_built() { return false; }
std::string frontend_version() { return {}; }
Answer ask(const AttentionQuestion&, const std::string&) { return absent(); }
Answer ask(const ProductQuestion&, const std::string&) { return absent(); }

}  // namespace dd::cudnn
