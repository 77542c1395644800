#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evenkeel::gateway {

/// Follows a JSON request body as it arrives, piece by piece, and learns what routing needs from its top level.
/// It looks only: the bytes stay the client's, but for top-level members that must not reach an engine, which it
/// reports as ranges to blank. Structure is checked as far as that needs (one object, strings closed, brackets
/// paired, keys and commas in their places at the top); the engine checks the rest. When a key is given twice the
/// last counts, as in the engines, and escapes in keys are decoded, so that "mod\u0065l" is the model too.
/// State is bounded: no value but the model's and the session's (256 bytes each) is kept. Nested values cost a
/// memchr a string, nothing more.
class BodySkim {
 public:
  /// A half-open range of absolute offsets in the body.
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  struct Facts {
    std::string model;              ///< decoded
    bool has_model = false;         ///< a string, not null
    Range model_value;              ///< the value with its quotes
    bool model_wrong_type = false;  ///< neither string nor null
    bool stream = false;
    std::int64_t priority = 0;
    std::int64_t sequences = 1;      ///< the larger of n and best_of
    std::int64_t output_bound = 0;   ///< max_completion_tokens, max_output_tokens, max_tokens; 0 = none
    std::uint64_t list_prompts = 1;  ///< prompts in a list of strings or of lists
    std::string session;             ///< session_id, else user; decoded, cut at 256 bytes
    std::uint64_t text_bytes = 0;    ///< of prompt, messages, input, tools, system, instructions: JSON bytes less media
    Range text;                      ///< the value of the last of prompt, messages and input
    Range tools;                     ///< the value of tools, which stand in a prompt before all else
    Range preface;                   ///< of system or instructions, which stand before the messages
    bool odd_salt = false;           ///< a salt is no text: nothing is known of what this prompt shares
    std::uint64_t salt = 0;          ///< of what else must be alike for prompts to share KV (cache_salt); 0: nothing
    std::uint64_t prompt_ids = 0;    ///< in a prompt given as one list of token ids
    std::uint64_t media_parts = 0;   ///< data: and media URLs in messages or input
  };

  /// `strip`: also report transfer and rank members as blanks.
  explicit BodySkim(bool strip) : strip_(strip) {}

  /// Takes the next piece. False once the body cannot be a JSON object; complaint() says why.
  bool feed(std::string_view piece);
  /// After the last piece: whether it was one whole object.
  bool finish();

  [[nodiscard]] const Facts& facts() const { return facts_; }
  /// The same for the last time.
  [[nodiscard]] Facts take_facts() { return std::move(facts_); }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

  /// Members to blank, in order, so far; each covers its key, value and one comma. The last may be open-ended
  /// while its value passes.
  [[nodiscard]] const std::vector<Range>& blanks() const { return blanks_; }
  /// All bytes before this offset are final: no later blank begins before it. Bytes behind it must be held back.
  [[nodiscard]] std::uint64_t settled() const;

 private:
  enum class State : std::uint8_t {
    before,      ///< the opening brace
    key_or_end,  ///< just behind the brace
    key,         ///< behind a comma
    in_key,
    colon,
    value,      ///< its first byte
    in_string,  ///< a top-level string value
    in_scalar,  ///< number or literal at the top
    nested,     ///< inside an object or list value
    nested_string,
    comma_or_end,
    after,  ///< the closing brace
    failed,
  };

  enum class Member : std::uint8_t {
    other,
    model,
    stream,
    priority,
    sequences,
    session,
    user,
    text,
    tools,
    preface,
    salt,
    bound,
    forbidden
  };

  static constexpr std::uint32_t depth_limit = 512;

  void fail(std::string_view why);
  [[nodiscard]] Member kind_of(std::string_view key) const;
  [[nodiscard]] std::uint64_t place(const char* at) const { return offset_ + static_cast<std::uint64_t>(at - piece_); }
  /// Bytes of a key or short value: [from, to) with what of it came in earlier pieces, cut at 256 bytes.
  std::string_view token(const char* from, const char* to);
  void keep(const char* from, const char* to);

  // Each goes on from `at`, which is before `end` or at it, and returns behind what it took.
  void run(const char* at, const char* end);
  const char* take_key(const char* at, const char* end);
  void begin_member(std::uint64_t comma);
  void name_member(std::string_view key, bool plain);
  void begin_value(char first);
  void end_value(std::uint64_t end, std::string_view text);
  void end_scalar(std::string_view text, std::uint64_t end);
  const char* take_scalar(const char* at, const char* end);
  const char* take_string(const char* at, const char* end);
  const char* find_close(const char* at, const char* end);
  const char* skip_nested(const char* at, const char* end);
  const char* skip_nested_string(const char* at, const char* end);
  void see_nested_string(const char* at, const char* end);
  void see_nested_list(char bracket);
  void open(bool list);
  [[nodiscard]] bool innermost_is_list() const;

  bool strip_;
  State state_ = State::before;
  Member member_ = Member::other;
  bool escaped_ = false;
  bool session_seen_ = false;
  bool media_string_ = false;
  bool first_value_in_list_ = false;
  bool ids_only_ = false;
  std::uint32_t depth_ = 0;                              ///< brackets open inside a nested value
  std::array<std::uint64_t, depth_limit / 64> lists_{};  ///< a bit for each of them: [ or {
  const char* piece_ = nullptr;                          ///< being fed
  std::uint64_t offset_ = 0;                             ///< of it
  std::uint64_t member_begin_ = 0;                       ///< of the key's quote
  std::uint64_t comma_ = 0;                              ///< of the comma before this member, if has_comma_
  bool has_comma_ = false;
  bool eat_comma_ = false;  ///< the blanked member was first: the next comma goes too
  std::uint64_t value_begin_ = 0;
  std::uint64_t media_begin_ = 0;
  std::uint64_t media_bytes_ = 0;
  std::string text_;  ///< raw bytes, from earlier pieces, of the key or short value being read
  Facts facts_;
  std::vector<Range> blanks_;
  std::string complaint_;
};

/// Overwrites the parts of `bytes` (which begin at absolute `offset`) that lie in `blanks` with spaces.
void blank_out(std::string& bytes, std::uint64_t offset, const std::vector<BodySkim::Range>& blanks);

/// Decodes JSON string escapes. What is no valid escape stays as it is.
[[nodiscard]] std::string decode_json_string(std::string_view raw);

}  // namespace evenkeel::gateway
