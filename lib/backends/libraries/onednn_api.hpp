// The part of oneDNN's C interface that is used, declared by hand so that no header of one version is needed. Objects are
// opaque pointers in both generations; only descriptors differ (see Descriptor) and the arguments of two functions.
#pragma once
#include <cstddef>
#include <cstdint>

namespace dd::backends {

struct OneDnnExecArg {
  int arg;
  void* memory;
};

struct OneDnnVersion {  // head of dnnl_version_t: the rest is not read
  int major, minor, patch;
};

struct OneDnnApi {
  const OneDnnVersion* (*version)() = nullptr;
  int (*set_verbose)(int level) = nullptr;
  int (*effective_isa)() = nullptr;
  int (*engine_create)(void** engine, int kind, std::size_t index) = nullptr;
  int (*stream_create)(void** stream, void* engine, unsigned flags) = nullptr;
  int (*stream_wait)(void* stream) = nullptr;
  int (*stream_destroy)(void* stream) = nullptr;
  int (*memory_create)(void** memory, const void* descriptor, void* engine, void* data) = nullptr;
  int (*memory_destroy)(void* memory) = nullptr;
  int (*attr_create)(void** attr) = nullptr;
  int (*attr_destroy)(void* attr) = nullptr;
  int (*attr_set_post_ops)(void* attr, const void* post_ops) = nullptr;
  int (*post_ops_create)(void** post_ops) = nullptr;
  int (*post_ops_destroy)(void* post_ops) = nullptr;
  int (*primitive_desc_destroy)(void* descriptor) = nullptr;
  int (*primitive_desc_query)(const void* descriptor, int what, int index, void* result) = nullptr;
  int (*primitive_create)(void** primitive, const void* descriptor) = nullptr;
  int (*primitive_destroy)(void* primitive) = nullptr;
  int (*primitive_execute)(const void* primitive, void* stream, int count, const OneDnnExecArg* arguments) = nullptr;
  void (*omp_set_num_threads)(int) = nullptr;  // of the OpenMP library that oneDNN is linked to; may be absent
  // 2.x
  int (*memory_desc_init_by_strides)(void* md, int rank, const std::int64_t* dims, int dtype, const std::int64_t* strides) = nullptr;
  int (*matmul_desc_init)(void* op, const void* x, const void* w, const void* bias, const void* y) = nullptr;
  int (*primitive_desc_create)(void** pd, const void* op, const void* attr, void* engine, const void* hint) = nullptr;
  int (*append_eltwise_v2)(void* post_ops, float scale, int algorithm, float alpha, float beta) = nullptr;
  // 3.x
  int (*memory_desc_create_with_strides)(void** md, int rank, const std::int64_t* dims, int dtype, const std::int64_t* strides) = nullptr;
  int (*memory_desc_destroy)(void* md) = nullptr;
  int (*matmul_primitive_desc_create)(void** pd, void* engine, const void* x, const void* w, const void* bias, const void* y,
                                      const void* attr) = nullptr;
  int (*append_eltwise_v3)(void* post_ops, int algorithm, float alpha, float beta) = nullptr;

  void* engine = nullptr;  // the processor; lives as long as the library
  int generation = 0;      // 2 or 3
};

// Numbers of the C headers (2.6 and 3.2).
namespace onednn_c {
constexpr int success = 0, out_of_memory = 1, unimplemented = 3;
constexpr int engine_cpu = 1;
constexpr unsigned stream_default = 1;
constexpr int arg_x = 1, arg_y = 17, arg_w = 33, arg_bias = 41;
constexpr int query_memory_bytes = 6, query_implementation = 8;
constexpr int relu_v2 = 0x1f, gelu_tanh_v2 = 0xcf, relu_v3 = 0x20, gelu_tanh_v3 = 0x2b;
}  // namespace onednn_c

}  // namespace dd::backends
