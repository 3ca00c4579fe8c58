// What every matrix product on a device begins with, and arguments for kernels of our own from a request whose inputs lie
// on the device.
#pragma once
#include "backends/common/device_call.hpp"
#include "gemm/launch.hpp"

namespace dd::backends {

struct ProductCall {
  std::unique_ptr<DeviceCall> device;
  ops::GemmProblem p;
  ops::TensorView out;
};
// nullopt and `problem` filled when there is no device, no room, not what `available` asks for, or no such product.
std::optional<ProductCall> open_product(const RunRequest& request, RunResult& problem, Availability (*available)() = own_kernels_available);

// The same with the arguments of kernels of our own.
std::optional<ProductCall> open_product(const RunRequest& request, kernels::GemmArgs& args, report::Evidence& evidence, RunResult& problem);
// A dense tensor of another type in the shape of `like`, rows or columns of unit stride; one matrix where one serves all.
ops::TensorView dense_like(const ops::TensorView& like, core::DType dtype, bool columns);

}  // namespace dd::backends
