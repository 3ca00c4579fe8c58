// Every rule of PyTorch's attention dispatcher: its examples block and pass, the order and the walk.
#include <cctype>
#include <map>
#include <set>

#include "cli/options.hpp"
#include "frameworks/torch/attention/tables.hpp"
#include "frameworks/torch/torch.hpp"
#include "session/what_if.hpp"
#include "support/catch.hpp"

using namespace dd;
using frameworks::Diagnosis;
using rules::Rule;
using rules::Truth;

namespace {

Diagnosis diagnose(const spec::OpSpec& spec) {
  return frameworks::diagnose(frameworks::torch_framework(), spec, session::what_if_facts(spec, nullptr), true);
}

spec::OpSpec read(std::string_view line) {
  const auto spec = cli::parse_batch_line(line);
  std::string problems;
  if (!spec.ok())
    for (const core::Problem& p : spec.problems()) problems += core::to_text(p) + "; ";
  INFO(line << ": " << problems);
  REQUIRE(spec.ok());
  return *spec;
}

// The status of one rule in a whole diagnosis; nullopt when no candidate of the call has it.
std::optional<Truth> status_of(const Rule& rule, const Diagnosis& d) {
  std::optional<Truth> out;
  const auto look = [&](const std::vector<rules::Finding>& findings) {
    for (const rules::Finding& f : findings)
      if (f.rule->id == rule.id) out = f.status;
  };
  look(d.call_findings);
  for (const auto& c : d.candidates) look(c.findings);
  return out;
}

facts::FactSet with_torch_facts(const spec::OpSpec& spec) {
  facts::FactSet facts = session::what_if_facts(spec, nullptr);
  frameworks::torch_framework().add_facts(spec, facts);
  return facts;
}

std::string standing(const std::string& line, const char* backend) {
  const Diagnosis d = diagnose(read(line));
  const auto* c = d.find(backend);
  return c ? std::string(core::to_text(c->standing)) + (c->first_reason ? " " + std::string(c->first_reason->id) : "") : "absent";
}

std::string choice(const std::string& line) {
  const Diagnosis d = diagnose(read(line));
  if (d.undetermined) return "undetermined";
  if (d.error) return "error";
  return *d.selected;
}

}  // namespace

namespace {

// Rules whose blocked side no command line can state, because the spec is refused before any framework is looked at.
// The test states that side itself: case files and a program's own question to the selector do get there.
struct Beyond {
  std::string_view rule;
  std::string_view reason;
  void (*change)(spec::OpSpec& spec);
};

spec::Attention& attention(spec::OpSpec& spec) { return std::get<spec::Attention>(spec.op); }
void mask_of_half_the_rows(spec::OpSpec& spec) { attention(spec).mask->shape = {128, 256}; }
void one_axis(spec::OpSpec& spec) { attention(spec).q.shape = attention(spec).k.shape = attention(spec).v.shape = {64}; }
void on_the_cpu(spec::OpSpec& spec) { spec.context.target = "cpu"; }

constexpr Beyond beyond[] = {
    {"TCP014", "a mask that does not broadcast is an error of the spec", mask_of_half_the_rows},
    {"TCU030", "a mask that does not broadcast is an error of the spec", mask_of_half_the_rows},
    {"TSD003", "a tensor of one axis is an error of the spec", one_axis},
    {"TEF003", "on the CPU this backend is no candidate; can_use_efficient_attention() can be asked all the same", on_the_cpu},
    {"TFL003", "on the CPU this backend is no candidate; can_use_flash_attention() can be asked all the same", on_the_cpu}};

const Beyond* beyond_of(const Rule& rule) {
  for (const Beyond& b : beyond)
    if (b.rule == rule.id) return &b;
  return nullptr;
}

}  // namespace

TEST_CASE("the examples of every torch attention rule block and pass") {
  int judged = 0;
  for (const auto table : frameworks::torch_framework().tables())
    for (const Rule& rule : table) {
      INFO(rule.id << " " << rule.name << ": " << rule.blocked_example << " | " << rule.passing_example);
      const auto passing = status_of(rule, diagnose(read(rule.passing_example)));
      CHECK(passing.value_or(Truth::met) == Truth::met);
      if (const Beyond* b = beyond_of(rule)) {
        CHECK(rule.blocked_example.empty());  // otherwise it can be stated, and has no business in the list
        spec::OpSpec spec = read(rule.passing_example);
        CHECK(rules::status(rule, with_torch_facts(spec)) == Truth::met);
        b->change(spec);
        CHECK(rules::status(rule, with_torch_facts(spec)) == Truth::unmet);
        continue;
      }
      CHECK_FALSE(rule.blocked_example.empty());
      if (rule.blocked_example.empty()) continue;
      const auto blocked = status_of(rule, diagnose(read(rule.blocked_example)));
      CHECK(blocked.has_value());
      CHECK(blocked.value_or(Truth::met) == Truth::unmet);
      ++judged;
    }
  CHECK(judged > 190);
}

TEST_CASE("inputs of three axes have a batch axis from 2.15 on") {
  const std::string on = " --dtype f16 --framework torch --target sm_90 --disable cudnn --torch-version ";
  CHECK(choice("sdpa --q 8x256x64" + on + "2.14.1") == "torch-math");
  CHECK(choice("sdpa --q 8x256x64" + on + "2.15.0") == "torch-flash");
  CHECK(choice("sdpa --q 256x64" + on + "2.15.0") == "torch-math");
  CHECK(standing("sdpa --q 8x256x64 --mask bool:256x256" + on + "2.15.0", "torch-efficient") == "eligible");
  // The first axis is that of the heads: one head of k and v serves all, two do not.
  CHECK(choice("sdpa --q 8x256x64 --k 1x256x64" + on + "2.15.0") == "torch-flash");
  CHECK(standing("sdpa --q 8x256x64 --k 2x256x64" + on + "2.15.0", "torch-flash") == "refused TFL044");
  CHECK(choice("sdpa --q 8x256x64 --k 2x256x64 --gqa" + on + "2.15.0") == "torch-flash");
}

TEST_CASE("what 2.15 checks for cuDNN at the edges of versions, GPUs and lengths") {
  const auto decode = [](const char* target, const char* cudnn) {
    return standing(std::string("sdpa --q 1x8x1x64 --k 1x8x256x64 --dtype f16 --framework torch --torch-version 2.15.0 --target ") + target + " --cudnn-version " + cudnn, "torch-cudnn");
  };
  for (const char* bad : {"9.19.0", "9.20.0", "9.24.0", "9.25.0"}) CHECK(decode("sm_100", bad) == "refused TCU045");
  for (const char* good : {"9.18.1", "9.24.1", "9.24.9", "9.25.1", "9.26.0"}) CHECK(decode("sm_100", good) == "eligible");
  CHECK(decode("sm_110", "9.20.0") == "refused TCU045");
  CHECK(decode("sm_120", "9.20.0") == "eligible");
  CHECK(decode("sm_90", "9.20.0") == "eligible");
  const auto train = [](const char* shape, const char* more) {
    return standing(std::string("sdpa --q ") + shape + " --dtype f16 --framework torch --torch-version 2.15.0 --target sm_90 " + more, "torch-cudnn");
  };
  CHECK(train("1x8x704x64", "--train --cudnn-version 9.25.1") == "refused TCU046");
  CHECK(train("1x8x704x64", "--train --causal --cudnn-version 9.25.1") == "eligible");
  CHECK(train("1x8x640x64", "--train --cudnn-version 9.25.1") == "eligible");
  CHECK(train("1x8x704x64", "--cudnn-version 9.25.1") == "eligible");
}

TEST_CASE("cuDNN of the wheels, release by release") {
  const auto assumed = [](const char* torch) {
    const auto spec = read(std::string("sdpa --q 1x8x256x64 --dtype f16 --framework torch --target sm_90 --torch-version ") + torch);
    const auto facts = with_torch_facts(spec);
    const auto* version = std::get_if<facts::Version>(&facts.value(facts::Id::cudnn_version));
    return version ? facts::to_text(facts::Value(*version)) : std::string("unknown");
  };
  const std::pair<const char*, const char*> wheels[] = {
      {"2.0.1", "8.5.0"}, {"2.1.0", "8.9.2"}, {"2.3.1", "8.9.2"}, {"2.4.0", "9.1.0"}, {"2.6.0", "9.1.0"}, {"2.7.1", "9.5.1"}, {"2.8.0", "9.10.2"},
      {"2.10.0", "9.10.2"}, {"2.11.0", "9.19.0"}, {"2.12.0", "9.20.0"}, {"2.13.0", "9.20.0"}, {"2.14.1", "9.24.0"}, {"2.15.0", "9.26.0"}, {"2.16.0", "unknown"}};
  for (const auto& [torch, cudnn] : wheels) {
    INFO(torch);
    CHECK(assumed(torch) == cudnn);
  }
}

TEST_CASE("every blocking rule has a place among the checks of every version that it is in force in") {
  const std::vector<std::pair<std::string, facts::Version>> versions{
      {"2.0.0", facts::Version::of(2, 0, 0)}, {"2.0.1", facts::Version::of(2, 0, 1)}, {"2.1.0", facts::Version::of(2, 1)}, {"2.2.0", facts::Version::of(2, 2)},
      {"2.4.0", facts::Version::of(2, 4)},    {"2.5.0", facts::Version::of(2, 5)},    {"2.5.1", facts::Version::of(2, 5, 1)}, {"2.6.0", facts::Version::of(2, 6)},
      {"2.8.0", facts::Version::of(2, 8)},    {"2.9.0", facts::Version::of(2, 9)},    {"2.14.1", facts::Version::of(2, 14, 1)}, {"2.15.0", facts::Version::of(2, 15)}};
  namespace t = frameworks::torch_attention;
  const std::pair<std::span<const Rule>, std::span<const frameworks::CheckPosition>> tables[] = {
      {t::flash_rules(), t::flash_positions()}, {t::efficient_rules(), t::efficient_positions()}, {t::cudnn_rules(), t::cudnn_positions()},
      {t::cpu_rules(), t::cpu_positions()}, {t::math_rules(), t::math_positions()}};
  for (const auto& [rules, positions] : tables)
    for (const Rule& rule : rules) {
      if (rule.level != rules::Level::blocks) continue;
      for (const auto& [name, version] : versions) {
        facts::FactSet f;
        f.set(facts::Id::torch_version, version);
        int places = 0;
        for (const auto& p : positions) places += p.rule == rule.id && frameworks::contains(p.span, version);
        // The guard of every rule begins with its versions.
        const rules::Condition& guard = rule.applies.kind == rules::Kind::all ? rule.applies.parts.front() : rule.applies;
        const bool in_force = rules::evaluate(guard, f) == Truth::met;
        INFO(rule.id << " " << name);
        CHECK(places == (in_force ? 1 : 0));
      }
    }
}

TEST_CASE("names of case files all lead to a rule") {
  std::map<std::string_view, int> known;
  for (const auto table : frameworks::torch_framework().tables())
    for (const Rule& rule : table) ++known[rule.id];
  for (const auto& name : frameworks::torch_attention::case_names()) {
    INFO(name.name);
    CHECK(known[name.rule] == 1);
  }
}

TEST_CASE("orders by version, GPU, cuDNN and environment") {
  const std::string h100 = "sdpa --q 4x32x4096x128 --dtype bf16 --causal --framework torch --target h100-sxm --cudnn-version ";
  CHECK(choice(h100 + "9.1.0 --torch-version 2.5.0") == "torch-cudnn");
  CHECK(choice(h100 + "9.1.0 --torch-version 2.5.1") == "torch-flash");
  CHECK(choice(h100 + "9.10.2 --torch-version 2.9.0") == "torch-cudnn");
  CHECK(choice(h100 + "9.10.2 --torch-version 2.9.0 --env TORCH_CUDNN_SDPA_PREFERRED=0") == "torch-flash");
  CHECK(choice(h100 + "9.10.2 --torch-version 2.10.0") == "torch-flash");
  CHECK(choice(h100 + "9.15.0 --torch-version 2.11.0") == "torch-flash");
  CHECK(choice(h100 + "9.15.1 --torch-version 2.11.0") == "torch-cudnn");
  CHECK(choice(h100 + "9.19.0 --torch-version 2.11.0 --env TORCH_CUDNN_SDPA_DEPRIORITIZED=1") == "torch-flash");
  CHECK(choice(h100 + "9.1.0 --torch-version 2.6.0 --order torch-cudnn") == "torch-cudnn");
  CHECK(choice("sdpa --q 2x8x128x64 --framework torch --torch-version 2.6.0 --target cpu") == "torch-cpu-flash");
  CHECK(choice("sdpa --q 2x8x128x64 --framework torch --torch-version 2.0.0 --target cpu") == "torch-math");
}

TEST_CASE("a release without the function answers with an error, not with a backend") {
  const std::string call = "sdpa --q 1x8x256x64 --dtype f16 --framework torch --target sm_80 --torch-version ";
  CHECK(choice(call + "1.13.1") == "error");
  CHECK(choice(call + "2.0.0") == "torch-efficient");
}

TEST_CASE("known hazards of cuDNN releases are warnings, at the edges of versions") {
  const auto warned = [](const std::string& more, const char* id) {
    const Diagnosis d = diagnose(read("sdpa --dtype bf16 --framework torch " + more));
    for (const rules::Finding& f : d.find("torch-cudnn")->findings)
      if (f.rule->id == id) return f.status == Truth::unmet;
    return false;
  };
  const std::string train = "--q 1x24x261x64 --train --torch-version 2.9.1 --target ";
  CHECK(warned(train + "sm_90 --cudnn-version 9.15.0", "TCU105"));
  CHECK_FALSE(warned(train + "sm_90 --cudnn-version 9.15.1", "TCU105"));
  CHECK_FALSE(warned(train + "sm_89 --cudnn-version 9.15.0", "TCU105"));
  const std::string decode = "--q 1x8x1x64 --k 1x8x256x64 --torch-version 2.13.0 --target ";
  CHECK(warned(decode + "sm_100 --cudnn-version 9.20.0", "TCU106"));
  CHECK_FALSE(warned(decode + "sm_100 --cudnn-version 9.24.1", "TCU106"));
  CHECK(warned(decode + "sm_100 --cudnn-version 9.25.0", "TCU106"));
  CHECK_FALSE(warned(decode + "sm_90 --cudnn-version 9.20.0", "TCU106"));
}

TEST_CASE("an unknown fact leaves the choice open, and only where it matters") {
  const std::string call = "sdpa --q 4x8x512x64 --dtype bf16 --framework torch --torch-version ";
  CHECK(choice(call + "2.16.0 --target h100-sxm") == "undetermined");  // no cuDNN version is known for it
  CHECK(choice(call + "2.16.0 --target a100-40") == "torch-flash");    // never cuDNN first there
  CHECK(choice(call + "2.16.0 --target h100-sxm --disable cudnn") == "torch-flash");
}

TEST_CASE("all that is wrong is listed, and the first reason is PyTorch's own") {
  const std::string line = "sdpa --q 1x4x8x300 --dtype f32 --mask float --framework torch --torch-version 2.6.0 --target sm_80";
  CHECK(standing(line, "torch-flash") == "refused TFL005");
  const Diagnosis d = diagnose(read(line));
  int unmet = 0;
  for (const rules::Finding& f : d.find("torch-flash")->findings) unmet += f.status == Truth::unmet && f.rule->level == rules::Level::blocks;
  CHECK(unmet == 3);  // mask, head size, type
  // cuDNN's extents are looked at in the order batch and heads, head size.
  CHECK(standing("sdpa --q 70000x1x16x300 --dtype f16 --cudnn-version 9.22.0 --framework torch --torch-version 2.14.1 --target sm_80", "torch-cudnn") == "refused TCU020");
  CHECK(standing("sdpa --q 1x4x0x64 --k 1x4x8x64 --framework torch --torch-version 2.2.0 --target sm_80", "torch-flash").rfind("refused", 0) == 0);
}

// A name may appear in a text when it is one that the user writes: a field of the spec or an argument of the function.
TEST_CASE("what is required is said in words, not in names of facts") {
  const std::set<std::string> written{"head_dim", "head_dim_k", "head_dim_v", "q_len", "kv_len", "q_heads", "kv_heads", "v_heads",
                                      "batch", "batch_k", "batch_v", "dtype", "dropout_p", "causal_align", "mode", "is_causal", "enable_gqa"};
  std::set<std::string> names;
  for (std::size_t i = 0; i < facts::id_count; ++i) names.insert(std::string(facts::info(static_cast<facts::Id>(i)).name));
  for (const auto& table : frameworks::torch_framework().tables())
    for (const rules::Rule& rule : table) {
      const std::string text = rules::required_text(rule.requires_that) + " " + rules::required_text(rule.applies);
      std::string word;
      for (const char c : text + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.') {
          word += c;
          continue;
        }
        const bool internal = names.count(word) && !written.count(word) && (word.find('_') != std::string::npos || word.find('.') != std::string::npos);
        INFO(rule.id << ": " << text << " says " << word);
        CHECK_FALSE(internal);
        word.clear();
      }
    }
}
