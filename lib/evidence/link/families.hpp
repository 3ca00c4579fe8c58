// Operator names by family: which are matrix products, which are attention, and which way the name says it went.
#pragma once
#include <string_view>
namespace dd::evidence {

bool is_gemm_op(std::string_view name);            // the leaf products of aten, and what stands in for them on processors
bool is_packed_product_op(std::string_view name);  // of those: weights in a packed form
bool is_library_linear_op(std::string_view name);  // of those: x times the transposed weight, bias behind it
bool is_compiled_region(std::string_view name);    // what a graph compiler wraps its code in
bool is_attention_op(std::string_view name);  // any member of the attention family, forward or backward
bool is_backward_attention(std::string_view name);

enum class AttentionWay : unsigned char { open, flash, efficient, cudnn, math, cpu_flash, engine };
// What this name by itself says about the choice; `open` for the entry point, which decides nothing.
AttentionWay attention_way(std::string_view name);
std::string_view way_name(AttentionWay way);

bool is_graph_launch(std::string_view call);
bool is_sync_call(std::string_view call);

}  // namespace dd::evidence
