// Draft: a spec while it is being read. The command line and JSON both write into one through the same setters
// (option_table.cpp, json_fields.cpp); finish() then fills what follows from the rest and validates. Internal to lib/spec.
#pragma once
#include <optional>
#include <set>
#include <string>

#include "core/result.hpp"
#include "spec/values.hpp"

namespace dd::spec {

struct TensorDraft {
  std::optional<Dims> shape, strides;
  std::optional<DType> dtype;
  std::optional<std::int64_t> offset, storage;
  bool given() const { return shape || strides || dtype || offset || storage; }
};

struct MaskDraft {
  bool wanted = false;
  std::optional<DType> dtype;  // wanted without a type: additive in the type of q
  std::optional<Dims> shape, strides;
  std::optional<std::int64_t> offset;
  std::string content;
  bool requires_grad = false;
};

struct QuantDraft {  // fields beside or instead of the scheme text (JSON)
  std::optional<std::string> scheme;
  std::optional<std::int64_t> bits, act_bits, group_size;
  std::optional<bool> zero_point, act_order;
  std::optional<std::string> packing;
  std::optional<DType> scale_dtype;
  bool given() const {
    return scheme || bits || act_bits || group_size || zero_point || act_order || packing || scale_dtype;
  }
};

struct NestedDraft {
  std::optional<Dims> q_lengths, kv_lengths;
};

// Extents given one by one; those of attention and of matrix products do not meet in one draft.
struct ExtentDraft {
  std::optional<std::int64_t> b, h, hkv, sq, skv, d, dv, m, n, k, batch;
};

struct Draft {
  explicit Draft(Op op);
  Op op;
  OpSpec spec;  // what a setter can write at once is written here
  TensorDraft q, k, v, x, w, bias, out;
  bool bias_wanted = false;
  bool epilogue_given = false;
  ExtentDraft extents;
  std::optional<Layout> layout;
  std::optional<DType> base_dtype;  // one type for all
  std::optional<DType> default_dtype;
  MaskDraft mask;
  QuantDraft quant;
  NestedDraft nested;
  bool in_defaults = true;      // the table's defaults are being applied
  std::set<std::string> given;  // options or fields that were given, by option name
  std::set<std::string> bad;    // those of them that were not understood: not reported again as missing

  Attention& attention() { return std::get<Attention>(spec.op); }
  Gemm& gemm() { return std::get<Gemm>(spec.op); }
  bool failed(const std::string& option) const { return bad.count(option) > 0; }
};

// A draft with every default of the option table applied.
Draft default_draft(Op op);
// Fills what follows from the rest and validates; `problems` are those found while reading, and all are returned.
core::Result<OpSpec> finish(Draft&& draft, core::Problems problems);

}  // namespace dd::spec
