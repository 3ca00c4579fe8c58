// cuda-math: decomposed attention. cuBLAS writes all scores, our own kernel turns them into probabilities (scale, mask,
// causality, dropout), cuBLAS multiplies these with v. Strided batches: one product for all heads of all batches where their
// strides allow it, one a batch element where not, and one a head of each group with grouped heads (which read k and v in
// place, without a copy for each query head).
#include <fmt/format.h>

#include "attention/launch.hpp"
#include "backends/common/device_attention.hpp"
#include "backends/common/device_blas.hpp"
#include "backends/common/run.hpp"
#include "backends/tables.hpp"
#include "facts/derive.hpp"

namespace dd::backends::cuda_math {
namespace {

using core::DType;
using kernels::AttentionArgs;

// Rows and columns of every head of a tensor [batch, heads, rows, columns].
struct Heads {
  const void* address;
  DType dtype;
  std::int64_t stride[4];
  std::int64_t rows, columns;
  int group;  // query heads that share one head of k and v; 1 for k and v themselves
};

// Element (b, h) of batch and heads as one index; nullopt when no single stride walks both.
std::optional<std::int64_t> one_stride(std::int64_t batch_stride, std::int64_t head_stride, std::int64_t batch, std::int64_t heads) {
  if (heads == 1) return batch_stride;
  if (batch == 1 || batch_stride == heads * head_stride) return head_stride;
  return std::nullopt;
}

class Products {
 public:
  Products(const Cublas& cublas, const AttentionArgs& args, int compute) : cublas_(cublas), args_(args), compute_(compute) {}

  // out = x w for all heads; `transposed`: w is stored as its transpose. Empty, or why the library has no words for it.
  std::string add(const Heads& x, const Heads& w, bool transposed, const Heads& out, std::vector<DeviceCall::Step>& steps) const {
    const std::int64_t batch = args_.batch, heads = args_.kv_heads;
    const auto sx = step(x, batch, heads), sw = step(w, batch, heads), so = step(out, batch, heads);
    const bool merged = sx && sw && so;
    const int group = args_.heads / args_.kv_heads;
    for (int g = 0; g < group; ++g)
      for (std::int64_t b = 0; b < (merged ? 1 : batch); ++b) {
        const std::int64_t count = merged ? batch * heads : heads;
        const auto view = [&](const Heads& t, const std::optional<std::int64_t>& s) { return matrices(t, count, merged ? *s : t.group * t.stride[1]); };
        ops::TensorView vx = view(x, sx), vw = view(w, sw), vo = view(out, so);
        if (transposed) {
          std::swap(vw.shape[1], vw.shape[2]);
          std::swap(vw.stride[1], vw.stride[2]);
        }
        BlasProduct product;
        std::string why;
        if (!describe_product({vx, start(x, b, g)}, {vw, start(w, b, g)}, {vo, start(out, b, g)}, product, why)) return why;
        steps.emplace_back(gemm_step(cublas_, product, compute_));
      }
    return {};
  }

 private:
  static std::optional<std::int64_t> step(const Heads& t, std::int64_t batch, std::int64_t heads) { return one_stride(t.stride[0], t.group * t.stride[1], batch, heads); }
  static ops::TensorView matrices(const Heads& t, std::int64_t count, std::int64_t step) {
    ops::TensorView v;
    v.dtype = t.dtype;
    v.rank = 3;
    const std::int64_t shape[3] = {count, t.rows, t.columns}, stride[3] = {step, t.stride[2], t.stride[3]};
    std::copy(shape, shape + 3, v.shape);
    std::copy(stride, stride + 3, v.stride);
    return v;
  }
  static void* start(const Heads& t, std::int64_t b, int g) {
    const std::int64_t at = b * t.stride[0] + (t.group > 1 ? g * t.stride[1] : 0);
    return const_cast<std::byte*>(static_cast<const std::byte*>(t.address)) + core::bytes_of(t.dtype, at);
  }

  const Cublas& cublas_;
  const AttentionArgs& args_;
  int compute_;
};

Heads heads_of(const void* address, DType dtype, const std::int64_t (&stride)[4], std::int64_t rows, std::int64_t columns, int group) {
  return {address, dtype, {stride[0], stride[1], stride[2], stride[3]}, rows, columns, group};
}

int compute_for(DType dtype, bool tf32) {
  if (dtype == DType::f64) return cuda::blas::compute_64f;
  return dtype == DType::f32 && tf32 ? cuda::blas::compute_32f_fast_tf32 : cuda::blas::compute_32f;
}

}  // namespace

RunResult run(const RunRequest& request) {
  RunResult problem, result;
  const auto call = DeviceCall::make(request, problem, own_kernels_and_cublas);
  AttentionArgs args;
  if (!call || !device_attention(request, *call, args, problem)) return problem;
  const DType type = request.spec.attention().q.dtype, score_type = type == DType::f64 ? DType::f64 : DType::f32;
  const std::int64_t row = args.kv_len, head = args.q_len * row, batch = args.heads * head, count = args.batch * batch;
  const std::int64_t dense[4] = {batch, head, row, 1};
  void* scores = call->scratch(core::bytes_of(score_type, count));
  // A thread writes a probability after its last look at that score, so one buffer does where the types agree.
  void* probabilities = type == score_type ? scores : call->scratch(core::bytes_of(type, count));
  const auto cublas = open_cublas(*call, std::nullopt, request.spec.flags.reduced_precision, problem);
  if (!cublas) return problem;

  const int group = args.heads / args.kv_heads;
  const Products products(*cublas, args, compute_for(type, request.spec.flags.tf32));
  DeviceCall::Part first{"scores", {}}, middle{"softmax", {}}, last{"values", {}};
  std::string why = products.add(heads_of(args.q, type, args.q_stride, args.q_len, args.dim, group), heads_of(args.k, type, args.k_stride, args.kv_len, args.dim, 1), true,
                                 heads_of(scores, score_type, dense, args.q_len, args.kv_len, group), first.steps);
  if (why.empty())
    why = products.add(heads_of(probabilities, type, dense, args.q_len, args.kv_len, group), heads_of(args.v, type, args.v_stride, args.kv_len, args.v_dim, 1), false,
                       heads_of(args.out, type, args.out_stride, args.q_len, args.v_dim, group), last.steps);
  if (!why.empty()) return failure(report::Outcome::refused, "form", why, "own code");
  const std::string kernel = fmt::format("dd_attention_softmax_{}_{}", type_tag(score_type), type_tag(type));
  middle.steps.emplace_back(DeviceCall::Launch{kernels::Image::attention, kernel, kernels::softmax_launch(args), {&args, &scores, &probabilities}});
  result.evidence.notes.push_back(fmt::format("scores materialised: {} bytes", core::bytes_of(score_type, count)));
  if (probabilities != scores) result.evidence.notes.push_back(fmt::format("probabilities materialised: {} bytes", core::bytes_of(type, count)));
  return call->run_parts({std::move(first), std::move(middle), std::move(last)}, std::move(result));
}

void add_call_facts(const spec::OpSpec& spec, facts::FactSet& facts) {
  if (!spec.is_attention()) return;
  const spec::Attention& a = spec.attention();
  const spec::TensorSpec out{spec::out_shape(a), a.q.dtype, a.out.strides, a.out.offset, {}};
  const bool one_column = !out.shape.empty() && out.shape.back() <= 1;  // dense whatever its stride says
  facts.set(facts::Id::out_layout, one_column ? "row" : facts::matrix_layout(out), facts::Provenance::derived, a.out.strides ? "out.strides" : "the result is contiguous");
}

// Scores lie on the device; nothing beside inputs and output is held on the host.
std::int64_t extra_bytes(const spec::OpSpec&) { return 0; }

}  // namespace dd::backends::cuda_math
