#include "gateway/rank_judge.hpp"

#include <algorithm>

namespace evenkeel::gateway {

namespace {

constexpr double fade = 0.95;         // a report
constexpr double speaks = 0.5;        // requests that an engine which spreads evenly would show
constexpr int enough_reports = 5;     // of those that speak
constexpr double enough_weight = 8;   // requests
constexpr double ignored_from = 0.5;  // share of them
constexpr double honoured_to = 0.2;
constexpr std::size_t most_remembered = 256;

/// What ranks lack and what they have too much, summed apart.
struct Moved {
  double lacking = 0;
  double surplus = 0;
  void add(double sure, double possible, double there) {
    lacking += std::max(0.0, sure - there);
    surplus += std::max(0.0, there - possible);
  }
  [[nodiscard]] double requests() const { return std::min(lacking, surplus); }
};

}  // namespace

void RankJudge::remember(Time received, std::span<const Rank> ranks) {
  Books books;
  books.at = received;
  for (const Rank& rank : ranks) {
    books.begun.push_back(rank.begun);
    books.ended.push_back(rank.ended);
  }
  history_.push_back(std::move(books));
  if (history_.size() > most_remembered) history_.pop_front();
}

void RankJudge::see(Time asked, Time received, std::span<const Rank> ranks) {
  if (!history_.empty() && history_.back().begun.size() != ranks.size()) *this = RankJudge();
  while (history_.size() > 1 && history_[1].at <= asked - lag) history_.pop_front();
  if (!history_.empty() && history_.front().at <= asked - lag) weigh(history_.front(), ranks);
  remember(received, ranks);
}

void RankJudge::weigh(const Books& before, std::span<const Rank> ranks) {
  double reported = 0;
  for (const Rank& rank : ranks) reported += rank.reported;
  const double even = ranks.empty() ? 0 : reported / static_cast<double>(ranks.size());
  Moved seen, if_even;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Rank& rank = ranks[i];
    // Any of those that ended may be among those that had begun.
    const double sure = before.begun[i] > rank.ended ? static_cast<double>(before.begun[i] - rank.ended) : 0;
    const auto possible = static_cast<double>(rank.begun - before.ended[i]);
    seen.add(sure, possible, rank.reported);
    if_even.add(sure, possible, even);
  }
  const double expected = if_even.requests();
  if (expected < speaks) return;
  ++reports_;
  weight_ = weight_ * fade + expected;
  moved_ = moved_ * fade + std::min(seen.requests(), expected);
  if (reports_ < enough_reports || weight_ < enough_weight) return;
  if (share() >= ignored_from) honoured_ = false;
  if (share() <= honoured_to) honoured_ = true;
}

}  // namespace evenkeel::gateway
