// Recorded conversations of coding agents, one JSON object a line: requests with block ids, nested
// sub-agents.
#include <algorithm>
#include <unordered_map>

#include "workload/conversation.hpp"
#include "workload/json_fields.hpp"
#include "workload/readers.hpp"

namespace evenkeel::workload {

namespace {

constexpr int deepest_nesting = 8;
constexpr std::int64_t most_block_id = 0xFFFFFFFF;

/// Reads the turns of one conversation. Ids have a meaning only inside it; `first_id` makes them unique.
class ConversationReader {
 public:
  ConversationReader(LineReader& lines, Trace& trace, std::uint64_t& first_id, std::uint32_t block_size)
      : lines_(lines), trace_(trace), first_id_(first_id), next_first_id_(first_id), block_size_(block_size) {}
  ~ConversationReader() { first_id_ = next_first_id_; }
  ConversationReader(const ConversationReader&) = delete;
  ConversationReader& operator=(const ConversationReader&) = delete;

  void read(const JsonFields& parent, const std::string& agent, double from_s, int depth) {
    if (depth > deepest_nesting) {
      parent.reject("requests", "sub-agents nested at most 8 deep");
      return;
    }
    PrefixList last = no_prefix;
    for (const auto element : parent.array("requests")) {
      simdjson::dom::object object;
      if (element.get(object) != simdjson::SUCCESS) parent.reject("requests", "a list of objects");
      if (lines_.fault()) return;
      const JsonFields fields(lines_, object);
      const double at_s = from_s + fields.number("t", 0, longest_trace_s);
      if (fields.text("type") == "subagent") {
        read(fields, agent + "/" + std::string(fields.text("agent_id")), at_s, depth + 1);
        continue;
      }
      Turn turn = read_turn(fields, agent, at_s);
      if (lines_.fault()) return;
      turn.prefix = last = continue_prefix(fields, last);
      if (turn.prefix != no_prefix) turn.prefix_block_size = block_size_;
      turns_.push_back(std::move(turn));
    }
  }

  [[nodiscard]] const std::vector<Turn>& turns() const { return turns_; }

 private:
  Turn read_turn(const JsonFields& fields, const std::string& agent, double at_s) {
    Turn turn;
    turn.agent = agent;
    turn.at_s = at_s;
    turn.think_s = fields.number_or_0("think_time", 0, longest_trace_s);
    turn.service_s = fields.number_or_0("api_time", 0, longest_trace_s);
    turn.prompt_tokens = fields.whole("in", 0, most_tokens);
    turn.output_tokens = fields.whole("out", 0, most_tokens);
    turn.model = trace_.intern(fields.text("model"));
    return turn;
  }

  /// The turn's ids as a head of the agent's last turn and what is new.
  PrefixList continue_prefix(const JsonFields& fields, PrefixList last) {
    if (!fields.has("hash_ids")) return no_prefix;
    ids_.clear();
    const bool good = fields.each_whole("hash_ids", 0, most_block_id, [&](std::int64_t id) {
      ids_.push_back(first_id_ + static_cast<std::uint64_t>(id));
      next_first_id_ = std::max(next_first_id_, ids_.back() + 1);
    });
    if (!good || ids_.empty()) return no_prefix;
    const auto& before = last == no_prefix ? none_ : last_ids_;
    const auto head = static_cast<std::uint32_t>(
        std::mismatch(ids_.begin(), ids_.end(), before.begin(), before.end()).first - ids_.begin());
    const PrefixList list = trace_.prefixes.extend(last, head, std::span(ids_).subspan(head));
    last_ids_.swap(ids_);
    return list;
  }

  LineReader& lines_;
  Trace& trace_;
  std::uint64_t& first_id_;
  std::uint64_t next_first_id_;
  std::uint32_t block_size_;
  std::vector<Turn> turns_;
  std::vector<std::uint64_t> ids_;
  std::vector<std::uint64_t> last_ids_;
  const std::vector<std::uint64_t> none_;
};

}  // namespace

Result<Trace> read_agentic_sessions(const TraceSpec& spec) {
  if (!spec.session_rate)
    return failure("conversations have no common clock; a session_rate (starts a second) is wanted");
  auto lines = LineReader::open(spec.path);
  if (!lines) return tl::unexpected(lines.error());
  simdjson::dom::parser parser;
  Collector collector(spec.slice, true);
  ConversationStarter starter(*spec.session_rate, spec.seed, collector);
  std::uint64_t first_id = 0;
  while (lines->next()) {
    const auto fields = parse_object(*lines, parser);
    if (lines->fault()) break;
    const auto id = fields.text("id");
    const auto block_size = static_cast<std::uint32_t>(fields.whole("block_size", 1, 65536));
    ConversationReader conversation(*lines, collector.trace(), first_id, block_size);
    conversation.read(fields, "", 0, 0);
    if (lines->fault()) break;
    if (!starter.add(id, conversation.turns())) break;
  }
  if (lines->fault()) return tl::unexpected(*lines->fault());
  return collector.finish();
}

}  // namespace evenkeel::workload
