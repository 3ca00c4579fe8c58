// The recorded inputs of an operator, read back from the text the trace keeps: shapes, strides, types, scalars.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "evidence/answer/answer.hpp"
namespace dd::evidence {

struct OpInputs {
  std::vector<TensorInfo> tensors;     // one per argument; not recorded ones have recorded = false
  std::vector<std::string> concrete;   // text of scalars, "" when none
  bool any = false;
};

OpInputs read_inputs(std::string_view text);

// batch, M, K, N of a product; false when the shapes do not fit the operator.
struct Product {
  std::int64_t batch = 1, m = 0, k = 0, n = 0;
  int a = 0, b = 1;  // which arguments are multiplied
};
bool product_of(std::string_view op, const OpInputs& inputs, Product& out);

// "c10::BFloat16" -> "bf16"; empty when it is not a type that a spec can carry.
std::string spec_dtype(std::string_view type);
int dtype_bytes(std::string_view spec_dtype);

}  // namespace dd::evidence
