// A library asked whether it would serve a call on a GPU that need not be here. The question goes to a worker, which may
// crash, hang or be killed: each of these is an answer without a verdict, never the end of a report. The same question
// about the same device is put once. Threads take turns.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "facts/facts.hpp"
#include "facts/profiles.hpp"
#include "report/report.hpp"
#include "session/supervisor.hpp"

namespace dd::session {

struct AskService {
  WorkerKind worker;
  // The device in the library's own form; nullopt where a profile is no device that could be asked about.
  std::optional<std::string> (*device)(const facts::DeviceProfile&) = nullptr;
  std::string (*canonical)(const spec::OpSpec&) = nullptr;
};

class Asker {
 public:
  Asker(AskService service, const WorkerLimits& limits);
  // nullopt: no question for this target, or left out because an earlier one was not answered in time.
  std::optional<report::Asked> ask(const spec::OpSpec& spec, const std::string& library, const facts::DeviceProfile& target);
  std::size_t left_out() const { return left_out_; }

 private:
  report::Asked put(const spec::OpSpec& spec, const std::string& library, const std::string& device);

  AskService service_;
  Supervisor supervisor_;
  std::mutex turn_;
  std::size_t left_out_ = 0;
  bool hopeless_ = false;
  std::map<std::string, report::Asked> answers_;
};

// The library that answers for a backend of any dispatcher; empty where none does.
std::string_view library_behind(std::string_view backend);
// Writes down what the rules are held against. An answer that cannot be relied on, or that is about another
// version than the call names, decides nothing: it is shown with its doubts.
// Returns what was decided: whether the library serves.
std::optional<bool> settle(report::Asked& answer, std::string_view backend, facts::FactSet& facts);

}  // namespace dd::session
