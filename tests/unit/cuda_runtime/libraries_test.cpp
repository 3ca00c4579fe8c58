#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/cuda_runtime/environment.hpp"
#include "support/catch.hpp"

using namespace dd;
using cuda::Library;
namespace fs = std::filesystem;

TEST_CASE("version numbers read as their library writes them") {
  CHECK(cuda::version_text(Library::driver, 13000) == "13.0");
  CHECK(cuda::version_text(Library::driver, 12040) == "12.4");
  CHECK(cuda::version_text(Library::cudnn, 91900) == "9.19.0");
  CHECK(cuda::version_text(Library::cudnn, 8907) == "8.9.7");
  CHECK(cuda::version_text(Library::cublas, 130100) == "13.1.0");
  CHECK(cuda::version_text(Library::nvrtc, 0).empty());
}

TEST_CASE("wheels of an environment are found beside its interpreter") {
  const fs::path root = fs::temp_directory_path() / ("dd-wheels-" + std::to_string(getpid()));
  for (const char* part : {"cudnn", "cublas"}) fs::create_directories(root / "lib/python3.11/site-packages/nvidia" / part / "lib");
  fs::create_directories(root / "lib/python3.11/site-packages/nvidia/empty");
  fs::create_directories(root / "bin");
  std::ofstream(root / "bin/python") << "";
  const auto found = cuda::wheel_folders((root / "bin/python").string());
  REQUIRE(found.size() == 2);
  CHECK(found[0].find("cublas/lib") != std::string::npos);
  CHECK(cuda::wheel_folders(root.string()) == found);
  CHECK(cuda::wheel_folders("").empty());
  CHECK(cuda::wheel_folders("/nonexistent/bin/python").empty());
  fs::remove_all(root);
}

TEST_CASE("each environment rule fires on its fact and is silent otherwise") {
  using facts::Id;
  const auto status = [](std::string_view id, const facts::FactSet& f) {
    for (const rules::Rule& r : cuda::environment_rules())
      if (r.id == id) return rules::status(r, f);
    FAIL("no rule " << id);
    return rules::Truth::unknown;
  };
  const std::pair<std::string_view, Id> simple[] = {{"ENV020", Id::cuda_driver_available}, {"ENV023", Id::cublas_available},
                                                    {"ENV024", Id::cublaslt_available},    {"ENV025", Id::cudnn_available},
                                                    {"ENV027", Id::cupti_available},       {"ENV028", Id::nvrtc_available},
                                                    {"ENV029", Id::device_code_built}};
  for (const auto& [id, fact] : simple) {
    facts::FactSet f;
    CHECK(status(id, f) == rules::Truth::unknown);
    f.set(fact, false);
    CHECK(status(id, f) == rules::Truth::unmet);
    f.set(fact, true);
    CHECK(status(id, f) == rules::Truth::met);
  }
  facts::FactSet f;
  f.set(Id::cuda_driver_available, true);
  f.set(Id::cuda_driver_version, facts::Version::of(12, 8));
  CHECK(status("ENV021", f) == rules::Truth::unknown);
  f.set(Id::cuda_libraries_version, facts::Version::of(13, 0));
  CHECK(status("ENV021", f) == rules::Truth::unmet);
  f.set(Id::cuda_libraries_version, facts::Version::of(12, 9));  // a minor release ahead is allowed
  CHECK(status("ENV021", f) == rules::Truth::met);
  f.set(Id::cuda_device_count, std::int64_t{0});
  CHECK(status("ENV022", f) == rules::Truth::unmet);
  f.set(Id::cuda_device_count, std::int64_t{1});
  CHECK(status("ENV022", f) == rules::Truth::met);
  f.set(Id::cudnn_available, true);
  f.set(Id::cudnn_parts_fit, false);
  CHECK(status("ENV026", f) == rules::Truth::unmet);
}

TEST_CASE("opening the libraries of this machine never fails without a reason") {
  for (Library which : cuda::all_libraries) {
    const cuda::LibraryRecord& r = cuda::library(which);
    INFO(cuda::name_of(which));
    if (r)
      CHECK((!r.path.empty() && (r.stub || !r.version.empty())));
    else
      CHECK(!r.error.empty());
  }
}

TEST_CASE("the options of the command line reach workers through the environment") {
  const auto variable = [](const char* name) { return std::string(getenv(name) ? getenv(name) : ""); };
  const std::string before_lib = variable("DD_LIB_DIR"), before_python = variable("DD_PYTHON"), path = variable("PATH");
  const fs::path root = fs::temp_directory_path() / ("dd-places-" + std::to_string(getpid()));
  fs::create_directories(root / "bin");
  std::ofstream(root / "bin/some-python") << "";
  cuda::set_search_places({}, "");
  CHECK(variable("DD_LIB_DIR") == before_lib);
  cuda::set_search_places({root.string(), "here"}, (root / "bin/some-python").string());
  CHECK(cuda::search_places().only == std::vector<std::string>{root.string(), (fs::current_path() / "here").string()});
  CHECK(variable("DD_PYTHON") == (root / "bin/some-python").string());
  setenv("PATH", (root / "bin").c_str(), 1);
  cuda::set_search_places({}, "some-python");
  CHECK(variable("DD_PYTHON") == (root / "bin/some-python").string());
  const auto restore = [](const char* name, const std::string& value) { value.empty() ? unsetenv(name) : setenv(name, value.c_str(), 1); };
  restore("PATH", path);
  restore("DD_LIB_DIR", before_lib);
  restore("DD_PYTHON", before_python);
  fs::remove_all(root);
}
