#include "session/fix_parts.hpp"

#include <fmt/format.h>

namespace dd::session {

double bytes_of(const spec::TensorSpec& t) {
  double n = core::info(t.dtype).bits / 8.0;
  for (std::int64_t extent : t.shape) n *= static_cast<double>(extent);
  return n;
}

spec::TensorSpec fresh(const spec::TensorSpec& t, spec::Dims shape) {
  spec::TensorSpec out = t;
  out.shape = std::move(shape);
  out.strides.reset();
  out.offset = 0;
  out.storage.reset();
  return out;
}

void add_newer(const spec::OpSpec& spec, const char* library, std::optional<std::string> spec::Context::*member, std::initializer_list<const char*> list, std::vector<Edit>& out) {
  facts::Version now, next;
  if (!(spec.context.*member) || !facts::Version::parse(*(spec.context.*member), now)) return;
  for (const char* text : list) {
    facts::Version::parse(text, next);
    if (!(next > now)) continue;
    Edit e{rules::Change::change_version, fmt::format("use {} {} or newer", library, text), rules::Keeps::function, 0, 0, spec};
    e.spec.context.*member = text;
    out.push_back(std::move(e));
  }
}

}  // namespace dd::session
