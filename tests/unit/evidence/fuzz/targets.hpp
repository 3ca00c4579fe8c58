// What each reader is fed with by the fuzzers: any bytes at all. Nothing is asserted but that it comes back.
#pragma once
#include <cstdint>
#include <cstddef>
#include <string_view>
namespace fuzz {
void trace(std::string_view bytes);    // profiler traces, plain or gzip
void log(std::string_view bytes);      // library logs and pasted lines
void kernel(std::string_view bytes);   // kernel names
void database(std::string_view bytes); // Nsight Systems exports
}  // namespace fuzz
