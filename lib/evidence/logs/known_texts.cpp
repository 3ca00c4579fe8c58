#include "evidence/logs/known_texts.hpp"

namespace dd::evidence {
namespace {

constexpr auto none = PathVerdict::none, back = PathVerdict::fallback, open = PathVerdict::cannot_tell, fails = PathVerdict::no_path;

constexpr KnownText table[] = {
    {"No execution plans support the graph", "EVD058", back, none, {}, true},
    {"o available kernel. Aborting execution", "EVD060", fails, none},
    {"o available kernel.  Aborting execution", "EVD060", fails, none},
    {"No viable backend for scaled_dot_product_attention", "EVD060", fails, none},
    {"Flash attention kernel not used because", "EVD061", open, none, "torch-flash"},
    {"emory efficient kernel not used because", "EVD062", open, none, "torch-efficient"},
    {"CuDNN attention kernel not used because", "EVD063", open, none, "torch-cudnn"},
    {"cuDNN attention kernel not used because", "EVD063", open, none, "torch-cudnn"},
    {"FlashAttention only support", "EVD064", open, none, {}, true},
    {"FlashAttention forward only supports head dimension", "EVD064", open, none, {}, true},
    {"Flash Attention 2.0 only supports torch.float16 and torch.bfloat16", "EVD064", open, none, {}, true},
    {"CUBLAS_STATUS_NOT_SUPPORTED", "EVD065", none, open, {}, true},
    {"CUBLAS_STATUS_INVALID_VALUE", "EVD066", none, open, {}, true},
    {"CUBLAS_STATUS_ARCH_MISMATCH", "EVD067", none, open, {}, true},
    {"CUBLAS_STATUS_EXECUTION_FAILED", "EVD081", none, open},
    {"CUBLAS_STATUS_ALLOC_FAILED", "EVD081", none, open},
    {"CUBLAS_STATUS_NOT_INITIALIZED", "EVD081", none, open},
    {"CUBLAS_STATUS_INTERNAL_ERROR", "EVD081", none, open},
    {"CUDNN_STATUS_NOT_SUPPORTED", "EVD057", open, none},
    {"mat1 and mat2 shapes cannot be multiplied", "EVD068", none, open},
    {"could not create a primitive", "EVD069", none, open},
    {"xFormers wasn't build with CUDA support", "EVD070", back, none},
    {"xFormers can't load C++/CUDA extensions", "EVD070", back, none},
    {"is not supported for the current GPU. Minimum capability", "EVD071", none, open, {}, true},
    {"Cannot use FlashAttention-2 backend", "EVD072", open, none},
    {"Cannot use FlashAttention backend", "EVD072", open, none},
    {"does not have native support for FP8 computation", "EVD073", none, back},
    {"but bnb_4bit_compute_dtype=torch.float32", "EVD074", none, back},
    {"MatMul8bitLt: inputs will be cast from", "EVD075", none, open},
    {"out of resource: shared memory, Required", "EVD076", open, open},
    {"not supported in this architecture. The supported fp8 dtypes are", "EVD077", none, open},
    {"CUDA extension not installed", "EVD078", none, open},
    {"exllama_kernels not installed", "EVD078", none, open},
    {"torch._scaled_mm is only supported on", "EVD079", none, back, {}, true},
    {"dimensions of mat2 to be divis", "EVD080", none, open, {}, true},
    {"Trailing dimension of mat1 must be divisible by 16", "EVD080", none, open, {}, true},
    {"no kernel image is available for execution on the device", "EVD082", open, open},
    {"does not support `output_attentions=True`", "EVD083", back, none},
};

}  // namespace

std::span<const KnownText> known_texts() { return table; }

}  // namespace dd::evidence
