#include "http/connection_pool.hpp"

namespace evenkeel::http {

std::optional<Stream> ConnectionPool::take(Time now) {
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (now - last.since > limits_.idle) {  // all others are older still
      idle_.clear();
      return std::nullopt;
    }
    if (!last.stream.has_news()) return std::move(last.stream);
  }
  return std::nullopt;
}

void ConnectionPool::give(Stream stream, Time now) {
  if (!stream.is_open() || stream.has_news() || limits_.connections == 0) return;
  if (idle_.size() >= limits_.connections) idle_.erase(idle_.begin());
  stream.bind(nullptr);
  idle_.push_back({std::move(stream), now});
}

void ConnectionPool::sweep(Time now) {
  std::erase_if(idle_, [&](const Idle& idle) { return now - idle.since > limits_.idle || idle.stream.has_news(); });
}

}  // namespace evenkeel::http
