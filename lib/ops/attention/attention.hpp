// Attention forward: the reference (double arithmetic from the very bits of the inputs), the naive loops, and the
// kernels behind the cpu-naive, cpu-math and cpu-flash backends. See ops/README.md for the conventions in full.
//
// O[b,h,i,:] = sum_j p_ij V[b,h/g,j,:], p = softmax over the keys j that take part of scale * Q[b,h,i,:].K[b,h/g,j,:] +
// mask. A key takes part when the causal rule, the window, the lengths and a boolean mask all allow it and an additive
// mask is not -inf there. Keys that do not take part have no influence at all, whatever bits they hold. NaN and
// infinity elsewhere propagate as in IEEE arithmetic.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/simd/kernels.hpp"
#include "ops/tensor/parallel.hpp"
#include "ops/tensor/view.hpp"

namespace dd::ops {

enum class Align : std::uint8_t { top_left, bottom_right };
// What a row with no key taking part (or whose scores are all -inf) becomes: zeros as in PyTorch >= 2.5, or NaN as 0/0
// gives.
enum class MaskedRow : std::uint8_t { zeros, nan };

struct AttentionProblem {
  TensorView q, k,
      v;  // rank 4: [B, Hq, Tq, D], [B, Hkv, Tk, D], [B, Hkv, Tk, Dv]; any strides (elements), any dtype; Hq % Hkv == 0
  double scale = 0;  // multiplies Q.K; the caller resolves the default 1/sqrt(D) (default_scale)
  bool causal = false;
  // Where query i sits among the keys: at key i (top-left) or at i + kv_length - q_length (bottom-right). Used by
  // causal and window.
  Align align = Align::top_left;
  std::int64_t window_left = -1, window_right = -1;  // keys within [at - left, at + right]; -1 = unbounded
  // Mask broadcast to [B, Hq, Tq, Tk]: rank 4, every size equal or 1. boolean dtype: true = takes part; float dtype:
  // added.
  std::optional<TensorView> mask;
  std::vector<std::int64_t> q_lengths, kv_lengths;  // per batch, empty = full. Rows past q_length become zeros.
  double dropout_p = 0;                             // keep mask: dropout_keep(dropout_seed, b, hq, i, j)
  std::uint64_t dropout_seed = 0;
  MaskedRow masked_row = MaskedRow::zeros;
};

double default_scale(std::int64_t head_dim);  // 1 / sqrt(D)

// Every reason why the problem is not well-formed; empty when it is. All functions below check it first.
std::vector<std::string> attention_errors(const AttentionProblem& problem);
// Multiply-adds that causal, window and lengths leave: sum over rows of keys * (D + Dv).
double attention_work(const AttentionProblem& problem);

// Output of the double computations, dense row-major.
struct AttentionResult {
  std::string error;        // empty = done
  std::vector<double> out;  // [rows, Dv], rows = B*Hq*Tq or the rows asked for
  std::vector<double>
      abs_sum;              // [rows, Dv]: sum_j p_ij |V_jd| (kept weights, after dropout scaling); only when asked for
  std::vector<double> lse;  // [rows]: log sum exp of the scores (natural log); -inf for a fully masked row
  std::vector<double>
      score_bound;  // [rows]: |scale| * |Q_i|_2 * max_j |K_j|_2 >= |scale| sum_d |q_d k_d| of every key; when asked for
  std::int64_t slow_rows = 0;  // rows that went through the plain loops because of NaN, infinity or near overflow
  bool ok() const { return error.empty(); }
};

struct AttentionWant {
  bool abs_sum = false;
  bool score_bound = false;
};

struct RowIndex {
  std::int64_t b, h, i;
};

// Fast, blocked, threaded. Memory: outputs plus a few MB per thread, independent of Tq * Tk. Same bits for any thread
// count.
AttentionResult attention_reference(const AttentionProblem& problem, const AttentionWant& want = {},
                                    const RunOptions& run = {});
// The same numbers (bit for bit) for some rows only; result rows are in the order asked for.
AttentionResult attention_reference_rows(const AttentionProblem& problem, const std::vector<RowIndex>& rows,
                                         const AttentionWant& want = {}, const RunOptions& run = {});
// Plain loops with std::exp, double arithmetic: the oracle for the above, and the measure of its speed.
AttentionResult attention_naive(const AttentionProblem& problem, const AttentionWant& want = {},
                                const RunOptions& run = {});
// `count` distinct rows, spread over all of B x Hq x Tq by `seed`, always with the first and the last row of the
// problem. Sorted.
std::vector<RowIndex> sample_rows(const AttentionProblem& problem, std::int64_t count, std::uint64_t seed);

// What a backend call reports. `out` is written in full or, on error, not at all.
struct BackendRun {
  std::string error;               // empty = done
  std::int64_t scratch_bytes = 0;  // memory allocated beside inputs and output
  std::int64_t scores_bytes = 0;   // of these, score matrices (0 for flash)
  bool ok() const { return error.empty(); }
};

// cpu-naive: plain loops in the dtype's usual accumulator (f64 for f64, else f32). Any dtype, every feature.
BackendRun attention_naive_cpu(const AttentionProblem& problem, const TensorView& out, const RunOptions& run = {});

// cpu-flash: tiles of 24 queries x 192 keys with a running maximum, all arithmetic in f32, scores never stored beyond
// one tile. q, k, v: f32, f16 or bf16 (each its own); out any float type. Supports causal in both alignments, windows,
// lengths, boolean and additive masks with broadcasting, GQA, Dv != D, any strides, dropout. D and Dv up to
// flash_max_head_dim.
inline constexpr std::int64_t flash_max_head_dim = 512;
BackendRun attention_flash_cpu(const AttentionProblem& problem, const TensorView& out, const RunOptions& run = {});

// A BLAS product, row-major: C[m,n] = alpha * op(A) op(B) + beta * C. Returns false when it failed.
template <class T>
using BlasGemm = bool (*)(void* context, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k,
                          T alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
                          std::int64_t ldc);
struct BlasTable {
  BlasGemm<float> sgemm = nullptr;
  BlasGemm<double> dgemm = nullptr;  // used when q is f64
  void* context = nullptr;
};
// The product of this library behind that signature, for machines without a BLAS.
BlasTable own_blas();

// cpu-math: S = Q K^T for all heads (materialised: B*Hq*Tq*Tk elements of f32, or f64 when q is f64), softmax in place,
// S V. Inputs are first copied to dense f32 (f64). Any float dtype, every feature. The products use the BLAS's own
// threads, so they run one after another; softmax rows run on run.threads.
BackendRun attention_math_cpu(const AttentionProblem& problem, const TensorView& out, const BlasTable& blas,
                              const RunOptions& run = {});
// Bytes that attention_math_cpu will allocate, in doubles' range (may exceed int64).
double attention_math_bytes(const AttentionProblem& problem);

}  // namespace dd::ops
