// One file in, one answer out: tells the kind of evidence from its content and calls the reader for it.
#pragma once
#include <string>

#include "core/result.hpp"
#include "evidence/answer/answer.hpp"
#include "evidence/diff/diff.hpp"
#include "evidence/trace/kineto.hpp"
namespace dd::evidence {

struct OpenOptions {
  Progress progress;
  ExpandLimit limit;
  AnswerOptions answer;
};

// Fails only when the file cannot be opened. "-" is standard input.
core::Result<TraceAnswer> answer_file(const std::string& path, const OpenOptions& options = {});
// The same for bytes at hand (a pasted line).
TraceAnswer answer_memory(std::string_view bytes, const std::string& name, const OpenOptions& options = {});
// Two traces, logs or reports, whichever the files are.
core::Result<Difference> compare_files(const std::string& a, const std::string& b, const OpenOptions& options = {});

}  // namespace dd::evidence
