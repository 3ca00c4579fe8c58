// dd_fake_worker: the native worker with the fake backends instead of the real ones. Its first argument, when given, asks
// for a worker that is broken as such (no hello, a wrong protocol number, an end before the hello, silence).
#include <cstdio>
#include <cstring>
#include <unistd.h>

#include "session/worker.hpp"
#include "support/fakes/fakes.hpp"
#include "support/fakes/framework.hpp"
#include "support/fakes/spec_reader.hpp"

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (!std::strcmp(how, "torch")) return dd::test::run_framework(argc > 2 ? argv[2] : "fused");
  if (!std::strcmp(how, "old-protocol")) {
    std::puts("{\"dd\":\"hello\",\"protocol\":99,\"worker\":\"fake\"}");
    std::fflush(stdout);
    ::pause();
  }
  if (!std::strcmp(how, "early-exit")) {
    std::fputs("fake interpreter: no module named torch\n", stderr);
    return 1;
  }
  if (!std::strcmp(how, "silent")) ::pause();
  if (!std::strcmp(how, "garbage")) {
    std::puts("banner of a library\nnot json at all {{{");
    std::fflush(stdout);
  }
  return dd::session::run_worker(STDIN_FILENO, STDOUT_FILENO, {dd::test::fake_backends(), dd::test::read_spec});
}
