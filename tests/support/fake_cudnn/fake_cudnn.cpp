// A libcudnn.so.9 that opens, names a version and then does what DD_FAKE_CUDNN says at the first question: "crash", "kill",
// "hang", "exit"; "silent" takes every description and refuses every graph without a word; "old" is a release that cannot be asked at all.
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace {
bool is(const char* what) {
  const char* mode = std::getenv("DD_FAKE_CUDNN");
  return mode && std::strcmp(mode, what) == 0;
}
constexpr int not_supported = 3000;
}  // namespace

extern "C" {
std::size_t cudnnGetVersion() { return is("old") ? 90100 : 91900; }
int cudnnBackendCreateDescriptor(int type, void** descriptor) {
  if (is("crash")) std::raise(SIGSEGV);
  if (is("kill")) std::raise(SIGKILL);
  if (is("exit")) _exit(3);
  if (is("hang"))
    for (;;) pause();
  *descriptor = new int(type);
  return 0;
}
int cudnnBackendDestroyDescriptor(void* descriptor) { return delete static_cast<int*>(descriptor), 0; }
int cudnnBackendSetAttribute(void*, int, int, std::int64_t, const void*) { return 0; }
int cudnnBackendGetAttribute(void*, int, int, std::int64_t, std::int64_t* count, void*) { return (count ? *count = 0 : 0), not_supported; }
int cudnnBackendFinalize(void* descriptor) {
  constexpr int operation_graph = 15;
  return *static_cast<int*>(descriptor) == operation_graph ? not_supported : 0;
}
const char* cudnnGetErrorString(int) { return "CUDNN_STATUS_NOT_SUPPORTED"; }
void cudnnGetLastErrorString(char* text, std::size_t room) {
  if (room > 0) *text = 0;
}
int cudnnSetCallback(unsigned, void*, void*) { return 0; }
int cudnnCreate(void** handle) { return *handle = nullptr, 1001; }  // not initialized
int cudnnDestroy(void*) { return 0; }
int cudnnSetStream(void*, void*) { return 1001; }
}
