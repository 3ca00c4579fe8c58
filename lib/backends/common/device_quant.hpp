// Quantized weights for the kernels in kernels/quant: codes as runs along k, scales in f32, zero points as bytes. The kernels
// read each column of w as one run along k; weights that lie otherwise are repacked on the host before they are uploaded
// (once per call here; a real program does it once per checkpoint), and that is said with its bytes.
#pragma once
#include "backends/common/device_call.hpp"
#include "ops/gemm/gemm.hpp"
#include "quant/args.hpp"

namespace dd::backends {

// Quantized weights, activations that are not, scales in order, zero points only with unsigned codes, no epilogue: what the
// kernels have a form for.
bool weights_only(const ops::GemmProblem& problem);

class PackedWeights {
 public:
  PackedWeights(const ops::TensorView& w, DeviceCall& call) : w_(w), call_(call) {}
  // Fills packed and packed_stride for one matrix of the batch; a matrix that serves all is uploaded once.
  void place(std::int64_t batch, kernels::QuantArgs& args);
  report::Conversion conversion() const { return {"repack", "w to runs along k, on the host before upload", bytes_}; }

 private:
  const ops::TensorView& w_;
  DeviceCall& call_;
  const std::uint8_t* placed_ = nullptr;
  std::int64_t stride_ = 0, bytes_ = 0;
};

// Scales, zero points and the group size. False when a zero point is no whole number from 0 to 255.
bool place_weight_scales(const ops::GemmProblem& problem, DeviceCall& call, kernels::QuantArgs& args);

}  // namespace dd::backends
