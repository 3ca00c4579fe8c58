#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "session/safetensors.hpp"
#include "session/scratch.hpp"
#include "spec/spec.hpp"
#include "support/catch.hpp"

using namespace dd;
using core::DType;

namespace {

core::Tensor filled(DType dtype, std::vector<std::int64_t> shape, int seed) {
  core::Tensor t = session::make_tensor(dtype, std::move(shape));
  for (std::int64_t i = 0; i < t.storage_bytes; ++i) t.storage.get()[i] = static_cast<std::byte>((i * 7 + seed) & 0xFF);
  return t;
}

std::shared_ptr<session::Scratch> scratch() {
  auto made = session::Scratch::make(1 << 20);
  REQUIRE(made.ok());
  return *made;
}

std::string file_of(const std::string& header, std::size_t data_bytes) {
  std::string out(8, '\0');
  for (int i = 0; i < 8; ++i) out[static_cast<std::size_t>(i)] = static_cast<char>(header.size() >> (8 * i));
  return out + header + std::string(data_bytes, 'd');
}

core::Result<session::SafetensorsFile> read_bytes(const session::Scratch& s, const std::string& bytes) {
  const std::string path = s.file("hostile");
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return session::read_safetensors(path);
}

bool same(const core::Tensor& a, const core::Tensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides && a.offset == b.offset && a.storage_bytes == b.storage_bytes &&
         std::memcmp(a.storage.get(), b.storage.get(), static_cast<std::size_t>(a.storage_bytes)) == 0;
}

}  // namespace

TEST_CASE("safetensors: every element type survives a round trip") {
  const auto s = scratch();
  core::TensorMap map;
  for (const auto& [dtype, name] : core::EnumText<DType>::names) map[std::string(core::to_text(dtype))] = filled(dtype, {3, 5}, static_cast<int>(dtype));
  REQUIRE(session::write_safetensors(s->file("all"), map).ok());
  const auto back = session::read_safetensors(s->file("all"));
  REQUIRE(back.ok());
  CHECK(back->skipped.empty());
  REQUIRE(back->tensors.size() == map.size());
  for (const auto& [name, tensor] : map) {
    INFO(name);
    CHECK(same(tensor, back->tensors.at(name)));
    CHECK(reinterpret_cast<std::uintptr_t>(back->tensors.at(name).storage.get()) % 64 == 0);
  }
}

TEST_CASE("safetensors: strides, offsets and shared storage survive") {
  const auto s = scratch();
  core::Tensor base = filled(DType::f16, {2, 3, 4, 8}, 1);
  core::TensorMap map;
  core::Tensor q = base, k = base;
  q.shape = {2, 3, 8};
  q.strides = {96, 32, 1};
  k = q;
  k.offset = 8;
  core::Tensor odd = filled(DType::f32, {7}, 2);
  odd.shape = {2, 2};
  odd.strides = {3, 1};
  odd.offset = 1;
  core::Tensor nibbles = filled(DType::s4, {5, 3}, 3);
  core::Tensor broadcast = filled(DType::f64, {1}, 4);
  broadcast.shape = {4, 4};
  broadcast.strides = {0, 0};
  core::Tensor empty = session::make_tensor(DType::f32, {0, 4});
  map = {{"q", q}, {"k", k}, {"odd", odd}, {"w", nibbles}, {"mask", broadcast}, {"none", empty}};
  REQUIRE(session::write_safetensors(s->file("views"), map).ok());
  const auto back = session::read_safetensors(s->file("views"));
  REQUIRE(back.ok());
  REQUIRE(back->tensors.size() == map.size());
  for (const auto& [name, tensor] : map) {
    INFO(name);
    CHECK(same(tensor, back->tensors.at(name)));
  }
  CHECK(back->tensors.at("q").storage.get() == back->tensors.at("k").storage.get());
}

TEST_CASE("safetensors: a contiguous copy follows the strides") {
  core::Tensor t = session::make_tensor(DType::s8, {2, 3});
  for (int i = 0; i < 6; ++i) t.storage.get()[i] = static_cast<std::byte>(i);
  t.shape = {3, 2};
  t.strides = {1, 3};  // transposed
  const core::Tensor c = session::contiguous_copy(t);
  const int want[] = {0, 3, 1, 4, 2, 5};
  for (int i = 0; i < 6; ++i) CHECK(static_cast<int>(c.storage.get()[i]) == want[i]);
  core::Tensor n = session::make_tensor(DType::u4, {4});
  n.storage.get()[0] = std::byte{0x21};
  n.storage.get()[1] = std::byte{0x43};
  n.shape = {2};
  n.strides = {2};
  n.offset = 1;  // elements 2 and 4
  CHECK(session::contiguous_copy(n).storage.get()[0] == std::byte{0x42});
}

TEST_CASE("safetensors: files are private and never overwritten") {
  const auto s = scratch();
  const core::TensorMap map{{"x", filled(DType::f32, {2}, 0)}};
  REQUIRE(session::write_safetensors(s->file("once"), map).ok());
  struct stat info {};
  REQUIRE(::stat(s->file("once").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  CHECK_FALSE(session::write_safetensors(s->file("once"), map).ok());
}

TEST_CASE("safetensors: a plain file of other programs") {
  const auto s = scratch();
  const auto file = read_bytes(*s, file_of(R"({"m":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"i":{"dtype":"I64","shape":[1],"data_offsets":[16,24]},"__metadata__":{"a":"b"}})", 24));
  REQUIRE(file.ok());
  CHECK(file->tensors.at("m").shape == std::vector<std::int64_t>{2, 2});
  CHECK(file->metadata.at("a") == "b");
  CHECK(file->skipped == std::vector<std::string>{"i: I64"});
}

TEST_CASE("safetensors: hostile files are refused, each with its reason") {
  const auto s = scratch();
  struct Row {
    std::string bytes, word;
  };
  const std::string big(8, '\xff');
  const std::string views = R"({"x":{"dtype":"U8","shape":[16],"data_offsets":[0,16]},"__metadata__":{"dispatchdoctor.tensors":"%"}})";
  const auto view = [&](std::string text) {
    std::string quoted;
    for (char c : text) quoted += c == '"' ? std::string("\\\"") : std::string(1, c);
    std::string out = views;
    out.replace(out.find('%'), 1, quoted);
    return file_of(out, 16);
  };
  const std::vector<Row> rows = {
      {"", "too short"},
      {"short", "too short"},
      {big + "{}", "longer than"},
      {file_of("", 0), "not a JSON object"},
      {file_of("[1,2]", 0), "not a JSON object"},
      {file_of("{\"x\":", 0), "not a JSON object"},
      {file_of(std::string(100000, '['), 0), "not a JSON object"},
      {file_of(R"({"x":{"dtype":"F32","shape":[2]}})", 8), "needs dtype"},
      {file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}})", 8), "needs dtype"},
      {file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,9]}})", 8), "outside the file"},
      {file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", 8), "outside the file"},
      {file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), "outside the file"},
      {file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]}})", 8), "needs dtype"},
      {file_of(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8), "do not agree"},
      {file_of(R"({"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})", 8), "do not agree"},
      {file_of(R"({"x":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 8), "do not agree"},
      {file_of(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), "do not agree"},
      {file_of(R"({"x":{"dtype":"F32","shape":[1.5],"data_offsets":[0,8]}})", 8), "needs dtype"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12), "overlaps"},
      {file_of(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"__metadata__":7})", 1), "not a JSON object"},
      {view("nonsense"), "not a JSON object"},
      {view(R"({"v":{"dtype":"f32"}})"), "view needs"},
      {view(R"({"v":{"dtype":"f99","shape":[4],"strides":[1],"offset":0,"entry":"x"}})"), "unknown element type"},
      {view(R"({"v":{"dtype":"f32","shape":[4],"strides":[1],"offset":0,"entry":"y"}})"), "not there"},
      {view(R"({"v":{"dtype":"f32","shape":[5],"strides":[1],"offset":0,"entry":"x"}})"), "outside its storage"},
      {view(R"({"v":{"dtype":"f32","shape":[4],"strides":[1],"offset":1,"entry":"x"}})"), "outside its storage"},
      {view(R"({"v":{"dtype":"f32","shape":[4],"strides":[-1],"offset":3,"entry":"x"}})"), "outside its storage"},
      {view(R"({"v":{"dtype":"f32","shape":[2],"strides":[9223372036854775807],"offset":9,"entry":"x"}})"), "outside its storage"},
      {view(R"({"v":{"dtype":"f32","shape":[0],"strides":[1],"offset":9223372036854775807,"entry":"x"}})"), "outside its storage"},
      {view(R"({"v":{"dtype":"f32","shape":[4],"strides":[1,1],"offset":0,"entry":"x"}})"), "outside its storage"},
  };
  for (const Row& row : rows) {
    INFO(row.bytes.substr(0, 200));
    const auto file = read_bytes(*s, row.bytes);
    REQUIRE_FALSE(file.ok());
    CHECK(file.problems().front().message.find(row.word) != std::string::npos);
  }
  CHECK_FALSE(session::read_safetensors(s->file("absent")).ok());
  CHECK_FALSE(session::read_safetensors(s->path()).ok());
}
