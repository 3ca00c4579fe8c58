// libFuzzer entry; built with clang and -DDD_FUZZERS=ON (preset fuzz).
#include "targets.hpp"
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  fuzz::trace({reinterpret_cast<const char*>(data), size});
  return 0;
}
