#include "workload/line_reader.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace evenkeel::workload {

namespace {
constexpr std::size_t buffer_bytes = std::size_t{256} << 10U;
gzFile as_gz(void* file) { return static_cast<gzFile>(file); }
}  // namespace

void LineReader::CloseGz::operator()(void* file) const { gzclose(as_gz(file)); }

LineReader::LineReader(std::string path, void* file, BrokenOff broken_off)
    : path_(std::move(path)), broken_off_(broken_off), file_(file), buffer_(buffer_bytes) {}

Result<LineReader> LineReader::open(std::string path, BrokenOff broken_off) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) return failure(path + ": a folder, not a file");
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return failure(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  return LineReader(std::move(path), file, broken_off);
}

void LineReader::reject(std::string_view what) {
  if (!fault_) fault_ = Error{fmt::format("{}:{}: {}", path_, number_, what)};
}

bool LineReader::fill() {
  const int got = gzread(as_gz(file_.get()), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  begin_ = 0;
  end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  int code = Z_OK;
  const char* message = gzerror(as_gz(file_.get()), &code);
  // Z_BUF_ERROR at the end: the gzip stream was cut off. What came before is there.
  if (code == Z_BUF_ERROR && broken_off_ == BrokenOff::end) {
    cut_ = true;
    return got > 0;
  }
  if (got < 0 || code != Z_OK) {
    reject(code == Z_BUF_ERROR ? "the compressed file ends too early" : message);
    return false;
  }
  return got > 0;
}

bool LineReader::read_line() {
  line_.clear();
  ++number_;
  while (true) {
    if (begin_ == end_ && !fill()) return !fault_ && !cut_ && !line_.empty();
    const char* from = buffer_.data() + begin_;
    const auto* feed = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
    const auto take = feed == nullptr ? end_ - begin_ : static_cast<std::size_t>(feed - from);
    if (line_.size() + take > longest_line) {
      reject(fmt::format("the line is too long; allowed: {} bytes", longest_line));
      return false;
    }
    line_.append(from, take);
    begin_ += take + (feed == nullptr ? 0 : 1);
    if (feed != nullptr) return true;
  }
}

bool LineReader::next() {
  while (!fault_ && read_line()) {
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    if (!line_.empty()) return true;
  }
  return false;
}

}  // namespace evenkeel::workload
