#include "frameworks/bitsandbytes/rules.hpp"
#include "frameworks/gemm/facts.hpp"
#include "frameworks/gemm/set.hpp"
#include "frameworks/ggml/rules.hpp"

namespace dd::frameworks::gemm {
namespace {

std::int64_t rest(std::int64_t value, std::int64_t factor) { return factor > 0 ? value % factor : 0; }

// The names in which vLLM speaks of stored weights: biased without zero points, plain with them.
std::string weight_type(const facts::FactSet& f) {
  const std::string w = text(f, Id::dtype_w);
  if (w == "f8_e4m3") return "e4m3";
  if (w == "f4_e2m1") return "e2m1";
  const std::int64_t bits = integer_or(f, Id::quant_bits, 0);
  if (bits <= 0) return {};
  const std::string plain = "u" + std::to_string(bits);
  if (flag(f, Id::quant_zero_point).value_or(false)) return plain;
  return plain + "b" + std::to_string(std::int64_t{1} << (bits - 1));
}

std::string ggml_type(const facts::FactSet& f) {
  const std::string w = text(f, Id::dtype_w);
  if (w == "f16") return "F16";
  if (w == "bf16") return "BF16";
  if (w == "f32") return "F32";
  return {};
}

// The width in which a kernel that cannot multiply packed weights writes them out: that of the activations, 16 bit where
// those are narrower. ggml takes 16 bit where the chip is fast in it, whatever the activations are.
void add_dequantized(const spec::OpSpec& spec, facts::FactSet& f) {
  const spec::Gemm& g = spec.gemm();
  const std::string type = text(f, Id::quant_type);
  const bool ggml = spec.context.framework == "ggml" && !type.empty();
  if (ggml ? type == "F16" || type == "BF16" || type == "F32" : !g.quant && core::info(g.w.dtype).bits >= 16) return;
  std::int64_t bits = std::max(16, bits_of_type(text(f, Id::dtype)));
  if (ggml) {
    const std::int64_t cc = integer_or(f, Id::compute_capability, 90);
    bits = cc >= 60 && cc != 61 ? 16 : 32;
  }
  const std::int64_t weights = times(times(integer_or(f, Id::n, 1), integer_or(f, Id::k, 1)), integer_or(f, Id::gemm_batch, 1));
  f.set(Id::dequantized_bytes, times(weights, bits / 8), Provenance::derived, "w.shape in " + std::to_string(bits) + " bit");
}

}  // namespace

void add_quant_facts(const spec::OpSpec& spec, facts::FactSet& f) {
  const spec::Gemm& g = spec.gemm();
  if (g.quant) {
    const spec::Quant& q = *g.quant;
    set_new(f, Id::quantized, true, Provenance::spec, "quant");
    set_new(f, Id::quant_bits, std::int64_t{q.bits}, Provenance::spec, "quant.bits");
    set_new(f, Id::quant_act_bits, std::int64_t{q.act_bits}, Provenance::spec, "quant.act_bits");
    set_new(f, Id::quant_group, q.group_size, Provenance::spec, "quant.group_size");
    set_new(f, Id::quant_zero_point, q.zero_point, Provenance::spec, "quant.zero_point");
    set_new(f, Id::quant_act_order, q.act_order, Provenance::spec, "quant.act_order");
    set_new(f, Id::quant_packing, q.packing, Provenance::spec, "quant.packing");
    set_new(f, Id::symmetric, !q.zero_point, Provenance::derived, "quant.zero_point");
  } else {
    set_new(f, Id::quantized, false, Provenance::spec, "quant");
    for (const Id id : {Id::quant_bits, Id::quant_act_bits, Id::quant_group, Id::quant_zero_point, Id::quant_act_order, Id::quant_packing, Id::symmetric})
      set_new(f, id, facts::NotApplicable{});
  }
  const std::int64_t n = integer_or(f, Id::n, 1), k = integer_or(f, Id::k, 1), group = integer_or(f, Id::quant_group, -1);
  const std::int64_t k_rank = integer_or(f, Id::k_part, k), n_rank = integer_or(f, Id::n_part, n), k_layer = integer_or(f, Id::k_full, k);
  set_new(f, Id::k_rank_size, k_rank);
  set_new(f, Id::n_rank_size, n_rank);
  set_new(f, Id::k_layer, k_layer);
  set_new(f, Id::k_sharded, integer(f, Id::k_part).has_value() && k_rank != k_layer);
  set_new(f, Id::group_count_rest, rest(k_rank, group));
  set_new(f, Id::group_rest_layer, rest(k_layer, group));
  set_new(f, Id::group_splits_k, group > 0 && group < k_layer);
  set_new(f, Id::n_group_rest, rest(n_rank, group));
  if (const auto bits = integer(f, Id::quant_bits); bits && *bits > 0 && *bits <= 32) set_new(f, Id::pack_factor, 32 / *bits);
  set_new(f, Id::pack_factor, facts::NotApplicable{});
  set_new(f, Id::block_size, group > 0 ? group : std::int64_t{64}, group > 0 ? Provenance::derived : Provenance::assumed, "quant.group_size");
  set_new(f, Id::block_rest, rest(k, integer_or(f, Id::block_size, 64)));
  if (const auto tiles = integer(f, Id::inner_k_tiles)) set_new(f, Id::inner_tile, times(16, *tiles));
  set_new(f, Id::inner_tile, facts::NotApplicable{});
  if (const std::string type = weight_type(f); !type.empty()) set_new(f, Id::weight_type, type, Provenance::derived, "quant");
  if (const std::string type = ggml_type(f); !type.empty()) set_new(f, Id::quant_type, type, Provenance::derived, "w.dtype");
  add_dequantized(spec, f);
}

void add_calibrated_facts(const spec::OpSpec& spec, facts::FactSet& f) {
  const std::string& framework = spec.context.framework;
  const bool bnb = framework == "bitsandbytes" || framework == "bnb", ggml = framework == "ggml";
  const std::int64_t n = integer_or(f, Id::n, 1), k = integer_or(f, Id::k, 1), rows = integer_or(f, Id::rows, 1);
  if (bnb) set_new(f, Id::bnb_blocks, n / 64 + (n % 64 != 0));
  const auto cc = integer(f, Id::compute_capability);
  if (!cc) return;
  if (bnb) {
    const auto fused = bitsandbytes::fused_limits(n, k, *cc, integer_or(f, Id::sm_count, 0), rows);
    if (fused.known) set_new(f, Id::bnb_fused_rows, fused.rows, Provenance::library, "calibration of the library");
    set_new(f, Id::bnb_narrow_band, (rows == 6 || rows == 7) && fused.narrow_band, Provenance::library, "calibration of the library");
  } else {
    set_new(f, Id::bnb_fused_rows, facts::NotApplicable{});
  }
  const std::string type = ggml ? text(f, Id::quant_type) : std::string();
  if (!type.empty()) set_new(f, Id::mmvq_columns, text(f, Id::call) == "mul_mat_id" ? ggml::experts_columns(type, *cc) : ggml::mmvq_columns(type, *cc), Provenance::library, "calibration of the library");
  if (type == "F32") set_new(f, Id::mmvf_columns, std::int64_t{*cc == 75 ? 4 : 3}, Provenance::library, "calibration of the library");
  if ((type == "F16" || type == "BF16") && *cc >= 80) set_new(f, Id::mmvf_columns, std::int64_t{1}, Provenance::library, "calibration of the library");
  set_new(f, Id::mmvf_columns, facts::NotApplicable{});
}

}  // namespace dd::frameworks::gemm
