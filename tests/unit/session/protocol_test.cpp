#include <nlohmann/json.hpp>

#include "session/protocol.hpp"
#include "support/catch.hpp"

using namespace dd;
using namespace dd::session;

namespace {

std::string stripped(std::string line) {
  while (!line.empty() && line.back() == '\n') line.pop_back();
  while (!line.empty() && line.front() == '\n') line.erase(0, 1);
  return line;
}

}  // namespace

TEST_CASE("protocol: a job survives the line") {
  Job job;
  job.id = 7;
  job.backend = "cpu-flash";
  job.spec_json = R"({"op":"sdpa"})";
  job.mode = spec::Mode::captured;
  job.policy = "allow";
  job.allowed = {"a", "b"};
  job.inputs = "/tmp/in \"quoted\"";
  job.output = "/tmp/out";
  job.output_offset = 4096;
  job.output_dtype = core::DType::bf16;
  job.output_shape = {1, 2, 3};
  job.output_strides = {12, 6, 2};
  job.output_start = 5;
  job.threads = 2;
  job.bench = BenchPlan{5, 0.5, 3.0};
  const auto back = parse_job(stripped(to_line(job)));
  REQUIRE(back.ok());
  CHECK(back->id == 7);
  CHECK(back->backend == job.backend);
  CHECK(back->spec_json == job.spec_json);
  CHECK(back->mode == job.mode);
  CHECK(back->policy == job.policy);
  CHECK(back->allowed == job.allowed);
  CHECK(back->inputs == job.inputs);
  CHECK(back->output == job.output);
  CHECK(back->output_offset == 4096);
  CHECK(back->output_dtype == job.output_dtype);
  CHECK(back->output_shape == job.output_shape);
  CHECK(back->output_strides == job.output_strides);
  CHECK(back->output_start == 5);
  CHECK(back->threads == 2);
  CHECK(back->bench == job.bench);
}

TEST_CASE("protocol: a question to a library and its answer survive the line") {
  Job job;
  job.spec_json = R"({"op":"sdpa"})";
  job.backend = "cudnn";
  job.policy = "ask";
  job.device = R"({"deviceVer":900})";
  const auto back = parse_job(stripped(to_line(job)));
  REQUIRE(back.ok());
  CHECK(back->policy == "ask");
  CHECK(back->device == job.device);
  Done d;
  d.id = 4;
  d.outcome = report::Outcome::matched;
  d.asked = report::Asked{"cuDNN", "9.19.0", "1.32.0", "h100", std::nullopt, "no \xff", {9, 8}, {{9, "Hopper", true, true, 16, {"note"}, "", ""}, {4, "", false, false, -1, {}, "CODE", "why"}}, {"doubt"}};
  const Message message = parse_message(stripped(to_line(d)));
  REQUIRE(std::holds_alternative<Done>(message));
  const auto& asked = std::get<Done>(message).asked;
  REQUIRE(asked);
  CHECK(asked->serves());
  CHECK(asked->version == "9.19.0");
  CHECK(asked->order == std::vector<std::int64_t>{9, 8});
  REQUIRE(asked->engines.size() == 2);
  CHECK(asked->engines[0].workspace == 16);
  CHECK(asked->engines[0].notes == std::vector<std::string>{"note"});
  CHECK(asked->engines[1].code == "CODE");
  CHECK(asked->engines[1].workspace == -1);
  CHECK(asked->doubts == std::vector<std::string>{"doubt"});
  d.asked->error = report::Error{"ENV025", "no library", "loader"};
  const Message without = parse_message(stripped(to_line(d)));
  CHECK_FALSE(std::get<Done>(without).asked->answered());
  const Message hostile = parse_message(R"({"dd":"done","id":1,"asked":{"engines":[3,{"id":"x","accepted":"yes"}],"order":["a",1.5],"doubts":{}}})");
  const auto& odd = std::get<Done>(hostile).asked;
  REQUIRE(odd);
  CHECK(odd->engines.size() == 1);
  CHECK_FALSE(odd->engines[0].accepted);
  CHECK_FALSE(odd->serves());
}

TEST_CASE("protocol: an answer survives the line, bytes that are no UTF-8 included") {
  Done d;
  d.id = 3;
  d.outcome = report::Outcome::refused;
  d.error = report::Error{"CODE", "line one\nline two \xff", "lib 1"};
  d.evidence.kernels.push_back({"k<1>", "detail", "profiler", 4, 0.5});
  d.evidence.conversions.push_back({"copy", "q to contiguous", 128});
  d.evidence.notes = {"a note"};
  d.timing = report::Timing{12, 1.5, 1.25, 0.1, "noisy", 0, 0, 99};
  d.ran = "torch-flash";
  d.seconds = 0.25;
  d.peak_bytes = 1 << 20;
  const std::string line = stripped(to_line(d));
  CHECK(line.find('\n') == std::string::npos);
  const Message m = parse_message(line);
  const auto* back = std::get_if<Done>(&m);
  REQUIRE(back);
  CHECK(back->id == 3);
  CHECK(back->outcome == report::Outcome::refused);
  REQUIRE(back->error);
  CHECK(back->error->text.find("line one\nline two") == 0);
  REQUIRE(back->evidence.kernels.size() == 1);
  CHECK(back->evidence.kernels[0].count == 4);
  CHECK(back->evidence.kernels[0].seconds == 0.5);
  CHECK(back->evidence.conversions.at(0).bytes == 128);
  CHECK(back->evidence.notes.at(0) == "a note");
  REQUIRE(back->timing);
  CHECK(back->timing->runs == 12);
  CHECK(back->timing->median == 1.5);
  CHECK(back->ran == "torch-flash");
  CHECK(back->peak_bytes == 1 << 20);
}

TEST_CASE("protocol: what is not a message is print-out") {
  for (const char* line : {"", "hello", "{", "{}", "[\"dd\"]", "{\"dd\":5}", "{\"dd\":\"job\"}", "{\"dd\":\"dance\"}", "{\"dd\": garbage", "{\"x\":\"\\\"dd\\\"\"}"}) {
    INFO(line);
    CHECK(std::holds_alternative<std::monostate>(parse_message(line)));
  }
}

TEST_CASE("protocol: wrong types in an answer take their defaults") {
  const Message m = parse_message(
      R"({"dd":"done","id":"x","outcome":17,"error":[],"evidence":{"kernels":[1,{"name":[],"count":1e300}],"notes":{}},"timing":"fast","seconds":"0"})");
  const auto* d = std::get_if<Done>(&m);
  REQUIRE(d);
  CHECK(d->id == -1);
  CHECK(d->outcome == report::Outcome::failed);
  CHECK_FALSE(d->error);
  CHECK_FALSE(d->timing);
  REQUIRE(d->evidence.kernels.size() == 1);
  CHECK(d->evidence.kernels[0].count == 1);
}

TEST_CASE("protocol: a job line that lacks something says what") {
  CHECK(parse_job("nonsense").problems().front().field == "dd");
  CHECK(parse_job(R"({"dd":"job","id":1,"backend":"b"})").problems().front().field == "spec");
  CHECK(parse_job(R"({"dd":"job","spec":{},"mode":"sideways"})").problems().front().field == "mode");
  CHECK(parse_job(R"({"dd":"job","spec":{},"mode":"eager"})").problems().front().field == "output");
  CHECK(parse_job(R"({"dd":"job","spec":{},"mode":"eager","output":{"dtype":"f32","shape":["a"]}})").problems().front().field == "output.shape");
}

TEST_CASE("protocol: lines are cut whatever the pieces") {
  LineReader reader;
  std::string line;
  std::vector<std::string> got;
  for (char c : std::string("ab\n\ncd\r\ne")) {
    reader.feed(std::string_view(&c, 1));
    while (reader.next(line)) got.push_back(line);
  }
  CHECK(got == std::vector<std::string>{"ab", "", "cd\r"});
  CHECK(reader.take_rest() == "e");
}

TEST_CASE("protocol: a line beyond the limit is dropped, the next one is not") {
  LineReader reader;
  std::string line;
  for (std::size_t fed = 0; fed <= line_limit + (1 << 20); fed += 1 << 20) reader.feed(std::string(1 << 20, 'x'));
  CHECK(reader.dropped_lines() == 1);
  reader.feed("end\nnext\n");
  REQUIRE(reader.next(line));
  CHECK(line == "next");
  CHECK_FALSE(reader.next(line));
}
