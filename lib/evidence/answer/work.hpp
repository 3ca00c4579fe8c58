// Shared working state of the answer: per operator the product or attention call it belongs to, per name its class.
#pragma once
#include <unordered_map>
#include <vector>

#include "evidence/answer/answer.hpp"
#include "evidence/answer/inputs.hpp"
namespace dd::evidence {

// What an operator stands inside of, itself included.
enum Inside : unsigned char { in_product = 1, in_attention = 2, in_conversion = 4, in_contiguous = 8, in_convolution = 16 };

class Work {
 public:
  Work(Trace& trace, TraceAnswer& answer);
  const KernelClass& kind(std::uint32_t name);
  const OpInputs& inputs(std::uint32_t text);
  std::string_view name(std::uint32_t id) const { return trace.text[id]; }
  double us(std::size_t gpu) const { return static_cast<double>(trace.gpu[gpu].duration) / 1000.0; }
  // GPU events inside each owner operator, grouped: pairs (owner, event), sorted by owner and launch.
  using Owned = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  Owned owned_by(const std::vector<std::uint32_t>& owner_of_op) const;
  // The role with what the operator's arguments decide: cast, layout change or plain copy.
  Role role_of(std::uint32_t gpu);

  Trace& trace;
  TraceAnswer& answer;
  Links links;
  std::vector<std::uint32_t> product_of_op;    // outermost product operator, or no_index
  std::vector<std::uint32_t> attention_of_op;  // outermost attention operator, or no_index
  std::vector<unsigned char> inside;           // Inside flags

 private:
  void mark_ops();
  std::unordered_map<std::uint32_t, KernelClass> kinds_;
  std::unordered_map<std::uint32_t, OpInputs> inputs_;
};

void count_events(Work& work);     // roles, kernels, copies, synchronisation
void group_products(Work& work);
void group_attention(Work& work);
void find_written_out(Work& work);
void judge(Work& work);
void add_findings(TraceAnswer& answer, const Trace& trace);
void add_specs(TraceAnswer& answer);
void add_call_specs(TraceAnswer& answer);  // of library logs
GemmState gemm_state(const KernelClass& kind);

}  // namespace dd::evidence
