// PyTorch's own dispatcher, 2.0 to the newest release that was read: attention on NVIDIA and AMD GPUs and on the CPU.
#pragma once
#include "frameworks/framework.hpp"

namespace dd::frameworks {

const Framework& torch_framework();

}  // namespace dd::frameworks
