// Scratch memory for kernels: aligned to 64 bytes and, unlike std::vector, not written on allocation (pages that a
// small problem never touches cost nothing). Throws std::bad_alloc.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace dd::ops {

template <class T>
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(std::int64_t n)
      : data_(n > 0 ? static_cast<T*>(::operator new (checked(n), std::align_val_t{64})) : nullptr), size_(n) {}
  T* get() const { return data_.get(); }
  T& operator[](std::int64_t i) const { return data_.get()[i]; }
  std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(sizeof(T)); }

 private:
  static std::size_t checked(std::int64_t n) {
    if (n > INT64_MAX / 16) throw std::bad_alloc();
    return static_cast<std::size_t>(n) * sizeof(T);
  }
  struct Free {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<T, Free> data_;
  std::int64_t size_ = 0;
};

// a * b * c ..., or throws std::bad_alloc when it exceeds the range (negative factors count as 0).
template <class... N>
std::int64_t product(N... factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : {static_cast<std::int64_t>(factors)...}) {
    if (__builtin_mul_overflow(result, factor > 0 ? factor : 0, &result)) throw std::bad_alloc();
  }
  return result;
}

}  // namespace dd::ops
