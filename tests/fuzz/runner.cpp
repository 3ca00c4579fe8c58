// Mutates known texts with a fixed seed and gives them to the readers: dd_fuzz_readers [RUNS [SEED]].
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "readers.hpp"
#include "spec/canonical.hpp"
#include "support/random_spec.hpp"

using namespace dd;

namespace {

// Words that are special to one of the readers.
const char* const words[] = {"null", "true", "-1", "1e999", "18446744073709551616", "9223372036854775807", "-9223372036854775808", "0", "{", "}", "[", "]", "[]", "{}", "\"", "\\", "'", "#", ",",
                             ":", "\n", "\r\n", "\xef\xbb\xbf", "\xff", "\xc3\xbc", "\xed\xa0\x80", "\x01", "\\u0000", "\\ud800", "x", "=", "--", "--q", "--k", "--mask", "--nested", "\"op\"", "\"sdpa\"",
                             "\"gemm\"", "\"shape\"", "\"strides\"", "1x2", "0x0x0x0", "nan", "inf", "1e308", "w4a16:group=1", "float:1", "=off", "$(x)", "dispatchdoctor"};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text, const std::string& other) {
    const std::int64_t steps = 1 + random_.upto(4);
    for (std::int64_t i = 0; i < steps; ++i) step(text, other);
    return text;
  }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_.upto(static_cast<std::int64_t>(count) - 1)); }

 private:
  void step(std::string& text, const std::string& other) {
    const std::size_t at = below(text.size() + 1), length = below(16) + 1;
    switch (random_.upto(7)) {
      case 0:
        text.insert(at, words[below(std::size(words))]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random_.bits());
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), length * 4));
        break;
      case 4:
        text.insert(at, other.substr(below(other.size() + 1), length * 4));
        break;
      case 5:
        text.resize(at);
        break;
      case 6:
        text.replace(at, std::min(length, text.size() - at), words[below(std::size(words))]);
        break;
      case 7:
        replace_number(text, at);
        break;
    }
    if (text.size() > 20000) text.resize(20000);
  }

  void replace_number(std::string& text, std::size_t from) {
    const std::size_t at = text.find_first_of("0123456789", from);
    if (at == std::string::npos) return;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    const char* const numbers[] = {"0", "1", "2", "7", "65536", "4294967296", "9223372036854775807", "99999999999999999999", "-3", "0.5"};
    text.replace(at, end - at, numbers[below(std::size(numbers))]);
  }

  test::RandomSpec random_;
};

}  // namespace

int main(int argc, char** argv) {
  const long runs = argc > 1 ? std::atol(argv[1]) : 6000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::vector<std::string> json = {"", "[]", "{}", "[{\"op\":\"sdpa\"}]"}, lines = {"", "# nothing\n", "sdpa --q 1x2x3x4 'a b' \"c\\\"\""};
  test::RandomSpec specs(seed);
  for (int i = 0; i < 200; ++i) {
    const spec::OpSpec spec = specs.next();
    json.push_back(spec::canonical(spec));
    lines.push_back(spec::repro_line(spec));
  }
  json.push_back("[" + json[5] + ",\n" + json[6] + "]");
  lines.push_back(lines[5] + "\n" + lines[6]);
  Mutator mutator(seed);
  for (long i = 0; i < runs; ++i) {
    fuzz::fuzz_json(mutator.mutate(json[mutator.below(json.size())], json[mutator.below(json.size())]));
    fuzz::fuzz_lines(mutator.mutate(lines[mutator.below(lines.size())], lines[mutator.below(lines.size())]));
  }
  std::printf("%ld mutated texts for each reader, seed %llu: no violation\n", runs, static_cast<unsigned long long>(seed));
  return 0;
}
