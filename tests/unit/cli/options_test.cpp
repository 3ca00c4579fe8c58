#include "cli/options.hpp"

#include <map>
#include <set>

#include "spec/canonical.hpp"
#include "support/catch.hpp"
#include "support/random_spec.hpp"

using namespace dd;

namespace {

core::Result<cli::Invocation> parse(const std::string& line) {
  const auto words = cli::split_words(line);
  REQUIRE(words);
  return cli::parse_command_line(*words);
}

spec::OpSpec spec_of(const std::string& line) {
  const auto result = cli::parse_batch_line(line);
  INFO(line);
  if (!result)
    for (const core::Problem& p : result.problems()) UNSCOPED_INFO(to_text(p));
  REQUIRE(result);
  return *result;
}

std::vector<std::string> fields_of(const std::string& line) {
  const auto result = parse(line);
  std::vector<std::string> out;
  if (result) return out;
  for (const core::Problem& p : result.problems()) {
    CHECK_FALSE(p.message.empty());
    CHECK_FALSE(p.wanted.empty());
    out.push_back(p.field);
  }
  return out;
}
using Fields = std::vector<std::string>;

// Commands that single options can be added to; the first that takes an option tests it.
const std::map<spec::Op, std::vector<std::string>> bases = {
    {spec::Op::sdpa, {"sdpa --q 1x8x256x64", "sdpa --sq 256 --d 64", "sdpa --h 8 --sq 256 --d 64 --gqa", "sdpa --d 64", "sdpa --sq 256", "sdpa", "sdpa --q 1x8x256x64 --mask float"}},
    {spec::Op::gemm, {"gemm --x 16x64 --w 64x32", "gemm --n 32 --k 64", "gemm --m 16 --k 64", "gemm --m 16 --n 32", "gemm --m 16 --n 32 --k 64", "gemm --x 16x64", "gemm --w 64x32", "gemm --x 16x64 --w 64x32 --bias"}},
};

}  // namespace

TEST_CASE("random specs: the repro line gives the same spec", "[cli]") {
  test::RandomSpec random(2);
  for (int i = 0; i < 4000; ++i) {
    const spec::OpSpec spec = random.next();
    const std::string line = spec::repro_line(spec);
    INFO(i << ": " << line);
    const auto again = cli::parse_batch_line(line);
    if (!again)
      for (const core::Problem& p : again.problems()) UNSCOPED_INFO(to_text(p));
    REQUIRE(again);
    REQUIRE(spec::canonical(*again) == spec::canonical(spec));
    REQUIRE(*again == spec);
  }
}

TEST_CASE("the repro line is minimal: no option of it can be left out", "[cli]") {
  test::RandomSpec random(3);
  for (int i = 0; i < 150; ++i) {
    const spec::OpSpec spec = random.next();
    const auto words = cli::split_words(spec::repro_line(spec));
    REQUIRE(words);
    for (std::size_t at = 2; at < words->size(); ++at) {
      if (!(*words)[at].starts_with("--")) continue;
      std::string without;
      for (std::size_t j = 0; j < words->size(); ++j) {
        const bool value = j == at + 1 && !(*words)[j].starts_with("--");
        if (j != at && !value) without += (without.empty() ? "" : " ") + spec::shell_quote((*words)[j]);
      }
      const auto other = cli::parse_batch_line(without);
      INFO(spec::repro_line(spec) << "\nwithout " << (*words)[at]);
      if (other) CHECK_FALSE(*other == spec);
    }
  }
}

TEST_CASE("every spec option does something", "[cli]") {
  const std::map<std::string, std::string> values = {
      {"--q-strides", "131072x16384x64x2"}, {"--k-strides", "131072x16384x64x2"}, {"--v-strides", "131072x16384x64x2"}, {"--out-strides", "131072x1x512x8"},
      {"--mask-strides", "0x1"}, {"--x-strides", "65x1"}, {"--w-strides", "33x1"}, {"--bias-strides", "2"}};
  for (const spec::SpecOption& option : spec::spec_options())
    for (const auto& [op, lines] : bases) {
      if (!(option.ops & spec::mask_of(op))) continue;
      const std::string name(option.text.name);
      const bool flag = option.text.kind == spec::OptionKind::flag;
      const auto known = values.find(name);
      std::string value = known != values.end() ? known->second : std::string(option.text.example);
      if (op == spec::Op::gemm && name == "--out-strides") value = "1x16";
      INFO(core::to_text(op) << " " << name << " " << value);
      CHECK((flag || !value.empty()));
      CHECK_FALSE(option.text.help.empty());
      CHECK((option.text.fallback.empty() || value != option.text.fallback));
      bool tested = false;
      for (const std::string& base : lines) {
        const auto with = cli::parse_batch_line(base + " " + name + (flag ? "" : " " + spec::shell_quote(value)));
        if (!with) continue;
        const auto without = cli::parse_batch_line(base);
        if (without && *without == *with) continue;
        tested = true;
        CHECK(*cli::parse_batch_line(spec::repro_line(*with)) == *with);
        break;
      }
      CHECK(tested);
    }
}

TEST_CASE("aliases mean the same", "[cli]") {
  CHECK(spec_of("sdpa --query 1x2x3x4 --dtype half --is-causal --device cpu --requires-grad") == spec_of("sdpa --q 1x2x3x4 --dtype f16 --causal --target cpu --train"));
  CHECK(spec_of("sdpa --heads 4 --kv-heads 2 --q-len 3 --kv-len 5 --head-dim 8 --head-dim-v 6 --enable-gqa") ==
        spec_of("sdpa --q 1x4x3x8 --k 1x2x5x8 --v 1x2x5x6 --gqa"));
  std::set<std::string> names[2];
  for (const spec::SpecOption& option : spec::spec_options())
    for (int op = 0; op < 2; ++op)
      if (option.ops & (1u << op)) {
        INFO(option.text.name);
        CHECK(names[op].insert(std::string(option.text.name)).second);
        CHECK((option.text.aliases.empty() || names[op].insert(std::string(option.text.aliases)).second));
      }
}

TEST_CASE("the choices in help are those of the code", "[cli]") {
  const std::map<std::string, std::string> choices = {
      {"--causal-align", core::choices<spec::CausalAlign>()}, {"--compute", core::choices<spec::Compute>()}, {"--epilogue", core::choices<spec::Epilogue>()},
      {"--data", core::choices<spec::Data>()}, {"--layout", core::choices<spec::Layout>()}};
  for (const spec::SpecOption& option : spec::spec_options()) {
    const auto found = choices.find(std::string(option.text.name));
    if (found != choices.end()) CHECK(option.text.value == found->second);
    std::string_view rest = option.text.value;
    if (rest.find('|') == std::string_view::npos || rest.find_first_of("[:NAME") != std::string_view::npos) continue;
    while (!rest.empty()) {  // each word that help offers is taken
      const std::size_t at = rest.find('|');
      spec::Draft draft = spec::default_draft(option.ops & spec::on_sdpa ? spec::Op::sdpa : spec::Op::gemm);
      INFO(option.text.name << " " << rest.substr(0, at));
      CHECK(option.apply(draft, rest.substr(0, at)).empty());
      rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
    }
  }
  for (const cli::RunOption& option : cli::run_options()) {
    // A verb offers all of them, or the first few.
    if (option.text.name == "--format") CHECK(core::choices<cli::Format>().starts_with(option.text.value));
    if (option.text.name == "--color") CHECK(option.text.value == core::choices<cli::Color>());
    if (option.text.name == "--ask") CHECK(option.text.value == core::choices<cli::Ask>());
  }
}

TEST_CASE("shapes from single extents", "[cli]") {
  const spec::OpSpec s = spec_of("sdpa --b 2 --h 8 --hkv 2 --sq 16 --skv 32 --d 64 --dv 40 --gqa");
  CHECK(s.attention().q.shape == spec::Dims{2, 8, 16, 64});
  CHECK(s.attention().k.shape == spec::Dims{2, 2, 32, 64});
  CHECK(s.attention().v.shape == spec::Dims{2, 2, 32, 40});
  const spec::OpSpec g = spec_of("gemm --m 4 --n 5 --k 6 --batch 3");
  CHECK(g.gemm().x.shape == spec::Dims{3, 4, 6});
  CHECK(g.gemm().w.shape == spec::Dims{3, 6, 5});
  CHECK(spec_of("gemm --x 2x4x6 --n 5").gemm().w.shape == spec::Dims{6, 5});
  CHECK(fields_of("sdpa --q 1x2x3x4 --sq 9 --b 2") == Fields{"--b", "--sq"});
  CHECK(fields_of("sdpa --h 2") == Fields{"--sq", "--d"});
  CHECK(fields_of("gemm --x 4x5 --w 5x6 --k 5") == Fields{"--k", "--k"});
}

TEST_CASE("types, layouts, transposition, quantization", "[cli]") {
  const spec::OpSpec s = spec_of("sdpa --q 1x2x3x4 --dtype f16:bf16:float32");
  CHECK(s.attention().k.dtype == spec::DType::bf16);
  CHECK(s.attention().v.dtype == spec::DType::f32);
  CHECK(spec_of("gemm --x 4x8 --w 8x2 --dtype s8:u8:f32").gemm().out_dtype == spec::DType::f32);
  CHECK(spec_of("gemm --x 4x8 --w 8x2 --trans-w").gemm().w.strides == spec::Dims{1, 8});
  const spec::OpSpec q = spec_of("gemm --x 4x64 --w 64x2 --quant w4a16:group=32:zero");
  CHECK(q.gemm().x.dtype == spec::DType::f16);
  CHECK(q.gemm().w.dtype == spec::DType::u4);
  CHECK(q.gemm().quant->scheme == "w4a16:group=32:zero");
  CHECK(spec_of("sdpa --q 2x4x16x8 --layout bshd").attention().q.strides == spec::Dims{512, 8, 32, 1});
  CHECK(fields_of("sdpa --q 2x4x16x8 --layout bshd --q-strides 1x1x1x1") == Fields{"--layout"});
  CHECK(fields_of("sdpa --q 2x4x16x8 --k 2x4x17x8 --layout packed-qkv") == Fields{"--layout"});
  CHECK(fields_of("sdpa --q 1x2x3x4 --dtype f16:f16") == Fields{"--dtype"});
  CHECK(fields_of("sdpa --q 1x2x3x4 --dtype f17") == Fields{"--dtype"});
  const spec::OpSpec m = spec_of("sdpa --q 1x2x3x4 --dtype f16 --mask float:1x3 --mask-content zeros");
  CHECK(m.attention().mask->dtype == spec::DType::f16);
  CHECK(m.attention().mask->shape == spec::Dims{1, 3});
  CHECK(fields_of("sdpa --q 1x2x3x4 --mask-content zeros") == Fields{"--mask-content"});
  CHECK(spec_of("gemm --x 4x8 --w 8x2 --bias").gemm().epilogue == spec::Epilogue::bias);
  CHECK(spec_of("gemm --x 4x8 --w 8x2 --bias=4x1 --epilogue bias+relu").gemm().bias->shape == spec::Dims{4, 1});
  CHECK(spec_of("sdpa --q 1x2x3x4 --deterministic").flags.deterministic == spec::Deterministic::strict);
  CHECK(spec_of("sdpa --q 1x2x3x4 --deterministic=warn_only").flags.deterministic == spec::Deterministic::warn_only);
  CHECK(spec_of("sdpa --q 2x2x3x4 --nested 3,1/2,3").attention().nested->kv_lengths == spec::Dims{2, 3});
  CHECK(spec_of("sdpa --q 1x2x3x4 --scale -0.5").attention().scale == -0.5);
}

TEST_CASE("mistakes on the command line are all named", "[cli]") {
  CHECK(fields_of("sdpa --q 1x8xfoo --dropout 2 --rtol nan --mode fast") == Fields{"--q", "--mode", "dropout_p", "rtol"});
  CHECK(fields_of("sdpa --q 1x2x3x4 --casual") == Fields{"--casual"});
  CHECK(fields_of("sdpa --q 1x2x3x4 --casual yes --wiggle=3") == Fields{"--casual", "--wiggle"});
  CHECK(fields_of("sdpa --q 1x2x3x4 --seed 1 --seed 2") == Fields{"--seed"});
  CHECK(fields_of("sdpa --q 1x2x3x4 extra words") == Fields{"sdpa"});
  CHECK(fields_of("sdpa --q") == Fields{"--q"});
  CHECK(fields_of("sdpa --q=") == Fields{"--q"});
  CHECK(fields_of("spda --q 1x2x3x4") == Fields{""});
  CHECK(parse("spda").problems()[0].wanted == "sdpa?");
  CHECK(parse("sdpa --q 1x2x3x4 --casual").problems()[0].wanted == "--causal?");
  CHECK(fields_of("run") == Fields{"run"});
  CHECK(fields_of("sdpa --q 1x2x3x4 --extra nope=1") == Fields{"--extra"});
  CHECK(fields_of("sdpa --q 1x2x3x4 --env A --built-with flash=maybe --package-version vllm") == Fields{"--package-version", "--env", "--built-with"});
  CHECK(fields_of("sdpa --q 1x2x3x4 --timeout 0 --jobs many --require slow --format yaml") == Fields{"--require", "--timeout", "--jobs", "--format"});
  CHECK(fields_of("--nonsense") == Fields{"--nonsense"});
}

TEST_CASE("every run option does something and has its default", "[cli]") {
  const std::map<std::string, bool (*)(const cli::RunOptions&)> effects = {
      {"--require", [](const cli::RunOptions& r) { return r.require == Fields{"fast"}; }},
      {"--unknown", [](const cli::RunOptions& r) { return r.unknown_passes; }},
      {"--fix", [](const cli::RunOptions& r) { return r.fix; }},
      {"--bench", [](const cli::RunOptions& r) { return r.bench; }},
      {"--run-blocked", [](const cli::RunOptions& r) { return r.run_blocked; }},
      {"--record", [](const cli::RunOptions& r) { return r.record_file == "gpu.json"; }},
      {"--timeout", [](const cli::RunOptions& r) { return r.timeout_s == 5; }},
      {"--jobs", [](const cli::RunOptions& r) { return r.jobs == 2; }},
      {"--reference-budget", [](const cli::RunOptions& r) { return r.reference_budget_s == 30; }},
      {"--ask", [](const cli::RunOptions& r) { return r.ask == cli::Ask::none; }},
      {"--python", [](const cli::RunOptions& r) { return r.python == "/usr/bin/python3"; }},
      {"--lib-dir", [](const cli::RunOptions& r) { return r.lib_dirs == std::vector<std::string>{"/opt/cuda/lib64"}; }},
      {"--save-tensors", [](const cli::RunOptions& r) { return r.save_tensors == "tensors"; }},
      {"--format", [](const cli::RunOptions& r) { return r.format == cli::Format::json; }},
      {"--json", [](const cli::RunOptions& r) { return r.json_file == "report.json"; }},
      {"--md", [](const cli::RunOptions& r) { return r.md_file == "report.md"; }},
      {"--junit", [](const cli::RunOptions& r) { return r.junit_file == "report.xml"; }},
      {"--output", [](const cli::RunOptions& r) { return r.json_file == "calls.jsonl"; }},
      {"--specs", [](const cli::RunOptions& r) { return r.specs_file == "specs.jsonl"; }},
      {"--kernel", [](const cli::RunOptions& r) { return r.kernels.size() == 1; }},
      {"--redact", [](const cli::RunOptions& r) { return r.redact == true; }},
      {"--color", [](const cli::RunOptions& r) { return r.color == cli::Color::never; }},
      {"-v", [](const cli::RunOptions& r) { return r.verbosity == 1; }},
      {"-q", [](const cli::RunOptions& r) { return r.quiet; }},
      {"-h", [](const cli::RunOptions& r) { return r.help; }},
      {"--version", [](const cli::RunOptions& r) { return r.version; }},
  };
  for (const cli::RunOption& option : cli::run_options()) {
    const auto effect = effects.find(std::string(option.text.name));
    INFO(option.text.name);
    REQUIRE(effect != effects.end());
    CHECK_FALSE(effect->second(cli::default_run_options()));
    const bool valued = option.text.kind != spec::OptionKind::flag && !option.text.value.empty();
    for (const cli::VerbInfo& verb : cli::verbs()) {
      if (!(option.verbs & (1u << static_cast<unsigned>(verb.verb)))) continue;
      std::string line(verb.name);
      if (verb.verb == cli::Verb::sdpa) line += " --q 1x2x3x4";
      if (verb.verb == cli::Verb::gemm) line += " --x 2x3 --w 3x4";
      line += " " + std::string(option.text.name) + (valued ? " " + std::string(option.text.example) : "");
      if (verb.least > 0) line += " a.json";
      if (verb.least > 1) line += " b.json";
      const auto result = parse(line);
      INFO(line);
      REQUIRE(result);
      CHECK(effect->second(result.value().run));
    }
  }
  const cli::RunOptions defaults = cli::default_run_options();
  CHECK(defaults.timeout_s == 60);
  CHECK(defaults.jobs == 1);
  CHECK(defaults.reference_budget_s == 10);
  CHECK(parse("sdpa --q 1x2x3x4 -vv").value().run.verbosity == 2);
  CHECK(parse("sdpa --q 1x2x3x4 --require slowdown=1.5,fast").value().run.require == Fields{"slowdown=1.5", "fast"});
  CHECK(fields_of("sdpa --q 1x2x3x4 --require slowdown=0.5") == Fields{"--require"});
  CHECK(parse("sdpa --q 1x2x3x4 --json -").value().run.format == cli::Format::json);
  CHECK_FALSE(parse("sdpa --q 1x2x3x4 --json -").value().run.json_file);
  CHECK(fields_of("sdpa --q 1x2x3x4 --json - --junit -") == Fields{"--json"});
  CHECK(fields_of("sdpa --q 1x2x3x4 --md - --format md") == Fields{});
  CHECK(fields_of("record -o - -- true") == Fields{"--output"});
  CHECK(parse("sdpa --q 1x2x3x4 --require fast,backend=a,b --require close").value().run.require == Fields{"fast", "backend=a,b", "close"});
  CHECK(parse("sdpa --q 1x2x3x4 --redact=off").value().run.redact == false);
}

TEST_CASE("verbs and their arguments", "[cli]") {
  CHECK(parse("").value().run.help);
  CHECK(parse("--version").value().run.version);
  CHECK(parse("sdpa --nonsense --help").value().run.help);
  CHECK(parse("run a.json - b.txt --framework torch").value().arguments == Fields{"a.json", "-", "b.txt"});
  CHECK(parse("record -- python train.py --lr 3 -h").value().arguments == Fields{"python", "train.py", "--lr", "3", "-h"});
  CHECK(parse("explain FLA003").value().arguments == Fields{"FLA003"});
  CHECK(parse("diff a.json b.json").value().arguments.size() == 2);
}

TEST_CASE("run sets options in every spec that it reads", "[cli]") {
  const auto run = parse("run a.json --framework torch --target sm_90 --force torch-flash");
  REQUIRE(run);
  const spec::OpSpec before = spec_of("sdpa --q 1x2x3x4 --seed 5");
  const auto after = spec::with_options(before, run.value().overrides);
  REQUIRE(after);
  CHECK(after.value().context.framework == "torch");
  CHECK(after.value().context.target == "sm_90");
  CHECK(after.value().policy.force == "torch-flash");
  CHECK(after.value().seed == 5);
  const auto denied = parse("run a.json --deny torch-flash --force torch-flash");
  REQUIRE(denied);
  CHECK_FALSE(spec::with_options(before, denied.value().overrides));
}
