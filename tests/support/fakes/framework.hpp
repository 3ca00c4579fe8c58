// A worker that plays a framework called "torch": its dispatcher takes the backend that its argument names, torch-math
// is always there, torch-cpu-flash refuses when told so. Speaks the protocol through the project's own functions.
#pragma once

namespace dd::test {

// `how`: "fused" (the dispatcher takes torch-cpu-flash), "math" (it takes torch-math though both work), "refuse"
// (torch-cpu-flash refuses, the dispatcher takes torch-math), "old" (version 2.5.0 instead of 2.6.0), "missing" (no torch).
int run_framework(const char* how);

}  // namespace dd::test
