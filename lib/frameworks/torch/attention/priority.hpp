// The order in which PyTorch tries its attention backends: by version, GPU, cuDNN, environment and the user's own list.
#pragma once
#include <vector>

#include "frameworks/framework.hpp"

namespace dd::frameworks::torch_attention {

// One order, or two when it hangs on a fact that is not known. Never empty.
std::vector<Priority> priorities(const spec::OpSpec& spec, const facts::FactSet& facts);

}  // namespace dd::frameworks::torch_attention
