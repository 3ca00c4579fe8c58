// record: runs a program with the recorder in its Python's path, and writes the spec of every call that it makes.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "cli/output.hpp"
#include "cli/torch_files.hpp"
#include "cli/verbs.hpp"

namespace dd::cli {
namespace {

namespace fs = std::filesystem;

// The program's own exit status, as a shell would say it.
int run_program(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) {
    complain(fmt::format("record: the program could not be started: {}", std::strerror(errno)));
    return 126;
  }
  if (child == 0) {
    ::execvp(argv[0], argv.data());
    const int error = errno;
    complain(fmt::format("record: {}: {}", words[0], std::strerror(error)));
    ::_exit(error == ENOENT ? 127 : 126);
  }
  // Ctrl-C is for the program; what it recorded is wanted all the same.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::size_t lines_of(const std::string& path) {
  std::ifstream file(path);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) count += !line.empty();
  return count;
}

}  // namespace

int run_record(const Invocation& in) {
  const std::string folder = torch_folder("recorder");
  if (folder.empty()) {
    complain("record: the recorder's files are not beside this program (DD_DATA_DIR names another place)");
    return 2;
  }
  // The program may change its folder, so the file is named from the root.
  std::error_code failed;
  const std::string path = fs::absolute(in.run.json_file.value_or("recorded.jsonl"), failed).string();
  if (std::ofstream file(path, std::ios::trunc); failed || !file) {
    complain(fmt::format("record: {} cannot be written", path));
    return 2;
  }
  const char* before = std::getenv("PYTHONPATH");
  const std::string python_path = before && *before ? folder + ":" + before : folder;
  ::setenv("PYTHONPATH", python_path.c_str(), 1);
  ::setenv("DISPATCHDOCTOR_RECORD", path.c_str(), 1);
  const int status = run_program(in.arguments);
  const std::size_t lines = lines_of(path);
  if (lines == 0) {
    complain("record: nothing was recorded: the program made no such call with torch, did not end by itself, or runs Python with -I, -E or -S");
    fs::remove(path, failed);
  } else if (!in.run.quiet) {
    complain(fmt::format("{} specs in {}; diagnose them with: dispatchdoctor run {} --framework torch", lines, path, path));
  }
  return status;
}

}  // namespace dd::cli
