#include "backends/cuda_runtime/cublas_api.hpp"

#include <fmt/format.h>

#include <map>

#include "backends/cuda_runtime/libraries.hpp"

namespace dd::cuda {
namespace {

// The names are those of the header; the texts are ours and only serve releases without cublasGetStatusString.
struct StatusRow {
  int status;
  const char* name;
  const char* text;
  CallError::Fault fault;
};
using Fault = CallError::Fault;
constexpr StatusRow statuses[] = {
    {blas::not_initialized, "CUBLAS_STATUS_NOT_INITIALIZED", "the library could not start on this device", Fault::unavailable},
    {blas::alloc_failed, "CUBLAS_STATUS_ALLOC_FAILED", "memory of the library's own could not be had", Fault::out_of_memory},
    {blas::invalid_value, "CUBLAS_STATUS_INVALID_VALUE", "an argument is outside what the function takes", Fault::refused},
    {blas::arch_mismatch, "CUBLAS_STATUS_ARCH_MISMATCH", "the device lacks what the function needs", Fault::refused},
    {blas::mapping_error, "CUBLAS_STATUS_MAPPING_ERROR", "device memory could not be reached", Fault::failed},
    {blas::execution_failed, "CUBLAS_STATUS_EXECUTION_FAILED", "a kernel of the library could not be started or failed", Fault::failed},
    {blas::internal_error, "CUBLAS_STATUS_INTERNAL_ERROR", "an operation inside the library failed", Fault::failed},
    {blas::not_supported, "CUBLAS_STATUS_NOT_SUPPORTED", "the library does not offer this combination", Fault::refused},
    {blas::license_error, "CUBLAS_STATUS_LICENSE_ERROR", "a licence check failed", Fault::unavailable},
};

// Functions that every supported release has; the name of the first that is missing.
class Lookup {
 public:
  explicit Lookup(const LibraryRecord& record) : record_(record) {}
  template <class F>
  void need(F*& slot, const char* name) {
    if (!record_.find(slot, name) && missing_.empty()) missing_ = name;
  }
  std::string problem() const {
    if (!record_) return record_.error;
    return missing_.empty() ? "" : fmt::format("{} has no {}", record_.path, missing_);
  }

 private:
  const LibraryRecord& record_;
  std::string missing_;
};

CublasApi open_cublas(std::string& why) {
  const LibraryRecord& record = library(Library::cublas);
  CublasApi api{};
  Lookup look(record);
  look.need(api.create, "cublasCreate_v2");
  look.need(api.destroy, "cublasDestroy_v2");
  look.need(api.set_stream, "cublasSetStream_v2");
  look.need(api.set_math_mode, "cublasSetMathMode");
  look.need(api.set_workspace, "cublasSetWorkspace_v2");
  look.need(api.gemm, "cublasGemmEx");
  look.need(api.gemm_strided, "cublasGemmStridedBatchedEx");
  record.find(api.status_name, "cublasGetStatusName");
  record.find(api.status_text, "cublasGetStatusString");
  why = look.problem();
  return api;
}

CublasLtApi open_cublaslt(std::string& why) {
  const LibraryRecord& record = library(Library::cublaslt);
  CublasLtApi api{};
  Lookup look(record);
  look.need(api.create, "cublasLtCreate");
  look.need(api.destroy, "cublasLtDestroy");
  look.need(api.desc_create, "cublasLtMatmulDescCreate");
  look.need(api.desc_destroy, "cublasLtMatmulDescDestroy");
  look.need(api.desc_set, "cublasLtMatmulDescSetAttribute");
  look.need(api.layout_create, "cublasLtMatrixLayoutCreate");
  look.need(api.layout_destroy, "cublasLtMatrixLayoutDestroy");
  look.need(api.layout_set, "cublasLtMatrixLayoutSetAttribute");
  look.need(api.preference_create, "cublasLtMatmulPreferenceCreate");
  look.need(api.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  look.need(api.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  look.need(api.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  look.need(api.config_get, "cublasLtMatmulAlgoConfigGetAttribute");
  look.need(api.cap_get, "cublasLtMatmulAlgoCapGetAttribute");
  look.need(api.matmul, "cublasLtMatmul");
  record.find(api.status_name, "cublasLtGetStatusName");
  record.find(api.status_text, "cublasLtGetStatusString");
  why = look.problem();
  return api;
}

}  // namespace

const CublasApi* cublas_api(std::string& why) {
  static std::string problem;
  static const CublasApi api = open_cublas(problem);
  why = problem;
  return problem.empty() ? &api : nullptr;
}

const CublasLtApi* cublaslt_api(std::string& why) {
  static std::string problem;
  static const CublasLtApi api = open_cublaslt(problem);
  why = problem;
  return problem.empty() ? &api : nullptr;
}

std::optional<CallError> blas_error(int status, const char* call, const char* source, const char* (*name)(int), const char* (*text)(int)) {
  if (status == blas::success) return std::nullopt;
  CallError error{status, fmt::format("{} status {}", source, status), "a status that this tool does not know", call, source, Fault::failed};
  for (const StatusRow& row : statuses)
    if (row.status == status) {
      error.name = row.name;
      error.text = row.text;
      error.fault = row.fault;
    }
  if (const char* own = name ? name(status) : nullptr) error.name = own;
  if (const char* own = text ? text(status) : nullptr) error.text = own;
  return error;
}

std::optional<CallError> cublas_handle(const CublasApi& api, Device& device, void*& handle) {
  static std::map<int, void*> made;
  void*& slot = made[device.info().ordinal];
  if (!slot)
    if (auto e = blas_error(api.create(&slot), "cublasCreate", "cuBLAS", api.status_name, api.status_text)) {
      slot = nullptr;
      return e;
    }
  handle = slot;
  return std::nullopt;
}

std::optional<CallError> cublaslt_handle(const CublasLtApi& api, Device& device, void*& handle) {
  static std::map<int, void*> made;
  void*& slot = made[device.info().ordinal];
  if (!slot)
    if (auto e = blas_error(api.create(&slot), "cublasLtCreate", "cuBLASLt", api.status_name, api.status_text)) {
      slot = nullptr;
      return e;
    }
  handle = slot;
  return std::nullopt;
}

namespace lt {
namespace {

struct Pair {
  std::uint32_t id;
  const char *first, *second;
};
constexpr Pair tiles[] = {
#define DD_TILE(id, rows, columns) {id, #rows, #columns},
#include "backends/cuda_runtime/lt_tiles.def"
#undef DD_TILE
};
constexpr Pair stages[] = {
#define DD_STAGES(id, depth, count) {id, #depth, #count},
#include "backends/cuda_runtime/lt_stages.def"
#undef DD_STAGES
};

template <std::size_t N>
std::string text_in(const Pair (&table)[N], std::uint32_t id, const char* what) {
  for (const Pair& row : table)
    if (row.id == id) return fmt::format("{}x{}", row.first, row.second);
  return id == 0 ? "not stated" : fmt::format("{} number {}", what, id);
}

}  // namespace

std::string tile_text(std::uint32_t id) { return text_in(tiles, id, "tile"); }
std::string stages_text(std::uint32_t id) { return text_in(stages, id, "stages"); }

}  // namespace lt

}  // namespace dd::cuda
