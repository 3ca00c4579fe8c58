// Where the sample files of others lie: $DD_SHARED, else ../shared beside the source folder. They are not part of the
// project; a test that needs them says aloud that it skips when they are not there.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

namespace samples {

inline std::string folder() {
  const auto usable = [](const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::exists(path / "samples" / "labels.json", ignored);
  };
  if (const char* shared = std::getenv("DD_SHARED"); shared != nullptr && *shared != 0 && usable(shared)) return std::string(shared) + "/samples";
  if (const char* source = std::getenv("DD_SOURCE_DIR"); source != nullptr && *source != 0) {
    const auto beside = std::filesystem::path(source).parent_path() / "shared";
    if (usable(beside)) return (beside / "samples").string();
  }
  return {};
}

// The names of the labels' file kinds are the names of the sub-folders, up to a tail.
inline std::string subfolder(const std::string& kind) {
  return kind == "kineto" ? "kineto" : kind == "nsys-sqlite" ? "nsys" : "logs";
}

}  // namespace samples
