// The environment record: what a reader needs to know about the machine to judge a report. Redacted by default: host, user,
// home and any path outside the system's own folders, so that it can be pasted.
#pragma once
#include <string>

namespace dd::backends {

// JSON text of one object. Opens the libraries of the processor's backends, so that they are listed with what is really
// mapped; NVIDIA's too with `nvidia`, which takes a third of a second.
std::string environment_json(bool redact = true, bool nvidia = false);
// The same for a terminal.
std::string environment_text(bool redact = true);
// Host, user and home names and private paths replaced by <host>, <user>, <home>, <path>/name.
std::string redacted(std::string text);

}  // namespace dd::backends
