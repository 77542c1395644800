#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pressure/reading.hpp"

namespace evenkeel::pressure {

/// A cgroup that waits, as the kernel charges it: whose it is says nothing of the box.
struct CgroupStall {
  std::string path;
  Stall memory;  ///< its `full`, of a kernel without: zeros
  Stall io;
};
struct CgroupStalls {
  std::vector<CgroupStall> worst;  ///< by the larger avg10 of the two; none that does not wait
  std::size_t looked_at = 0;
  bool all = true;  ///< false: there are more than were looked at
};

/// Reads what Linux says of a box's pressure. `root` is "/", or a folder in which /proc and /sys were recorded. Keeps
/// nothing between calls. Any thread.
class Host {
 public:
  explicit Host(std::string root) : root_(std::move(root)) {}

  /// Some ten small files of the kernel, 0.2 ms; never fails as a whole, never waits for a disk or a pipe.
  [[nodiscard]] Reading read(Time now) const;
  /// The `most` cgroups that wait most, of the first 256 from the root down: for people who look for the reason of a
  /// reading. 20 to 80 us each.
  [[nodiscard]] Result<CgroupStalls> worst_cgroups(std::size_t most) const;

 private:
  [[nodiscard]] Result<std::string> text_of(const std::string& path) const;
  template <class T>
  [[nodiscard]] Result<T> parsed(const std::string& path, Result<T> (*parse)(std::string_view)) const;
  [[nodiscard]] Result<std::string> cgroup_folder() const;
  [[nodiscard]] Result<OwnCgroup> own_cgroup() const;

  std::string root_;
};

}  // namespace evenkeel::pressure
