// cpu-flash: tiles of queries and keys with a running maximum; scores live in one tile and are never stored.
#include <fmt/format.h>

#include "backends/common/run.hpp"
#include "backends/tables.hpp"
#include "ops/simd/kernels.hpp"

namespace dd::backends::cpu_flash {

RunResult run(const RunRequest& request) {
  return run_guarded(request, [&] {
    const auto problem = ops::cases::attention_problem(request.spec, request.inputs);
    const auto out = ops::cases::output_view(request.spec, request.out);
    RunResult result = own_kernel(request, ops::attention_flash_cpu(problem, out, run_options(request)), "attention_flash_cpu",
                                  "online softmax in f32, " + kernel_detail(request));
    if (!result.error) result.evidence.notes.push_back("scores never materialised");
    return result;
  });
}

// A tile's work space per thread; the row count is that of the kernel's query block.
std::int64_t extra_bytes(const spec::OpSpec& spec) {
  const spec::Attention& a = spec.attention();
  const std::int64_t d = spec::attention_dims(a.q.shape).size, dv = spec::attention_dims(a.v.shape).size;
  constexpr std::int64_t rows = 24;
  const std::int64_t floats = ops::simd::kernels().attention_work_f32(rows, d, dv, false) + rows * dv;
  return ops::thread_count(0) * floats * 4;
}

}  // namespace dd::backends::cpu_flash
