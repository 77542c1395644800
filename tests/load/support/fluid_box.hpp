#pragma once

// A worker whose requests advance alike, followed request by request: what a report of boxes is given to read.

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "load/box_rates.hpp"
#include "load/record.hpp"

namespace evenkeel::load::testing {

struct Come {
  double at_s = 0;
  double tokens = 0;
};

/// First come, first served into as many slots as there are rates; `come` in order of time.
inline std::vector<Served> serve(const std::vector<double>& rates, const std::vector<Come>& come) {
  std::vector<Served> served(come.size());
  std::vector<std::pair<std::size_t, double>> running;  // and the tokens it lacks
  double now = 0;
  std::size_t next = 0;
  while (next < come.size() || !running.empty()) {
    while (running.size() < rates.size() && next < come.size() && come[next].at_s <= now + 1e-12) {
      served[next] = {now, now, come[next].tokens};
      running.emplace_back(next, come[next].tokens);
      ++next;
    }
    const double speed = running.empty() ? 0 : rates[running.size() - 1] / static_cast<double>(running.size());
    double step = std::numeric_limits<double>::infinity();
    for (const auto& [place, left] : running) step = std::min(step, left / speed);
    if (running.size() < rates.size() && next < come.size()) step = std::min(step, come[next].at_s - now);
    now += step;
    for (auto& [place, left] : running) {
      left -= step * speed;
      served[place].end_s = now;
    }
    std::erase_if(running, [](const auto& each) { return each.second < 1e-9; });
  }
  return served;
}

/// The same as a client sees it: a token at the end of each equal part of a request's time at the worker.
inline void record(std::vector<RequestRecord>& records, std::uint32_t worker, const std::vector<double>& rates,
                   const std::vector<Come>& come) {
  const auto served = serve(rates, come);
  for (std::size_t i = 0; i < come.size(); ++i) {
    RequestRecord one;
    one.due = one.sent = from_seconds(come[i].at_s);
    one.first_content = from_seconds(served[i].begin_s + (served[i].end_s - served[i].begin_s) / come[i].tokens);
    one.last_content = one.ended = from_seconds(served[i].end_s);
    one.output = Tokens(static_cast<std::int64_t>(come[i].tokens));
    one.status = 200;
    one.worker = worker;
    records.push_back(one);
  }
}

}  // namespace evenkeel::load::testing
