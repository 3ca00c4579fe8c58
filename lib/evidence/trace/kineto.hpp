// Reads a profiler trace in the Chrome trace form (torch profiler of any era, plain or gzip) into records.
// Never fails on content: what cannot be read is counted in Trace::losses.
#pragma once
#include <functional>
#include <string>

#include "core/result.hpp"
#include "evidence/trace/records.hpp"
#include "evidence/trace/source.hpp"
namespace dd::evidence {

using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

void read_kineto(ByteSource& source, Trace& trace, const Progress& progress = {});

// Operators whose inputs are kept: products, attention, copies, softmax.
bool keeps_inputs(std::string_view op_name);

}  // namespace dd::evidence
