#include "frameworks/torch_gemm/rules.hpp"

namespace dd::frameworks::torch_gemm {
namespace {

using namespace rules;
using I = facts::Id;
constexpr auto passed_over = Level::blocks;  // what is passed over runs as a copy of the bias plus a product

constexpr Source onednn_env{"oneDNN developer guide, CPU dispatcher control", "3.x", "2026-11-29"};
constexpr Source blas_new{"aten/src/ATen/native/cuda/Blas.cpp", "PyTorch about 2.10 and later", "2026-08-22"};
constexpr Source cuda_blas_27{"aten/src/ATen/cuda/CUDABlas.cpp", "PyTorch 2.6.0 and 2.7", "2026-08-22"};
constexpr Source linear_cpp{"aten/src/ATen/native/Linear.cpp", "PyTorch 2.6.0", "2026-08-22"};
constexpr Source mkl_matmul{"aten/src/ATen/native/mkldnn/Matmul.cpp", "PyTorch 2.6.0", "2026-08-22"};
constexpr Source onednn_issue{"oneDNN issue 2170", "October 2024", "2026-08-25"};
constexpr Source mkl_report{"pytorch/builder issue 504", "MKL 2020.2", "2026-08-25"};
constexpr Source mkl_utils{"aten/src/ATen/native/mkldnn/Utils.h", "PyTorch 2.6.0", "2026-08-22"};

#define ADDMM "gemm --x 4096x4096 --w 4096x4096 --trans-w --bias --dtype bf16 --target sm_90 --framework torch --torch-version 2.6.0"
#define LINEAR3 "gemm --x 8x512x4096 --w 4096x4096 --trans-w --bias --dtype bf16 --target sm_90 --framework torch --torch-version 2.6.0"
#define CPU "gemm --x 512x512 --w 512x512 --dtype bf16 --target cpu --framework torch --torch-version 2.6.0 --extra cpu_bf16=true"
#define CPU32 "gemm --x 512x512 --w 512x512 --dtype f32 --target cpu --framework torch --torch-version 2.6.0"

const char* const unfused = "not fused: the bias is copied into the result and the product adds to it";

const std::vector<Rule>& addmm_table() {
  static const std::vector<Rule> rows = {
      {"TAD001", "fused-bias-switched-off", "DISABLE_ADDMM_CUDA_LT=1 is set", passed_over, Blame::setting, "torch-addmm-lt", always(), differs(I::env_disable_addmm_lt, "1"),
       unfused, {"unset the variable", same, {Change::change_setting}}, blas, ADDMM " --env DISABLE_ADDMM_CUDA_LT=1", ADDMM, 10},
      {"TAD002", "bias-scaled", "beta is not 1", passed_over, Blame::spec, "torch-addmm-lt", always(), equals(I::beta, 1), unfused,
       {"scale the bias beforehand", same, {Change::change_setting}}, blas, ADDMM " --extra beta=0.5", ADDMM, 11},
      {"TAD003", "bias-not-a-vector", "the bias is not one contiguous vector over the output features", passed_over, Blame::spec, "torch-addmm-lt", always(),
       all({equals(I::bias_rank, 1), is_true(I::bias_contiguous)}), unfused,
       {"pass the bias as a contiguous 1-D tensor; a full matrix cannot be fused", same, {Change::make_contiguous}}, blas_new, ADDMM " --extra bias_rank=2", ADDMM, 12},
      {"TAD004", "result-is-the-bias", "the in-place form: the result is the tensor that is added", passed_over, Blame::spec, "torch-addmm-lt", always(),
       unless(is_true(I::inplace)), unfused, {"call the out-of-place form", same, {Change::change_setting}}, blas, ADDMM " --extra inplace=true", ADDMM, 13},
      {"TAD005", "type-without-fused-bias", "the element type has no fused bias", passed_over, Blame::spec, "torch-addmm-lt", always(), none_of(I::dtype, {"c32", "c64"}),
       unfused, {"add the bias apart", same, {}}, blas, ADDMM " --extra dtype_x=c32 --extra dtype_w=c32", ADDMM, 14},
      {"TAD006", "extent-of-one", "an extent of 1 keeps the fused path out", passed_over, Blame::heuristic, "torch-addmm-lt", always(),
       all({differs(I::n, 1), differs(I::k, 1), any({differs(I::rows, 1), unless(version_in(I::torch_version, "2.10", "2.10.99999"))})}), unfused,
       {"use mv and add the bias, or pad", same, {Change::pad_n}}, blas_new,
       "gemm --x 4096x4096 --w 4096x1 --trans-w --bias --dtype bf16 --target sm_90 --framework torch --torch-version 2.6.0", ADDMM, 15},
      {"TAD007", "old-cuda-extents", "CUDA before 12.1 with a very long extent or a sliced operand", passed_over, Blame::library_version, "torch-addmm-lt",
       version_in(I::cuda_version, "", "12.0.99999"), all({below(I::largest_extent, 2097120.0), unless(is_true(I::sliced_ld))}), unfused,
       {"use CUDA 12.1 or later", same, {Change::change_version}}, blas, ADDMM " --cuda-version 11.8.0 --extra sliced_ld=true", ADDMM " --cuda-version 11.8.0", 16},
      {"TAD008", "cublas-preferred", "plain cuBLAS is the preferred library", passed_over, Blame::setting, "torch-addmm-lt", version_in(I::torch_version, "2.11", ""),
       differs(I::preferred_blas, "cublas"), unfused, {"prefer default or cublaslt", same, {Change::change_setting}}, blas_new,
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --bias --dtype bf16 --target sm_90 --framework torch --torch-version 2.11.0 --extra preferred_blas=cublas",
       ADDMM " --extra preferred_blas=cublas", 17},
      {"TAD009", "gelu-on-old-cuda", "a fused GELU on CUDA before 11.8", passed_over, Blame::library_version, "torch-addmm-lt", equals(I::lt_epilogue, "GELU_BIAS"),
       version_in(I::cuda_version, "11.8", ""), "the activation runs as a kernel of its own", {"use CUDA 11.8 or later", same, {Change::change_version}}, blas,
       ADDMM " --epilogue bias+gelu --cuda-version 11.7.0", ADDMM " --epilogue bias+gelu --cuda-version 11.8.0", 18},
      {"TAD010", "bias-pointer-misaligned", "the bias pointer is less aligned than 16 bytes", slow, Blame::spec, "torch-addmm-lt", always(), multiple_of(I::bias_align_bytes, 16),
       "its alignment is handed to the library as that of the result, so the kernels with wide stores drop out; newer libraries may return a kernel that faults",
       {"clone the bias once instead of slicing a packed one", same, {Change::align_offset}}, cuda_blas_27, ADDMM " --extra bias_align_bytes=4", ADDMM, 60},
      {"TAD011", "lt-workspace-of-1-mib", "PyTorch up to 2.6 gives cuBLASLt 1 MiB of workspace on Hopper", slow, Blame::library_version, "torch-addmm-lt",
       all({version_in(I::torch_version, "", "2.6.99999"), equals(I::compute_capability, 90), is_true(I::few_tiles_long_k)}), applicable(I::env_cublaslt_workspace),
       "algorithms that split the reduction are filtered out", {"set CUBLASLT_WORKSPACE_SIZE=32768, or use PyTorch 2.7", same, {Change::change_setting, Change::change_version}},
       cuda_blas_27, "gemm --x 64x65536 --w 65536x64 --trans-w --bias --dtype bf16 --target sm_90 --framework torch --torch-version 2.6.0 --extra few_tiles_long_k=true", ADDMM, 62},
      {"TAD012", "fused-operand-misaligned", "an operand of the fused call is less aligned than 16 bytes", slow, Blame::spec, "torch-addmm-lt", none_of(I::dtype, {"f64"}),
       all({multiple_of(I::x_align_bytes, 16), multiple_of(I::w_align_bytes, 16)}),
       "before PyTorch 2.1 the heuristic was not told and the call could fail with NOT_SUPPORTED, sooner on newer chips; since then narrower kernels run",
       {"copy the view once to memory of its own", same, {Change::align_offset, Change::change_version}}, cuda_blas_27, ADDMM " --x-offset 1", ADDMM, 61},
      {"TAD013", "fused-bias-without-tf32", "TF32 is off for FP32 products, as by default", slow, Blame::setting, "torch-addmm-lt",
       all({equals(I::dtype, "f32"), at_least(I::compute_capability, 80)}), any({is_true(I::tf32), differs(I::float32_matmul_precision, "highest")}),
       "FP32 units run instead of tensor cores; the fused bias does not change that",
       {"set the float32 matmul precision to high if ten mantissa bits of the inputs are enough", less_precise, {Change::enable_flag, Change::change_setting}}, cuda_blas_27,
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --bias --dtype f32 --target sm_90 --framework torch --torch-version 2.6.0",
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --bias --dtype f32 --tf32 on --target sm_90 --framework torch --torch-version 2.6.0", 63},
  };
  return rows;
}

const std::vector<Rule>& linear_table() {
  static const std::vector<Rule> rows = {
      {"TAD020", "linear-not-flattened", "a linear layer with bias on a non-contiguous input of three axes or more", slow, Blame::spec, "torch-linear",
       all({is_true(I::has_bias), at_least(I::x_rank, 3)}),
       any({is_true(I::x_contiguous), all({applicable(I::env_linear_flatten), differs(I::env_linear_flatten, "0"), equals(I::x_rank, 3)})}),
       "matmul runs first and the bias is added by a second kernel",
       {"make the input contiguous, or set TORCH_LINEAR_FLATTEN_3D=1 for three axes", same, {Change::make_contiguous, Change::change_setting}}, linear_cpp,
       LINEAR3 " --x-strides 4096x32768x1", LINEAR3, 60},
  };
  return rows;
}

const std::vector<Rule>& mkldnn_table() {
  static const std::vector<Rule> rows = {
      {"TMK001", "onednn-switched-off", "oneDNN is disabled in PyTorch", passed_over, Blame::setting, "torch-mkldnn", always(), is_true(I::mkldnn_enabled),
       "MKL, OpenBLAS or plain loops run; one failed primitive disables it for the whole process", {"enable it again and look for the warning that says why", same, {Change::enable_flag}},
       mkl_matmul, CPU " --extra mkldnn_enabled=false", CPU, 10},
      {"TMK002", "bf16-without-avx512", "BF16 on a processor without the vector extensions that oneDNN wants", passed_over, Blame::hardware, "torch-mkldnn", equals(I::dtype, "bf16"),
       is_true(I::cpu_bf16), "a plain path runs, often on one thread", {"use FP32 on this processor", same, {Change::cast_dtype}}, mkl_utils,
       "gemm --x 512x512 --w 512x512 --dtype bf16 --target cpu --framework torch --extra cpu_bf16=false", CPU, 11},
      {"TMK003", "f16-without-avx512-fp16", "FP16 on a processor without native FP16 arithmetic", passed_over, Blame::hardware, "torch-mkldnn", equals(I::dtype, "f16"),
       is_true(I::cpu_fp16), "a plain path runs", {"use BF16 or FP32 on this processor", less_precise, {Change::cast_dtype}}, mkl_utils,
       "gemm --x 512x512 --w 512x512 --dtype f16 --target cpu --framework torch --extra cpu_fp16=false",
       "gemm --x 512x512 --w 512x512 --dtype f16 --target cpu --framework torch --extra cpu_fp16=true", 12},
      {"TMK004", "f32-not-sent-to-onednn", "FP32 goes to oneDNN only at precision medium", passed_over, Blame::setting, "torch-mkldnn", equals(I::dtype, "f32"),
       equals(I::float32_matmul_precision, "medium"), "MKL or OpenBLAS multiply, which is no loss for FP32", {"set the float32 matmul precision to medium, which rounds inputs to BF16", less_precise, {Change::change_setting}},
       mkl_matmul, CPU32, CPU32 " --extra float32_matmul_precision=medium", 13},
      {"TMK005", "too-small-for-onednn", "m*n*k is not above 4096", passed_over, Blame::heuristic, "torch-mkldnn", above(I::product_size, 0.0), above(I::product_size, 4096.0),
       "creating a primitive would cost more than it saves", {"nothing to do", same, {}}, mkl_matmul, "gemm --x 16x16 --w 16x16 --dtype bf16 --target cpu --framework torch --extra cpu_bf16=true", CPU, 14},
      {"TMK006", "empty-or-mixed-for-onednn", "an operand is empty or the types differ", passed_over, Blame::spec, "torch-mkldnn", always(),
       all({differs(I::m, 0), differs(I::n, 0), differs(I::k, 0), equals(I::dtype, I::dtype_w)}), "the plain path runs", {"nothing to do", same, {}}, mkl_matmul,
       CPU " --extra dtype_w=f32", CPU, 15},
      {"TMK007", "onednn-input-copied", "an operand is neither contiguous nor exactly transposed", slow, Blame::spec, "torch-mkldnn", always(),
       any({is_true(I::x_contiguous), equals(I::x_layout, "column")}), "it is made contiguous before the primitive", {"make it contiguous once", same, {Change::make_contiguous}}, mkl_matmul,
       "gemm --x 512x512 --w 512x512 --x-strides 2048x2 --dtype bf16 --target cpu --framework torch --extra cpu_bf16=true", CPU, 30},
      {"TMK008", "first-call-generates-code", "the first call with a shape", Level::warns, Blame::heuristic, "torch-mkldnn", always(), unless(is_true(I::first_call)),
       "the library generates its kernel for the shape first", {"make one call with representative shapes before measuring", same, {}}, mkl_matmul, CPU " --extra first_call=true", CPU, 70},
      {"TMK009", "weights-tag-any", "4-bit weights whose memory format is left to the library", slow, Blame::library_version, "torch-mkldnn", equals(I::dtype_w, "s4"), differs(I::weights_tag, "any"),
       "no optimized implementation accepted the combination on 3.x releases of 2024: the reference kernel runs, orders of magnitude slower", {"state the format of the weights (ab)", same, {Change::change_setting}}, onednn_issue,
       CPU " --extra dtype_w=s4 --extra weights_tag=any", CPU " --extra dtype_w=s4 --extra weights_tag=ab", 71},
      {"TMK010", "mkl-off-its-own-processor", "MKL on a processor of another maker", slow, Blame::library_version, "torch-mkldnn", equals(I::blas_library, "mkl"), differs(I::cpu_vendor, "amd"),
       "some routines take a slow code path there, others do not (single precision in 2020.2)", {"use another BLAS, or a newer MKL", same, {Change::change_version}}, mkl_report,
       CPU32 " --extra blas_library=mkl --extra cpu_vendor=amd", CPU32 " --extra blas_library=mkl --extra cpu_vendor=intel", 72},
      {"TMK011", "onednn-capped-in-environment", "an environment variable caps the vector extensions that may be used", slow, Blame::setting, "torch-mkldnn", always(), unless(is_true(I::onednn_isa_capped)),
       "wider vectors and newer types of the processor stay unused", {"unset ONEDNN_MAX_CPU_ISA, DNNL_MAX_CPU_ISA and ATEN_CPU_CAPABILITY", same, {Change::change_setting}}, onednn_env,
       CPU " --env ONEDNN_MAX_CPU_ISA=AVX2", CPU, 73},
  };
  return rows;
}

#undef ADDMM
#undef LINEAR3
#undef CPU
#undef CPU32

}  // namespace

std::span<const Rule> addmm_lt_rules() { return addmm_table(); }
std::span<const Rule> linear_rules() { return linear_table(); }
std::span<const Rule> mkldnn_rules() { return mkldnn_table(); }

}  // namespace dd::frameworks::torch_gemm
