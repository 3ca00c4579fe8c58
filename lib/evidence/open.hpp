// One file in, one answer out: tells the kind of evidence from its content and calls the reader for it.
#pragma once
#include <string>

#include "core/result.hpp"
#include "evidence/answer/answer.hpp"
#include "evidence/trace/kineto.hpp"
namespace dd::evidence {

struct OpenOptions {
  Progress progress;
  ExpandLimit limit;
  AnswerOptions answer;
};

// Fails only when the file cannot be opened or its kind cannot be told.
core::Result<TraceAnswer> answer_file(const std::string& path, const OpenOptions& options = {});

}  // namespace dd::evidence
