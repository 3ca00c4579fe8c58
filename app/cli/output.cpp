#include "cli/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "backends/environment.hpp"
#include "core/version.hpp"
#include "report/texts.hpp"

namespace dd::cli {
namespace {

int print_error = 0;  // errno of the first failed write to standard output

std::string rendered(const report::Report& report, Format format, const RunOptions& run) {
  switch (format) {
    case Format::json: return report::render_json(report);
    case Format::md: return report::render_markdown(report, run.verbosity);
    case Format::junit: return report::render_junit(report);
    case Format::text: return report::render_text(report, text_options(run));
  }
  return {};
}

// Through a neighbour and a rename, so that a reader never sees half a report.
bool write_file(const std::string& path, const std::string& text) {
  const std::string neighbour = fmt::format("{}.part{}", path, getpid());
  {
    std::ofstream out(neighbour, std::ios::binary);
    out << text;
    out.flush();
    if (!out) {
      std::error_code ignored;
      std::filesystem::remove(neighbour, ignored);
      return false;
    }
  }
  std::error_code error;
  std::filesystem::rename(neighbour, path, error);
  return !error;
}

// Devices, pipes and links (/dev/stdout, /dev/null) are written to as they are, and so is a file in a folder that takes no
// other; a rename would put a new file in their place.
bool write_anywhere(const std::string& path, const std::string& text) {
  std::error_code ignored;
  const bool there = std::filesystem::exists(path, ignored);
  const bool plain = std::filesystem::symlink_status(path, ignored).type() == std::filesystem::file_type::regular;
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (there && (!plain || ::access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) != 0)) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.flush();
    return static_cast<bool>(out);
  }
  return write_file(path, text);
}

}  // namespace

bool use_color(const RunOptions& run) {
  if (run.color != Color::automatic) return run.color == Color::always;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) && !(no_color && *no_color) && !(term && std::string_view(term) == "dumb");
}

report::TextOptions text_options(const RunOptions& run) { return {use_color(run), run.quiet ? -1 : run.verbosity}; }

void print(const std::string& text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written && print_error == 0) print_error = errno != 0 ? errno : EIO;
}

int code_with_output(int code) {
  if (print_error == 0 || print_error == EPIPE) return code;
  complain(fmt::format("error: standard output: cannot be written: {}", std::strerror(print_error)));
  return 2;
}

void hold_standard_descriptors() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
      // The lowest free number is `fd`. Read-only for standard output: that writing fails stays visible.
      const int null = ::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
      if (null >= 0 && null != fd) ::close(null);
    }
}

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

void complain(const std::string& text) { say(fmt::format("dispatchdoctor: {}\n", text)); }

void complain(const core::Problems& problems) {
  // A mistake that a thousand options share is one mistake; a thousand different ones are more than anybody reads.
  constexpr std::size_t most = 1000;
  std::set<std::string> said;
  for (const core::Problem& p : problems) {
    if (said.size() == most) {
      complain("error: the rest is not shown");
      return;
    }
    std::string text = core::to_text(p);
    if (said.insert(text).second) complain("error: " + text);
  }
}

int refuse(const core::Problems& problems) {
  complain(problems);
  if (problems.size() > 1) complain(fmt::format("{} errors, nothing was run", problems.size()));
  return 2;
}

report::Report new_report(const std::vector<std::string>& argv, const RunOptions& run) {
  report::Report r;
  r.tool = fmt::format("dispatchdoctor {}", core::tool_version());
  r.argv = argv;
  r.environment_json = backends::environment_json(run.redact.value_or(true));
  return r;
}

std::string shown_text(std::string text, const RunOptions& run) { return run.redact.value_or(false) ? backends::redacted(std::move(text)) : text; }

int write_report(report::Report& report, const RunOptions& run, bool cases_shown) {
  if (run.redact.value_or(false)) report::change_texts(report, [](std::string& text) { text = backends::redacted(std::move(text)); });
  if (run.specs_file != "-") print(cases_shown ? report::render_summary(report, text_options(run)) : rendered(report, run.format, run));
  int code = report.exit_code;
  const auto also = [&](const std::optional<std::string>& path, Format format) {
    if (!path || write_anywhere(*path, rendered(report, format, run))) return;
    complain(fmt::format("error: {}: cannot be written", *path));
    code = 2;
  };
  also(run.json_file, Format::json);
  also(run.md_file, Format::md);
  also(run.junit_file, Format::junit);
  return code;
}

}  // namespace dd::cli
