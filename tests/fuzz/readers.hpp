// What must hold for any text that a reader is given. A violation aborts with a message.
#pragma once
#include <string_view>

namespace dd::fuzz {

void fuzz_json(std::string_view text);   // a JSON document and JSON lines
void fuzz_lines(std::string_view text);  // a batch file of command lines

}  // namespace dd::fuzz
