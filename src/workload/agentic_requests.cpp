// The table form of recorded coding-agent conversations: numbers of blocks instead of their ids.
#include <array>
#include <map>
#include <unordered_set>

#include "workload/conversation.hpp"
#include "workload/csv_reader.hpp"
#include "workload/readers.hpp"

namespace evenkeel::workload {

namespace {

enum Column : std::size_t { session, agent, t, in, out, blocks, prefix_blocks, think_time, api_time };
constexpr std::array<std::string_view, 9> column_names = {"session", "agent",         "t",          "in",      "out",
                                                          "blocks",  "prefix_blocks", "think_time", "api_time"};
constexpr std::uint32_t block_tokens = 64;
constexpr std::int64_t most_blocks = 10'000'000;

/// Makes ids from numbers: the shared head is that of the agent's last request, all others are new. (Blocks
/// that a request shares with others than the last one before it are not told by the table.)
class PrefixMaker {
 public:
  explicit PrefixMaker(PrefixStore& store) : store_(store) {}
  void start_session() { last_of_agent_.clear(); }
  /// no_prefix if the head is longer than the list before, which the caller reports.
  PrefixList make(std::string_view of_agent, std::uint32_t all, std::uint32_t head) {
    PrefixList& last = last_of_agent_.try_emplace(std::string(of_agent), no_prefix).first->second;
    if (head > all || head > store_.size(last)) return no_prefix;
    fresh_.clear();
    for (auto i = head; i < all; ++i) fresh_.push_back(next_id_++);
    last = store_.extend(last, head, fresh_);
    return last;
  }

 private:
  PrefixStore& store_;
  std::map<std::string, PrefixList> last_of_agent_;
  std::vector<std::uint64_t> fresh_;
  std::uint64_t next_id_ = 0;
};

Turn read_turn(CsvReader& csv, PrefixMaker& prefixes) {
  Turn turn;
  turn.agent = csv.text(agent);
  turn.at_s = csv.number(t, 0, longest_trace_s);
  turn.prompt_tokens = csv.whole(in, 0, most_tokens);
  turn.output_tokens = csv.whole(out, 0, most_tokens);
  turn.think_s = csv.number_or_0(think_time, 0, longest_trace_s);
  turn.service_s = csv.number_or_0(api_time, 0, longest_trace_s);
  const auto all = static_cast<std::uint32_t>(csv.whole(blocks, 0, most_blocks));
  const auto head = static_cast<std::uint32_t>(csv.whole(prefix_blocks, 0, most_blocks));
  if (csv.fault() || all == 0) return turn;
  turn.prefix = prefixes.make(turn.agent, all, head);
  turn.prefix_block_size = block_tokens;
  if (turn.prefix == no_prefix) {
    csv.reject_field(prefix_blocks, "at most the blocks of this request and of the agent's request before it");
  }
  return turn;
}

}  // namespace

Result<Trace> read_agentic_requests(const TraceSpec& spec) {
  if (!spec.session_rate)
    return failure("conversations have no common clock; a session_rate (starts a second) is wanted");
  auto csv = CsvReader::open(spec.path, column_names);
  if (!csv) return tl::unexpected(csv.error());
  Collector collector(spec.slice, true);
  ConversationStarter starter(*spec.session_rate, spec.seed, collector);
  PrefixMaker prefixes(collector.trace().prefixes);
  std::string current;
  std::unordered_set<std::string> finished;
  std::vector<Turn> turns;
  bool more = true;
  while (more && csv->next()) {
    if (csv->text(session) != current) {
      if (!turns.empty()) more = starter.add(current, turns);
      turns.clear();
      finished.insert(current);
      current = csv->text(session);
      prefixes.start_session();
      if (current.empty() || finished.contains(current)) {
        csv->reject_field(session, "a name; the rows of a session stand together");
      }
    }
    turns.push_back(read_turn(*csv, prefixes));
    if (csv->fault()) return tl::unexpected(*csv->fault());
  }
  if (csv->fault()) return tl::unexpected(*csv->fault());
  if (more && !turns.empty()) (void)starter.add(current, turns);
  return collector.finish();
}

}  // namespace evenkeel::workload
