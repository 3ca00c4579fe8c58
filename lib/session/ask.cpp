#include "session/ask.hpp"

#include <fmt/format.h>

#include "dispatch/asked.hpp"

namespace dd::session {
namespace {

using facts::Id;
using facts::Provenance;

// What the library is asked about: where the call comes from and under which policy makes no difference to it. The
// framework stays, because what is a valid call is the framework's to say.
spec::OpSpec question_of(spec::OpSpec spec) {
  spec::Context context;
  context.framework = spec.context.framework;
  spec.context = std::move(context);
  spec.policy = {};
  spec.further_modes.clear();
  return spec;
}

}  // namespace

Asker::Asker(AskService service, const WorkerLimits& limits) : service_(std::move(service)), supervisor_(limits) {}

std::optional<report::Asked> Asker::ask(const spec::OpSpec& spec, const std::string& library, const facts::DeviceProfile& target) {
  const auto device = service_.device(target);
  if (!device) return std::nullopt;
  const spec::OpSpec question = question_of(spec);
  const std::string key = library + *device + service_.canonical(question);
  const std::lock_guard<std::mutex> hold(turn_);
  auto known = answers_.find(key);
  if (known == answers_.end()) {
    if (hopeless_) {
      ++left_out_;
      return std::nullopt;
    }
    known = answers_.emplace(key, put(question, library, *device)).first;
  }
  report::Asked out = known->second;
  out.device = target.name;
  return out;
}

report::Asked Asker::put(const spec::OpSpec& spec, const std::string& library, const std::string& device) {
  Job job;
  job.backend = library;
  job.policy = "ask";
  job.spec_json = service_.canonical(spec);
  job.device = device;
  const Reply reply = supervisor_.run(service_.worker, std::move(job));
  if (reply.ending == Ending::answered && reply.done.asked) return *reply.done.asked;
  report::Asked out;
  out.library = library;
  // Every further question would cost as much and get as little.
  if (reply.ending == Ending::timed_out || reply.ending == Ending::no_start) hopeless_ = true;
  out.error = error_of(reply).value_or(report::Error{"protocol", "the worker answered without an answer", "supervisor"});
  if (!reply.printed.empty()) out.error->text += "; it printed: " + reply.printed.substr(0, 500);
  return out;
}

std::string_view library_behind(std::string_view backend) {
  return backend == "cudnn" || backend == "torch-cudnn" ? "cudnn" : "";
}

std::optional<bool> settle(report::Asked& answer, std::string_view backend, facts::FactSet& facts) {
  if (!answer.answered()) {
    dispatch::set_asked_fact(facts, backend, std::nullopt, answer.error->text);
    return std::nullopt;
  }
  const std::string who = fmt::format("{} {}", answer.library, answer.version);
  facts::Version here;
  if (!facts::Version::parse(answer.version, here)) return std::nullopt;
  const auto* named = std::get_if<facts::Version>(&facts.value(Id::cudnn_version));
  const bool stated = named && facts[Id::cudnn_version].provenance != Provenance::assumed;
  if (stated && *named != here) {
    answer.doubts.push_back(fmt::format("{} was asked, the call is about {}", who, named->to_text()));
    return std::nullopt;
  }
  // This program's own dispatcher uses the library that is here.
  if (!stated && backend == library_behind(backend)) facts.set(Id::cudnn_version, here, Provenance::library, who);
  if (answer.serves() && !answer.doubts.empty()) return std::nullopt;
  dispatch::set_asked_fact(facts, backend, answer.serves(), who);
  return answer.serves();
}

}  // namespace dd::session
