#include <cstdlib>
#include <fstream>

#include "cli/options.hpp"
#include "support/catch.hpp"

using namespace dd;

TEST_CASE("words are split as a shell would", "[cli]") {
  using Words = std::vector<std::string>;
  CHECK(*cli::split_words(R"(a  'b c' "d \"e\" $f" g\ h ''  # rest)") == Words{"a", "b c", "d \"e\" $f", "g h", ""});
  CHECK(*cli::split_words("a#b #c") == Words{"a#b"});
  CHECK(*cli::split_words(R"('it'\''s')") == Words{"it's"});
  CHECK(*cli::split_words(R"("a\b")") == Words{R"(a\b)"});
  CHECK(cli::split_words("")->empty());
  CHECK_FALSE(cli::split_words("a 'b"));
  CHECK_FALSE(cli::split_words("\"b"));
  CHECK(*cli::split_words("a\\") == Words{"a\\"});
}

TEST_CASE("a batch file: comments, bad lines, lines and file are named", "[cli]") {
  const auto entries = cli::parse_batch(
      "# two calls\n\nsdpa --q 1x2x3x4 --causal  # masked\r\ndispatchdoctor gemm --x 2x3 --w 3x4\n  conv --x 1\nsdpa --q 1x2x3x4 --casual --dropout 3\n"
      "sdpa --q 1x2x3x4 --json out.json\nsdpa --q 'open\nsdpa --q 1x2x3x4 stray",
      "b.txt");
  REQUIRE(entries.size() == 7);
  CHECK(entries[0].spec);
  CHECK(entries[0].line == 3);
  CHECK(entries[0].spec.value().attention().is_causal);
  CHECK(entries[1].spec);
  for (std::size_t i = 2; i < entries.size(); ++i) {
    INFO(i);
    REQUIRE_FALSE(entries[i].spec);
    for (const core::Problem& p : entries[i].spec.problems()) {
      CHECK(p.file == "b.txt");
      CHECK(p.line == entries[i].line);
    }
  }
  CHECK(entries[2].line == 5);
  CHECK(entries[3].spec.problems()[0].field == "--casual");
}

TEST_CASE("a bias of shape 1 is a shape, not a switch", "[cli]") {
  const auto spec = cli::parse_batch_line("gemm --x 2x3 --w 3x4 --bias=1");
  REQUIRE(spec);
  CHECK(spec.value().gemm().bias->shape == spec::Dims{1});
}

TEST_CASE("files that cannot be read are one entry each", "[cli]") {
  const auto missing = cli::load_specs("/nonexistent/specs.json");
  REQUIRE(missing.size() == 1);
  REQUIRE_FALSE(missing[0].spec);
  CHECK(missing[0].spec.problems()[0].file == "/nonexistent/specs.json");
  const auto folder = cli::load_specs("/");
  REQUIRE(folder.size() == 1);
  CHECK_FALSE(folder[0].spec);
}

TEST_CASE("the example specs are valid", "[cli]") {
  const char* source = std::getenv("DD_SOURCE_DIR");
  REQUIRE(source);
  for (const char* name : {"two-layers.jsonl", "two-layers-cpu.jsonl", "attention.txt", "gemm.txt", "mask.json"}) {
    const auto entries = cli::load_specs(std::string(source) + "/configs/specs/" + name);
    INFO(name);
    CHECK(entries.size() >= 1);
    for (const spec::Entry& entry : entries) {
      INFO(entry.line);
      if (!entry.spec)
        for (const core::Problem& p : entry.spec.problems()) UNSCOPED_INFO(to_text(p));
      CHECK(entry.spec);
    }
  }
}
