// A private folder (0700) for the tensors that parent and workers exchange. It is removed when the object goes, at
// exit() too; one that a killed run left behind is removed by the next run (each live folder holds a lock).
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "core/result.hpp"

namespace dd::session {

class Scratch {
 public:
  // In $DD_TMPDIR, in memory (/dev/shm), in $TMPDIR or in /tmp: the first with room for `bytes` and half as much again.
  static core::Result<std::shared_ptr<Scratch>> make(std::int64_t bytes);
  // In this folder.
  static core::Result<std::shared_ptr<Scratch>> make_in(const std::string& base);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void remove_file(const std::string& name) const;

 private:
  Scratch(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_ = -1;
};

// Removes folders of earlier runs of this user in `base` whose owner is gone. Returns how many.
int remove_stale(const std::string& base);

}  // namespace dd::session
