#include "evidence/trace/decode.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace dd::evidence {
namespace {

class Gzip : public ByteSource {
 public:
  Gzip(std::unique_ptr<ByteSource> inner, ExpandLimit limit) : inner_(std::move(inner)), limit_(limit), input_(256 * 1024) {
    ok_ = inflateInit2(&stream_, 15 + 32) == Z_OK;
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() override { inflateEnd(&stream_); }

  std::size_t read(char* to, std::size_t room, Losses& losses) override {
    std::size_t done = 0;
    while (ok_ && done == 0) {
      if (stream_.avail_in == 0) {
        const std::size_t got = inner_->read(input_.data(), input_.size(), losses);
        if (got == 0) {
          if (!between_members_) losses.truncated = true;  // the compressed stream has no end mark
          ok_ = false;
          break;
        }
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(got);
      }
      stream_.next_out = reinterpret_cast<Bytef*>(to);
      stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(room, 1u << 30));
      const uInt before = stream_.avail_out;
      const bool was_between = between_members_;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      done = before - stream_.avail_out;
      written_ += done;
      between_members_ = code == Z_STREAM_END;
      if (code == Z_STREAM_END) {
        inflateReset(&stream_);  // gzip files may be put end to end
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        losses.compression_error = !was_between;  // padding behind the last member is no loss
        ok_ = false;
      }
      if (written_ > limit_.free_bytes && written_ / std::max<std::uint64_t>(inner_->stored_read(), 1) > limit_.ratio) {
        losses.bomb = true;
        ok_ = false;
      }
    }
    return done;
  }
  std::uint64_t stored_read() const override { return inner_->stored_read(); }
  std::uint64_t stored_size() const override { return inner_->stored_size(); }

 private:
  std::unique_ptr<ByteSource> inner_;
  ExpandLimit limit_;
  std::vector<char> input_;
  z_stream stream_{};
  std::uint64_t written_ = 0;
  bool ok_ = false;
  bool between_members_ = false;
};

class Utf16 : public ByteSource {
 public:
  Utf16(std::unique_ptr<ByteSource> inner, bool little) : inner_(std::move(inner)), little_(little), input_(64 * 1024) {}

  std::size_t read(char* to, std::size_t room, Losses& losses) override {
    while (at_ == out_.size()) {
      out_.clear();
      at_ = 0;
      if (!convert(losses)) return 0;
    }
    const std::size_t n = std::min(room, out_.size() - at_);
    std::memcpy(to, out_.data() + at_, n);
    at_ += n;
    return n;
  }
  std::uint64_t stored_read() const override { return inner_->stored_read(); }
  std::uint64_t stored_size() const override { return inner_->stored_size(); }

 private:
  static constexpr std::uint32_t replacement = 0xfffd;

  bool convert(Losses& losses) {
    const std::size_t got = inner_->read(input_.data(), input_.size(), losses);
    if (got == 0) {
      if (half_ || high_ != 0) losses.truncated = true;
      half_ = false;
      high_ = 0;
      return false;
    }
    for (std::size_t i = 0; i < got; ++i) {
      const auto byte = static_cast<unsigned char>(input_[i]);
      if (!half_) first_ = byte;
      else unit(little_ ? static_cast<std::uint32_t>(first_ | byte << 8) : static_cast<std::uint32_t>(first_ << 8 | byte));
      half_ = !half_;
    }
    return true;
  }

  void unit(std::uint32_t u) {
    if (high_ != 0) {
      const bool pair = u >= 0xdc00 && u < 0xe000;
      put(pair ? 0x10000 + ((high_ - 0xd800) << 10) + (u - 0xdc00) : replacement);
      high_ = 0;
      if (pair) return;
    }
    if (u >= 0xd800 && u < 0xdc00) high_ = u;
    else if (u >= 0xdc00 && u < 0xe000) put(replacement);
    else if (u != 0xfeff) put(u);
  }

  void put(std::uint32_t c) {
    if (c < 0x80) {
      out_ += static_cast<char>(c);
    } else if (c < 0x800) {
      out_ += static_cast<char>(0xc0 | c >> 6);
      out_ += static_cast<char>(0x80 | (c & 0x3f));
    } else {
      if (c < 0x10000) out_ += static_cast<char>(0xe0 | c >> 12);
      else out_ += static_cast<char>(0xf0 | c >> 18), out_ += static_cast<char>(0x80 | (c >> 12 & 0x3f));
      out_ += static_cast<char>(0x80 | (c >> 6 & 0x3f));
      out_ += static_cast<char>(0x80 | (c & 0x3f));
    }
  }

  std::unique_ptr<ByteSource> inner_;
  bool little_, half_ = false;
  unsigned first_ = 0;
  std::uint32_t high_ = 0;
  std::vector<char> input_;
  std::string out_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> inner, ExpandLimit limit) { return std::make_unique<Gzip>(std::move(inner), limit); }
std::unique_ptr<ByteSource> utf16_source(std::unique_ptr<ByteSource> inner, bool little_endian) { return std::make_unique<Utf16>(std::move(inner), little_endian); }

}  // namespace dd::evidence
