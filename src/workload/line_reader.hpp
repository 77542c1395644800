#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace evenkeel::workload {

/// What a gzip file that breaks off is: a fault, as of a trace that did not come whole, or the end of what a process
/// wrote that was killed. Its last, half line is then passed over, and cut() says so.
enum class BrokenOff : std::uint8_t { fault, end };

/// The lines of a text file, plain or gzip, without their LF or CR LF; blank lines are passed over. Holds one
/// line and one buffer. The first fault sticks: next() is false from then on.
class LineReader {
 public:
  static constexpr std::size_t longest_line = std::size_t{16} << 20U;

  [[nodiscard]] static Result<LineReader> open(std::string path, BrokenOff broken_off = BrokenOff::fault);

  /// False at the end of the file and after a fault.
  [[nodiscard]] bool next();
  /// Lives until the next call of next().
  [[nodiscard]] std::string_view line() const { return line_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }  ///< of that line, from 1
  [[nodiscard]] bool cut() const { return cut_; }                 ///< the gzip file broke off, once next() is false
  /// Notes "path:line: what" unless a fault is noted already.
  void reject(std::string_view what);
  [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }

 private:
  struct CloseGz {
    void operator()(void* file) const;
  };
  LineReader(std::string path, void* file, BrokenOff broken_off);
  [[nodiscard]] bool fill();
  [[nodiscard]] bool read_line();

  std::string path_;
  BrokenOff broken_off_;
  bool cut_ = false;
  std::unique_ptr<void, CloseGz> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string line_;
  std::uint64_t number_ = 0;
  std::optional<Error> fault_;
};

}  // namespace evenkeel::workload
