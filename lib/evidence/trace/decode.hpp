// Sources that rewrite another one on the way: gzip expanded, UTF-16 as UTF-8.
#pragma once
#include <memory>

#include "evidence/trace/source.hpp"
namespace dd::evidence {
std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> inner, ExpandLimit limit);
// The mark at the start is dropped; a half character becomes the replacement sign.
std::unique_ptr<ByteSource> utf16_source(std::unique_ptr<ByteSource> inner, bool little_endian);
}  // namespace dd::evidence
