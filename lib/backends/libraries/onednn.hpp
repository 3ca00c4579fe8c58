// oneDNN through its C interface, opened at run time (DD_ONEDNN: path of another build). Two generations are served: 2.x
// (descriptors are structs filled by the library) and 3.x (descriptors are opaque). The library's own verbose output is
// caught around each call; it must not reach standard output, which may carry a protocol.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/libraries/shared_library.hpp"
#include "core/dtype.hpp"
#include "facts/facts.hpp"

namespace dd::backends {

struct OneDnnApi;  // function pointers, see onednn_api.hpp

struct OneDnn {
  SharedLibrary library;
  std::string problem;  // why it cannot be used; empty: it can
  facts::Version version;
  std::string isa;        // what it allows itself: avx2, avx512_core_bf16, …; empty: it cannot be asked
  std::string capped_by;  // "DNNL_MAX_CPU_ISA=AVX2"; empty: nothing caps it
  std::shared_ptr<OneDnnApi> api;

  bool ok() const { return problem.empty(); }
  bool dispatch_reasons() const { return version >= facts::Version::of(3, 2); }
};

// Opened on first use; opened again when DD_ONEDNN has changed since.
const OneDnn& onednn();
void add_onednn_facts(facts::FactSet& facts);

struct MatmulTensor {
  core::DType dtype;
  std::vector<std::int64_t> shape, strides;  // rank 3
  void* data = nullptr;
};

enum class PostOp { none, relu, gelu_tanh };

struct MatmulCall {
  MatmulTensor x, w, y;
  std::optional<MatmulTensor> bias;
  PostOp post_op = PostOp::none;
  int threads = 0;  // 0: as the library likes
};

struct MatmulAnswer {
  int status = 0;              // of the library: 0 success, 3 unimplemented, …
  std::string failed_call;     // name of the function that gave it
  std::string implementation;  // from the verbose output, or from the query where the build has none
  bool from_verbose = false;
  std::optional<double> seconds;     // as the library timed the execution
  std::vector<std::string> verbose;  // its lines about this call
  std::vector<std::string> reasons;  // of these, why implementations were passed over (3.2 and newer)
  std::int64_t scratch_bytes = 0;

  bool ok() const { return status == 0; }
};

MatmulAnswer matmul(const OneDnn& library, const MatmulCall& call);
// "unimplemented", … as in the C header.
std::string_view status_name(int status);

}  // namespace dd::backends
