// Proposals: what is proposed helps, the smallest comes first, and what is kept is true on the reference.
#include "session/fix.hpp"

#include <cstdio>
#include <fstream>

#include "cli/options.hpp"
#include "frameworks/torch/torch.hpp"
#include "report/matrix.hpp"
#include "report/render/render.hpp"
#include "session/mask_file.hpp"
#include "session/roofline.hpp"
#include "spec/canonical.hpp"
#include "support/catch.hpp"

using namespace dd;
using rules::Change;
using session::Proposal;

namespace {

spec::OpSpec fixable(const std::string& line) {
  const auto spec = cli::parse_batch_line(line);
  INFO(line);
  REQUIRE(spec.ok());
  return *spec;
}

std::vector<Proposal> propose(const spec::OpSpec& spec) { return session::propose(spec, session::judge_of(frameworks::torch_framework(), nullptr)); }

const Proposal* with(const std::vector<Proposal>& list, Change change, const std::string& candidate) {
  for (const Proposal& p : list)
    if (p.candidate == candidate && p.edits.size() == 1 && p.edits[0].change == change) return &p;
  return nullptr;
}

void check_all_help(const spec::OpSpec& spec, const std::vector<Proposal>& list) {
  const auto judge = session::judge_of(frameworks::torch_framework(), nullptr);
  for (const Proposal& p : list) {
    INFO(p.text());
    const session::Judged after = judge(p.edits.back().spec);
    CHECK(after.selected == std::optional<std::string>(p.candidate));
    CHECK_FALSE(after.fails);
    CHECK_FALSE(p.edits.back().spec == spec);
  }
  for (std::size_t i = 1; i < list.size(); ++i) CHECK(list[i - 1].keeps <= list[i].keeps);
}

const std::string torch26 = " --framework torch --torch-version 2.6.0 --target a100-40 --built-with cudnn=off";

}  // namespace

TEST_CASE("masked grouped heads: expanding k and v brings a fused backend back") {
  const auto spec = fixable("sdpa --q 1x8x64x64 --k 1x2x64x64 --dtype f16 --gqa --mask bool" + torch26);
  const auto list = propose(spec);
  check_all_help(spec, list);
  const Proposal* p = with(list, Change::expand_kv_heads, "torch-efficient");
  REQUIRE(p);
  CHECK(p->bytes == 2.0 * 8 * 64 * 64 * 2);
  CHECK(session::try_on_reference(spec, p->edits.back().spec).find("same") != std::string::npos);
}

TEST_CASE("a head size that is not a multiple of 8 is padded, and the result is kept") {
  const auto spec = fixable("sdpa --q 1x2x32x36 --dtype f16 --mask bool --mask-content padding:4" + torch26);
  const auto list = propose(spec);
  check_all_help(spec, list);
  const Proposal* p = with(list, Change::pad_head_dim, "torch-efficient");
  REQUIRE(p);
  CHECK(p->edits[0].spec.attention().q.shape.back() == 40);
  CHECK(p->flops_percent > 11);
  CHECK(p->flops_percent < 12);
  CHECK(session::try_on_reference(spec, p->edits.back().spec).find("same") != std::string::npos);
}

TEST_CASE("a mask that is exactly causal becomes the flag; one that is not stays") {
  const auto causal = fixable("sdpa --q 1x2x32x64 --dtype f16 --mask bool --mask-content causal" + torch26);
  const auto list = propose(causal);
  check_all_help(causal, list);
  const Proposal* p = with(list, Change::mask_to_causal, "torch-flash");
  REQUIRE(p);
  CHECK(session::try_on_reference(causal, p->edits.back().spec).find("same") != std::string::npos);
  const auto padding = fixable("sdpa --q 1x2x32x64 --dtype f16 --mask bool --mask-content padding:4" + torch26);
  CHECK(with(propose(padding), Change::mask_to_causal, "torch-flash") == nullptr);
  CHECK(with(propose(padding), Change::drop_mask, "torch-flash") == nullptr);
  // A boolean mask of zeros closes everything: dropping it would change the meaning.
  CHECK(with(propose(fixable("sdpa --q 1x2x32x64 --dtype f16 --mask bool --mask-content zeros" + torch26)), Change::drop_mask, "torch-flash") == nullptr);
  CHECK(with(propose(fixable("sdpa --q 1x2x32x64 --dtype f16 --mask float --mask-content zeros" + torch26)), Change::drop_mask, "torch-flash"));
}

TEST_CASE("types, versions, switches, axes; and nothing where nothing is to gain") {
  const auto f64 = fixable("sdpa --q 1x2x32x64 --dtype f64" + torch26);
  const auto casts = propose(f64);
  check_all_help(f64, casts);
  REQUIRE_FALSE(casts.empty());
  for (const Proposal& p : casts) CHECK(p.keeps == rules::Keeps::precision);
  const auto old = fixable("sdpa --q 1x2x32x64 --dtype f16 --framework torch --torch-version 2.6.0 --target rtx-5090 --built-with cudnn=off");
  const auto versions = propose(old);
  check_all_help(old, versions);
  const Proposal* v = with(versions, Change::change_version, "torch-flash");
  REQUIRE(v);
  CHECK(v->edits[0].spec.context.torch == std::optional<std::string>("2.7.0"));
  const auto off = fixable("sdpa --q 1x2x32x64 --dtype f16 --disable flash,efficient" + torch26);
  CHECK(with(propose(off), Change::enable_flag, "torch-flash"));
  const auto flat = fixable("sdpa --q 4x32x64 --dtype f16" + torch26);
  const auto axes = propose(flat);
  const Proposal* a = with(axes, Change::add_axis, "torch-flash");
  REQUIRE(a);
  CHECK(session::try_on_reference(flat, a->edits.back().spec).find("same") != std::string::npos);
  CHECK(propose(fixable("sdpa --q 1x2x32x64 --dtype f16" + torch26)).empty());
}

TEST_CASE("two changes where one is not enough") {
  const auto spec = fixable("sdpa --q 1x4x32x60 --k 1x2x32x60 --dtype f16 --gqa --mask bool --mask-content padding:4" + torch26);
  const auto list = propose(spec);
  check_all_help(spec, list);
  bool pair = false;
  for (const Proposal& p : list) pair = pair || (p.candidate == "torch-efficient" && p.edits.size() == 2);
  CHECK(pair);
}

TEST_CASE("the case of a report: verdict, reasons, tried fixes, cost") {
  session::WhatIfOptions options;
  options.fix = true;
  options.canonical = spec::canonical;
  options.repro = spec::repro_line;
  const auto spec = fixable("sdpa --q 1x8x64x64 --k 1x2x64x64 --dtype f16 --gqa --mask bool" + torch26);
  const report::Case c = session::what_if(spec, "1", frameworks::torch_framework(), nullptr, options);
  CHECK(c.verdict.status == report::Status::fallback);
  CHECK(c.verdict.grade == report::Grade::modelled);
  CHECK(c.verdict.summary.find("torch-math") != std::string::npos);
  CHECK(c.decision.selected == std::optional<std::string>("torch-math"));
  bool tried = false, cost = false;
  for (const std::string& line : c.verdict.because) {
    tried = tried || line.find("tried: the reference gives the same") != std::string::npos;
    cost = cost || line.find("materialised path") != std::string::npos;
  }
  CHECK(tried);
  CHECK(cost);
  for (const report::Candidate& candidate : c.candidates) CHECK(candidate.grade == report::Grade::modelled);
}

namespace {

void write_mask(const std::string& path, std::int64_t rows, std::int64_t columns, bool (*open)(std::int64_t, std::int64_t)) {
  std::string header = "{'descr': '|b1', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  header += std::string(118 - 1 - header.size(), ' ') + "\n";
  std::ofstream out(path, std::ios::binary);
  out << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size()) << '\0' << header;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) out.put(open(r, c) ? '\1' : '\0');
}

report::Case fixed_case(const std::string& line) {
  session::WhatIfOptions options;
  options.fix = true;
  options.canonical = spec::canonical;
  options.repro = spec::repro_line;
  return session::what_if(fixable(line), "1", frameworks::torch_framework(), nullptr, options);
}

std::string fixes_of(const report::Case& c) {
  std::string out;
  for (const std::string& line : c.verdict.because)
    if (line.starts_with("fix: ")) out += line + "\n";
  return out;
}

}  // namespace

TEST_CASE("a mask file is looked into before anything is proposed") {
  const std::string path = "fix_mask_test.npy", call = "sdpa --q 1x2x32x64 --dtype f16 --mask bool --mask-content fix_mask_test.npy" + torch26;
  write_mask(path, 32, 32, [](std::int64_t r, std::int64_t c) { return c <= r; });
  CHECK(fixes_of(fixed_case(call)).find("replace the mask, which is exactly causal, by is_causal=True: torch-flash becomes the chosen one; keeps function; tried: the reference gives the same") != std::string::npos);
  write_mask(path, 32, 32, [](std::int64_t, std::int64_t) { return true; });
  CHECK(fixes_of(fixed_case(call)).find("leave out the mask: it is open everywhere: torch-flash becomes the chosen one; keeps function; tried: the reference gives the same") != std::string::npos);
  // Closed everywhere, or another shape: the mask stays.
  write_mask(path, 32, 32, [](std::int64_t, std::int64_t) { return false; });
  CHECK(fixes_of(fixed_case(call)).empty());
  write_mask(path, 32, 32, [](std::int64_t r, std::int64_t c) { return (r + c) % 3 == 0; });
  CHECK(fixes_of(fixed_case(call)).empty());
  std::remove(path.c_str());
}

TEST_CASE("the list of what to change holds only what was found to help") {
  const report::Case c = fixed_case("sdpa --q 1x8x64x64 --k 1x2x64x64 --dtype f16 --gqa --mask bool" + torch26);
  const std::string text = report::render_case(c, {});
  const auto at = text.find("what to change");
  REQUIRE(at != std::string::npos);
  CHECK(text.find("TEF029", at) != std::string::npos);
  CHECK(text.find("TFL005", at) == std::string::npos);  // the mask is not causal: nothing to be gained there
  // Where nothing helps, nothing is promised.
  const report::Case none = fixed_case("sdpa --q 1x2x32x64 --dtype f16 --framework torch --torch-version 2.15.0 --target sm_37 --built-with cudnn=off");
  const std::string words = report::render_case(none, {});
  CHECK(words.find("no single change and no pair of changes") != std::string::npos);
  CHECK(words.find("what to change") == std::string::npos);
}

TEST_CASE("Markdown tells proposals from reasons") {
  report::Report report;
  report.cases.push_back(fixed_case("sdpa --q 1x8x64x60 --dtype f16 --mask bool" + torch26));
  const std::string md = report::render_markdown(report);
  CHECK(md.find("\n- fix: ") != std::string::npos);
  CHECK(md.find("because fix: ") == std::string::npos);
  CHECK(md.find("\n- because torch-flash: TFL005") != std::string::npos);
}

TEST_CASE("one table over targets") {
  session::WhatIfOptions options;
  const auto spec = fixable("sdpa --q 1x8x256x64 --dtype bf16 --framework torch --torch-version 2.6.0");
  const auto targets = facts::find_profiles("t4,a100-40,b200");
  REQUIRE(targets.ok());
  std::vector<report::Case> cases;
  std::vector<std::string> labels;
  for (const auto& target : *targets) {
    cases.push_back(session::what_if(spec, target.name, frameworks::torch_framework(), &target, options));
    labels.push_back(target.name);
  }
  const report::Matrix matrix = report::make_matrix(cases, labels);
  REQUIRE(matrix.rows.size() == 3);
  CHECK(matrix.rows[0].verdict == "fallback");   // bf16 on Turing
  CHECK(matrix.rows[1].verdict == "fast-path");
  CHECK(matrix.rows[2].verdict == "fallback");   // Blackwell on 2.6
  const std::string md = report::matrix_markdown(matrix);
  CHECK(md.find("| a100-40 | **chosen** |") != std::string::npos);
  CHECK(md.find("- TEF025: ") == std::string::npos);
  for (const auto& row : matrix.rows)
    for (const auto& cell : row.cells)
      for (const std::string& id : cell.ids) CHECK(md.find("- " + id + ": ") != std::string::npos);
  // What all rows stand on is said once, and whether it was stated.
  CHECK(md.find("Versions: torch 2.6.0, cudnn 9.1.0 (assumed; --cudnn-version names another)\n") != std::string::npos);
  CHECK(report::matrix_text(matrix).find("\nversions: torch 2.6.0, cudnn 9.1.0 (assumed; --cudnn-version names another)\n") != std::string::npos);
}

TEST_CASE("versions that differ between the rows of a table have a column each") {
  std::vector<report::Case> cases;
  const auto target = facts::find_profile("h100-sxm");
  for (const char* version : {"2.6.0", "2.9.1"})
    cases.push_back(session::what_if(fixable(std::string("sdpa --q 1x8x256x64 --dtype bf16 --framework torch --torch-version ") + version), "1", frameworks::torch_framework(), &*target, {}));
  const std::vector<std::string> plain{"first", "second"}, named{"h100-sxm torch 2.6.0", "h100-sxm torch 2.9.1"};
  const std::string md = report::matrix_markdown(report::make_matrix(cases, plain));
  CHECK(md.find("Versions:") == std::string::npos);
  CHECK(md.find("| target | torch | cudnn | torch-flash |") != std::string::npos);
  CHECK(md.find("| first | 2.6.0 | 9.1.0 (assumed) |") != std::string::npos);
  CHECK(md.find("| second | 2.9.1 | 9.10.2 (assumed) |") != std::string::npos);
  // A version that the label of every row names has none.
  const std::string text = report::matrix_text(report::make_matrix(cases, named));
  CHECK(text.find("  torch  ") == std::string::npos);
  CHECK(text.find("h100-sxm torch 2.6.0  9.1.0 (assumed)") != std::string::npos);
}

TEST_CASE("costs: arithmetic, traffic and memory of each path") {
  const auto spec = fixable("sdpa --q 2x8x1024x64 --dtype f16 --framework torch");
  const auto target = facts::find_profile("a100-40");
  const auto costs = session::attention_costs(spec, &*target);
  REQUIRE(costs.size() == 2);
  CHECK(costs[0].flops == 4.0 * 2 * 8 * 1024 * 1024 * 64);
  CHECK(costs[0].traffic == 4.0 * 2 * 8 * 1024 * 64 * 2);
  CHECK(costs[1].extra_memory >= 2.0 * 2 * 8 * 1024 * 1024 * 4);
  REQUIRE(costs[0].bound);
  CHECK(*costs[0].bound == Approx(costs[0].flops / 312e12));
  CHECK(*costs[1].bound > *costs[0].bound);
  CHECK_FALSE(session::attention_costs(spec, nullptr)[0].bound);
  CHECK(session::bytes_text(1536) == "1.5 KiB");
}

TEST_CASE("NumPy files: good ones are read, damaged ones say so") {
  const std::string path = "mask_test.npy";
  const auto write = [&](std::string header, const std::string& data) {
    header += std::string(118 - 1 - header.size() % 118, ' ') + "\n";
    std::ofstream out(path, std::ios::binary);
    out << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size()) << '\0' << header << data;
  };
  write("{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), }", std::string("\1\0\1\0\1\0", 6));
  auto good = session::read_npy(path);
  REQUIRE(good.ok());
  CHECK(good->shape == std::vector<std::int64_t>{2, 3});
  CHECK(good->strides == std::vector<std::int64_t>{3, 1});
  write("{'descr': '|b1', 'fortran_order': True, 'shape': (2, 3), }", std::string("\1\0\1\0\1\0", 6));
  CHECK(session::read_npy(path)->strides == std::vector<std::int64_t>{1, 2});
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", "short");
  CHECK_FALSE(session::read_npy(path).ok());
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }", "");
  CHECK_FALSE(session::read_npy(path).ok());
  write("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "12345678");
  CHECK_FALSE(session::read_npy(path).ok());
  write("nonsense", "");
  CHECK_FALSE(session::read_npy(path).ok());
  std::ofstream(path, std::ios::binary) << "\x93NUM";
  CHECK_FALSE(session::read_npy(path).ok());
  std::remove(path.c_str());
  CHECK_FALSE(session::read_npy(path).ok());
}
