#include "support/fakes/framework.hpp"

#include <unistd.h>

#include <cstring>
#include <iostream>
#include <string>

#include "session/mapped_file.hpp"
#include "session/protocol.hpp"
#include "session/safetensors.hpp"
#include "support/fakes/fakes.hpp"
#include "support/fakes/spec_reader.hpp"

namespace dd::test {
namespace {

using session::Done;

void say(const std::string& line) { std::cout << line << std::flush; }

// "fused,choice=torch-math,support=no,gradients": what torch does, then what its own queries say before.
bool has_word(const std::string& how, const std::string& word) { return ("," + how + ",").find("," + word + ",") != std::string::npos; }

void say_answers(Done& d, const std::string& how) {
  if (has_word(how, "choice=torch-math")) d.answers.push_back({"torch-math", {"_fused_sdp_choice", "chosen", ""}});
  if (has_word(how, "choice=torch-cpu-flash")) d.answers.push_back({"torch-cpu-flash", {"_fused_sdp_choice", "chosen", ""}});
  if (has_word(how, "support=no")) d.answers.push_back({"torch-cpu-flash", {"can_use_it", "no", "Both fused kernels do not support non-zero dropout."}});
  if (has_word(how, "support=yes")) d.answers.push_back({"torch-cpu-flash", {"can_use_it", "yes", ""}});
  if (has_word(how, "gradients")) d.gradients = {{"dq", 0, 96, 1e-7, 1e-6}, {"dk", 5, 96, 0.5, 1e-6}};
}

Done serve(const session::Job& job, const std::string& words) {
  Done d;
  d.id = job.id;
  const std::string how = words.substr(0, words.find(','));
  say_answers(d, words);
  const bool fused_refuses = how == "refuse";
  const bool allow = job.policy == "allow";
  std::string name = job.backend;
  if (allow) name = how == "fused" || how == "old" ? "torch-cpu-flash" : "torch-math";
  if (allow && !job.allowed.empty()) name = job.allowed.front();
  if (name == "torch-cpu-flash" && fused_refuses) {
    d.outcome = report::Outcome::refused;
    d.error = report::Error{"RuntimeError", "No available kernel. Aborting execution.", "torch"};
    return d;
  }
  const auto spec = read_spec(job.spec_json);
  const auto inputs = session::read_safetensors(job.inputs);
  const auto file = session::MappedFile::open(job.output, session::MapMode::read_write);
  if (!spec || !inputs || !file) return d;
  core::Tensor out;
  out.shape = job.output_shape;
  out.strides = job.output_strides;
  out.storage = {*file, (*file)->data() + job.output_offset};
  out.storage_bytes = 4 * spec::element_count(out.shape).value_or(0);
  for (const backends::Backend& b : fake_backends())
    if (b.name == "fake-good") b.run({*spec, inputs->tensors, out, job.mode, 1});
  d.outcome = report::Outcome::matched;
  if (allow) d.ran = name;
  return d;
}

}  // namespace

int run_framework(const char* how) {
  session::Hello hello{session::protocol_version, "torch", {{"torch", std::strcmp(how, "old") ? "2.6.0" : "2.5.0"}}, {}};
  if (!std::strcmp(how, "missing")) hello.versions.clear();
  std::string line = session::to_line(hello);
  say(line);
  while (std::getline(std::cin, line)) {
    const auto job = session::parse_job(line);
    if (!job) continue;
    say(session::to_line(session::Started{job->id}));
    say(session::to_line(serve(*job, how)));
  }
  return 0;
}

}  // namespace dd::test
