#include "host/fiber.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// The context switch itself: a dozen instructions on x86-64 (swapcontext makes two system calls a switch, which is
// forty times slower), ucontext elsewhere.
#if defined(__x86_64__) && defined(__linux__)
#define DD_FIBER_ASM 1
#else
#define DD_FIBER_ASM 0
#include <ucontext.h>
#endif

namespace dd::kernels::host {
namespace {
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t stack_bytes = 256 * 1024;
#else
constexpr std::size_t stack_bytes = 64 * 1024;
#endif
thread_local Fiber* running = nullptr;
}  // namespace

#if DD_FIBER_ASM
extern "C" void dd_fiber_switch(void** save_sp, void* load_sp);
asm(R"(
.text
.globl dd_fiber_switch
.type dd_fiber_switch,@function
dd_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size dd_fiber_switch,.-dd_fiber_switch
)");
#endif

struct Fiber::Impl {
  unsigned char* stack = nullptr;
#if DD_FIBER_ASM
  void* own_sp = nullptr;
  void* caller_sp = nullptr;
#else
  ucontext_t own{};
  ucontext_t caller{};
#endif
  // Where the resuming side runs, as AddressSanitizer reports it on entry.
  void* own_fake_stack = nullptr;
  void* caller_fake_stack = nullptr;
  const void* caller_bottom = nullptr;
  std::size_t caller_size = 0;

  void enter() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&caller_fake_stack, stack, stack_bytes);
#endif
#if DD_FIBER_ASM
    dd_fiber_switch(&caller_sp, own_sp);
#else
    swapcontext(&caller, &own);
#endif
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(caller_fake_stack, nullptr, nullptr);
#endif
  }
  void leave(bool for_good) {
    (void)for_good;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(for_good ? nullptr : &own_fake_stack, caller_bottom, caller_size);
#endif
#if DD_FIBER_ASM
    dd_fiber_switch(&own_sp, caller_sp);
#else
    swapcontext(&own, &caller);
#endif
    arrived();
  }
  void arrived() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(own_fake_stack, &caller_bottom, &caller_size);
#endif
  }
};

Fiber::Fiber() : impl_(new Impl) {
  impl_->stack = static_cast<unsigned char*>(std::aligned_alloc(64, stack_bytes));
  if (!impl_->stack) {
    delete impl_;
    throw std::bad_alloc();
  }
}
Fiber::~Fiber() {
  std::free(impl_->stack);
  delete impl_;
}

void Fiber::trampoline(Fiber* self) {
  self->impl_->arrived();
  self->entry_(self->arg_);
  self->finished_ = true;
  self->impl_->leave(true);
  std::abort();  // a finished fiber is never resumed
}

namespace {
void (*enter_running)(Fiber*) = nullptr;  // the private trampoline, set by start()
void first_entry() { enter_running(running); }
}  // namespace

void Fiber::start(Entry entry, void* arg) {
  entry_ = entry;
  arg_ = arg;
  finished_ = false;
  enter_running = &Fiber::trampoline;
  impl_->own_fake_stack = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(impl_->stack, stack_bytes);  // an abandoned run may have left its frames poisoned
#endif
#if DD_FIBER_ASM
  auto top = (reinterpret_cast<std::uintptr_t>(impl_->stack) + stack_bytes) & ~std::uintptr_t{63};
  auto* sp = reinterpret_cast<void**>(top);
  *--sp = nullptr;  // no caller to return to; also keeps the ABI's alignment at entry
  *--sp = reinterpret_cast<void*>(&first_entry);
  for (int i = 0; i < 6; ++i) *--sp = nullptr;
  impl_->own_sp = sp;
#else
  getcontext(&impl_->own);
  impl_->own.uc_stack.ss_sp = impl_->stack;
  impl_->own.uc_stack.ss_size = stack_bytes;
  impl_->own.uc_link = nullptr;
  makecontext(&impl_->own, &first_entry, 0);
#endif
}

void Fiber::resume() {
  Fiber* outer = running;
  running = this;
  impl_->enter();
  running = outer;
}

void Fiber::yield() { running->impl_->leave(false); }

}  // namespace dd::kernels::host
