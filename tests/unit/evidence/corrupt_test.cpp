// Ten kinds of damage on own traces and, where they are there, on the sample files: no crash, no hang, always an
// answer. Big samples only with DD_CORRUPT_ALL=1, because a sanitizer run of all of them takes minutes.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "evidence/open.hpp"
#include "made.hpp"
#include "shared.hpp"
#include "support/catch.hpp"

using namespace dd::evidence;

namespace {

struct Random {
  std::uint64_t state;
  std::uint64_t next(std::uint64_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return below == 0 ? 0 : (state >> 33) % below;
  }
};

std::string replaced(std::string text, const std::string& what, const std::string& by, std::size_t every) {
  std::string out;
  std::size_t begin = 0, n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, begin)) {
    out.append(text, begin, at - begin);
    out += n++ % every == 0 ? by : what;
    begin = at + what.size();
  }
  return out + text.substr(begin);
}

constexpr int ways = 10;

std::string damaged(const std::string& text, int way) {
  Random random{static_cast<std::uint64_t>(way) * 977 + text.size()};
  std::string out = text;
  switch (way) {
    case 0: return text.substr(0, text.size() / 3);
    case 1: return text.substr(0, text.size() - std::min<std::size_t>(text.size(), 2));
    case 2:
      for (int i = 0; i < 200 && !out.empty(); ++i) out[random.next(out.size())] ^= static_cast<char>(1u << random.next(8));
      return out;
    case 3: return replaced(replaced(text, "\"ts\": ", "\"ts\": 9999999999999999999999999", 5), "\"dur\": ", "\"dur\": -1e999", 7);
    case 4: return replaced(text, "\"args\": ", "\"args\": " + std::string(20000, '['), 4096) + std::string(50000, '{');
    case 5: return replaced(replaced(text, "\"name\": \"", "\"name\": [1, {}], \"x\": \"", 3), "\"correlation\": ", "\"correlation\": \"", 5);
    case 6: return replaced(text, "\"", "", 97);
    case 7:
      for (int i = 0; i < 50 && out.size() > 64; ++i) std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(random.next(out.size() - 32)), 32, "\0\xff\n\\"[i % 4]);
      return out;
    case 8: {
      const std::size_t half = text.size() / 2;
      return text.substr(half) + text.substr(0, half);
    }
    default: return made::gzip(std::string(8u << 20, '{') + text, 1).substr(0, 1u << 20);
  }
}

void try_text(const std::string& bytes) {
  OpenOptions options;
  options.limit.free_bytes = 4u << 20;
  const TraceAnswer answer = answer_memory(bytes, "damaged", options);
  const std::string json = to_json(answer, true).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  CHECK(json.size() > 100);
}

void try_file(const std::string& bytes) {
  const auto path = std::filesystem::temp_directory_path() / ("dd-corrupt-" + std::to_string(std::hash<std::string>{}(bytes)) + ".sqlite");
  std::ofstream(path, std::ios::binary) << bytes;
  const auto answer = answer_file(path.string());
  std::filesystem::remove(path);
  CHECK(answer.ok());
}

std::string expanded(const std::filesystem::path& path) {
  auto source = open_source(path.string());
  std::string out, buffer(1 << 16, 0);
  Losses ignored;
  while (source.ok()) {
    const std::size_t got = (*source)->read(buffer.data(), buffer.size(), ignored);
    if (got == 0) break;
    out.append(buffer, 0, got);
  }
  return out;
}

}  // namespace

TEST_CASE("ten kinds of damage on a small trace", "[evidence][corrupt]") {
  std::vector<std::string> events;
  for (int i = 0; i < 300; ++i) {
    const double start = 1000 + 50.0 * i;
    events.push_back(made::op("aten::mm", start, 30, 100 + i, R"(, "Input Dims": [[8, 8], [8, 8]])"));
    events.push_back(made::call("cudaLaunchKernel", start, 100 + i));
    events.push_back(made::kernel("ampere_sgemm_32x32_tn", start, 3, 100 + i));
  }
  const std::string text = made::trace_of(events, R"("schemaVersion": 1)");
  for (int way = 0; way < ways; ++way) {
    INFO("way " << way);
    try_text(damaged(text, way));
  }
}

TEST_CASE("a hostile file of openings is read in linear time", "[evidence][corrupt]") {
  std::string text = "{\"traceEvents\": [";
  for (int i = 0; i < 300000; ++i) text += ",{\"ph\":";
  try_text(text);
  text = "[";
  for (int i = 0; i < 200000; ++i) text += "{\"ph\" \"X\",";
  try_text(text);
}

TEST_CASE("ten kinds of damage on each sample", "[evidence][corrupt]") {
  const std::string folder = samples::folder();
  if (folder.empty()) {
    WARN("skipped: no samples folder (set DD_SHARED)");
    return;
  }
  const bool all = std::getenv("DD_CORRUPT_ALL") != nullptr;
  const std::size_t most = all ? (1u << 30) : (1u << 20);
  int tried = 0;
  for (const char* sub : {"kineto", "logs", "nsys"})
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/" + sub)) {
      const std::string text = expanded(entry.path());
      if (text.size() > most) continue;
      ++tried;
      for (int way = 0; way < ways; ++way) {
        INFO(entry.path().string() << " way " << way);
        if (std::string(sub) == "nsys" && way != 9) try_file(damaged(text, way));
        else try_text(damaged(text, way));
      }
    }
  CHECK(tried >= 10);
}
