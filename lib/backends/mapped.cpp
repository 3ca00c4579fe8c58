#include "backends/mapped.hpp"

#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "backends/libraries/onednn.hpp"
#include "backends/libraries/openblas.hpp"

namespace dd::backends {
namespace {

constexpr std::string_view of_interest[] = {
    "libopenblas", "libblas",  "libcblas", "liblapack", "libmkl",    "libblis",   "libdnnl",  "libgomp",   "libomp",    "libiomp5",
    "libtbb",      "libcuda",  "libcudart", "libcublas", "libcudnn", "libnvrtc",  "libcupti", "libnvidia", "libnvJitLink", "libtorch",
    "libc10",      "libc.so",  "libm.so",  "libstdc++", "ld-linux",  "libc-2",    "libm-2"};

std::string_view file_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

// The build id of a loaded object, from its note segments.
std::string build_id(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const unsigned char*>(info.dlpi_addr + segment.p_vaddr);
    const auto* const end = at + segment.p_memsz;
    while (end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const std::size_t name = (note.n_namesz + 3u) & ~std::size_t{3}, body = (note.n_descsz + 3u) & ~std::size_t{3};
      if (name + body > static_cast<std::size_t>(end - at) - sizeof note) break;
      const unsigned char* const text = at + sizeof note;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(text, "GNU", 4) == 0) {
        static constexpr char digits[] = "0123456789abcdef";
        std::string out;
        for (std::size_t j = 0; j < note.n_descsz; ++j) {
          out += digits[text[name + j] >> 4];
          out += digits[text[name + j] & 15];
        }
        return out;
      }
      at = text + name + body;
    }
  }
  return {};
}

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto& list = *static_cast<std::vector<MappedLibrary>*>(data);
  if (!info->dlpi_name || !*info->dlpi_name) return 0;
  const std::string_view name = file_name(info->dlpi_name);
  const bool wanted = std::any_of(std::begin(of_interest), std::end(of_interest), [&](std::string_view part) { return name.substr(0, part.size()) == part; });
  if (!wanted) return 0;
  char resolved[PATH_MAX];
  MappedLibrary library;
  library.path = realpath(info->dlpi_name, resolved) ? resolved : info->dlpi_name;
  library.build_id = build_id(*info);
  list.push_back(std::move(library));
  return 0;
}

}  // namespace

std::string version_from_name(const std::string& path) {
  const std::string_view name = file_name(path);
  if (const auto at = name.find(".so."); at != std::string_view::npos) return std::string(name.substr(at + 4));
  // libopenblasp-r0.3.21.so
  const auto end = name.find(".so");
  if (end == std::string_view::npos) return {};
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  auto start = end;
  while (start > 0 && digit(name[start - 1])) --start;
  while (start < end && name[start] == '.') ++start;
  return std::string(name.substr(start, end - start));
}

std::vector<MappedLibrary> mapped_libraries() {
  std::vector<MappedLibrary> list;
  dl_iterate_phdr(visit, &list);
  for (MappedLibrary& library : list) {
    const std::string_view name = file_name(library.path);
    library.version = version_from_name(library.path);
    if (name.substr(0, 7) == "libc.so") library.version = gnu_get_libc_version();
    if (openblas().ok() && openblas().library.path == library.path) library.version = openblas().version;
    if (onednn().ok() && onednn().library.path == library.path) library.version = onednn().version.to_text();
  }
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return list;
}

}  // namespace dd::backends
