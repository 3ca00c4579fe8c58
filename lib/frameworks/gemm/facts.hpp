// Facts that matrix-product dispatchers look at, from spec, environment, build and versions. What an extra field states
// wins over what the tensors say; what nobody states but a library documents as its default is set as assumed, and what
// has no meaning for the call is not applicable. Facts that stay unknown are those that only the machine can tell.
#pragma once
#include <string>

#include "facts/facts.hpp"
#include "spec/spec.hpp"

namespace dd::frameworks::gemm {

// Which axis of the last two has unit stride, as BLAS could use it: row, column, or strided (a copy is needed).
std::string blas_layout(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride);

// Everything below in order. Facts of the target and of the common spec may be there already; they are kept unless an
// extra field states otherwise.
void add_gemm_facts(const spec::OpSpec& spec, facts::FactSet& facts);
// The same for attention specs of frameworks that keep their own cache types (ggml).
void add_attention_facts(const spec::OpSpec& spec, facts::FactSet& facts);

// Parts, each with its own tests.
void add_extra_facts(const std::map<std::string, std::string>& extra, facts::FactSet& facts);
void add_shape_facts(const spec::OpSpec& spec, facts::FactSet& facts);    // extents, layouts, ranks, alignment
void add_quant_facts(const spec::OpSpec& spec, facts::FactSet& facts);    // groups, ranks of a split layer, weight type
void add_blas_facts(const spec::OpSpec& spec, facts::FactSet& facts);     // the column-major view
void add_context_facts(const spec::OpSpec& spec, facts::FactSet& facts);  // versions, environment, build, flags
void add_default_facts(facts::FactSet& facts);                            // documented defaults, not-applicable rest
void add_calibrated_facts(const spec::OpSpec& spec, facts::FactSet& facts);  // limits that one library looks up by chip and shape

// A vLLM snapshot as year.month: from a date (2026-08) or from a release number (0.12.0).
bool parse_vllm_version(std::string_view text, facts::Version& out);
// Storage bits of an element type by printed name, also of types that the tool itself cannot hold; 0 when unknown.
int bits_of_type(std::string_view name);

}  // namespace dd::frameworks::gemm
