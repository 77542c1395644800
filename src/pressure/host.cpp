#include "pressure/host.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "pressure/text.hpp"

namespace evenkeel::pressure {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = 64 << 10;  ///< of a file; the lines that are wanted stand far before
constexpr std::size_t most_cgroups = 256;
constexpr std::size_t most_waiting = 4096;  ///< folders that a walk keeps in mind

std::string why(int error) { return std::generic_category().message(error); }

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// The beginning of a regular file.
Result<std::string> beginning_of(const std::string& path) {
  const Descriptor file(path);
  struct stat facts {};
  if (file.get() < 0 || ::fstat(file.get(), &facts) != 0) return failure(why(errno));
  if (!S_ISREG(facts.st_mode)) return failure("it is no file");
  std::string text(most_bytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(why(errno));  // a kernel that was booted with psi=0 says "not supported" here
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

double waits(const CgroupStall& cgroup) { return std::max(cgroup.memory.avg10, cgroup.io.avg10); }

}  // namespace

Result<std::string> Host::text_of(const std::string& path) const {
  auto text = beginning_of(root_ + path);
  if (!text) return failure(fmt::format("{}: {}", path, text.error().message));
  return text;
}

template <class T>
Result<T> Host::parsed(const std::string& path, Result<T> (*parse)(std::string_view)) const {
  const auto text = text_of(path);
  if (!text) return tl::unexpected(text.error());
  auto value = parse(*text);
  if (!value) return failure(fmt::format("{}: {}", path, value.error().message));
  return value;
}

Result<std::string> Host::cgroup_folder() const {
  // The second is where systemd mounts it beside cgroup v1.
  for (const char* folder : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (text_of(std::string(folder) + "/cgroup.controllers")) return std::string(folder);
  }
  return failure("cgroup v2 is not mounted at /sys/fs/cgroup or /sys/fs/cgroup/unified");
}

Result<OwnCgroup> Host::own_cgroup() const {
  const auto path = parsed("/proc/self/cgroup", parse_own_cgroup);
  if (!path) return tl::unexpected(path.error());
  const auto mount = cgroup_folder();
  if (!mount) return tl::unexpected(mount.error());
  const std::string folder = *mount + (*path == "/" ? "" : *path);
  return OwnCgroup{*path,
                   parsed(folder + "/memory.pressure", parse_stalls),
                   parsed(folder + "/io.pressure", parse_stalls),
                   parsed(folder + "/memory.current", parse_bytes),
                   parsed(folder + "/memory.max", parse_limit),
                   parsed(folder + "/memory.swap.current", parse_bytes),
                   parsed(folder + "/memory.swap.max", parse_limit)};
}

Reading Host::read(Time now) const {
  return Reading{now,
                 parsed("/proc/meminfo", parse_memory),
                 parsed("/proc/meminfo", parse_swap),
                 parsed("/proc/stat", parse_cpu),
                 parsed("/proc/vmstat", parse_swap_pages),
                 parsed("/proc/pressure/memory", parse_stalls),
                 parsed("/proc/pressure/io", parse_stalls),
                 parsed("/proc/pressure/cpu", parse_stalls),
                 own_cgroup()};
}

Result<CgroupStalls> Host::worst_cgroups(std::size_t most) const {
  const auto mount = cgroup_folder();
  if (!mount) return tl::unexpected(mount.error());
  CgroupStalls found;
  std::deque<std::string> folders = {""};  // level by level, so that what is left out is what lies deepest
  while (!folders.empty() && found.looked_at < most_cgroups) {
    const std::string path = std::exchange(folders.front(), {});
    folders.pop_front();
    ++found.looked_at;
    const auto full = [&](const char* file) {
      const auto stalls = parsed(*mount + path + file, parse_stalls);
      return stalls && stalls->full ? *stalls->full : Stall{};
    };
    CgroupStall cgroup{path.empty() ? "/" : path, full("/memory.pressure"), full("/io.pressure")};
    if (!path.empty() && waits(cgroup) > 0) found.worst.push_back(std::move(cgroup));
    std::error_code error;
    for (fs::directory_iterator it(root_ + *mount + path, error), end; !error && it != end; it.increment(error)) {
      if (!it->is_directory(error) || it->is_symlink(error)) continue;
      if (folders.size() < most_waiting) {
        folders.push_back(path + "/" + it->path().filename().string());
      } else {
        found.all = false;
      }
    }
  }
  found.all = found.all && folders.empty();
  std::sort(found.worst.begin(), found.worst.end(), [](const CgroupStall& a, const CgroupStall& b) {
    return waits(a) != waits(b) ? waits(a) > waits(b) : a.path < b.path;
  });
  if (found.worst.size() > most) found.worst.resize(most);
  return found;
}

}  // namespace evenkeel::pressure
