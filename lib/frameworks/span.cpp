#include <algorithm>

#include "frameworks/framework.hpp"

namespace dd::frameworks {
namespace {

// The last version that an end text covers: "2.6" stands for every 2.6.x, "2.5.1" for itself.
facts::Version last_of(std::string_view text) {
  facts::Version version;
  facts::Version::parse(text, version);
  const auto dots = std::count(text.begin(), text.end(), '.');
  if (dots == 0) version.code += 99999LL * 100000 + 99999;
  if (dots == 1) version.code += 99999;
  return version;
}

}  // namespace

bool contains(Span span, facts::Version version) {
  facts::Version since;
  if (!span.since.empty() && facts::Version::parse(span.since, since) && version < since) return false;
  return span.until.empty() || version <= last_of(span.until);
}

rules::Condition in_span(facts::Id fact, Span span) {
  rules::Condition condition = rules::version_in(fact, span.since, "");
  if (!span.until.empty()) condition.literals[1] = last_of(span.until);
  return condition;
}

}  // namespace dd::frameworks
