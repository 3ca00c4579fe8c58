// What a path costs: arithmetic, memory traffic and extra memory (score matrix, hidden copies, dequantized weights), and
// the time that the device's peaks allow at best. A bound, never a prediction. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "facts/profiles.hpp"
#include "frameworks/framework.hpp"
#include "report/report.hpp"
#include "spec/spec.hpp"

namespace dd::session {

struct PathCost {
  std::string path;             // "fused path", "materialised path", or the backend of a matrix product
  double flops = 0;             // of the forward pass
  double traffic = 0;           // bytes that have to move at least
  double extra_memory = 0;      // bytes beyond inputs and output
  std::string extra_text;       // what the extra memory is
  std::optional<double> bound;  // seconds; absent when the device's peaks are not known
};

// Of attention: the fused path first, then the materialised one.
std::vector<PathCost> attention_costs(const spec::OpSpec& spec, const facts::DeviceProfile* device);
// Of a matrix product on one backend, with the copies that its unmet findings bring.
PathCost product_cost(const spec::OpSpec& spec, const frameworks::Diagnosis& diagnosis, const frameworks::CandidateResult& candidate, const facts::FactSet& facts,
                      const facts::DeviceProfile* device);

// Adds one line for each path of interest to the verdict: the chosen one, and the fast one where that is another.
void add_cost(const spec::OpSpec& spec, const frameworks::Diagnosis& diagnosis, const facts::FactSet& facts, const facts::DeviceProfile* device, report::Case& c);

// The device's peak rate for this type, operations a second: tensor cores where the profile lists them.
std::optional<double> peak_rate(const facts::DeviceProfile& device, core::DType dtype, bool tf32);

std::string bytes_text(double bytes);  // "4.0 MiB"

}  // namespace dd::session
