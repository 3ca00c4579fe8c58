// OpSpec: what was asked. Immutable once validated; every field of the contract has one member here and nowhere else.
// Optional members are "not given": canonical() fills what has a default and keeps what changes dispatch (for
// example strides of size-1 axes). Parsing, validation and printing live in parse.hpp, validate.hpp, canonical.hpp.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/dtype.hpp"
#include "core/text.hpp"

namespace dd::spec {

using core::DType;
using Dims = std::vector<std::int64_t>;

enum class Op { sdpa, gemm };
enum class CausalAlign { top_left, bottom_right };
enum class Mode { eager, compiled, captured };
enum class Compute { f32, tf32, f16, s32, f64 };
enum class Epilogue { none, bias, relu, gelu, bias_relu, bias_gelu };
enum class Data { normal, uniform, integers, outliers };
enum class Deterministic { off, warn_only, strict };

struct TensorSpec {
  Dims shape;                   // elements per axis
  DType dtype = DType::f32;
  std::optional<Dims> strides;  // elements; absent means contiguous in `shape` order
  std::int64_t offset = 0;      // storage offset in elements (pointer alignment is part of the spec)
  std::optional<std::int64_t> storage;  // elements of the storage it is a view of; absent: just what the view needs
  bool operator==(const TensorSpec&) const = default;
};

struct OutSpec {                // where the result is written; its shape and type follow from the inputs
  std::optional<Dims> strides;  // elements; absent means contiguous
  std::int64_t offset = 0;
  std::optional<std::int64_t> storage;
  bool operator==(const OutSpec&) const = default;
};

struct MaskSpec {
  DType dtype = DType::boolean;  // boolean, or a float type for an additive mask
  Dims shape;                    // broadcasts to (B, H, Tq, Tk)
  std::optional<Dims> strides;
  std::int64_t offset = 0;
  std::string content = "random";  // causal | padding:N | window:N | zeros | random | FILE (.npy, .safetensors)
  bool requires_grad = false;
  bool operator==(const MaskSpec&) const = default;
};

struct Nested {  // ragged batch
  Dims q_lengths, kv_lengths;
  bool operator==(const Nested&) const = default;
};

struct Attention {
  TensorSpec q, k, v;  // (B, H, T, D); the shape is logical, strides give the layout. Rank 3 is (B, T, D), rank 2 (T, D)
  OutSpec out;         // (B, H, Tq, Dv) in the type of q
  std::optional<MaskSpec> mask;
  bool is_causal = false;
  CausalAlign causal_align = CausalAlign::top_left;
  std::optional<double> scale;  // absent: 1/sqrt(head_dim)
  double dropout_p = 0.0;
  bool enable_gqa = false;
  bool requires_grad = false;
  std::optional<Nested> nested;
  std::map<std::string, std::string> extra;  // see Gemm::extra
  bool operator==(const Attention&) const = default;
};

struct Quant {
  std::string scheme;            // canonical text, e.g. w4a16:group=128:zero
  int bits = 4;                  // of one weight
  int act_bits = 16;             // of one activation
  std::int64_t group_size = -1;  // along K; -1: one scale per output channel; 0: one per tensor
  bool zero_point = false;
  bool act_order = false;
  std::string packing;           // empty: the tool's own row-major nibbles
  DType scale_dtype = DType::f16;
  bool operator==(const Quant&) const = default;
};

struct Gemm {
  TensorSpec x, w;  // logical (…, M, K) and (…, K, N), after trans flags
  std::optional<TensorSpec> bias;  // present exactly when the epilogue has a bias
  OutSpec out;
  bool trans_x = false, trans_w = false;  // storage is transposed: strides of the logical view follow from it
  std::optional<DType> out_dtype;         // absent: the type of x (s32 for 8-bit integers)
  std::optional<Compute> compute;         // absent: by dtype
  Epilogue epilogue = Epilogue::none;
  std::optional<std::int64_t> workspace;  // bytes the library may use
  std::optional<Quant> quant;
  bool requires_grad = false;
  // What framework and library dispatch also looks at, as text or JSON scalars by name (scale_recipe, k_full, k_part,
  // candidates, …). Known names are listed in spec/extra_fields.def; an unknown one is an error.
  std::map<std::string, std::string> extra;
  bool operator==(const Gemm&) const = default;
};

struct Flags {
  Deterministic deterministic = Deterministic::off;
  bool tf32 = false;
  bool reduced_precision = false;
  std::optional<DType> autocast;
  bool flash = true, efficient = true, cudnn = true, math = true;  // flags.enabled.*
  bool operator==(const Flags&) const = default;
};

struct Policy {
  std::optional<std::vector<std::string>> allow;
  std::vector<std::string> deny;
  std::optional<std::string> force;
  std::optional<std::vector<std::string>> order;
  bool operator==(const Policy&) const = default;
};

struct Context {
  std::string target;                 // cpu, host, cuda:N, sm_NN or a profile name; empty: chosen here
  std::string framework = "native";   // native | torch | vllm | bitsandbytes | torchao | ggml
  std::optional<std::string> torch, cuda, cudnn;  // versions X.Y.Z
  std::map<std::string, std::string> versions;    // further packages
  std::map<std::string, std::string> env;         // environment variables that change dispatch
  std::map<std::string, bool> build;              // what a framework was built with
  bool operator==(const Context&) const = default;
};

struct OpSpec {
  std::variant<Attention, Gemm> op;
  Flags flags;
  Mode mode = Mode::eager;
  std::vector<Mode> further_modes;  // attempted after `mode`, in this order
  Policy policy;
  Context context;
  std::uint64_t seed = 1;
  Data data = Data::normal;
  std::optional<double> rtol, atol;
  bool operator==(const OpSpec&) const = default;

  bool is_attention() const { return op.index() == 0; }
  const Attention& attention() const { return std::get<0>(op); }
  const Gemm& gemm() const { return std::get<1>(op); }
};

// Element strides of a contiguous tensor of this shape.
Dims contiguous_strides(const Dims& shape);
// The strides in force: those given, or contiguous ones.
Dims strides_of(const TensorSpec& tensor);
// Axes of attention whatever the rank: rank 3 has one head, rank 2 one head and one batch; 0 when rank < 2 or > 4.
struct AttentionDims {
  std::int64_t batch = 0, heads = 0, length = 0, size = 0;
};
AttentionDims attention_dims(const Dims& shape);
// Shapes and types that follow from the inputs. The result type of a matrix product is `out_dtype` where given, s32
// for 8-bit integers without scales, the scale type for quantized weights under integer x, and else the type of x.
Dims out_shape(const Attention& attention);
Dims out_shape(const Gemm& gemm);
DType out_dtype(const Gemm& gemm);
// The arithmetic asked for: as given, or f64, s32, tf32 (f32 with the flag) or f32 by the type of x.
Compute compute_of(const Gemm& gemm, const Flags& flags);
// Elements from the start of the storage to the last one touched; 0 when empty, nullopt on overflow or a negative.
std::optional<std::int64_t> storage_span(const Dims& shape, const Dims& strides, std::int64_t offset);
// Product of the extents; nullopt on overflow of 63 bits or a negative extent.
std::optional<std::int64_t> element_count(const Dims& shape);

}  // namespace dd::spec

DD_ENUM_TEXT(dd::spec::Op, {dd::spec::Op::sdpa, "sdpa"}, {dd::spec::Op::gemm, "gemm"})
DD_ENUM_TEXT(dd::spec::CausalAlign, {dd::spec::CausalAlign::top_left, "top-left"},
             {dd::spec::CausalAlign::bottom_right, "bottom-right"})
DD_ENUM_TEXT(dd::spec::Mode, {dd::spec::Mode::eager, "eager"}, {dd::spec::Mode::compiled, "compiled"},
             {dd::spec::Mode::captured, "captured"})
DD_ENUM_TEXT(dd::spec::Compute, {dd::spec::Compute::f32, "f32"}, {dd::spec::Compute::tf32, "tf32"},
             {dd::spec::Compute::f16, "f16"}, {dd::spec::Compute::s32, "s32"}, {dd::spec::Compute::f64, "f64"})
DD_ENUM_TEXT(dd::spec::Epilogue, {dd::spec::Epilogue::none, "none"}, {dd::spec::Epilogue::bias, "bias"},
             {dd::spec::Epilogue::relu, "relu"}, {dd::spec::Epilogue::gelu, "gelu"},
             {dd::spec::Epilogue::bias_relu, "bias+relu"}, {dd::spec::Epilogue::bias_gelu, "bias+gelu"})
DD_ENUM_TEXT(dd::spec::Data, {dd::spec::Data::normal, "normal"}, {dd::spec::Data::uniform, "uniform"},
             {dd::spec::Data::integers, "integers"}, {dd::spec::Data::outliers, "outliers"})
DD_ENUM_TEXT(dd::spec::Deterministic, {dd::spec::Deterministic::off, "off"},
             {dd::spec::Deterministic::warn_only, "warn_only"}, {dd::spec::Deterministic::strict, "strict"})
