#include "evidence/answer/rules.hpp"

#include "fmt/format.h"

namespace dd::evidence {

using namespace rules;
using facts::Id;

namespace {

const Source names{"kernel names and operator chains of public traces", "torch 1.8 to 2.10", "2026-11-29"};
const Source profiler{"profiler trace forms and their known faults", "torch 1.8 to 2.10, nsys 2026.2", "2026-11-29"};
const Source onednn{"oneDNN verbose mode", "0.18 to 3.8", "2026-11-29"};
const Source blas{"cuBLAS and cuBLASLt logging, and their alignment rule", "10.2 to 13.4", "2026-11-29"};
const Source cudnn{"cuDNN back-end and front-end logging", "7 to 9", "2026-11-29"};
const Source engines{"messages of vLLM, bitsandbytes, Triton, transformers and torch", "as printed 2023 to 2026", "2026-11-29"};
const Source sdpa{"messages of the attention dispatcher of PyTorch", "2.0 to 2.10", "2026-11-29"};

Condition none(Id id) { return at_most(id, 0); }

// Only line forms of a log lead to these rows: the reader that met one names the row.
Rule log_row(std::string_view id, std::string_view name, std::string_view title, Level level, Blame blame, std::string_view effect, Fix fix, const Source& source,
             std::string_view example) {
  return {.id = id, .name = name, .title = title, .level = level, .blame = blame, .scope = "logs", .applies = always(), .requires_that = none(Id::ev_log),
          .effect = effect, .fix = std::move(fix), .source = source, .blocked_example = example, .passing_example = "logs clean.log"};
}

Rule trace_row(std::string_view id, std::string_view name, std::string_view title, Level level, Blame blame, Condition condition, std::string_view effect, Fix fix,
               const Source& source, std::string_view example = "trace trace.json") {
  return {.id = id, .name = name, .title = title, .level = level, .blame = blame, .scope = "trace", .applies = always(), .requires_that = std::move(condition),
          .effect = effect, .fix = std::move(fix), .source = source, .blocked_example = example, .passing_example = "trace good.json"};
}

std::vector<Rule> make() {
  constexpr auto function = Keeps::function, precision = Keeps::precision, meaning = Keeps::meaning;
  return {
      trace_row("EVD001", "evidence-incomplete", "part of the file could not be read", Level::warns, Blame::setting, none(Id::ev_lost),
                "counts and times are lower bounds", {"export the trace again, or say how the file was cut", function}, profiler),
      trace_row("EVD002", "launched-before-window", "kernels were launched before the recording began", Level::informs, Blame::setting, none(Id::ev_before_window),
                "they belong to no operator and are judged by name only", {"add a warm-up step to the profiler's schedule", function}, profiler),
      trace_row("EVD003", "graph-replay-without-operators", "kernels were replayed from a graph", Level::informs, Blame::setting, none(Id::ev_replayed),
                "they have no operator and no shapes: judged by name, no reason can be given", {"record one run without graph capture to see the operators", function}, profiler),
      trace_row("EVD004", "external-ids-mislead", "external ids name other operators than nesting does", Level::informs, Blame::library_version, none(Id::ev_wrong_ids),
                "tools that link by external id report wrong operators here; this one does not", {"record with a profiler from 2024-04 or later", function}, profiler),
      trace_row("EVD005", "no-gpu-events", "operators were recorded, GPU events were not", Level::warns, Blame::setting, none(Id::ev_ops_without_gpu),
                "which kernels ran cannot be told", {"where a GPU is used add ProfilerActivity.CUDA and see that no other profiler holds it; for work on the processor give the log of ONEDNN_VERBOSE=1 to logs", function}, profiler),
      trace_row("EVD006", "shapes-not-recorded", "shapes are not in the file", Level::informs, Blame::setting, none(Id::ev_no_shapes),
                "no reason that depends on shapes, dtypes or strides can be given", {"record with record_shapes=True", function}, profiler),
      trace_row("EVD007", "kernel-names-unknown", "some kernel names are not in the table", Level::informs, Blame::library_version, none(Id::ev_unknown_kernels),
                "they count as neither fast nor slow", {"report the names so that a row can be added", function}, names),
      log_row("EVD008", "kernel-name-alone", "a kernel's name is all that is known", Level::informs, Blame::setting, "that it ran, for which call and for how long is not known: the verdict is a reading of the name",
              {"record a trace (torch.profiler with record_shapes=True, or nsys) and give it to trace; or describe the call to gemm or sdpa with --target of that GPU to see what decides", function}, names, "trace --kernel ampere_sgemm_128x128_tn"),
      trace_row("EVD010", "product-misaligned", "products run on kernels with narrow loads", Level::slows, Blame::spec, none(Id::ev_misaligned),
                "tensor cores are used, but by a slower kernel family",
                {"pad the odd dimension (or leading dimension) to a multiple of 16 bytes: 8 elements of a 16-bit type, 4 of float", function, {Change::pad_k, Change::pad_n}}, names,
                "trace --kernel cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2"),
      trace_row("EVD011", "float-product-on-plain-cores", "float products do not use tensor cores", Level::slows, Blame::setting, none(Id::ev_float_plain),
                "the slowest path for dense products on GPUs that have a reduced-precision one",
                {"multiply in bf16 or f16 (autocast), or allow TF32 where the GPU has it (compute capability 8.0 and later)", precision, {Change::cast_dtype, Change::change_setting}}, names,
                "trace --kernel ampere_sgemm_128x128_tn"),
      trace_row("EVD012", "product-on-older-instructions", "products run on the older matrix instructions", Level::slows, Blame::heuristic, none(Id::ev_wmma),
                "tensor cores are used below their rate; usual for tiny products", {"batch more rows into one product; a newer library may choose better", function}, names,
                "trace --kernel cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8"),
      trace_row("EVD013", "product-older-kernel-family", "products run on kernels built for an older GPU generation", Level::informs, Blame::heuristic, none(Id::ev_older_family),
                "often the heuristic's right choice for small products; below the newest kernels for large ones", {"compare with a newer cuBLAS, or tune the product (torch TunableOp, max-autotune)", function}, names),
      trace_row("EVD014", "product-too-few-work-groups", "large products are launched with few work groups", Level::slows, Blame::heuristic, none(Id::ev_few_groups),
                "most of the GPU idles although the kernel family is the fast one", {"split the inner dimension (split-K), or batch several such products", function}, names),
      trace_row("EVD015", "epilogue-not-fused", "bias or activation runs as a kernel of its own", Level::informs, Blame::heuristic, none(Id::ev_epilogues),
                "one more pass over the output", {"use a library version or layout with a fused epilogue", function}, names),
      trace_row("EVD016", "half-product-on-plain-cores", "16-bit or 8-bit products do not use tensor cores", Level::slows, Blame::hardware, none(Id::ev_half_plain),
                "narrow storage without the speed", {"check alignment and whether the GPU has tensor cores for the type", function}, names),
      trace_row("EVD020", "attention-decomposed", "attention calls were served as separate products and softmax", Level::slows, Blame::spec, none(Id::ev_attention_math),
                "the scores are written to memory in full", {"clear what the fused backends declined: run the spec that --specs writes", function}, names),
      trace_row("EVD021", "attention-written-out", "attention is written out as product, softmax, product", Level::slows, Blame::spec, none(Id::ev_written_out),
                "no fused backend is even asked", {"call scaled_dot_product_attention instead", function}, names),
      trace_row("EVD022", "attention-unaligned", "attention runs on the variant for unaligned inputs", Level::slows, Blame::spec, none(Id::ev_attention_unaligned),
                "narrow loads within the efficient backend", {"make the head size a multiple of 8 elements (16-bit) and the tensors aligned to 16 bytes", function, {Change::pad_head_dim}}, names),
      trace_row("EVD023", "attention-kernels-unknown", "attention calls whose kernels could not be told", Level::warns, Blame::setting, none(Id::ev_attention_unknown),
                "neither fused nor decomposed can be said", {"record with GPU events and without cuts", function}, names),
      trace_row("EVD030", "casts-cost", "casts take a noticeable share of GPU time", Level::slows, Blame::spec, at_most(Id::ev_cast_percent, 5),
                "time beside the products that they feed", {"keep weights and activations in the type they are multiplied in", precision}, names),
      trace_row("EVD031", "layout-changes-cost", "layout changes take a noticeable share of GPU time", Level::slows, Blame::spec, at_most(Id::ev_layout_percent, 5),
                "tensors are rewritten only to change strides", {"keep one layout: channels-last for convolutions, no contiguous() where a transposed view will do", function}, names),
      trace_row("EVD032", "host-waits", "the host reads scalars back from the GPU", Level::warns, Blame::spec, at_most(Id::ev_items, 0),
                "each one drains the launch queue", {"keep the value on the GPU, or read several at once", function}, names),
      trace_row("EVD033", "pageable-copies", "copies go through pageable host memory", Level::warns, Blame::spec, none(Id::ev_pageable),
                "each one blocks the host", {"use pinned memory and non_blocking=True", function}, names),
      trace_row("EVD040", "weights-dequantized-first", "quantized weights are written out before the product", Level::slows, Blame::heuristic, none(Id::ev_dequantize),
                "the packed weights are not multiplied as they lie; for large batches that can still be the faster way", {"use a kernel that multiplies packed weights at this batch size", function}, names),
      log_row("EVD050", "onednn-reference-implementation", "a product ran on a reference implementation", Level::slows, Blame::spec, "the slowest path of the library",
              {"ask with ONEDNN_VERBOSE=dispatch why the others declined; usually a type, a post-operation or a format", function}, onednn, "logs verbose.log"),
      log_row("EVD051", "onednn-refused-by-all", "every implementation refused a call", Level::blocks, Blame::hardware, "no primitive is made: the caller gets an error or takes a path of its own",
              {"use types that the processor has instructions for (the isa line of the log names them), for instance bf16 or f32", precision, {Change::cast_dtype}}, onednn, "logs verbose.log"),
      log_row("EVD052", "onednn-arguments-rejected", "the library rejected the arguments", Level::blocks, Blame::spec, "no implementation was asked", {"correct the arguments named", meaning}, onednn, "logs verbose.log"),
      log_row("EVD053", "onednn-reorders-cost", "reorders take long beside the products", Level::slows, Blame::spec, "layouts or types are converted around the products",
              {"keep weights in the format that the primitive asks for: create it with format any and convert once", function}, onednn, "logs verbose.log"),
      log_row("EVD054", "float-product-without-tf32", "float products under default math", Level::slows, Blame::setting, "tensor cores are not used for these products",
              {"allow TF32 (torch.backends.cuda.matmul.allow_tf32) or multiply in bf16 or f16", precision, {Change::change_setting, Change::cast_dtype}}, blas, "logs cublas.log"),
      log_row("EVD055", "product-operand-unaligned", "an operand is not aligned to 16 bytes", Level::slows, Blame::spec, "the library must load narrower and picks a slower kernel",
              {"pad the leading dimension, or allocate the tensor at an aligned address", function, {Change::align_offset}}, blas, "logs cublas.log"),
      log_row("EVD056", "cublaslt-error", "the library reported an error", Level::blocks, Blame::spec, "the caller falls back or fails",
              {"read the descriptors of the call before it: types, leading dimensions, scale modes and workspace decide", function}, blas, "logs cublaslt.log"),
      log_row("EVD057", "cudnn-declined", "cuDNN declined and said why", Level::blocks, Blame::library_version, "the caller falls back to another backend or fails",
              {"compare with what the installed cuDNN supports on this GPU: head size, dtype, mask form and alignment decide", function}, cudnn, "logs cudnn.log"),
      log_row("EVD058", "cudnn-no-plan", "cuDNN found no execution plan", Level::blocks, Blame::library_version, "the cuDNN path is not taken",
              {"set CUDNN_FRONTEND_LOG_INFO=1 and CUDNN_LOGLEVEL_DBG=3 and look for the reason before this line", function}, cudnn, "logs cudnn.log"),
      log_row("EVD060", "sdpa-no-kernel", "no attention backend took the call", Level::blocks, Blame::setting, "the call fails",
              {"enable the math backend, or clear the reason named in the warnings before this line", function}, sdpa, "logs -"),
      log_row("EVD061", "sdpa-flash-declined", "the flash backend declined", Level::slows, Blame::spec, "the next backend in order is tried", {"clear the reason in the following warning", function}, sdpa, "logs -"),
      log_row("EVD062", "sdpa-efficient-declined", "the memory-efficient backend declined", Level::slows, Blame::spec, "the next backend in order is tried", {"clear the reason in the following warning", function}, sdpa, "logs -"),
      log_row("EVD063", "sdpa-cudnn-declined", "the cuDNN backend declined", Level::slows, Blame::spec, "the next backend in order is tried", {"clear the reason in the following warning", function}, sdpa, "logs -"),
      log_row("EVD064", "flash-attn-unsupported", "the flash-attn package refused", Level::blocks, Blame::hardware, "the call fails", {"use a dtype and head size that it supports, or another backend", precision}, names, "logs -"),
      log_row("EVD065", "cublas-not-supported", "cuBLAS does not support the combination", Level::blocks, Blame::spec, "the product fails or the caller falls back",
              {"check leading dimensions and pointers against 16 bytes, and the types against the compute type", function}, blas, "logs -"),
      log_row("EVD066", "cublas-invalid-value", "cuBLAS rejected a size", Level::blocks, Blame::spec, "the product fails",
              {"see that each leading dimension is at least the rows of its matrix; a library of another CUDA release gives the same error", function}, blas, "logs -"),
      log_row("EVD067", "cublas-arch-mismatch", "the GPU lacks what the product needs", Level::blocks, Blame::hardware, "the product fails", {"use a type that the GPU has", precision, {Change::cast_dtype}}, blas, "logs -"),
      log_row("EVD068", "product-shapes-differ", "inner sizes do not agree", Level::blocks, Blame::spec, "the call itself is wrong", {"correct the shapes", meaning}, names, "logs -"),
      log_row("EVD069", "onednn-no-primitive", "oneDNN could not make a primitive", Level::blocks, Blame::spec, "the call fails", {"set ONEDNN_VERBOSE=all and read the dispatch lines", function}, onednn, "logs -"),
      log_row("EVD071", "engine-quantization-refused", "the engine refuses the quantization method on this GPU", Level::blocks, Blame::hardware, "the model is not loaded",
              {"use a checkpoint in a scheme that the GPU has kernels for (the line names the capability it wants)", precision}, engines, "logs -"),
      log_row("EVD072", "engine-attention-passed-over", "the engine passed over its first attention backend", Level::slows, Blame::hardware, "a slower attention backend serves the model",
              {"clear what the line names: GPU generation, head size, dtype or cache type", function}, engines, "logs -"),
      log_row("EVD073", "fp8-weights-only", "8-bit float weights without 8-bit products", Level::slows, Blame::hardware, "weights are stored in 8 bits and multiplied in 16",
              {"expected on GPUs before compute capability 8.9; use int8 or 4-bit weights there", precision}, engines, "logs -"),
      log_row("EVD074", "bnb-compute-type", "the 4-bit layer computes in another type than its input", Level::slows, Blame::setting, "each product casts, and float products use no tensor cores",
              {"set bnb_4bit_compute_dtype to the type of the activations (bfloat16 or float16)", function, {Change::change_setting}}, engines, "logs -"),
      log_row("EVD075", "bnb-input-cast", "inputs are cast for each 8-bit product", Level::slows, Blame::spec, "one more pass over the activations per product",
              {"load the model in float16", precision, {Change::cast_dtype}}, engines, "logs -"),
      log_row("EVD076", "triton-out-of-resource", "the kernel wants more shared memory than the GPU has", Level::blocks, Blame::hardware, "the kernel is not launched",
              {"use smaller blocks or fewer stages (num_stages), or a configuration tuned for this GPU", function}, engines, "logs -"),
      log_row("EVD077", "triton-type-unsupported", "the kernel uses a type that the GPU has no instructions for", Level::blocks, Blame::hardware, "the kernel is not compiled",
              {"use one of the types that the line lists", precision, {Change::cast_dtype}}, engines, "logs -"),
      log_row("EVD078", "extension-not-built", "a compiled extension is missing", Level::slows, Blame::build, "a slow path in plain torch is taken", {"install the build that fits the installed torch and CUDA", function}, engines, "logs -"),
      log_row("EVD079", "scaled-product-unsupported", "the GPU has no 8-bit float products", Level::blocks, Blame::hardware, "the call fails", {"multiply in bf16 or f16, or use int8", precision, {Change::cast_dtype}}, engines, "logs -"),
      log_row("EVD080", "scaled-product-unaligned", "an 8-bit float product needs sizes that are multiples of 16", Level::blocks, Blame::spec, "the call fails", {"pad the named dimension with zeros to a multiple of 16", function, {Change::pad_k, Change::pad_n}}, engines, "logs -"),
      log_row("EVD081", "cublas-failed", "cuBLAS failed while running or starting", Level::blocks, Blame::setting, "the product fails",
              {"leave it more free GPU memory (its workspace and handle need some); run with CUDA_LAUNCH_BLOCKING=1 to see whether an earlier kernel is at fault", function}, blas, "logs -"),
      log_row("EVD082", "no-kernel-for-gpu", "the build holds no kernel for this GPU", Level::blocks, Blame::build, "the call fails", {"install a build that lists this compute capability", function}, engines, "logs -"),
      log_row("EVD083", "attention-weights-wanted", "attention is written out because its weights are asked for", Level::slows, Blame::spec, "no fused backend is even asked", {"do not ask for attention weights (output_attentions=False)", meaning}, engines, "logs -"),
      log_row("EVD070", "xformers-without-cuda", "xFormers was built without CUDA", Level::blocks, Blame::build, "its kernels are not used", {"install the build that fits the installed torch", function}, names, "logs -"),
  };
}

}  // namespace

std::span<const Rule> evidence_rules() {
  static const std::vector<Rule> rows = make();
  return rows;
}

const Rule* find_evidence_rule(std::string_view id) {
  for (const Rule& row : evidence_rules())
    if (row.id == id) return &row;
  return nullptr;
}

namespace {

// What log lines should have said instead, by row; a count of lines would tell nobody anything.
constexpr std::pair<std::string_view, std::string_view> wanted_of_lines[] = {
    {"EVD008", "a recording of the call, or its shapes and types"},
    {"EVD050", "an optimised implementation (brg, jit, gemm, acl)"},
    {"EVD051", "one implementation that takes the call"},
    {"EVD052", "arguments that fit together"},
    {"EVD053", "reorders below a tenth of the time of the products"},
    {"EVD054", "TF32 allowed, or a 16-bit type"},
    {"EVD055", "addresses and leading dimensions that are multiples of 16 bytes"},
    {"EVD056", "no error status"},
    {"EVD057", "an engine that supports the call"},
    {"EVD058", "an execution plan that supports the call"},
    {"EVD060", "one attention backend that takes the call"},
    {"EVD061", "a call within the limits of the flash backend"},
    {"EVD062", "a call within the limits of the memory-efficient backend"},
    {"EVD063", "a call within the limits of the cuDNN backend"},
    {"EVD064", "a GPU, type and head size that the package has kernels for"},
    {"EVD065", "a combination of types, layouts and sizes that the library has a kernel for"},
    {"EVD066", "leading dimensions that hold their matrices, and matching libraries"},
    {"EVD067", "a GPU that has the type"},
    {"EVD068", "equal inner sizes"},
    {"EVD069", "an implementation that takes the call"},
    {"EVD070", "a build with CUDA"},
    {"EVD071", "a GPU of at least the capability that the line names"},
    {"EVD072", "a GPU, head size and type that the first backend takes"},
    {"EVD073", "a GPU with 8-bit float products (compute capability 8.9 or later)"},
    {"EVD074", "the compute type of the layer equal to the type of its input"},
    {"EVD075", "inputs in the type that the kernel takes"},
    {"EVD076", "shared memory within the limit of the GPU"},
    {"EVD077", "a type that the GPU has instructions for"},
    {"EVD078", "the compiled extension"},
    {"EVD079", "a GPU with 8-bit float products"},
    {"EVD080", "sizes that are multiples of 16"},
    {"EVD081", "a free GPU without earlier faults"},
    {"EVD082", "a build that lists the GPU"},
    {"EVD083", "attention weights not asked for"},
};

// Rows of this table ask for a count or a share that is small enough: said in the words of the fact, not by its name.
std::string required_of(const Rule& rule) {
  for (const auto& [id, text] : wanted_of_lines)
    if (rule.id == id) return std::string(text);
  const Condition& c = rule.requires_that;
  if (c.kind != Kind::at_most || c.literals.empty() || find_evidence_rule(rule.id) == nullptr) return required_text(c);
  const std::string limit = facts::to_text(c.literals.front()), text(facts::info(c.fact).text);
  return limit == "0" ? "no " + text : fmt::format("at most {} {} of {}", limit, facts::info(c.fact).unit, text);
}

}  // namespace

EvidenceFinding finding_of(const Rule& rule, std::string seen, std::string_view status) {
  EvidenceFinding out;
  out.id = rule.id;
  out.name = rule.name;
  out.title = rule.title;
  out.level = core::to_text(rule.level);
  out.seen = std::move(seen);
  out.required = required_of(rule);
  out.effect = rule.effect;
  out.fix = rule.fix.text;
  out.keeps = core::to_text(rule.fix.keeps);
  out.blame = core::to_text(rule.blame);
  out.source = std::string(rule.source.text) + ", " + std::string(rule.source.version);
  out.status = status;
  return out;
}

EvidenceFinding finding_of(std::string_view id, std::string seen, std::string_view status) {
  const Rule* row = find_evidence_rule(id);
  return row == nullptr ? EvidenceFinding{} : finding_of(*row, std::move(seen), status);
}

}  // namespace dd::evidence
