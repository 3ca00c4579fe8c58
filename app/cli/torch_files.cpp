#include "cli/torch_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace dd::cli {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

}  // namespace

std::string torch_folder(const std::string& part) {
  if (const std::string data = variable("DD_DATA_DIR"); !data.empty()) {
    const fs::path given = fs::path(data) / "torch" / part;
    return is_folder(given) ? given.string() : "";
  }
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    const fs::path installed = program.parent_path().parent_path() / "share" / "dispatchdoctor" / "torch" / part;
    if (is_folder(installed)) return installed.string();
  }
  const fs::path source = fs::path(DD_SOURCE_DIR) / "lib" / "frameworks" / "torch" / part;
  return is_folder(source) ? source.string() : "";
}

std::string python_of(const RunOptions& run) {
  if (run.python) return *run.python;
  if (const std::string active = variable("VIRTUAL_ENV"); !active.empty()) return active + "/bin/python";
  return "python3";
}

std::optional<session::WorkerKind> torch_worker(const RunOptions& run) {
  const std::string folder = torch_folder("worker");
  if (folder.empty()) return std::nullopt;
  session::WorkerKind kind;
  kind.name = "torch";
  kind.command = {python_of(run), folder};
  // No byte code beside the installed files, and output that is there when the worker dies.
  kind.environment = {{"PYTHONDONTWRITEBYTECODE", "1"}, {"PYTHONUNBUFFERED", "1"}};
  kind.start_timeout = 180;  // a first import from a cold disk reads gigabytes
  if (const double given = std::strtod(variable("DISPATCHDOCTOR_START_SECONDS").c_str(), nullptr); given > 0) kind.start_timeout = given;
  return kind;
}

}  // namespace dd::cli
