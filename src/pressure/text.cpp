#include "pressure/text.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace evenkeel::pressure {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words = split(line, ' ');
  std::erase(words, "");
  return words;
}

/// The words of the line whose first is `name`.
std::optional<std::vector<std::string_view>> line_of(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    auto words = words_of(line);
    if (!words.empty() && words.front() == name) return words;
  }
  return std::nullopt;
}

Result<std::uint64_t> counter(std::string_view word, std::string_view name) {
  const auto number = parse_unsigned(word);
  if (!number || *number > most)
    return failure(fmt::format("{} is \"{}\", which is no count", name, word.substr(0, 40)));
  return *number;
}

/// "MemTotal:  24683652 kB"
Result<Bytes> kilobytes(std::string_view meminfo, std::string_view name) {
  const auto words = line_of(meminfo, fmt::format("{}:", name));
  if (!words || words->size() < 2) return failure(fmt::format("there is no {}", name));
  const auto number = counter((*words)[1], name);
  if (!number) return tl::unexpected(number.error());
  if (words->size() != 3 || (*words)[2] != "kB") return failure(fmt::format("{} is not in kB", name));
  if (*number > most / 1024) return failure(fmt::format("{} is {} kB, which cannot be", name, *number));
  return Bytes(static_cast<std::int64_t>(*number) * 1024);
}

/// "pswpin 123"
Result<std::uint64_t> named_counter(std::string_view text, std::string_view name) {
  const auto words = line_of(text, name);
  if (!words || words->size() != 2) return failure(fmt::format("there is no {}", name));
  return counter((*words)[1], name);
}

Result<Stall> stall_of(const std::vector<std::string_view>& words) {
  Stall stall;
  const std::array<std::pair<std::string_view, double*>, 3> shares = {
      {{"avg10=", &stall.avg10}, {"avg60=", &stall.avg60}, {"avg300=", &stall.avg300}}};
  const auto wrong = [&](std::string_view what) {
    return failure(fmt::format("the line \"{}\" has no {}", words.front(), what));
  };
  if (words.size() < 5) return wrong("four figures");
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto [key, into] = shares[i];
    const std::string_view word = words[i + 1];
    const auto share = word.starts_with(key) ? parse_double(word.substr(key.size())) : std::nullopt;
    if (!share || *share < 0 || *share > 100) return wrong(fmt::format("{} from 0 to 100", key));
    *into = *share;
  }
  constexpr std::string_view key = "total=";
  const auto total = words[4].starts_with(key) ? parse_unsigned(words[4].substr(key.size())) : std::nullopt;
  if (!total || *total > most / 1000) return wrong("total= in microseconds");
  stall.total = std::chrono::microseconds(static_cast<std::int64_t>(*total));
  return stall;
}

}  // namespace

Result<Memory> parse_memory(std::string_view meminfo) {
  const auto total = kilobytes(meminfo, "MemTotal");
  if (!total) return tl::unexpected(total.error());
  const auto available = kilobytes(meminfo, "MemAvailable");
  if (!available) return tl::unexpected(available.error());
  if (*available > *total) return failure("MemAvailable is over MemTotal");
  return Memory{*total, *available};
}

Result<Swap> parse_swap(std::string_view meminfo) {
  const auto total = kilobytes(meminfo, "SwapTotal");
  if (!total) return tl::unexpected(total.error());
  const auto free = kilobytes(meminfo, "SwapFree");
  if (!free) return tl::unexpected(free.error());
  if (*free > *total) return failure("SwapFree is over SwapTotal");
  return Swap{*total, *free};
}

Result<CpuTimes> parse_cpu(std::string_view stat) {
  // user nice system idle iowait irq softirq steal guest guest_nice: the last two are in the first two already.
  constexpr std::size_t iowait = 5;
  constexpr std::size_t counted = 8;
  const auto words = line_of(stat, "cpu");
  if (!words || words->size() <= iowait) return failure("there is no line \"cpu\" with its iowait");
  CpuTimes times;
  for (std::size_t i = 1; i < words->size() && i <= counted; ++i) {
    const auto ticks = counter((*words)[i], fmt::format("time {} of line \"cpu\"", i));
    if (!ticks) return tl::unexpected(ticks.error());
    if (*ticks > most - times.total) return failure("the times of line \"cpu\" are too large to be added");
    times.total += *ticks;
    if (i == iowait) times.iowait = *ticks;
  }
  return times;
}

Result<SwapPages> parse_swap_pages(std::string_view vmstat) {
  const auto in = named_counter(vmstat, "pswpin");
  if (!in) return tl::unexpected(in.error());
  const auto out = named_counter(vmstat, "pswpout");
  if (!out) return tl::unexpected(out.error());
  return SwapPages{*in, *out};
}

Result<Stalls> parse_stalls(std::string_view text) {
  const auto some = line_of(text, "some");
  if (!some) return failure("there is no line \"some\"");
  const auto read = stall_of(*some);
  if (!read) return tl::unexpected(read.error());
  Stalls stalls{*read, std::nullopt};
  if (const auto full = line_of(text, "full")) {
    const auto read_full = stall_of(*full);
    if (!read_full) return tl::unexpected(read_full.error());
    stalls.full = *read_full;
  }
  return stalls;
}

Result<std::string> parse_own_cgroup(std::string_view text) {
  constexpr std::string_view unified = "0::";
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(unified)) continue;
    const std::string_view path = line.substr(unified.size());
    if (!path.starts_with('/')) return failure("the path of the cgroup does not begin with /");
    const auto parts = split(path, '/');
    if (std::find(parts.begin(), parts.end(), "..") != parts.end())
      return failure("the cgroup is outside of this namespace");
    return std::string(path);
  }
  return failure("the process is in no cgroup v2");
}

Result<Bytes> parse_bytes(std::string_view text) {
  const auto number = counter(trim(text), "it");
  if (!number) return tl::unexpected(number.error());
  return Bytes(static_cast<std::int64_t>(*number));
}

Result<std::optional<Bytes>> parse_limit(std::string_view text) {
  if (trim(text) == "max") return std::optional<Bytes>();
  const auto number = parse_bytes(text);
  if (!number) return tl::unexpected(number.error());
  return std::optional<Bytes>(*number);
}

}  // namespace evenkeel::pressure
