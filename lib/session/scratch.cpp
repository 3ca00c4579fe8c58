#include "session/scratch.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <vector>

namespace dd::session {
namespace {

constexpr std::string_view prefix = "dispatchdoctor-";
constexpr auto lock_name = "/lock";

// Folders of this process that still exist, for exit().
std::mutex live_mutex;
std::vector<std::string>& live() {
  static auto* paths = new std::vector<std::string>;  // outlives every destructor
  return *paths;
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void remove_live() {
  const std::lock_guard guard(live_mutex);
  for (const std::string& path : live()) remove_tree(path);
  live().clear();
}

bool has_room(const std::string& base, std::int64_t bytes) {
  struct statvfs info {};
  if (::access(base.c_str(), W_OK | X_OK) != 0 || ::statvfs(base.c_str(), &info) != 0) return false;
  const double room = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  return room > 1.5 * static_cast<double>(bytes) + (1 << 20);
}

}  // namespace

int remove_stale(const std::string& base) {
  DIR* folder = ::opendir(base.c_str());
  if (!folder) return 0;
  std::vector<std::string> found;
  while (const dirent* entry = ::readdir(folder))
    if (std::string_view(entry->d_name).starts_with(prefix)) found.push_back(base + "/" + entry->d_name);
  ::closedir(folder);
  int removed = 0;
  for (const std::string& path : found) {
    struct stat info {};
    // lstat: a link somebody planted is not followed.
    if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) continue;
    const int lock = ::open((path + lock_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (lock < 0) continue;
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0) {
      remove_tree(path);
      ++removed;
    }
    ::close(lock);
  }
  return removed;
}

core::Result<std::shared_ptr<Scratch>> Scratch::make_in(const std::string& base) {
  std::string path = base + "/" + std::string(prefix) + "XXXXXX";
  if (!::mkdtemp(path.data()))  // mode 0700
    return core::Problem{"temporary folder", base, "a folder that can be written", fmt::format("cannot make a folder: {}", std::strerror(errno)), {}, 0};
  // Locked first and named second, so that another run never sees it unlocked while we live.
  const std::string unnamed = path + "/.lock";
  const int lock = ::open(unnamed.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (lock < 0 || ::flock(lock, LOCK_EX | LOCK_NB) != 0 || ::rename(unnamed.c_str(), (path + lock_name).c_str()) != 0) {
    const int error = errno;
    if (lock >= 0) ::close(lock);
    remove_tree(path);
    return core::Problem{"temporary folder", path, {}, fmt::format("cannot lock it: {}", std::strerror(error)), {}, 0};
  }
  {
    const std::lock_guard guard(live_mutex);
    static const int registered = std::atexit(remove_live);
    (void)registered;
    live().push_back(path);
  }
  return std::shared_ptr<Scratch>(new Scratch(std::move(path), lock));
}

core::Result<std::shared_ptr<Scratch>> Scratch::make(std::int64_t bytes) {
  std::vector<std::string> bases;
  if (const char* given = std::getenv("DD_TMPDIR"); given && *given) bases.emplace_back(given);
  bases.emplace_back("/dev/shm");
  if (const char* given = std::getenv("TMPDIR"); given && *given) bases.emplace_back(given);
  bases.emplace_back("/tmp");
  for (const std::string& base : bases) {
    if (!has_room(base, bytes)) continue;
    remove_stale(base);
    if (auto made = make_in(base)) return made;
  }
  return core::Problem{"temporary folder", fmt::format("{} bytes needed", bytes), "room in $DD_TMPDIR, /dev/shm, $TMPDIR or /tmp", "no folder has the room", {}, 0};
}

Scratch::~Scratch() {
  remove_tree(path_);
  ::close(lock_);
  const std::lock_guard guard(live_mutex);
  std::erase(live(), path_);
}

void Scratch::remove_file(const std::string& name) const { ::unlink(file(name).c_str()); }

}  // namespace dd::session
