#include "forecast/history_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "forecast/text_lines.hpp"

namespace evenkeel::forecast {

namespace {

constexpr std::string_view magic = "evenkeel-forecast-history 1";
constexpr std::uint64_t most_tokens = std::numeric_limits<std::int32_t>::max();

template <class Value>
std::optional<Value> hexadecimal(std::string_view word) {
  Value value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::string hex_of(std::string_view name) {
  std::string hex;
  for (const char c : name) fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(c));
  return hex;
}

std::optional<std::string> name_of(std::string_view hex) {
  if (hex.empty() || hex.size() % 2 != 0 || hex.size() > 2 * longest_model_name) return std::nullopt;
  std::string name;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const auto byte = hexadecimal<unsigned char>(hex.substr(i, 2));
    if (!byte) return std::nullopt;
    name += static_cast<char>(*byte);
  }
  return name;
}

std::optional<EndedRequest> parse_ended(const std::vector<std::string_view>& words) {
  if (words.size() != 4 || (words[2] != "c" && words[2] != "b")) return std::nullopt;
  const auto prompt = number(words[0], most_tokens);
  const auto output = number(words[1], most_tokens);
  const auto key = hexadecimal<std::uint64_t>(words[3]);
  if (!prompt || !output || !key) return std::nullopt;
  return EndedRequest{*key, static_cast<std::int32_t>(*prompt), static_cast<std::int32_t>(*output), words[2] == "c"};
}

Result<ModelHistory> parse_model(Lines& lines) {
  const auto head = lines.next();
  const bool shaped = head.size() == 3 && head[0] == "model";
  const auto count = shaped ? number(head[1], history_length) : std::nullopt;
  auto name = shaped ? name_of(head[2]) : std::nullopt;
  if (!count || !name) {
    return lines.wrong(
        fmt::format("\"model COUNT NAME\", with COUNT at most {} and NAME in hexadecimal, of at most {} "
                    "bytes",
                    history_length, longest_model_name));
  }
  ModelHistory model{std::move(*name), {}};
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto ended = parse_ended(lines.next());
    if (!ended) return lines.wrong("\"PROMPT OUTPUT c|b KEY\"");
    model.ended.push_back(*ended);
  }
  return model;
}

tl::unexpected<Error> cannot(std::string_view what, const std::string& path) {
  return failure(fmt::format("\"{}\" cannot be {}: {}", path, what, std::strerror(errno)));
}

/// Closes what it holds.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  [[nodiscard]] bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return ::fsync(fd_) == 0;
  }

 private:
  int fd_;
};

}  // namespace

std::string to_text(const SavedHistory& history) {
  std::string out = fmt::format("{}\nsalt {:016x}\n", magic, history.salt);
  const auto at = std::back_inserter(out);
  for (const ModelHistory& model : history.models) {
    fmt::format_to(at, "model {} {}\n", model.ended.size(), hex_of(model.model));
    for (const EndedRequest& ended : model.ended) {
      fmt::format_to(at, "{} {} {} {:x}\n", ended.prompt_tokens, ended.output_tokens, ended.completed ? 'c' : 'b',
                     ended.prompt_key);
    }
  }
  append_checksum(out);
  return out;
}

Result<SavedHistory> parse_history(std::string_view text) {
  if (!text.starts_with(magic) || text.substr(magic.size(), 1) != "\n") {
    return failure(fmt::format("it does not begin with \"{}\": it is no such file, or of another version", magic));
  }
  const auto body = without_checksum(text);
  if (!body) return tl::unexpected(body.error());
  Lines lines(body->substr(magic.size() + 1));
  SavedHistory history;
  const auto words = lines.next();
  const auto salt = words.size() == 2 && words[0] == "salt" ? hexadecimal<std::uint64_t>(words[1]) : std::nullopt;
  if (!salt) return lines.wrong("\"salt HEX\"");
  history.salt = *salt;
  std::set<std::string> names;
  while (!lines.at_end()) {
    auto model = parse_model(lines);
    if (!model) return tl::unexpected(model.error());
    if (!names.insert(model->model).second) return failure("it has one model twice");
    if (history.models.size() == most_models) {
      return failure(fmt::format("it has more models than the {} that are allowed", most_models));
    }
    history.models.push_back(std::move(*model));
  }
  return history;
}

Result<SavedHistory> read_history(const std::string& path) {
  const auto text = read_whole("forecast file", path, largest_history_file);
  if (!text) return tl::unexpected(text.error());
  auto history = parse_history(*text);
  if (!history) return failure(fmt::format("forecast file \"{}\": {}", path, history.error().message));
  return history;
}

Result<void> write_history(const SavedHistory& history, const std::string& path) {
  const std::string beside = path + ".new";
  if (::unlink(beside.c_str()) != 0 && errno != ENOENT) return cannot("replaced", beside);
  {
    // Exclusively: it is nobody else's file, nor a link to one, and its mode is that given here.
    const File file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.open()) return cannot("made", beside);
    if (!file.write(to_text(history))) return cannot("written", beside);
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) return cannot("written", path);
  return {};
}

}  // namespace evenkeel::forecast
