// What a path costs beyond the product itself: bytes of hidden copies and of a dequantized weight, floating-point
// operations and memory traffic. Bounds from sizes alone, never measurements. Saturates instead of overflowing.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "rules/rule.hpp"

namespace dd::frameworks::gemm {

struct Part {
  std::string what;        // "copy of x", "dequantized weight", "bias copied into the result"
  std::int64_t bytes = 0;  // memory that is written and read once more
};

struct Cost {
  double flops = 0;
  std::int64_t bytes = 0;        // x, w (as stored) and the result, each once
  std::vector<Part> hidden;      // what the path does besides
  std::int64_t hidden_bytes() const;
  // Memory traffic in all: operands once, hidden parts written and read.
  std::int64_t traffic() const;
};

// Of a candidate whose unmet findings are given; facts as add_gemm_facts leaves them.
Cost cost_of(std::string_view candidate, const std::vector<std::string_view>& unmet_ids, const facts::FactSet& facts);

// Lower bound on seconds from the limits of a device, 0 where a limit is unknown: arithmetic or traffic, whichever is longer.
double roofline_seconds(const Cost& cost, double flops_per_second, double bytes_per_second);

}  // namespace dd::frameworks::gemm
