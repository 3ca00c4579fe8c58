// The logging callbacks of cuBLAS, cuBLASLt and cuDNN, collected as text in the form of their log files. What a library
// would print beside its callback goes nowhere. Seen with cuBLAS 13.1, cuBLASLt 13.1 and cuDNN 9.19 on 2026-11-29.
#pragma once
#include <string>

#include "backends/cuda_runtime/libraries.hpp"

namespace dd::cuda {

// Every warning and error of cuDNN, in cuDNN's own form (texts that each end with a zero, an empty one at the end), on the
// thread whose call it is about, whether or not its log is being collected. False where cuDNN has no callback.
bool listen_to_cudnn(void (*listener)(const char* message));

// Opens the library and turns its log on; false where it is not there or has no callback.
bool begin_log(Library which);
void end_log(Library which);
// Text since begin_log, at most a megabyte of it; emptied by this.
std::string taken_log(Library which);

}  // namespace dd::cuda
