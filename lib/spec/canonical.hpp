// The canonical form of a valid spec: one line of JSON with every field, in a fixed order, defaults written out; reading
// it gives the same spec, so that writing it again gives the same bytes. And the command line that re-runs exactly it.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "spec/spec.hpp"

namespace dd::spec {

nlohmann::ordered_json to_json(const OpSpec& spec);
std::string canonical(const OpSpec& spec);
// "dispatchdoctor sdpa --q 1x8x256x64 ...": only what is not the default, quoted for a POSIX shell.
std::string repro_line(const OpSpec& spec);
// The same for a list of words: quoted where the shell needs it.
std::string shell_quote(std::string_view word);

}  // namespace dd::spec
