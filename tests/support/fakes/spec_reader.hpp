// Reads the few spec fields that the fakes look at, so that tests of the process machinery do not depend on the spec parser.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/result.hpp"
#include "spec/spec.hpp"

namespace dd::test {

inline core::Result<spec::OpSpec> read_spec(std::string_view text) {
  const auto j = nlohmann::json::parse(text, nullptr, false);
  if (!j.is_object() || j.value("op", "") != "sdpa") return core::Problem{"op", {}, "sdpa", "fakes serve attention only", {}, 0};
  spec::Attention a;
  for (auto [name, tensor] : {std::pair{"q", &a.q}, {"k", &a.k}, {"v", &a.v}})
    if (j.contains(name)) tensor->shape = j[name].at("shape").get<spec::Dims>();
  spec::OpSpec spec;
  spec.op = a;
  return spec;
}

}  // namespace dd::test
