// The table of verbs and the table of run options.
#include <fmt/format.h>

#include <cmath>

#include "cli/options.hpp"
#include "core/nearest.hpp"

namespace dd::cli {
namespace {

using Text = std::string_view;
constexpr auto F = spec::OptionKind::flag;
constexpr auto V = spec::OptionKind::value;
constexpr auto R = spec::OptionKind::repeated;

template <class... Verbs>
constexpr unsigned of(Verbs... verbs) {
  return ((1u << static_cast<unsigned>(verbs)) | ...);
}
constexpr unsigned diagnosing = of(Verb::sdpa, Verb::gemm, Verb::run);
constexpr unsigned reading = of(Verb::trace, Verb::logs);
constexpr unsigned reporting = diagnosing | reading | of(Verb::diff);
constexpr unsigned everywhere = ~0u;

template <class T, class U>
std::string set(T& slot, const std::optional<U>& value, std::string wanted) {
  if (!value) return wanted;
  slot = *value;
  return {};
}
template <class E>
std::string set_enum(E& slot, Text text) {
  return set(slot, core::from_text<E>(text), core::choices<E>());
}
std::string set_format(RunOptions& r, Text text, Text choices) {
  const auto format = core::from_text<Format>(text);
  const bool offered = ("|" + std::string(choices) + "|").find("|" + std::string(text) + "|") != std::string::npos;
  return set(r.format, offered ? format : std::nullopt, std::string(choices));
}
std::string set_file(std::optional<std::string>& slot, Text text) {
  if (text.empty()) return "a path";
  slot = text;
  return {};
}
std::string set_lib_dir(RunOptions& r, Text text) {
  if (text.empty()) return "a folder";
  r.lib_dirs.emplace_back(text);
  return {};
}
std::string set_seconds(double& slot, Text text) {
  const auto value = spec::parse_real(text);
  if (!value || !std::isfinite(*value) || *value <= 0 || *value > 1e6) return "seconds, above 0 and at most 1000000";
  slot = *value;
  return {};
}
std::string set_on(bool& slot, Text text) { return set(slot, spec::parse_switch(text), "nothing, or =off"); }

std::string set_jobs(RunOptions& r, Text text) {
  const auto value = spec::parse_int(text);
  if (!value || *value < 1 || *value > 1024) return "1 to 1024";
  r.jobs = static_cast<int>(*value);
  return {};
}
// "slowdown=1.5": a ratio of at least 1.
bool is_slowdown(Text text) {
  if (!text.starts_with("slowdown=")) return false;
  const auto ratio = spec::parse_real(text.substr(9));
  return ratio && std::isfinite(*ratio) && *ratio >= 1;
}
std::string set_require(RunOptions& r, Text text) {
  const std::string wanted = "fast, close, backend=NAME or slowdown=RATIO (1 or more), several separated by commas";
  const auto names = spec::parse_names(text);
  if (!names || names->empty()) return wanted;
  bool in_backend = false;  // backend=A,B: either of them, kept as one requirement
  for (const std::string& name : *names) {
    const bool word = name == "fast" || name == "close" || is_slowdown(name);
    const bool backend = name.starts_with("backend=") && spec::is_name(name.substr(8));
    if (word || backend) {
      r.require.push_back(name);
      in_backend = backend;
    } else if (in_backend && spec::is_name(name)) {
      r.require.back() += "," + name;
    } else {
      const auto near = core::nearest_names(name.substr(0, name.find('=')), {"fast", "close", "backend", "slowdown"}, 1);
      return near.empty() || name.starts_with(near[0]) ? wanted : fmt::format("{}? ({})", near[0], wanted);
    }
  }
  return {};
}

constexpr RunOption table[] = {
    {{"Gate", "--require", "", R, "fast|close|backend=NAME[,...]|slowdown=RATIO", "", "exit 3 (close: 1, slowdown: 6) unless this holds; repeatable, all must hold. slowdown measures: the path taken may last at most RATIO times as long as the quickest one", "fast"}, diagnosing | reading, set_require},
    {{"Gate", "--unknown", "", V, "fail|pass", "fail", "what a requirement counts as when it cannot be decided", "pass"}, diagnosing | reading,
     [](RunOptions& r, Text t) -> std::string {
       if (t != "pass" && t != "fail") return "fail|pass";
       r.unknown_passes = t == "pass";
       return {};
     }},
    {{"Run", "--fix", "", F, "", "", "try the proposed changes", ""}, diagnosing, [](RunOptions& r, Text t) { return set_on(r.fix, t); }},
    {{"Run", "--bench", "", F, "", "", "measure time as well", ""}, diagnosing, [](RunOptions& r, Text t) { return set_on(r.bench, t); }},
    {{"Run", "--run-blocked", "", F, "", "", "also run what a rule blocks, to hold the rules against the libraries", ""}, diagnosing, [](RunOptions& r, Text t) { return set_on(r.run_blocked, t); }},
    {{"Run", "--timeout", "", V, "S", "60", "seconds after which one attempt is stopped", "5"}, diagnosing, [](RunOptions& r, Text t) { return set_seconds(r.timeout_s, t); }},
    {{"Run", "--jobs", "-j", V, "N", "1", "attempts at the same time", "2"}, diagnosing, set_jobs},
    {{"Run", "--reference-budget", "", V, "S", "10", "seconds for the reference; past them it is sampled", "30"}, diagnosing, [](RunOptions& r, Text t) { return set_seconds(r.reference_budget_s, t); }},
    {{"Run", "--ask", "", V, "cudnn|none", "", "which library's own support query is asked about a GPU that is not here (else cuDNN, about the first 64 calls)", "none"}, diagnosing,
     [](RunOptions& r, Text t) { return set(r.ask, core::from_text<Ask>(t), core::choices<Ask>()); }},
    {{"Run", "--python", "", V, "PATH", "", "interpreter whose torch is run and whose NVIDIA wheels come first", "/usr/bin/python3"}, diagnosing | of(Verb::backends, Verb::env), [](RunOptions& r, Text t) { return set_file(r.python, t); }},
    {{"Run", "--lib-dir", "", R, "DIR", "", "folder of NVIDIA's libraries, and no other place; repeatable", "/opt/cuda/lib64"}, diagnosing | of(Verb::backends, Verb::env, Verb::devices), set_lib_dir},
    {{"Run", "--save-tensors", "", V, "DIR", "", "write inputs, mask, reference and outputs as safetensors", "tensors"}, diagnosing, [](RunOptions& r, Text t) { return set_file(r.save_tensors, t); }},
    // Cases alone make a JUnit file, and what is here is no document.
    {{"Output", "--format", "", V, "text|json|md|junit", "text", "what standard output gets", "json"}, diagnosing | of(Verb::none), [](RunOptions& r, Text t) { return set_format(r, t, "text|json|md|junit"); }},
    {{"Output", "--format", "", V, "text|json|md", "text", "what standard output gets of evidence and rules", "json"}, reading | of(Verb::diff, Verb::rules, Verb::explain),
     [](RunOptions& r, Text t) { return set_format(r, t, "text|json|md"); }},
    {{"Output", "--format", "", V, "text|json", "text", "what standard output gets of backends, devices and env", "json"}, of(Verb::backends, Verb::devices, Verb::env),
     [](RunOptions& r, Text t) { return set_format(r, t, "text|json"); }},
    {{"Output", "--json", "", V, "FILE", "", "also write the report as JSON (- is standard output)", "report.json"}, reporting, [](RunOptions& r, Text t) { return set_file(r.json_file, t); }},
    {{"Output", "--md", "", V, "FILE", "", "also write the report as Markdown (- is standard output)", "report.md"}, reporting, [](RunOptions& r, Text t) { return set_file(r.md_file, t); }},
    {{"Output", "--junit", "", V, "FILE", "", "also write the report as JUnit XML (- is standard output)", "report.xml"}, diagnosing, [](RunOptions& r, Text t) { return set_file(r.junit_file, t); }},
    {{"Output", "--output", "-o", V, "FILE", "", "where the recorded specs are written (else recorded.jsonl)", "calls.jsonl"}, of(Verb::record), [](RunOptions& r, Text t) { return set_file(r.json_file, t); }},
    {{"Output", "--specs", "", V, "FILE", "", "write the specs of the calls found, ready for run (- is standard output)", "specs.jsonl"}, reading, [](RunOptions& r, Text t) { return set_file(r.specs_file, t); }},
    {{"Output", "--record", "", V, "FILE", "", "write the profile of the GPU that is here (cuda:N chooses one); --target FILE reads it", "gpu.json"}, of(Verb::devices), [](RunOptions& r, Text t) { return set_file(r.record_file, t); }},
    {{"Input", "--kernel", "", R, "NAME", "", "judge a kernel name instead of a file; repeatable", "ampere_sgemm_128x128_tn"}, of(Verb::trace),
     [](RunOptions& r, Text t) -> std::string {
       if (t.empty()) return "a kernel name";
       r.kernels.emplace_back(t);
       return {};
     }},
    {{"Output", "--redact", "", F, "[=off]", "", "hide host, user and private paths, also in what a report repeats of the call (env hides them by itself)", ""}, reporting | of(Verb::env, Verb::backends, Verb::devices), [](RunOptions& r, Text t) { return set(r.redact, spec::parse_switch(t), "nothing, or =off"); }},
    {{"Output", "--color", "", V, "auto|always|never", "auto", "colour in text (NO_COLOR is obeyed)", "never"}, everywhere & ~of(Verb::completion, Verb::man), [](RunOptions& r, Text t) { return set_enum(r.color, t); }},
    {{"Output", "-v", "--verbose", R, "", "", "say more; twice for even more", ""}, everywhere,
     [](RunOptions& r, Text) -> std::string {
       ++r.verbosity;
       return {};
     }},
    {{"Output", "-q", "--quiet", F, "", "", "only the verdict and problems", ""}, everywhere, [](RunOptions& r, Text t) { return set_on(r.quiet, t); }},
    {{"Output", "-h", "--help", F, "", "", "this text", ""}, everywhere, [](RunOptions& r, Text t) { return set_on(r.help, t); }},
    {{"Output", "--version", "", F, "", "", "the version", ""}, everywhere, [](RunOptions& r, Text t) { return set_on(r.version, t); }},
};

constexpr std::size_t many = static_cast<std::size_t>(-1);
constexpr VerbInfo verb_table[] = {
    {Verb::none, "", "VERB ...", 0, 0, 0, "why did this call not take the fast path?"},
    {Verb::sdpa, "sdpa", "", 0, 0, spec::on_sdpa, "diagnose one attention call"},
    {Verb::gemm, "gemm", "", 0, 0, spec::on_gemm, "diagnose one matrix product"},
    {Verb::run, "run", "FILE...", 1, many, spec::on_run, "diagnose every spec of .json, .jsonl or .txt files (- is standard input)"},
    {Verb::trace, "trace", "FILE...", 0, many, 0, "read profiler traces that others recorded"},
    {Verb::logs, "logs", "FILE...", 1, many, 0, "read library logs that others recorded"},
    {Verb::record, "record", "-- PROGRAM...", 1, many, 0, "run a program and write the spec of every call that it makes"},
    {Verb::explain, "explain", "[ID]", 0, 1, 0, "one rule in full, or all of them"},
    {Verb::rules, "rules", "", 0, 0, 0, "all rules in short"},
    {Verb::backends, "backends", "", 0, 0, 0, "backends, and why any is unavailable"},
    {Verb::devices, "devices", "[NAME]", 0, 1, 0, "device profiles; host and cuda:N show what is here"},
    {Verb::env, "env", "", 0, 0, 0, "the environment record, safe to paste"},
    {Verb::diff, "diff", "A B", 2, 2, 0, "compare two traces, logs or reports: what changed its path, what got slower"},
    {Verb::completion, "completion", "bash|zsh|fish", 1, 1, 0, "print a shell completion script"},
    {Verb::man, "man", "", 0, 0, 0, "print the man page source"},
};

}  // namespace

std::span<const RunOption> run_options() { return table; }
std::span<const VerbInfo> verbs() { return std::span(verb_table).subspan(1); }
const VerbInfo& info(Verb verb) { return verb_table[static_cast<std::size_t>(verb)]; }

RunOptions default_run_options() {
  RunOptions out;
  for (const RunOption& option : table)
    if (!option.text.fallback.empty()) option.apply(out, option.text.fallback);
  return out;
}

std::vector<const spec::OptionText*> options_of(Verb verb) {
  std::vector<const spec::OptionText*> out;
  const unsigned specs = info(verb).specs;
  for (const spec::SpecOption& option : spec::spec_options())
    if (option.ops & specs) out.push_back(&option.text);
  for (const RunOption& option : table)
    if (option.verbs & of(verb)) out.push_back(&option.text);
  return out;
}

}  // namespace dd::cli
