#include <pwd.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>

#include "backends/environment.hpp"

namespace dd::backends {
namespace {

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; }

// Replaces whole words only: a host called "ci" must not eat the middle of "precision".
void replace_word(std::string& text, std::string_view word, std::string_view with) {
  if (word.size() < 2) return;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
    const std::size_t end = at + word.size();
    const bool whole = (at == 0 || !word_char(text[at - 1])) && (end == text.size() || !word_char(text[end]));
    if (!whole) {
      at = end;
      continue;
    }
    text.replace(at, word.size(), with);
    at += with.size();
  }
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::string user_name() {
  if (const passwd* entry = getpwuid(getuid()); entry && entry->pw_name) return entry->pw_name;
  const char* user = std::getenv("USER");
  return user ? user : "";
}

std::string home_folder() {
  if (const char* home = std::getenv("HOME"); home && *home == '/') return home;
  const passwd* entry = getpwuid(getuid());
  return entry && entry->pw_dir ? entry->pw_dir : "";
}

// Folders that every system of a kind has; where a library lies below them is worth knowing and tells nothing private.
bool system_path(std::string_view path) {
  for (std::string_view folder : {"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/usr/local/cuda", "/usr/bin", "/usr/share",
                                  "/proc", "/sys", "/dev", "/opt/cuda", "/opt/conda/lib"}) {
    if (path.substr(0, folder.size()) != folder) continue;
    const char next = path.size() > folder.size() ? path[folder.size()] : '/';
    if (next == '/' || folder == "/usr/local/cuda") return true;
  }
  return false;
}

bool path_char(char c) { return word_char(c) || c == '/' || c == '.' || c == '+' || c == '~' || c == '@' || c == '%'; }

// Absolute paths outside the system's folders keep their last part only.
void hide_paths(std::string& text) {
  for (std::size_t at = 0; (at = text.find('/', at)) != std::string::npos;) {
    const bool starts = at == 0 || !(path_char(text[at - 1]) || text[at - 1] == '>');
    std::size_t end = at;
    while (end < text.size() && path_char(text[end])) ++end;
    const std::string_view path = std::string_view(text).substr(at, end - at);
    const bool deep = path.find('/', 1) != std::string_view::npos;
    if (!starts || !deep || system_path(path)) {
      at = end > at ? end : at + 1;
      continue;
    }
    const std::string with = "<path>/" + std::string(path.substr(path.find_last_of('/') + 1));
    text.replace(at, path.size(), with);
    at += with.size();
  }
}

}  // namespace

std::string redacted(std::string text) {
  const std::string home = home_folder();
  if (home.size() > 1)
    for (std::size_t at = 0; (at = text.find(home, at)) != std::string::npos;) {
      const std::size_t end = at + home.size();
      if (end == text.size() || !word_char(text[end])) {
        text.replace(at, home.size(), "<home>");
        at += 6;
      } else {
        at = end;
      }
    }
  hide_paths(text);
  static const std::string host = host_name(), user = user_name();  // asking the system costs more than the search
  replace_word(text, host, "<host>");
  if (user != "root") replace_word(text, user, "<user>");
  return text;
}

}  // namespace dd::backends
