#include "workload/conversation.hpp"

#include <algorithm>

#include "workload/readers.hpp"

namespace evenkeel::workload {

ConversationStarter::ConversationStarter(double sessions_per_s, std::uint64_t seed, Collector& collector)
    : sessions_per_s_(sessions_per_s), random_(seed), collector_(collector), start_s_(0) {
  start_s_ = random_.exponential(1 / sessions_per_s_);
}

namespace {

/// Think time of turn i without what sub-agents took between it and the agent's last request.
double own_think_s(const std::vector<Turn>& turns, std::size_t i) {
  double think = turns[i].think_s;
  for (std::size_t end = i; end > 0 && turns[end - 1].agent != turns[i].agent;) {
    std::size_t begin = end - 1;
    while (begin > 0 && turns[begin - 1].agent == turns[end - 1].agent) --begin;
    think -= turns[end - 1].at_s + turns[end - 1].service_s - turns[begin].at_s;
    end = begin;
    if (begin == 0) return turns[i].think_s;  // first of its agent: nothing of its own was before
  }
  return std::max(0.0, think);
}

}  // namespace

bool ConversationStarter::add(std::string_view session, const std::vector<Turn>& turns) {
  const Duration start = from_seconds(std::min(start_s_, longest_trace_s));
  if (collector_.past_end(start)) return false;
  start_s_ += random_.exponential(1 / sessions_per_s_);
  const NameIndex name = collector_.trace().intern(session);
  Duration earliest = start;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const Turn& turn = turns[i];
    TraceRequest request;
    // A sub-agent's recorded start may lie behind its parent's next: a chain never runs backwards.
    request.arrival = std::max(earliest, start + from_seconds(turn.at_s));
    request.prompt_tokens = Tokens(turn.prompt_tokens);
    request.output_tokens = Tokens(turn.output_tokens);
    request.model = turn.model;
    request.session = name;
    request.after = i == 0 ? no_index : added_ - 1;
    request.think = i == 0 ? Duration{} : from_seconds(own_think_s(turns, i));
    request.prefix = turn.prefix;
    request.prefix_block_size = turn.prefix_block_size;
    collector_.add(request);
    ++added_;
    earliest = request.arrival;
  }
  return true;
}

}  // namespace evenkeel::workload
