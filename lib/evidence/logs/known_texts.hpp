// Error and warning texts that people paste, by a part that tells each from all others, with the row that explains it.
#pragma once
#include <span>
#include <string_view>

#include "evidence/answer/answer.hpp"
namespace dd::evidence {

struct KnownText {
  std::string_view part, id;
  PathVerdict sdpa, gemm;     // what the line says about each
  std::string_view backend = {};  // torch attention backend that the line is about; its reason may follow
  bool raises = false;            // where the line is an error, the call ended there: no path
};
std::span<const KnownText> known_texts();

}  // namespace dd::evidence
