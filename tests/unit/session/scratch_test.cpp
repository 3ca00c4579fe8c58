#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "session/memory.hpp"
#include "session/scratch.hpp"
#include "support/catch.hpp"

using namespace dd::session;
namespace fs = std::filesystem;

namespace {

std::string base() {
  std::string path = (fs::temp_directory_path() / "dd-scratch-test-XXXXXX").string();
  REQUIRE(::mkdtemp(path.data()) != nullptr);
  return path;
}

std::size_t count(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
}

}  // namespace

TEST_CASE("scratch: private, and gone with the object") {
  const std::string in = base();
  {
    const auto made = Scratch::make_in(in);
    REQUIRE(made.ok());
    struct stat info {};
    REQUIRE(::stat((*made)->path().c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);
    std::ofstream((*made)->file("tensor")) << "data";
    CHECK(count(in) == 1);
    CHECK(remove_stale(in) == 0);  // a live one stays
  }
  CHECK(count(in) == 0);
  fs::remove_all(in);
}

TEST_CASE("scratch: removed at exit(), and by the next run after a kill") {
  const std::string in = base();
  const auto in_child = [&](bool killed) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto* leaked = new std::shared_ptr<Scratch>(*Scratch::make_in(in));
      std::ofstream((*leaked)->file("tensor")) << "data";
      if (killed) ::raise(SIGKILL);
      std::exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
  };
  in_child(false);
  CHECK(count(in) == 0);
  in_child(true);
  CHECK(count(in) == 1);
  CHECK(remove_stale(in) == 1);
  CHECK(count(in) == 0);
  fs::remove_all(in);
}

TEST_CASE("scratch: a foreign folder of that name is left alone") {
  const std::string in = base();
  fs::create_directory(in + "/dispatchdoctor-notours");
  CHECK(remove_stale(in) == 0);
  CHECK(count(in) == 1);
  CHECK_FALSE(Scratch::make_in(in + "/absent").ok());
  fs::remove_all(in);
}

TEST_CASE("memory: the machine and this process have some") {
  REQUIRE(memory_available());
  CHECK(*memory_available() > 0);
  REQUIRE(private_bytes(::getpid()));
  CHECK(*private_bytes(::getpid()) > 0);
  CHECK(*private_bytes(::getpid()) <= *resident_bytes(::getpid()));
  CHECK_FALSE(resident_bytes(-5));
}
