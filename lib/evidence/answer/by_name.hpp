// What a kernel's name alone says about the call that it served, in words: a reading of the name by the table, never
// an observation. Used where only names are known: on the command line, in pasted lines and tables.
#pragma once
#include <string>
#include <vector>

#include "evidence/answer/answer.hpp"
namespace dd::evidence {

struct NameReading {
  PathVerdict sdpa = PathVerdict::none, gemm = PathVerdict::none;
  std::string tells;      // "cublas, matrix product, fp32, no tensor cores, tile 128x128"
  std::string because;    // why that is or is not the fast path
  std::string_view rule;  // row that explains it; empty where nothing is wrong
};
NameReading read_name(const KernelClass& kind);

// An attention kernel that keeps the scores on the chip, as opposed to a straight or reference one.
bool is_fused_attention(const KernelClass& kind);

// Verdict, reasons and findings for `kernels`, which are added to the answer.
void add_named_kernels(TraceAnswer& answer, std::vector<KernelSummary> kernels);

}  // namespace dd::evidence
