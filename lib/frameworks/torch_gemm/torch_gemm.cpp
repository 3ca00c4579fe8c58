// PyTorch's way from a product in Python to the library: which operator a call becomes, and what may serve it.
#include <vector>

#include "frameworks/gemm/product_framework.hpp"
#include "frameworks/gemm/set.hpp"
#include "frameworks/torch_gemm/rules.hpp"

namespace dd::frameworks::gemm {
namespace {

using rules::Rule;

// The operator that matmul and linear end in, by ranks and by whether the leading axes fold.
enum class Route { dot, mv, mm, bmm };

bool folds(const spec::Gemm& g, const facts::FactSet& f) {
  if (g.w.shape.size() > 2) return false;
  if (g.x.shape.size() <= 2) return true;
  return flag(f, Id::w_requires_grad).value_or(false) || flag(f, Id::leading_contiguous).value_or(true);
}

Route route_of(const spec::Gemm& g, const facts::FactSet& f) {
  const std::string call = text(f, Id::call);
  if (call == "dot") return Route::dot;
  if (call == "mv" || call == "addmv") return Route::mv;
  if (call == "bmm" || call == "baddbmm") return Route::bmm;
  if (call == "mm" || call == "addmm") return Route::mm;
  const std::size_t x = g.x.shape.size(), w = g.w.shape.size();
  if (x == 1 && w == 1) return Route::dot;
  if (w == 1) return folds(g, f) ? Route::mv : Route::bmm;
  return folds(g, f) ? Route::mm : Route::bmm;
}

const spec::Gemm& gemm_of(const spec::OpSpec& spec) { return spec.gemm(); }

// A linear layer adds its bias in the same call for two axes, or where it may flatten more.
bool fuses_bias(const spec::OpSpec& spec, const facts::FactSet& f) {
  const spec::Gemm& g = gemm_of(spec);
  if (!g.bias) return false;
  return g.x.shape.size() == 2 || text(f, Id::call) == "addmm" || flag(f, Id::x_contiguous).value_or(true);
}

// The entry point that the call names, or that its types leave as the one of use where it names none (matmul refuses bytes on
// a GPU and gives bytes elsewhere); empty for an ordinary product.
std::string entry_of(const spec::Gemm& g) {
  const auto it = g.extra.find("call");
  if (it != g.extra.end()) return it->second == "matmul" || it->second == "linear" ? std::string() : it->second;
  const auto is_f8 = [](core::DType t) { return t == core::DType::f8_e4m3 || t == core::DType::f8_e5m2; };
  if (g.quant) return {};
  if (g.x.dtype == core::DType::s8 && g.w.dtype == core::DType::s8) return "int_mm";
  return is_f8(g.x.dtype) && is_f8(g.w.dtype) ? "scaled_mm" : "";
}

// A candidate under the name that GPUs have for it, with the limits that it has on a processor.
Candidate on_processor(std::string_view name, std::string_view scope, std::string_view what, Speed speed) {
  Candidate c = candidate(scope, what, speed);
  c.name = name;
  return c;
}

// Packed weights: torch has entry points and chooses none; whoever calls goes through those that may serve, fastest first, and
// writes the weight out when none does.
std::vector<Candidate> packed(const spec::Gemm& g, bool cpu) {
  std::vector<Candidate> out;
  const spec::Quant& q = *g.quant;
  if (q.bits == 4) {
    out.push_back(cpu ? on_processor("torch-tinygemm-int4", "torch-cpu-int4pack", "packed INT4 weights", Speed::fast)
                      : candidate("torch-tinygemm-int4", "packed INT4 weights", Speed::fast));
  } else if (q.bits == 8 && g.x.dtype == core::DType::s8 && g.w.dtype == core::DType::s8) {
    out.push_back(cpu ? on_processor("torch-int-mm", "torch-cpu-int-mm", "INT8 product", Speed::fast) : candidate("torch-int-mm", "INT8 product through cuBLASLt", Speed::fast));
  } else if (q.bits == 8 && core::info(g.x.dtype).bits == 8 && core::is_float(g.x.dtype) && core::is_float(g.w.dtype)) {
    out.push_back(cpu ? on_processor("torch-scaled-mm", "torch-cpu-scaled-mm", "FP8 product with scales", Speed::fallback)
                      : candidate("torch-scaled-mm", "FP8 product with scales", Speed::fast));
  } else if (q.bits == 8 && cpu) {
    out.push_back(candidate("torch-int8pack", "INT8 weights, scaled by column", Speed::fast));
  }
  out.push_back(last_resort("torch-dequant", "the weight written out in the type of x, then a product", Speed::fallback));
  return out;
}

std::vector<Candidate> narrow(const std::string& call, bool cpu) {
  if (cpu && call == "int_mm") return {on_processor("torch-int-mm", "torch-cpu-int-mm", "INT8 product", Speed::fast)};
  if (cpu && call == "scaled_mm") return {on_processor("torch-scaled-mm", "torch-cpu-scaled-mm", "FP8 product with scales", Speed::fallback)};

  static constexpr struct { std::string_view call, scope, text; } rows[] = {
      {"int_mm", "torch-int-mm", "INT8 product through cuBLASLt"},
      {"scaled_mm", "torch-scaled-mm", "FP8 and FP4 product with scales"},
      {"scaled_grouped_mm", "torch-scaled-grouped-mm", "FP8 products in groups"},
      {"grouped_mm", "torch-grouped-mm", "products in groups"},
      {"weight_int4pack_mm", "torch-tinygemm-int4", "packed INT4 weights"}};
  for (const auto& row : rows)
    if (call == row.call) return {candidate(row.scope, row.text, Speed::fast)};
  return {};
}

class TorchProducts final : public ProductFramework {
 public:
  TorchProducts() : ProductFramework("torch", {"torch-"}, {{"2.6", "2.6"}, Confidence::medium_high, "2.6 was read in full, later versions in single files"}) {}

  // Under autocast products are on the list of lower precision: operands arrive in that type, freshly made.
  void add_facts(const spec::OpSpec& spec, facts::FactSet& f) const override {
    if (spec.flags.autocast && !spec.is_attention() && !spec.gemm().quant) {
      const spec::Gemm& g = spec.gemm();
      const core::DType to = *spec.flags.autocast;
      const auto lower = [&](Id id, core::DType type, Id aligned) {
        if (!core::is_float(type) || type == core::DType::f64 || core::info(type).bits < 16 || type == to) return;
        f.set(id, std::string(core::to_text(to)), facts::Provenance::derived, "flags.autocast");
        f.set(aligned, std::int64_t{256}, facts::Provenance::derived, "flags.autocast");
      };
      lower(Id::dtype, g.x.dtype, Id::x_align_bytes);
      lower(Id::dtype_w, g.w.dtype, Id::w_align_bytes);
      if (g.bias) lower(Id::dtype_bias, g.bias->dtype, Id::bias_align_bytes);
      if (!g.out_dtype) lower(Id::dtype_out, g.x.dtype, Id::x_align_bytes);
    }
    ProductFramework::add_facts(spec, f);
  }

  std::span<const Rule> call_rules(const spec::OpSpec& spec) const override {
    // Both tables at once: a linear layer that is not flattened goes through matmul.
    static const std::vector<Rule> both = [] {
      std::vector<Rule> all;
      for (const auto part : {torch_gemm::matmul_rules(), torch_gemm::linear_rules()}) all.insert(all.end(), part.begin(), part.end());
      return all;
    }();
    const bool direct = gemm_of(spec).quant || !entry_of(gemm_of(spec)).empty();
    return direct ? std::span<const Rule>() : std::span<const Rule>(both);
  }

  std::vector<Candidate> candidates(const spec::OpSpec& spec, const facts::FactSet& f) const override {
    const bool cpu = text(f, Id::device_type) == "cpu";
    if (auto special = narrow(entry_of(gemm_of(spec)), cpu); !special.empty()) return special;
    if (gemm_of(spec).quant) return packed(gemm_of(spec), cpu);
    const Route route = route_of(gemm_of(spec), f);
    std::vector<Candidate> out;
    if (cpu) {
      out.push_back(candidate("torch-mkldnn", "oneDNN primitive", Speed::fast));
      // A BLAS library multiplies in the types that it has; the others go through plain loops.
      const core::DType type = gemm_of(spec).x.dtype;
      const Speed blas = type == core::DType::f32 || type == core::DType::f64 ? Speed::fast : Speed::fallback;
      if (route == Route::bmm) out.push_back(candidate("torch-bmm", "MKL batched product, or one product per matrix", blas));
      else out.push_back(last_resort("torch-cpu-blas", "MKL, OpenBLAS or plain loops", blas));
      return out;
    }
    if (route == Route::mm && fuses_bias(spec, f)) out.push_back(candidate("torch-addmm-lt", "cuBLASLt with the bias fused", Speed::fast));
    switch (route) {
      case Route::dot: out.push_back(candidate("torch-dot", "cuBLAS dot product", Speed::fast)); break;
      case Route::mv: out.push_back(candidate("torch-mv", "cuBLAS matrix-vector product", Speed::fast)); break;
      case Route::mm: out.push_back(candidate("torch-mm", "cuBLAS product", out.empty() ? Speed::fast : Speed::fallback)); break;
      case Route::bmm: out.push_back(candidate("torch-bmm", "cuBLAS batched product", Speed::fast)); break;
    }
    return out;
  }
};

}  // namespace

const Framework& torch_products() {
  static const TorchProducts framework;
  return framework;
}

}  // namespace dd::frameworks::gemm
