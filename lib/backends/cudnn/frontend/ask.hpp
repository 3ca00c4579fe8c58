// cuDNN asked whether it would serve a call on a GPU that need not be here: the device is given as cuDNN's own JSON of
// device properties (cuDNN 9.8 and newer). The answer lists every engine, those that accept and for each that declines
// cuDNN's own reason. Grade `asked`: nothing has run. Known to be wrong or silent about: pointer alignment, rows that are
// not 16-byte aligned, total memory, f32 and f64 products (refused for lack of a device, whatever the engine could do).
//
// Call it in a worker process only: cuDNN crashes on some input. The first call takes about a second, later ones 5 ms.
// Without the frontend's headers at build time frontend_absent.cpp takes the place of frontend.cpp and engines.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "facts/profiles.hpp"
#include "report/report.hpp"
#include "spec/spec.hpp"

namespace dd::cudnn {

inline constexpr std::int64_t copy_bytes = 16;  // what cuDNN's kernels copy at a time, and so want as alignment

struct AskTensor {
  core::DType dtype = core::DType::f16;
  std::vector<std::int64_t> dim, stride;
};

struct AttentionQuestion {
  AskTensor q, k, v, out;         // B, H, T, D
  std::optional<AskTensor> bias;  // added to the scores; cuDNN has no boolean masks
  int causal = 0;                 // 0 none, 1 top left, 2 bottom right
  double scale = 1.0;
  double dropout_p = 0.0;
  bool train = false;             // softmax statistics are written for a backward pass
};

struct ProductQuestion {
  AskTensor x, w, out;            // B, M, K | B, K, N | B, M, N
  core::DType compute = core::DType::f32;
};

using EngineAnswer = report::AskedEngine;
using Answer = report::Asked;

bool ask_built();                  // whether this build can ask at all
std::string frontend_version();    // empty when it cannot

Answer ask(const AttentionQuestion& question, const std::string& device_json);
Answer ask(const ProductQuestion& question, const std::string& device_json);
Answer not_asked(std::string code, std::string why);

// A call of the command line asked as a whole, with the doubts that belong to the answer.
Answer answer(const spec::OpSpec& spec, const std::string& device_json);
// What an answer about this call cannot be relied on for.
std::vector<std::string> doubts(const spec::OpSpec& spec, const Answer& answer, std::int64_t device_bytes);

// The mask as this tool's own backend hands it to cuDNN. An axis that a stride of 0 repeats has extent 1 there, which is how
// cuDNN knows broadcasting. What cuDNN cannot take as it lies is written out dense first: booleans (as 0 and minus infinity
// of q's type), a strided last axis, and a start or rows off 16 bytes, which its kernels read past without a check.
struct BiasForm {
  AskTensor form;
  bool written_out = false;
};
// `mask` with four axes, `start_bytes` where it starts.
BiasForm bias_form(AskTensor mask, core::DType type_of_q, std::int64_t start_bytes);

// From a valid spec: as this tool's own backend would call cuDNN, or as a framework does, which hands its mask on as it lies
// (a boolean one as a bias of q's type).
AttentionQuestion attention_question(const spec::OpSpec& spec);
ProductQuestion product_question(const spec::OpSpec& spec);

// cuDNN's JSON of device properties from the few figures that a profile has. Of its 23 fields only the version and the
// shared memory limit decide about support; sizes and clocks only rank matrix product kernels. The rest are typical values.
struct AskDevice {
  int compute_capability = 90;  // 10 * major + minor
  int sm_count = 132;
  std::int64_t shared_optin_bytes = 0;  // 0: the architecture's own limit
  std::int64_t memory_bytes = 80LL << 30, l2_bytes = 50LL << 20;
  int sm_clock_khz = 1755000, memory_clock_khz = 2619000;
  std::string name = "device";
};
std::string device_properties(const AskDevice& device);
// cuDNN's own record of the device where the profile has one. nullopt: no NVIDIA GPU.
std::optional<std::string> device_properties_of(const facts::DeviceProfile& profile);

}  // namespace dd::cudnn
