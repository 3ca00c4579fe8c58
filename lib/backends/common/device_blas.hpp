// A row-major product in the words of cuBLAS: column-major, so A is w, B is x and D the result, each described as the
// transpose of what lies there. Nothing is copied: an operand without a dense axis, or a result without dense rows, has no
// description (the rules say so first). Also the handle API's call for such a product, as a step on a stream.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "backends/common/device_call.hpp"
#include "backends/cuda_runtime/cublas_api.hpp"
#include "ops/gemm/gemm.hpp"

namespace dd::backends {

struct BlasMatrix {
  void* address = nullptr;
  int type = 0;                         // cudaDataType
  std::int64_t rows = 0, columns = 0;   // as stored, column-major
  std::int64_t leading = 1, step = 0;   // elements; step from one matrix of the batch to the next, 0 broadcasts
};

struct BlasProduct {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  BlasMatrix a, b, d;
  std::string text() const;  // "TN, m 192, n 128, k 256, lda 256, ldb 256, ldd 192, batch 1"
};

struct Placed {  // a rank-3 view and where its element 0 lies on the device
  const ops::TensorView& view;
  void* address;
};

std::optional<int> blas_type(core::DType dtype);
std::string_view blas_type_text(int type);  // "R_16F"
// "32F_FAST_TF32" to the number; nullopt for a name that is none.
std::optional<int> blas_compute(std::string_view name);
// The type of alpha and beta that belongs to a compute type.
int blas_scale_type(int compute);

// False and `why` filled when the library has no words for it. Batches that continue x's rows become rows.
bool describe_product(const Placed& x, const Placed& w, const Placed& out, BlasProduct& product, std::string& why);

// Alpha and beta in the bits of their type; they must outlive the calls that point at them.
struct BlasScalars {
  explicit BlasScalars(int scale_type);
  alignas(8) unsigned char one[8] = {}, zero[8] = {};
};

// The handle of this device, its stream and a workspace set. nullptr and `problem` filled when that fails.
struct Cublas {
  const cuda::CublasApi* api = nullptr;
  void* handle = nullptr;
  std::int64_t workspace = 0;
};
std::optional<Cublas> open_cublas(DeviceCall& call, std::optional<std::int64_t> workspace, bool reduced_precision, RunResult& problem);
// cublasGemmEx, or its strided batched form when there is a batch.
DeviceCall::LibraryCall gemm_step(const Cublas& cublas, const BlasProduct& product, int compute);

Availability cublas_available();        // driver, device, cuBLAS
Availability cublaslt_available();
Availability own_kernels_and_cublas();  // and device code
Availability own_kernels_and_cublaslt();
// Versions of both libraries and of the CUDA release that they belong to.
void add_cublas_facts(facts::FactSet& facts);
// Facts of the call in the library's own column-major view, as the run halves make it: from the spec, with the workspace,
// the number of algorithms and the alignments that they use. Facts that are there already stay.
void add_blas_facts(const spec::OpSpec& spec, facts::FactSet& facts);
// What is advised for this architecture when the call says nothing.
std::int64_t advised_workspace(int compute_capability);

}  // namespace dd::backends
