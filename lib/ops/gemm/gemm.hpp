// Matrix products: the reference (double arithmetic from the very bits of the inputs, packed, threaded), quantized
// weights, Freivalds' check, the naive loops, and the kernels behind cpu-naive, cpu-dequant and cpu-packed.
//
// Y[b] = epilogue(X[b] W[b] + bias): X is [batch, M, K], W is [batch, K, N] as views (transposes are strides).
// Sums of integers are exact as long as they stay below 2^53.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/attention/attention.hpp"
#include "ops/tensor/parallel.hpp"
#include "ops/tensor/view.hpp"

namespace dd::ops {

enum class Epilogue : std::uint8_t { none, relu, gelu_erf, gelu_tanh };

// Weights (or activations) stored as codes: value = (code - zero) * scale.
struct QuantParams {
  TensorView
      scale;  // rank 2 [groups, N]; broadcasting by stride 0 (per channel: groups = 1, per tensor: both strides 0)
  std::optional<TensorView> zero;      // rank 2 [groups, N], any dtype; absent = 0 (symmetric)
  std::int64_t group_size = 0;         // along K; 0 = the whole of K
  std::vector<std::int32_t> group_of;  // act-order: group of each k (replaces group_size); empty = k / group_size
};

struct GemmProblem {
  TensorView x, w;                 // rank 3: [batch, M, K], [batch, K, N]; batch axes may have stride 0
  std::optional<TensorView> bias;  // rank 3 [batch|1, M|1, N|1]
  Epilogue epilogue = Epilogue::none;
  std::optional<QuantParams> w_quant;
  // w8a8: rank 2 scale and zero [1, M] (per row; stride 0 for per tensor).
  std::optional<QuantParams> x_quant;
  // Operands that had to be expanded because no single stride walks their batch axes: name, bytes, and what owns the
  // copy.
  struct Expanded {
    std::string name;
    std::int64_t bytes;
    std::shared_ptr<std::byte> storage;
  };
  std::vector<Expanded> expanded;
};

std::vector<std::string> gemm_errors(const GemmProblem& problem);
double gemm_work(const GemmProblem& problem);  // multiply-adds

struct GemmResult {
  std::string error;
  std::vector<double> out;      // [batch, M, N], or [rows, N] for the row version
  std::vector<double> abs_sum;  // same shape: sum_k |x w| + |bias|; when asked for (doubles the time)
  bool ok() const { return error.empty(); }
};

struct GemmRow {
  std::int64_t b, m;
};

GemmResult gemm_reference(const GemmProblem& problem, bool want_abs_sum = false, const RunOptions& run = {});
// Bit for bit the same rows.
GemmResult gemm_reference_rows(const GemmProblem& problem, const std::vector<GemmRow>& rows, bool want_abs_sum = false,
                               const RunOptions& run = {});
// Straight triple loop in double: the oracle.
GemmResult gemm_naive(const GemmProblem& problem, bool want_abs_sum = false);
std::vector<GemmRow> sample_gemm_rows(const GemmProblem& problem, std::int64_t count, std::uint64_t seed);

// Freivalds' check of a claimed output Y (rank 3 view, before any epilogue but after bias): with a random vector r of
// +-1, compares Y r with X (W r) + bias r in O(MK + KN + MN) per probe. A wrong element escapes one probe with
// probability <= 1/2.
struct FreivaldsRow {
  std::int64_t b, m;
  double difference;  // |Y r - (X (W r) + bias r)|, the worst of the probes (NaN when either side is NaN)
  double magnitude;   // sum_n (sum_k |x||w| + |bias|): what rounding errors of the row scale with
};
struct FreivaldsResult {
  std::string error;
  std::vector<FreivaldsRow> rows;  // all batch * M rows, in order
  bool ok() const { return error.empty(); }
};
FreivaldsResult freivalds(const GemmProblem& problem, const TensorView& y, std::uint64_t seed, int probes = 2,
                          const RunOptions& run = {});

double apply_epilogue(double value, Epilogue epilogue);

// cpu-naive: straight loops in the usual accumulator: s32 when x and w are integers without scales (wraps as int32
// does), f64 when either is f64, else f32. Any dtypes.
BackendRun gemm_naive_cpu(const GemmProblem& problem, const TensorView& out, const RunOptions& run = {});

// cpu-packed: x f32, f16, bf16 (or f8/s8/u8 with x_quant) times w in s8, u8, s4, u4 codes with w_quant, f32 arithmetic,
// never writing the dequantized matrix (at most one 256 x 384 tile per thread). Any strides, groups, zero points,
// act-order.
BackendRun packed_gemm_cpu(const GemmProblem& problem, const TensorView& out, const RunOptions& run = {});
// The weights as dense f32 [batch, K, N]; what cpu-dequant does before it calls a BLAS.
std::string dequantize(const GemmProblem& problem, float* out, const RunOptions& run = {});
// cpu-dequant: dequantize, then one BLAS product per batch. scratch_bytes includes the dense weights.
BackendRun dequant_gemm_cpu(const GemmProblem& problem, const TensorView& out, const BlasTable& blas,
                            const RunOptions& run = {});

}  // namespace dd::ops
