#include "targets.hpp"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "evidence/logs/logs.hpp"
#include "evidence/open.hpp"
#include "evidence/trace/nsys.hpp"

using namespace dd::evidence;

namespace fuzz {

void trace(std::string_view bytes) {
  OpenOptions options;
  options.limit.free_bytes = 1 << 20;
  const auto source = memory_source(bytes, options.limit);
  Trace records;
  read_kineto(*source, records);
  (void)to_json(answer_trace(records), true).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void log(std::string_view bytes) {
  const auto source = memory_source(bytes);
  (void)to_json(answer_log(*source, "fuzz"), true).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void kernel(std::string_view bytes) { (void)classify_kernel(bytes); }

void database(std::string_view bytes) {
  char path[] = "/tmp/dd-fuzz-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return;
  const bool written = write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  close(fd);
  if (written) {
    Trace records;
    read_nsys(path, records);
    (void)answer_trace(records);
  }
  unlink(path);
}

}  // namespace fuzz
