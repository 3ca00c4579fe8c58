// PyTorch's own words and the rules they are mapped to.
#include <algorithm>

#include "backends/catalogue.hpp"
#include "frameworks/torch/messages.hpp"
#include "support/catch.hpp"

using namespace dd;
using frameworks::torch::messages;
using frameworks::torch::rules_of;
using Ids = std::vector<std::string_view>;

TEST_CASE("torch messages: every row names rules that exist, and no fragment is part of another row's") {
  REQUIRE(messages().size() > 30);
  for (const auto& m : messages()) {
    INFO(m.fragment);
    CHECK(m.fragment.size() >= 12);
    REQUIRE_FALSE(m.rules.empty());
    for (std::string_view id : m.rules) {
      INFO(id);
      CHECK(backends::catalogue().find(id) != nullptr);
    }
    for (const auto& other : messages())
      if (&other != &m) CHECK(other.fragment.find(m.fragment) == std::string_view::npos);
  }
}

TEST_CASE("torch messages: one text, seen from each backend") {
  const std::string_view rank = "All fused kernels requires query, key and value to be 4 dimensional, but got Query dim: 3, Key dim: 3";
  CHECK(rules_of(rank, "torch-flash") == Ids{"TFL004"});
  CHECK(rules_of(rank, "torch-cpu-flash") == Ids{"TCP005"});
  CHECK(rules_of(rank).size() == 4);
  CHECK(rules_of("Flash attention requires q,k,v to have the same last dimension. Got Query.size(-1): 16", "torch-cpu-flash") == Ids{"TCP015"});
  CHECK(rules_of("No available kernel. Aborting execution.", "torch-math") == Ids{"TSD011"});
}

TEST_CASE("torch messages: the release decides, and what is unknown stays unknown") {
  const std::string_view old_text = "Flash attention requires q,k,v to have the same last dimension and to be a multiple of 8 and less than or equal to 128.";
  const auto at = [](std::int64_t minor) { return facts::Version::of(2, minor); };
  const auto early = at(0), late = at(8);
  CHECK(rules_of(old_text, "torch-flash", &early) == Ids{"TFL007", "TFL008"});
  CHECK(rules_of(old_text, "torch-flash", &late).empty());
  CHECK(rules_of("something that no release prints").empty());
  CHECK(rules_of("").empty());
}
