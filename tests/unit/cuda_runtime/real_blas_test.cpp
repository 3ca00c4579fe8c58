// The real cuBLAS and cuBLASLt of this machine without a GPU: every function that we call is there, and what cannot work is an
// error with the library's own name and text, never a crash. Says so visibly where the libraries are not, or a GPU is.
#include "backends/cuda_runtime/cublas_api.hpp"
#include "backends/cuda_runtime/libraries.hpp"
#include "support/catch.hpp"

using namespace dd;

namespace {

bool without_gpu() {
  const auto device = cuda::Device::get(0);
  if (device.ok()) WARN("skipped: a GPU is here, tests/gpu covers it");
  return !device.ok();
}

}  // namespace

TEST_CASE("cuBLAS without a GPU answers with a status") {
  if (!cuda::library(cuda::Library::cublas)) {
    WARN("skipped: no cuBLAS on this machine: " << cuda::library(cuda::Library::cublas).error);
    return;
  }
  std::string why;
  const cuda::CublasApi* api = cuda::cublas_api(why);
  INFO(why);
  REQUIRE(api);
  if (!without_gpu()) return;
  void* handle = nullptr;
  const auto error = cuda::blas_error(api->create(&handle), "cublasCreate", "cuBLAS", api->status_name, api->status_text);
  REQUIRE(error);
  INFO(error->name << ": " << error->text);
  CHECK(error->name.rfind("CUBLAS_STATUS_", 0) == 0);
  CHECK_FALSE(error->text.empty());
  CHECK(error->fault == cuda::CallError::Fault::unavailable);
}

TEST_CASE("cuBLASLt without a GPU: descriptors can be made, the heuristic answers with a status") {
  if (!cuda::library(cuda::Library::cublaslt)) {
    WARN("skipped: no cuBLASLt on this machine: " << cuda::library(cuda::Library::cublaslt).error);
    return;
  }
  std::string why;
  const cuda::CublasLtApi* api = cuda::cublaslt_api(why);
  INFO(why);
  REQUIRE(api);
  if (!without_gpu()) return;
  using namespace cuda;
  void *desc = nullptr, *layout = nullptr, *preference = nullptr, *handle = nullptr;
  REQUIRE(api->desc_create(&desc, blas::compute_32f, blas::r_32f) == 0);
  const std::int32_t one = 1, epilogue = lt::epilogue_gelu_bias, mode = lt::scale_outer_vec_32f, type = blas::r_16bf, wrong = 0;
  CHECK(api->desc_set(desc, lt::desc_transa, &one, sizeof one) == 0);
  CHECK(api->desc_set(desc, lt::desc_transb, &one, sizeof one) == 0);
  CHECK(api->desc_set(desc, lt::desc_epilogue, &epilogue, sizeof epilogue) == 0);
  CHECK(api->desc_set(desc, lt::desc_a_scale_mode, &mode, sizeof mode) == 0);
  CHECK(api->desc_set(desc, lt::desc_bias_data_type, &type, sizeof type) == 0);
  const void* pointer = nullptr;
  const std::int8_t fast = 1;
  for (const int attribute : {lt::desc_bias_pointer, lt::desc_a_scale_pointer, lt::desc_b_scale_pointer}) CHECK(api->desc_set(desc, attribute, &pointer, sizeof pointer) == 0);
  CHECK(api->desc_set(desc, lt::desc_fast_accum, &fast, sizeof fast) == 0);
  CHECK(api->desc_set(desc, lt::desc_transa, &wrong, 1) == blas::invalid_value);  // the sizes that we pass are checked
  REQUIRE(api->layout_create(&layout, blas::r_16f, 64, 64, 64) == 0);
  const std::int64_t offset = 4096;
  CHECK(api->layout_set(layout, lt::layout_batch_count, &one, sizeof one) == 0);
  CHECK(api->layout_set(layout, lt::layout_batch_offset, &offset, sizeof offset) == 0);
  REQUIRE(api->preference_create(&preference) == 0);
  const std::uint64_t bytes = 1 << 20;
  const std::uint32_t alignment = 16;
  CHECK(api->preference_set(preference, lt::pref_max_workspace, &bytes, sizeof bytes) == 0);
  for (const int attribute : {lt::pref_align_a, lt::pref_align_b, lt::pref_align_c, lt::pref_align_d}) CHECK(api->preference_set(preference, attribute, &alignment, sizeof alignment) == 0);
  const int made = api->create(&handle);
  const auto error = blas_error(made, "cublasLtCreate", "cuBLASLt", api->status_name, api->status_text);
  if (error) {
    INFO(error->name << ": " << error->text);
    CHECK(error->name.rfind("CUBLAS_STATUS_", 0) == 0);
    CHECK_FALSE(error->text.empty());
  } else {
    lt::Heuristic found{};
    int count = 0;
    const int status = api->heuristic(handle, desc, layout, layout, layout, layout, preference, 1, &found, &count);
    CHECK((status != 0 || count == 0));
    api->destroy(handle);
  }
  api->preference_destroy(preference);
  api->layout_destroy(layout);
  api->desc_destroy(desc);
}
