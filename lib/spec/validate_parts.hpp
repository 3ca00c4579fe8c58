// The parts of validate(): internal to lib/spec. Each adds every problem of its part.
#pragma once
#include <fmt/format.h>

#include "core/result.hpp"
#include "spec/spec.hpp"

namespace dd::spec {

// What can be said when the shapes are not known.
core::Problems validate_without_shapes(const OpSpec& spec);

class Checks {
 public:
  explicit Checks(core::Problems& problems) : problems_(problems) {}
  void fail(std::string field, std::string seen, std::string wanted, std::string message) {
    problems_.push_back({std::move(field), std::move(seen), std::move(wanted), std::move(message), {}, 0});
  }

 private:
  core::Problems& problems_;
};

struct View {
  const char* name;
  const Dims& shape;
  const std::optional<Dims>& strides;
  std::int64_t offset;
  const std::optional<std::int64_t>& storage;
  int bits;
  bool is_output = false;
};

// Extents, strides, offset and storage of one tensor; true when its shape may be used by further checks.
bool check_view(const View& view, std::size_t least_rank, std::size_t most_rank, Checks& checks);
// Whether two different indices may name one element. Exact for small tensors, else a sufficient condition.
bool may_overlap(const Dims& shape, const Dims& strides);

// `fit`: also whether q, k and v go together.
void check_attention(const Attention& attention, bool shapes, bool fit, Checks& checks);
// `odd_groups`: quantization groups need not divide the reduction length (what a framework does then is for its rules to say).
void check_gemm(const Gemm& gemm, bool shapes, bool odd_groups, Checks& checks);

}  // namespace dd::spec
