// Fake backends, one for each way in which an attempt can end. They serve plain f32 attention (rank 4, contiguous, no mask,
// no causal rule); "fake-good" is right, each other one has the fault that its name says. Registered only in dd_fake_worker.
#pragma once
#include <span>

#include "backends/backend.hpp"

namespace dd::test {

std::span<const backends::Backend> fake_backends();

}  // namespace dd::test
