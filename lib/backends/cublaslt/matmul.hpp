// One cublasLtMatmul: descriptors, the heuristic's candidates (all of them told), and the call as a step on a stream.
// The heuristic is asked when the object is made, before anything is captured, with the true alignment of every pointer and
// the workspace that the call will have.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "backends/common/device_blas.hpp"

namespace dd::backends::cublaslt {

struct ScaleSet {  // of one operand; `address` null: none
  void* address = nullptr;
  int mode = cuda::lt::scale_scalar_32f;
};

struct Call {
  BlasProduct product;
  int compute = cuda::blas::compute_32f, scale_type = cuda::blas::r_32f;
  int epilogue = cuda::lt::epilogue_default;
  void* bias = nullptr;
  int bias_type = cuda::blas::r_32f;
  ScaleSet scale_a, scale_b;
  bool fast_accumulation = false;
  bool reduced_precision = false;  // parts of a split reduction may be added in the type of the result
  int wanted = 8;  // algorithms
  std::int64_t workspace = 0;
};

class Matmul {
 public:
  // Null and `problem` filled when the library says no, or has no algorithm.
  static std::shared_ptr<Matmul> make(DeviceCall& device, const Call& call, RunResult& problem);
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  // "candidate 1: algorithm 66, tile 128x64, ..." in the library's order; the first that can run is taken.
  const std::vector<std::string>& candidates() const { return candidates_; }
  DeviceCall::LibraryCall step(const std::shared_ptr<Matmul>& self) const;

 private:
  Matmul(const cuda::CublasLtApi& api, const Call& call) : api_(api), call_(call), scalars_(call.scale_type) {}
  using Error = std::optional<cuda::CallError>;
  Error check(int status, const char* name) const;
  Error describe();
  Error describe_layout(const BlasMatrix& matrix, void*& layout);
  // Nothing is added to the product, yet the library judges C. Its layout is that of D, unless D is FP8.
  void* c_layout() const { return c_ ? c_ : d_; }
  Error choose();
  std::string candidate_text(const cuda::lt::Heuristic& found, std::size_t number) const;
  template <class T>
  Error set(int attribute, const T& value);
  template <class T>
  Error prefer(int attribute, const T& value);

  const cuda::CublasLtApi& api_;
  Call call_;
  BlasScalars scalars_;
  void *handle_ = nullptr, *desc_ = nullptr, *preference_ = nullptr, *workspace_ = nullptr;
  void *a_ = nullptr, *b_ = nullptr, *c_ = nullptr, *d_ = nullptr;
  cuda::lt::Heuristic chosen_{};
  std::vector<std::string> candidates_;
  std::string chosen_text_;
};

// "GELU_BIAS" to the number; nullopt for one that this tool does not call.
std::optional<int> epilogue_code(std::string_view name);

}  // namespace dd::backends::cublaslt
