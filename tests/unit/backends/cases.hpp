// Runs one backend on one spec the way a worker does and compares with the reference.
#pragma once
#include <string>

#include "backends/backend.hpp"
#include "compare/compare.hpp"
#include "compare/guard.hpp"
#include "ops/cases/cases.hpp"
#include "support/catch.hpp"

namespace dd::test {

inline core::Tensor poisoned_output(const spec::OpSpec& spec, std::shared_ptr<std::byte>& area, std::int64_t& bytes) {
  const auto layout = ops::cases::output_layout(spec);
  bytes = core::bytes_of(layout.dtype, layout.storage_elements);
  const auto size = static_cast<std::size_t>(compare::area_bytes(bytes));
  area = {static_cast<std::byte*>(::operator new(size, std::align_val_t{64})), [](std::byte* p) { ::operator delete(p, std::align_val_t{64}); }};
  compare::poison_area({area.get(), size}, layout.dtype, bytes);
  core::Tensor out;
  out.dtype = layout.dtype;
  out.shape = layout.shape;
  out.strides = layout.strides;
  out.offset = layout.offset;
  out.storage = {area, area.get() + compare::guard_bytes};
  out.storage_bytes = bytes;
  return out;
}

struct Judged {
  backends::RunResult run;
  report::Comparison comparison;
};

// `budget` keeps the reference exact for test sizes.
inline Judged run_and_compare(const backends::Backend& backend, const spec::OpSpec& spec) {
  auto inputs = ops::cases::make_inputs(spec);
  REQUIRE(inputs.ok());
  const auto reference = ops::cases::run_reference(spec, *inputs);
  REQUIRE(reference.ok());
  std::shared_ptr<std::byte> area;
  std::int64_t bytes = 0;
  core::Tensor out = poisoned_output(spec, area, bytes);
  const backends::RunRequest request{spec, *inputs, out, spec.mode, 0};
  Judged judged{backend.run(request), {}};
  if (judged.run.error) return judged;
  const std::int64_t elements = bytes * 8 / core::info(out.dtype).bits;
  const compare::Got got{out.storage.get(), elements, out.dtype, out.strides, out.offset,
                         compare::guard_damage({area.get(), static_cast<std::size_t>(compare::area_bytes(bytes))}, bytes)};
  const compare::Wanted wanted{reference->values, reference->bound, reference->shape, reference->rows, reference->masked_rows,
                               reference->bound_text, reference->mistrust};
  judged.comparison = compare::compare(got, wanted, {}, {});
  return judged;
}

inline void check_close(const char* name, const spec::OpSpec& spec) {
  const backends::Backend* backend = backends::find_backend(name, spec.is_attention() ? spec::Op::sdpa : spec::Op::gemm);
  REQUIRE(backend);
  if (const auto there = backend->probe(); !there.available) {
    WARN(name << " skipped: " << there.detail);
    return;
  }
  const Judged judged = run_and_compare(*backend, spec);
  INFO(name << (judged.run.error ? ": " + judged.run.error->text : ""));
  REQUIRE_FALSE(judged.run.error);
  INFO("mismatched " << judged.comparison.mismatched << " of " << judged.comparison.total << ", unwritten " << judged.comparison.unwritten
                     << ", worst " << judged.comparison.absolute.value << " allowed " << judged.comparison.absolute.limit);
  CHECK(judged.comparison.verdict == "close");
  CHECK(judged.comparison.guard_damaged == 0);
}

}  // namespace dd::test
