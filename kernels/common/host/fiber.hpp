// Cooperative fibers for the CPU simulation of a thread block: create, resume, yield.
// One OS thread drives all fibers, so a fiber runs undisturbed until it yields and the order of execution is exactly
// the order in which the scheduler resumes them. Switches are announced to AddressSanitizer.
#pragma once
#include <cstddef>

namespace dd::kernels::host {

class Fiber {
 public:
  using Entry = void (*)(void* arg);
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void start(Entry entry, void* arg);  // prepares; the first resume() enters
  void resume();                       // runs until the fiber yields or its entry returns
  bool finished() const { return finished_; }
  static void yield();  // from inside a fiber: back to resume()'s caller

 private:
  struct Impl;
  static void trampoline(Fiber* self);
  Impl* impl_;
  Entry entry_ = nullptr;
  void* arg_ = nullptr;
  bool finished_ = true;
};

}  // namespace dd::kernels::host
