// The line protocol between the supervisor and a worker: one JSON object a line, "dd" says which message it is.
// README.md of this folder documents it for workers in other languages. Everything that comes from a worker is untrusted:
// what is missing or of the wrong type takes its default, and amounts are bounded.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/dtype.hpp"
#include "core/result.hpp"
#include "report/report.hpp"
#include "spec/spec.hpp"

namespace dd::session {

constexpr int protocol_version = 1;
constexpr std::size_t line_limit = 4 << 20;  // bytes of one line; longer ones are dropped as a whole

struct BenchPlan {
  int min_runs = 10;
  double min_seconds = 0.2;  // of measured runs
  double max_seconds = 5.0;  // warm-up included
  bool operator==(const BenchPlan&) const = default;
};

struct Job {
  std::int64_t id = 0;
  std::string backend;
  std::string spec_json;  // canonical spec
  spec::Mode mode = spec::Mode::eager;
  std::string policy = "force";  // allow | force: what the attempt is for; a framework worker sets its switches by it
  std::vector<std::string> allowed;  // under allow: backends that the framework may use, in order; empty: all
  std::string inputs;            // safetensors file
  std::string output;            // file of guard band, data, guard band
  std::int64_t output_offset = 0;  // bytes before the data
  core::DType output_dtype = core::DType::f32;
  std::vector<std::int64_t> output_shape;
  std::vector<std::int64_t> output_strides;  // elements; empty: contiguous
  std::int64_t output_start = 0;             // storage offset of the first element, in elements
  int threads = 0;
  std::optional<BenchPlan> bench;
};

struct Hello {
  int protocol = 0;
  std::string worker;
  std::map<std::string, std::string> versions;
  std::string problem;  // why it will answer every job with unavailable; empty otherwise
};
struct Started {
  std::int64_t id = 0;
};
struct Note {  // free text that belongs to the job in progress
  std::int64_t id = 0;
  std::string text;
};
struct BackendAnswer {  // a framework's own query about a backend, asked before the call
  std::string backend;
  report::Answer answer;
};
struct Done {
  std::int64_t id = 0;
  report::Outcome outcome = report::Outcome::failed;  // matched means "ran"
  std::optional<report::Error> error;
  report::Evidence evidence;
  std::optional<report::Timing> timing;
  std::vector<BackendAnswer> answers;
  std::vector<report::Gradient> gradients;  // of a training call, compared by the worker
  std::string ran;       // backend that a framework picked by itself, when the worker knows
  double seconds = 0;    // of the call alone
  std::int64_t peak_bytes = 0;  // memory beyond what was held before the call; 0: not known
};
using Message = std::variant<std::monostate, Hello, Started, Note, Done>;  // monostate: not a message, so it is print-out

std::string to_line(const Job& job);      // with the newline
std::string to_line(const Hello& hello);  // each starts with a newline too, which ends what a library left unfinished
std::string to_line(const Started& started);
std::string to_line(const Done& done);

Message parse_message(std::string_view line);
core::Result<Job> parse_job(std::string_view line);

// Cuts a byte stream into lines of bounded length.
class LineReader {
 public:
  void feed(std::string_view bytes);
  bool next(std::string& line);           // without the newline
  std::string take_rest();                // what came after the last newline
  std::int64_t dropped_lines() const { return dropped_; }

 private:
  std::string buffer_;
  std::vector<std::string> ready_;
  std::size_t taken_ = 0;
  bool dropping_ = false;
  std::int64_t dropped_ = 0;
};

}  // namespace dd::session
