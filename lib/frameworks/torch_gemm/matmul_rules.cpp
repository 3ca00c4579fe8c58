#include "frameworks/torch_gemm/rules.hpp"

namespace dd::frameworks::torch_gemm {
namespace {

using namespace rules;
using I = facts::Id;

constexpr Source linalg{"aten/src/ATen/native/LinearAlgebra.cpp", "PyTorch 2.6.0", "2026-08-22"};
constexpr Source cuda_blas{"aten/src/ATen/cuda/CUDABlas.cpp", "PyTorch 2.6.0", "2026-08-22"};
constexpr Source cuda_blas_new{"aten/src/ATen/cuda/CUDABlas.cpp", "PyTorch main, mid-2026", "2026-08-22"};
constexpr Source native_blas{"aten/src/ATen/native/Blas.cpp and cuda/Blas.cpp", "PyTorch 2.6.0", "2026-08-22"};
constexpr Source file_format{"safetensors format, and reports of misaligned files", "0.3.0 and later", "2026-08-25"};
constexpr Source cublas_docs{"cuBLAS library documentation", "13.2 to 13.4", "2026-08-20"};

const std::vector<std::string> half{"f16", "bf16"};
Condition on_cuda() { return equals(I::device_type, "cuda"); }
Condition on_cpu() { return equals(I::device_type, "cpu"); }
Condition reproducible_workspace() { return one_of(I::env_cublas_workspace, {":4096:8", ":16:8"}); }

#define MM "gemm --x 4096x4096 --w 4096x4096 --dtype bf16 --target sm_90 --framework torch --torch-version 2.6.0"
#define MM32 "gemm --x 4096x4096 --w 4096x4096 --dtype f32 --target sm_90 --framework torch --torch-version 2.6.0"
#define ND "gemm --x 8x1024x4096 --w 4096x4096 --dtype bf16 --target sm_90 --framework torch --torch-version 2.6.0"
#define ND_TRANSPOSED ND " --x-strides 4096x32768x1"
#define BMM "gemm --x 8x128x128 --w 8x128x128 --dtype bf16 --target sm_90 --framework torch --torch-version 2.6.0 --extra call=bmm"
#define BMM32 "gemm --x 8x128x128 --w 8x128x128 --dtype f32 --target sm_90 --framework torch --torch-version 2.6.0 --extra call=bmm"
#define BMM_CPU "gemm --x 8x128x128 --w 8x128x128 --dtype bf16 --target cpu --framework torch --torch-version 2.6.0 --extra call=bmm"

const std::vector<Rule>& matmul_table() {
  static const std::vector<Rule> rows = {
      {"TMM001", "scalar-operand", "an operand has no axis at all", stops, Blame::spec, "torch-matmul", always(), all({differs(I::x_rank, 0), differs(I::w_rank, 0)}),
       "RuntimeError: matmul wants at least one axis on either side", {"multiply element-wise instead", same, {}}, linalg, MM " --extra x_rank=0", MM, 10},
      {"TMM002", "operand-types-differ", "the operands have different element types", stops, Blame::spec, "torch-matmul", always(), equals(I::dtype, I::dtype_w),
       "RuntimeError outside autocast", {"cast one operand, or use autocast", less_precise, {Change::cast_dtype}}, blas, MM " --extra dtype_w=f32", MM, 11},
      {"TMM003", "integers-on-cuda", "an integer product on a GPU", stops, Blame::spec, "torch-matmul", on_cuda(), none_of(I::dtype, {"s8", "u8", "s16", "s32", "s64"}),
       "NotImplementedError: only floating and complex types are dispatched", {"call torch._int_mm for INT8, or cast to float", same, {Change::cast_dtype}}, blas,
       "gemm --x 64x64 --w 64x64 --dtype s8 --target sm_90 --framework torch", MM, 12},
      {"TMM004", "folding-copies-activations", "a trainable weight forces folding, but the leading axes do not follow each other", slow, Blame::spec, "torch-matmul",
       all({at_least(I::x_rank, 3), at_most(I::w_rank, 2), is_true(I::w_requires_grad)}), is_true(I::leading_contiguous),
       "the activations are written out as one matrix before the product", {"make the activations contiguous once, or detach the weight", same, {Change::make_contiguous, Change::disable_grad}},
       linalg, ND_TRANSPOSED " --extra w_requires_grad=true", ND " --extra w_requires_grad=true", 30},
      {"TMM005", "trainable-left-matrix", "a trainable 2-D left operand times a batch", slow, Blame::spec, "torch-matmul", all({equals(I::x_rank, 2), at_least(I::w_rank, 3)}),
       unless(is_true(I::x_requires_grad)), "the transposed product is folded and its result transposed back with a copy",
       {"put the weight on the right by transposing the equation", same, {Change::transpose_view}}, linalg,
       "gemm --x 4096x4096 --w 8x4096x1024 --dtype bf16 --target sm_90 --framework torch --extra x_requires_grad=true", MM, 31},
      {"TMM006", "partial-broadcast", "an operand broadcasts over some of the batch axes but not all", slow, Blame::spec, "torch-matmul", always(),
       unless(is_true(I::partial_broadcast)), "the expanded operand cannot stay a view and is written out",
       {"join the batch axes first, or loop over the broadcast one", same, {Change::make_contiguous}}, linalg,
       "gemm --x 32x8x1024x128 --w 32x1x128x1024 --dtype bf16 --target sm_90 --framework torch", MM, 32},
      {"TMM007", "batched-instead-of-folded", "the leading axes do not follow each other, so a weight is multiplied once per batch", slow, Blame::spec, "torch-matmul",
       all({at_least(I::x_rank, 3), at_most(I::w_rank, 2), unless(is_true(I::w_requires_grad))}), is_true(I::leading_contiguous),
       "a batched product with few rows each runs instead of one large product; a size-1 axis with an odd stride is enough",
       {"make the activations contiguous, or reshape them to two axes before the product", same, {Change::make_contiguous}}, linalg, ND_TRANSPOSED, ND, 60},
      {"TMM008", "left-matrix-times-batch", "a 2-D left operand times a batch is never folded", slow, Blame::spec, "torch-matmul",
       all({equals(I::x_rank, 2), at_least(I::w_rank, 3), unless(is_true(I::x_requires_grad))}), never(), "a batched product with a broadcast left operand runs",
       {"put the batch on the left by transposing the equation", same, {Change::transpose_view}}, linalg,
       "gemm --x 4096x4096 --w 8x4096x1024 --dtype bf16 --target sm_90 --framework torch", MM, 61},
      {"TMM009", "vector-times-matrix", "a 1-D left operand times a matrix", slow, Blame::spec, "torch-matmul", equals(I::x_rank, 1), differs(I::w_rank, 2),
       "a product with one row runs instead of a matrix-vector product", {"call mv with the transposed matrix", same, {Change::transpose_view}}, linalg,
       MM " --extra x_rank=1", MM, 62},
  };
  return rows;
}

const std::vector<Rule>& mm_table() {
  static const std::vector<Rule> rows = {
      {"TMM020", "mm-deterministic-without-workspace", "deterministic algorithms without a reproducible cuBLAS workspace", stops, Blame::setting, "torch-mm",
       all({equals(I::deterministic, "strict"), one_of(I::call, {"mm", "bmm", "mv", "baddbmm", "matmul", "linear"})}), reproducible_workspace(), "RuntimeError before the product",
       {"set CUBLAS_WORKSPACE_CONFIG=:4096:8 before CUDA starts", same, {Change::change_setting}}, cuda_blas,
       MM " --deterministic", MM " --deterministic --env CUBLAS_WORKSPACE_CONFIG=:4096:8", 10},
      {"TMM021", "half-accumulation-into-f32", "FP16 accumulation is allowed while the result is FP32", stops, Blame::setting, "torch-mm",
       all({is_true(I::fp16_accumulation), equals(I::dtype, "f16")}), differs(I::dtype_out, "f32"), "RuntimeError: half accumulation has no FP32 result",
       {"switch allow_fp16_accumulation off for that call", same, {Change::disable_flag}}, cuda_blas_new,
       "gemm --x 4096x4096 --w 4096x4096 --dtype f16 --out-dtype f32 --target sm_90 --framework torch --extra fp16_accumulation=true",
       "gemm --x 4096x4096 --w 4096x4096 --dtype f16 --target sm_90 --framework torch --extra fp16_accumulation=true", 11},
      {"TMM057", "mm-extent-beyond-32-bit", "an extent of the product is above 2^31 - 1", stops, Blame::library_version, "torch-mm", on_cuda(),
       all({at_most(I::rows, 2147483647.0), at_most(I::n, 2147483647.0), at_most(I::k, 2147483647.0)}), "RuntimeError: the extents handed to cuBLAS must fit 32 bits",
       {"split the rows into several products", same, {Change::split_batch}}, {"aten/src/ATen/cuda/CUDABlas.cpp, GEMM_CHECK_ARGVALUES", "PyTorch main, mid-2025 (commit 0040fe0d)", "2026-11-30"},
       "gemm --m 2147483648 --n 16 --k 16 --dtype bf16 --target sm_90 --framework torch --torch-version 2.8.0",
       "gemm --m 2147483647 --n 16 --k 16 --dtype bf16 --target sm_90 --framework torch --torch-version 2.8.0", 13},
      {"TMM022", "preferred-lt-finds-nothing", "cuBLASLt is preferred and its heuristic finds nothing, on a version without fallback", stops, Blame::setting, "torch-mm",
       all({equals(I::preferred_blas, "cublaslt"), version_in(I::torch_version, "", "2.8.99999")}), differs(I::heuristic_count, 0), "RuntimeError with NOT_SUPPORTED",
       {"prefer cuBLAS for that product, or update", same, {Change::change_setting, Change::change_version}}, cuda_blas,
       MM " --extra preferred_blas=cublaslt --extra heuristic_count=0", MM " --extra preferred_blas=cublaslt", 12},
      {"TMM023", "strides-need-copy", "an operand's strides cannot be given to BLAS", slow, Blame::spec, "torch-mm", always(),
       all({differs(I::x_layout, "strided"), differs(I::w_layout, "strided")}), "it is cloned to contiguous memory before every product",
       {"make it contiguous once outside the loop, or slice rows instead of columns", same, {Change::make_contiguous}}, blas,
       "gemm --x 1024x1024 --w 1024x1024 --x-strides 4096x2 --dtype bf16 --target sm_90 --framework torch", MM, 30},
      {"TMM024", "result-strides-need-copy", "the given result has strides that BLAS cannot write", slow, Blame::spec, "torch-mm", always(), differs(I::out_layout, "strided"),
       "the product goes to a temporary that is copied back", {"give a row-major or column-major result", same, {Change::make_contiguous}}, blas,
       "gemm --x 1024x1024 --w 1024x1024 --out-strides 4096x2 --dtype bf16 --target sm_90 --framework torch", MM, 31},
      {"TMM025", "tf32-disabled", "TF32 is off for FP32 products, as by default", slow, Blame::setting, "torch-mm",
       all({on_cuda(), equals(I::dtype, "f32"), at_least(I::compute_capability, 80), none_of(I::call, {"mv", "addmv"})}),
       any({is_true(I::tf32), differs(I::float32_matmul_precision, "highest")}), "FP32 units run instead of tensor cores",
       {"set the float32 matmul precision to high if ten mantissa bits of the inputs are enough", less_precise, {Change::enable_flag, Change::change_setting}}, cuda_blas,
       MM32, MM32 " --tf32 on", 60},
      {"TMM026", "tf32-overridden-outside", "TF32 is allowed in PyTorch but NVIDIA_TF32_OVERRIDE=0 is set", slow, Blame::setting, "torch-mm",
       all({equals(I::dtype, "f32"), is_true(I::tf32)}), differs(I::env_tf32_override, "0"), "the library obeys the variable and runs FP32 units",
       {"unset the variable", less_precise, {Change::change_setting}}, cublas_docs, MM32 " --tf32 on --env NVIDIA_TF32_OVERRIDE=0", MM32 " --tf32 on", 61},
      {"TMM027", "reduced-reduction-off", "reduced-precision reductions are forbidden for 16-bit products", slow, Blame::setting, "torch-mm", one_of(I::dtype, half),
       is_true(I::reduced_precision_reduction), "split reductions in 16 bit drop out; newer versions may forbid splitting altogether",
       {"allow them unless the numbers need it", less_precise, {Change::enable_flag}}, cuda_blas, MM " --extra reduced_precision_reduction=false", MM, 62},
      {"TMM028", "preferred-lt-falls-back", "cuBLASLt is preferred and its heuristic finds nothing", slow, Blame::heuristic, "torch-mm",
       all({equals(I::preferred_blas, "cublaslt"), version_in(I::torch_version, "2.9", "")}), differs(I::heuristic_count, 0), "a warning, then plain cuBLAS",
       {"correct layout and alignment, or prefer cuBLAS", same, {Change::change_setting}}, cuda_blas_new,
       "gemm --x 4096x4096 --w 4096x4096 --dtype bf16 --target sm_90 --framework torch --torch-version 2.10.0 --extra preferred_blas=cublaslt --extra heuristic_count=0",
       MM " --extra preferred_blas=cublaslt", 63},
      {"TMM029", "extent-not-8", "K or N of a 16-bit product is not a multiple of 8", slow, Blame::spec, "torch-mm", all({one_of(I::dtype, half), on_cuda()}),
       all({multiple_of(I::k, 8), multiple_of(I::n, 8)}), "rows are not 16-byte aligned, so kernels with narrow loads run",
       {"pad the vocabulary or hidden size to a multiple of 8, better 64", same, {Change::pad_k, Change::pad_n}}, cublas_docs,
       "gemm --x 4096x4096 --w 4096x50257 --dtype bf16 --target sm_90 --framework torch", MM, 64},
      {"TMM030", "operand-pointer-misaligned", "an operand's pointer or leading dimension is not a multiple of 16 bytes", slow, Blame::spec, "torch-mm",
       all({on_cuda(), any({one_of(I::dtype, half), all({equals(I::dtype, "f32"), any({is_true(I::tf32), differs(I::float32_matmul_precision, "highest")})})})}),
       all({multiple_of(I::x_align_bytes, 16), multiple_of(I::w_align_bytes, 16), multiple_of(I::lda_bytes, 16), multiple_of(I::ldb_bytes, 16)}),
       "kernels with narrow loads run: their names end in align1 to align4", {"copy the view once to memory of its own, or slice at multiples of 8 elements", same, {Change::align_offset, Change::make_contiguous}}, cublas_docs,
       MM " --x-offset 1", MM, 65},
      {"TMM031", "bf16-not-native", "BF16 on a GPU without BF16 products", slow, Blame::hardware, "torch-mm", all({on_cuda(), any({equals(I::dtype, "bf16"), equals(I::dtype_w, "bf16")})}),
       at_least(I::compute_capability, 80), "the product is emulated or upcast; a support query may still answer yes, because it counts emulation", {"use FP16 or FP32 there", less_precise, {Change::cast_dtype}}, cuda_blas,
       "gemm --x 4096x4096 --w 4096x4096 --dtype bf16 --target sm_75 --framework torch", MM, 66},
      {"TMM032", "gpu-without-tensor-cores", "a GPU whose capability suggests tensor cores that it does not have", slow, Blame::hardware, "torch-mm",
       all({on_cuda(), one_of(I::dtype, half), equals(I::compute_capability, 75), at_least(I::rows, 2.0)}), is_true(I::tensor_cores),
       "16-bit products run on plain units (GTX 16 series); a single row, which is bound by memory, does not suffer", {"use FP32 there from two rows on", same, {Change::cast_dtype}}, cublas_docs,
       "gemm --x 2x896 --w 896x4864 --dtype f16 --target sm_75 --framework torch --extra tensor_cores=false", "gemm --x 2x896 --w 896x4864 --dtype f16 --target sm_75 --framework torch --extra tensor_cores=true", 67},
      {"TMM055", "f16-before-tensor-cores", "FP16 on a GPU before tensor cores", slow, Blame::hardware, "torch-mm", all({on_cuda(), equals(I::dtype, "f16")}), at_least(I::compute_capability, 70),
       "the product runs on plain units, with FP32 arithmetic as PyTorch asks for it: FP16 saves memory there, not time (on 6.1 FP16 arithmetic itself has 1/64 of the FP32 rate, 5.0 and 5.2 have none)",
       {"use FP32, or keep FP16 for its size alone", same, {Change::cast_dtype}}, {"CUDA programming guide, throughput of arithmetic instructions, rows for 5.0 to 7.x as quoted on NVIDIA's forum", "2019", "2026-11-30"},
       "gemm --x 4096x4096 --w 4096x4096 --dtype f16 --target sm_61 --framework torch", "gemm --x 4096x4096 --w 4096x4096 --dtype f16 --target sm_70 --framework torch", 67},
      {"TMM056", "f64-at-a-fraction", "FP64 on a GPU with few FP64 units", slow, Blame::hardware, "torch-mm", all({on_cuda(), equals(I::dtype, "f64")}), one_of(I::compute_capability, {60, 70, 80, 90, 100}),
       "FP64 runs at a small fraction of the FP32 rate: 1/32 on 5.x and 6.1, 1/32 to 1/64 on later chips of that kind", {"use FP32 where its precision is enough, or a GPU of the data-centre line", less_precise, {Change::cast_dtype}},
       {"CUDA programming guide, throughput of arithmetic instructions, 5.0 to 7.x as quoted on NVIDIA's forum; later rates not verified", "2019 and 2023", "2026-11-30"},
       "gemm --x 4096x4096 --w 4096x4096 --dtype f64 --target sm_89 --framework torch", "gemm --x 4096x4096 --w 4096x4096 --dtype f64 --target sm_80 --framework torch", 68},
      {"TMM033", "f32-accumulation-at-half-rate", "16-bit products with FP32 accumulation on a consumer GPU", Level::informs, Blame::hardware, "torch-mm",
       all({one_of(I::dtype, half), one_of(I::compute_capability, {86, 89, 120})}), is_true(I::fp16_accumulation),
       "consumer chips run them at half the rate of FP16 accumulation, data-centre chips do not; no fallback", {"accumulate in FP16 where the accuracy allows it", less_precise, {Change::enable_flag}}, cublas_docs,
       "gemm --x 4096x4096 --w 4096x4096 --dtype f16 --target sm_89 --framework torch", "gemm --x 4096x4096 --w 4096x4096 --dtype f16 --target sm_89 --framework torch --extra fp16_accumulation=true", 68},
      {"TMM034", "small-deterministic-workspace", "CUBLAS_WORKSPACE_CONFIG replaces the library's workspace", Level::warns, Blame::setting, "torch-mm", on_cuda(), unless(applicable(I::env_cublas_workspace)),
       "algorithms that need more workspace drop out, whether or not deterministic mode is on", {"unset the variable where determinism is not needed", same, {Change::change_setting}}, cuda_blas,
       MM " --env CUBLAS_WORKSPACE_CONFIG=:16:8", MM, 69},
      {"TMM035", "partial-sums-in-output-type", "a split reduction may add its parts in the output type", Level::changes, Blame::setting, "torch-mm", all({one_of(I::dtype, half), is_true(I::few_tiles_long_k)}),
       is_false(I::reduced_precision_reduction), "parts stored in 16 bit cost accuracy where large terms cancel", {"forbid reduced-precision reductions for such products", same, {Change::disable_flag}}, cublas_docs,
       "gemm --x 64x14336 --w 14336x64 --dtype bf16 --target sm_90 --framework torch --extra few_tiles_long_k=true",
       "gemm --x 64x14336 --w 14336x64 --dtype bf16 --target sm_90 --framework torch --extra few_tiles_long_k=true --extra reduced_precision_reduction=false", 70},
      {"TMM036", "weight-misaligned-in-file", "the weight does not start at a multiple of its element size in its file", slow, Blame::checkpoint, "torch-mm", applicable(I::w_file_offset_bytes), equals(I::w_file_rest, 0),
       "a mapped view of that type is refused, or copied to memory in whole; a header without padding shifts every tensor behind it", {"write the file again with a writer that pads the header", same, {Change::change_setting}}, file_format,
       MM " --extra w_file_offset_bytes=42855", MM " --extra w_file_offset_bytes=42856", 71},
  };
  return rows;
}

const std::vector<Rule>& mv_table() {
  static const std::vector<Rule> rows = {
      {"TMM040", "matrix-strides-need-copy", "the matrix of a matrix-vector product has no usable unit stride", slow, Blame::spec, "torch-mv", always(),
       differs(I::x_layout, "strided"), "it is made contiguous first", {"make it contiguous once", same, {Change::make_contiguous}}, native_blas,
       "gemm --x 1024x1024 --w 1024x1 --x-strides 4096x2 --dtype f32 --target sm_90 --framework torch --extra call=mv",
       "gemm --x 1024x1024 --w 1024x1 --dtype f32 --target sm_90 --framework torch --extra call=mv", 30},
      {"TMM041", "gemv-ignores-tf32", "TF32 is allowed but matrix-vector products never use it", slow, Blame::heuristic, "torch-mv",
       all({equals(I::dtype, "f32"), one_of(I::call, {"mv", "addmv"})}), unless(is_true(I::tf32)), "the wrapper switches TF32 off around the call",
       {"nothing is lost as a rule: such a product is bound by memory", same, {}}, cuda_blas,
       "gemm --x 1024x1024 --w 1024x1 --dtype f32 --target sm_90 --framework torch --extra call=mv --tf32 on",
       "gemm --x 1024x1024 --w 1024x1 --dtype f32 --target sm_90 --framework torch --extra call=mv", 60},
      {"TMM042", "half-mv-is-gemm", "a 16-bit matrix-vector product", slow, Blame::library_version, "torch-mv", all({on_cuda(), one_of(I::call, {"mv", "addmv"})}),
       none_of(I::dtype, half), "no 16-bit gemv exists, so the matrix product's heuristic picks a kernel for one column",
       {"leave it, or let the compiler generate a memory-bound kernel", same, {}}, cuda_blas,
       "gemm --x 1024x1024 --w 1024x1 --dtype bf16 --target sm_90 --framework torch --extra call=mv",
       "gemm --x 1024x1024 --w 1024x1 --dtype f32 --target sm_90 --framework torch --extra call=mv", 61},
  };
  return rows;
}

const std::vector<Rule>& bmm_table() {
  static const std::vector<Rule> rows = {
      {"TMM050", "bmm-deterministic-without-workspace", "deterministic algorithms without a reproducible cuBLAS workspace, batched", stops, Blame::setting, "torch-bmm",
       equals(I::deterministic, "strict"), any({on_cpu(), reproducible_workspace()}), "RuntimeError before the product",
       {"set CUBLAS_WORKSPACE_CONFIG=:4096:8 before CUDA starts", same, {Change::change_setting}}, cuda_blas, BMM " --deterministic",
       BMM " --deterministic --env CUBLAS_WORKSPACE_CONFIG=:16:8", 10},
      {"TMM051", "batch-matrix-needs-copy", "the matrices of the batch have no usable inner stride", slow, Blame::spec, "torch-bmm", always(), differs(I::x_layout, "strided"),
       "the operand is cloned; a stride of 0 along the batch alone is fine", {"keep each matrix row-major or column-major", same, {Change::make_contiguous}}, blas,
       "gemm --x 8x128x128 --w 8x128x128 --x-strides 65536x512x2 --dtype bf16 --target sm_90 --framework torch --extra call=bmm", BMM, 30},
      {"TMM052", "tiny-batch-loop", "a batched product on the CPU with m*n*k below 400", slow, Blame::heuristic, "torch-bmm", on_cpu(), at_least(I::product_size, 400),
       "plain loops run instead of a library", {"join small products into larger ones", same, {}}, linalg,
       "gemm --x 8x4x4 --w 8x4x4 --dtype f32 --target cpu --framework torch --extra call=bmm", BMM_CPU, 61},
      {"TMM053", "half-batch-without-onednn", "a 16-bit batched product on the CPU that oneDNN does not take", slow, Blame::hardware, "torch-bmm",
       all({on_cpu(), at_least(I::product_size, 400), one_of(I::dtype, half)}), is_true(I::mkldnn_eligible), "one product per matrix in a loop",
       {"use FP32 with contiguous batches, which MKL batches", same, {Change::cast_dtype}}, linalg, BMM_CPU " --extra mkldnn_eligible=false", BMM_CPU " --extra cpu_bf16=true", 62},
      {"TMM054", "batched-tf32-disabled", "TF32 is off for batched FP32 products, as by default", slow, Blame::setting, "torch-bmm",
       all({on_cuda(), equals(I::dtype, "f32"), at_least(I::compute_capability, 80)}), any({is_true(I::tf32), differs(I::float32_matmul_precision, "highest")}),
       "FP32 units run instead of tensor cores",
       {"set the float32 matmul precision to high if ten mantissa bits of the inputs are enough", less_precise, {Change::enable_flag, Change::change_setting}}, cuda_blas,
       BMM32, BMM32 " --tf32 on", 63},
  };
  return rows;
}

const std::vector<Rule>& dot_table() {
  static const std::vector<Rule> rows = {
      {"TMM060", "dot-beyond-32-bit", "a dot product longer than 2^31 - 1", stops, Blame::library_version, "torch-dot", always(), at_most(I::k, 2147483647.0),
       "RuntimeError: the interface counts in 32 bits", {"split the vectors and add", same, {Change::split_batch}}, blas,
       "gemm --m 1 --n 1 --k 2147483648 --dtype f32 --target sm_90 --framework torch --extra call=dot",
       "gemm --m 1 --n 1 --k 4096 --dtype f32 --target sm_90 --framework torch --extra call=dot", 10},
  };
  return rows;
}

#undef MM
#undef MM32
#undef ND
#undef ND_TRANSPOSED
#undef BMM
#undef BMM32
#undef BMM_CPU

}  // namespace

std::span<const Rule> matmul_rules() { return matmul_table(); }
std::span<const Rule> mm_rules() { return mm_table(); }
std::span<const Rule> mv_rules() { return mv_table(); }
std::span<const Rule> bmm_rules() { return bmm_table(); }
std::span<const Rule> dot_rules() { return dot_table(); }

}  // namespace dd::frameworks::torch_gemm
