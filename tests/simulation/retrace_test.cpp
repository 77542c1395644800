// Decisions made again from a recording: the same, whatever the policy and whatever happened; and a recording that was
// tampered with, cut or is none is noticed.
#include "simulation/retrace.hpp"

#include <zlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "dispatch/recorder.hpp"

namespace evenkeel::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Slip final : dispatch::Waiter {
  void granted(dispatch::Granted what) override { lease = std::move(what.lease); }
  void refused(dispatch::Refused) override { gone = true; }
  fleet::Lease lease;
  bool gone = false;
};

/// A router's day in a minute: arrivals, tokens, ends of every kind, workers that come, go and change, reports,
/// cancels and alarms, all by chance.
class Day {
 public:
  Day(const std::string& policy, std::uint64_t seed, bool redline) : random_(seed) {
    dispatch::DispatcherOptions options;
    options.pool_requests = 40;
    options.pool_timeout = seconds(3);
    options.unroutable_wait = milliseconds(500);
    if (redline) {
      options.redline.on = true;
      options.redline.unknown_output = 20;
      options.redline.lease = milliseconds(700);
      options.redline.heavy = {3, 0.4, 16};
      options.redline.line = seed % 2 == 0 ? redline::Line::published : redline::Line::growth;
      options.redline.footprint = redline::FootprintReading::residency_mean;
    }
    recorder_ = std::make_unique<dispatch::Recorder>([this](std::string_view line) { recording << line; }, policy, seed,
                                                     options);
    dispatcher_ = std::make_unique<dispatch::Dispatcher>(options, std::move(*routing::make_policy(policy)), clock_,
                                                         seed, recorder_.get());
    dispatcher_->set_alarm([this](Time due) { alarms_.emplace(due); });
    for (int worker = 0; worker < 6; ++worker) {
      dispatch::WorkerSpec spec{"w" + std::to_string(worker), {ModelId{1}, ModelId{2}}, 4};
      spec.group = worker < 4 ? "ranks" : "";
      spec.peer = worker == 5 && seed % 2 == 0;
      const WorkerId id = dispatcher_->add_worker(spec);
      dispatcher_->set_prefix_cache(id, 40);
      dispatcher_->set_state(id, dispatch::WorkerState::routable);
    }
  }
  ~Day() { dispatcher_->set_alarm({}); }
  Day(const Day&) = delete;
  Day& operator=(const Day&) = delete;

  void pass(int moments) {
    for (int i = 0; i < moments; ++i) {
      clock_.advance(milliseconds(random_.below(8)));
      while (!alarms_.empty() && *alarms_.begin() <= clock_.now()) {
        alarms_.erase(alarms_.begin());
        dispatcher_->plan_due();
      }
      if (i % 3 == 0) dispatcher_->tick();
      moment();
    }
  }
  void close() { dispatcher_->close(); }

  std::ostringstream recording;

 private:
  void moment() {
    if (sheds_ && random_.below(20) == 0) dispatcher_->set_shedding(sheds_ = false);
    for (auto& slip : open_) {
      if (slip->lease.open()) slip->lease.generated(Tokens(static_cast<std::int64_t>(random_.below(2))));
    }
    const auto dice = random_.below(100);
    const WorkerId worker{static_cast<std::uint32_t>(random_.below(6))};
    if (dice < 40) {
      submit();
    } else if (dice < 75) {
      end_one();
    } else if (dice < 80) {
      constexpr std::array states = {dispatch::WorkerState::routable, dispatch::WorkerState::trial,
                                     dispatch::WorkerState::unroutable, dispatch::WorkerState::draining};
      dispatcher_->set_state(worker, states[random_.below(2) == 0 ? 0 : random_.below(4)]);
    } else if (dice < 85) {
      dispatch::EngineReport report;
      report.asked = clock_.now() - milliseconds(3);
      report.received = clock_.now();
      report.running = static_cast<double>(random_.below(6));
      report.kv_used = Tokens(static_cast<std::int64_t>(random_.below(5000)));
      report.kv_capacity = Tokens(8000);
      dispatcher_->report(worker, report);
    } else if (dice < 88) {
      dispatcher_->set_max_in_flight(worker, 1 + static_cast<std::int64_t>(random_.below(6)));
    } else if (dice < 90) {
      dispatcher_->set_models(worker, {ModelId{1}, ModelId{static_cast<std::uint32_t>(1 + random_.below(2))}});
    } else if (dice < 92 && !queued_.empty()) {
      dispatcher_->cancel(queued_[random_.below(queued_.size())]);
    } else if (dice < 93) {
      keep(dispatcher_->lease_at(worker, submission()));
    } else if (dice < 94 && random_.below(2) == 0) {
      dispatcher_->set_shedding(sheds_ = true);
    } else if (dice < 94) {
      dispatcher_->set_step_time(worker, {0.01, 1e-6 * static_cast<double>(random_.below(3))});
    } else if (dice == 94 && random_.below(2) == 0) {
      dispatcher_->set_share(worker, {1 + static_cast<std::int64_t>(random_.below(3)),
                                      static_cast<std::int64_t>(random_.below(6)), random_.unit() * 3});
    } else if (dice == 94) {
      const std::array points = {fleet::RatePoint{1, 100 * random_.unit()}, fleet::RatePoint{2, 200 * random_.unit()}};
      const auto given = std::span(points).first(random_.below(3));
      if (random_.below(2) == 0) {
        dispatcher_->set_rate(worker, given);
      } else {
        dispatcher_->begin_rate(worker, given);
      }
    } else if (dice < 96) {
      dispatcher_->forget_prefixes(worker);
    } else if (dice < 97) {
      dispatcher_->set_prefix_cache(worker, random_.below(80));
    }
  }
  dispatch::Submission submission() {
    dispatch::Submission what;
    what.model = ModelId{static_cast<std::uint32_t>(1 + random_.below(2))};
    what.prompt_tokens = Tokens(static_cast<std::int64_t>(random_.lognormal(3000, 1)));
    what.bytes = Bytes(100);
    what.priority = static_cast<std::int64_t>(random_.below(3));
    what.client = ClientKey{random_.next()};  // up to 2^64
    what.affinity_key = random_.below(2) == 0 ? 0 : random_.next();
    what.prompt_key = random_.below(9);
    if (random_.below(2) == 0) {
      auto chain = std::make_shared<affinity::PromptChain>();
      chain->block_tokens = 62.5;
      affinity::append_id_chain(std::vector<std::uint64_t>(random_.below(40), random_.below(5)), 1, chain->links);
      what.prefix = std::move(chain);
    }
    if (random_.below(4) == 0) {
      auto told = std::make_shared<dispatch::ToldHits>();
      for (std::uint32_t id = 0; id < 6; ++id) {
        if (random_.below(2) == 0)
          told->emplace_back(WorkerId{id}, Tokens(static_cast<std::int64_t>(random_.below(4000))));
      }
      what.told_hits = std::move(told);
    }
    if (random_.below(2) == 0) what.output_bound = Tokens(1 + static_cast<std::int64_t>(random_.below(9)));
    if (random_.below(4) == 0) what.sequences = 1 + static_cast<std::int64_t>(random_.below(3));
    if (random_.below(3) == 0) what.heavy = random_.below(2) == 0;
    what.from_peer = random_.below(8) == 0;
    what.at_once = random_.below(8) == 0;
    what.never_shed = random_.below(8) == 0;
    if (!came_back_.empty() && random_.below(2) == 0) {
      what.returned = came_back_.back();
      came_back_.pop_back();
    }
    if (random_.below(5) == 0) what.excluded.add(WorkerId{static_cast<std::uint32_t>(random_.below(6))});
    return what;
  }
  void submit() {
    auto slip = std::make_shared<Slip>();
    auto decision = dispatcher_->submit(submission(), [&] { return slip; });
    if (auto* granted = std::get_if<dispatch::Granted>(&decision)) slip->lease = std::move(granted->lease);
    if (auto* queued = std::get_if<dispatch::Queued>(&decision)) queued_.push_back(queued->id);
    open_.push_back(std::move(slip));
  }
  void keep(fleet::Lease lease) {
    open_.push_back(std::make_shared<Slip>());
    open_.back()->lease = std::move(lease);
  }
  void end_one() {
    if (open_.empty()) return;
    const std::size_t which = random_.below(open_.size());
    Slip& slip = *open_[which];
    if (!slip.lease.open()) return;
    if (random_.below(3) == 0) slip.lease.settle(Tokens(2500), slip.lease.output_tokens() + Tokens(2));
    came_back_.push_back({slip.lease.request(), clock_.now() - milliseconds(random_.below(50))});
    slip.lease.end(fleet::all_outcomes[random_.below(fleet::all_outcomes.size())]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  Random random_;
  ManualClock clock_;
  std::unique_ptr<dispatch::Recorder> recorder_;
  std::unique_ptr<dispatch::Dispatcher> dispatcher_;
  std::multiset<Time> alarms_;
  std::vector<std::shared_ptr<Slip>> open_;
  std::vector<RequestId> queued_;
  std::vector<dispatch::Returned> came_back_;
  bool sheds_ = false;
};

class Retrace : public ::testing::Test {
 protected:
  ~Retrace() override { std::remove(path.c_str()); }
  Result<std::vector<RetracedStart>> of(const std::string& recording) {
    std::ofstream(path) << recording;
    return retrace(path);
  }
  const std::string path =
      ::testing::TempDir() + "retrace_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
};

std::string a_day(const std::string& policy, std::uint64_t seed, int moments = 3000, bool redline = false) {
  Day day(policy, seed, redline);
  day.pass(moments);
  day.close();
  return day.recording.str();
}

TEST(RetraceOfPolicies, EveryPolicyDecidesTheSameAgain) {
  const std::string path = ::testing::TempDir() + "retrace_policies.jsonl";
  for (const char* policy : {"auto", "least_requests", "least_tokens", "least_wait", "power_of_two", "random",
                             "round_robin", "longest_prefix", "consistent_hash", "balance", "balance[hold=off]", "br0",
                             "brh[horizon=10]", "io0[window=4]"}) {
    const std::string recording = a_day(policy, 7);
    std::ofstream(path) << recording;
    const auto starts = retrace(path);
    ASSERT_TRUE(starts.has_value()) << policy << ": " << starts.error().message;
    ASSERT_EQ(starts->size(), 1U);
    const RetracedStart& result = starts->front();
    EXPECT_FALSE(result.difference.has_value()) << policy << ": " << *result.difference;
    EXPECT_FALSE(result.lost.has_value()) << policy << ": " << *result.lost;
    EXPECT_EQ(result.policy, policy);
    EXPECT_GT(result.placements, 100U) << policy;
    EXPECT_GT(result.refusals, 20U) << policy;
    EXPECT_EQ(result.same, result.placements + result.refusals) << policy;
  }
  std::remove(path.c_str());
}

void expect_whole(const RetracedStart& start, std::string_view policy) {
  EXPECT_EQ(start.policy, policy);
  EXPECT_FALSE(start.difference.has_value()) << *start.difference;
  EXPECT_FALSE(start.lost.has_value()) << *start.lost;
  EXPECT_GT(start.placements, 20U);
  EXPECT_EQ(start.same, start.placements + start.refusals);
}

TEST_F(Retrace, WhatTheRedlineHeldAndRefusedComesOutTheSame) {
  for (const std::uint64_t seed : {21U, 22U}) {
    for (const char* policy : {"least_requests", "headroom", "balance", "brh[horizon=10]"}) {
      const std::string recording = a_day(policy, seed, 3000, true);
      EXPECT_NE(recording.find("\"redline\"]"), std::string::npos) << policy << ": nothing was refused by it";
      const auto starts = of(recording);
      ASSERT_TRUE(starts.has_value()) << policy << ": " << starts.error().message;
      expect_whole(starts->front(), policy);
      std::string unguarded = recording;
      unguarded.replace(unguarded.find(",\"redline\":1"), 12, "");
      const auto others = of(unguarded);
      ASSERT_TRUE(others.has_value()) << policy << ": " << others.error().message;
      EXPECT_TRUE(others->front().difference.has_value()) << policy;
    }
  }
}

TEST_F(Retrace, StartsOfARouterFollowEachOtherInOneFile) {
  const auto starts = of(a_day("balance", 1, 500) + a_day("least_wait", 2, 500));
  ASSERT_TRUE(starts.has_value()) << starts.error().message;
  ASSERT_EQ(starts->size(), 2U);
  expect_whole((*starts)[0], "balance");
  expect_whole((*starts)[1], "least_wait");
}

/// `recording` without what `begin` and `end` stand for.
std::string without(std::string recording, std::string_view begin, std::string_view end) {
  const auto from = recording.find(begin);
  recording.erase(from, recording.find(end, from) + end.size() - from);
  return recording;
}

TEST_F(Retrace, ADecisionThatWasNotMadeIsNoticed) {
  std::string tampered = a_day("balance", 3, 1000);
  const auto at = tampered.find(",\"fit\"]", tampered.size() / 2);
  ASSERT_NE(at, std::string::npos);
  tampered[at - 1] = tampered[at - 1] == '0' ? '1' : '0';  // another worker
  const auto starts = of(tampered + a_day("least_wait", 2, 500));
  ASSERT_TRUE(starts.has_value()) << starts.error().message;
  ASSERT_EQ(starts->size(), 2U);
  const RetracedStart& result = starts->front();
  ASSERT_TRUE(result.difference.has_value());
  EXPECT_LT(result.same, result.placements + result.refusals);
  EXPECT_NE(result.difference->find("recorded is that"), std::string::npos) << *result.difference;
  expect_whole(starts->back(), "least_wait");
}

TEST_F(Retrace, AnotherPolicyDecidesOtherwise) {
  std::string other = a_day("least_requests", 4, 1000);
  other.replace(other.find("least_requests"), 14, "round_robin");
  const auto starts = of(other);
  ASSERT_TRUE(starts.has_value()) << starts.error().message;
  EXPECT_TRUE(starts->front().difference.has_value());
}

/// Whatever is lost of a start, and wherever: it is said, what came before it is compared, and so are other starts.
TEST_F(Retrace, ALossIsSaidAndEndsItsStartOnly) {
  const std::string whole = a_day("balance", 5, 300);
  const std::string head = whole.substr(0, whole.find('\n') + 1);
  const std::string killed = whole.substr(0, whole.find("{\"n\":100,") + 30);
  const std::vector<std::tuple<std::string, std::string, std::uint64_t>> cases = {
      {without(whole, "{\"n\":100,", "\n"), "turn 100 is missing (line 101)", 99},
      {without(whole, "{\"n\":1,", "\n"), "turn 1 is missing (line 2)", 0},
      {killed + "\n", "turn 100 is no whole line (line 101)", 99},
      {killed, "turn 100 is no whole line (line 101)", 99},
      {without(whole, ",\"ask\":", "\n"), "turn 1 is no whole line (line 2)", 0},  // with the line behind it
      {head + "\n{", "turn 1 is no whole line (line 3)", 0},
  };
  for (const auto& [damaged, lost, turns] : cases) {
    const bool last = damaged.back() != '\n';  // what a killed router leaves; the next one begins a line of its own
    const auto starts = of(a_day("round_robin", 6, 300) + damaged + (last ? "\n" : "") + a_day("least_wait", 2, 500));
    ASSERT_TRUE(starts.has_value()) << starts.error().message;
    ASSERT_EQ(starts->size(), 3U);
    expect_whole((*starts)[0], "round_robin");
    EXPECT_NE((*starts)[1].lost.value_or("").find(lost.substr(0, lost.find(" (line"))), std::string::npos)
        << (*starts)[1].lost.value_or("nothing");
    EXPECT_EQ((*starts)[1].turns, turns);
    EXPECT_FALSE((*starts)[1].difference.has_value());
    expect_whole((*starts)[2], "least_wait");
    const auto alone = of(damaged);
    ASSERT_TRUE(alone.has_value()) << alone.error().message;
    EXPECT_EQ(alone->front().lost, lost);
  }
}

TEST_F(Retrace, ACompressedRecordingThatBreaksOffIsReadUpToThere) {
  std::ofstream(path).close();
  gzFile file = gzopen(path.c_str(), "wb");
  const std::string whole = a_day("round_robin", 6, 300) + a_day("least_wait", 2, 500);
  ASSERT_EQ(gzwrite(file, whole.data(), static_cast<unsigned>(whole.size())), static_cast<int>(whole.size()));
  gzclose(file);
  const auto bytes = std::filesystem::file_size(path);
  EXPECT_FALSE(retrace(path)->back().lost.has_value());
  std::filesystem::resize_file(path, bytes - bytes / 10);
  const auto starts = retrace(path);
  ASSERT_TRUE(starts.has_value()) << starts.error().message;
  ASSERT_EQ(starts->size(), 2U);
  expect_whole(starts->front(), "round_robin");
  const RetracedStart& last = starts->back();
  EXPECT_EQ(last.same, last.placements + last.refusals);
  EXPECT_GT(last.placements, 20U);
  EXPECT_EQ(last.lost.value_or("nothing").find("turn " + std::to_string(last.turns + 1) +
                                               " is where the compressed file breaks off"),
            0U)
      << last.lost.value_or("nothing");
  std::filesystem::resize_file(path, 20);
  EXPECT_NE(retrace(path).error().message.find("ends before a recording begins"), std::string::npos);
}

/// Each value of each kind of line, replaced by others: an error, a difference, or none if it does not matter; never
/// more than that.
TEST_F(Retrace, NoDamageToAFieldIsMoreThanAnErrorOrADifference) {
  const std::string recording = a_day("auto", 8, 150, true);
  std::vector<std::string> lines;
  std::istringstream in(recording);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  Random random(9);
  constexpr std::array others = {"0", "-1", "9223372036854775807", "1.5", "[]", "[0]", "\"x\"", "null", "{}"};
  for (int i = 0; i < 400; ++i) {
    std::vector<std::string> damaged = lines;
    std::string& line = damaged[random.below(damaged.size())];
    std::vector<std::size_t> colons;
    for (std::size_t at = line.find(':'); at != std::string::npos; at = line.find(':', at + 1)) colons.push_back(at);
    const std::size_t begin = colons[random.below(colons.size())] + 1;
    const std::size_t end = line[begin] == '[' ? line.find_last_of(']') + 1 : line.find_first_of(",}", begin);
    line.replace(begin, end - begin, others[random.below(others.size())]);
    std::string all;
    for (const std::string& each : damaged) all += each + "\n";
    (void)of(all);
  }
}

TEST_F(Retrace, WhatIsNoRecordingIsRefusedWithItsLine) {
  const std::string head = a_day("balance", 6, 0).substr(0, a_day("balance", 6, 0).find('\n') + 1);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "no recording"},
      {"{\"n\":1,\"at\":0,\"ask\":\"tick\"}\n", "first line"},
      {"hello\n", "no JSON object"},
      {head + "{\"n\":1,\"at\":0,\"ask\":\"dance\"}\n", ":2: field \"ask\""},
      {head + "{\"n\":1,\"at\":0}\n", "field \"ask\" is missing"},
      {head + "{\"n\":1,\"ask\":\"tick\"}\n", "field \"at\" is missing"},
      {head + "{\"n\":1,\"at\":0,\"ask\":\"submit\"}\n", "field \"model\" is missing"},
      {head + "{\"n\":1,\"at\":0,\"ask\":\"tick\",\"read\":[1.5]}\n", "field \"read\""},
      {head + "{\"n\":1,\"at\":0,\"ask\":\"tick\",\"became\":[7]}\n", "field \"became\""},
      {head + "{\"n\":1,\"at\":0,\"ask\":\"set_state\",\"worker\":5,\"state\":\"routable\"}\n", "worker"},
      {head + "{\"n\":1,\"at\":0,\"ask\":\"ended\",\"request\":5,\"outcome\":\"completed\",\"prompt\":1,\"output\":1,"
              "\"had_output\":1,\"held\":1}\n",
       "was not given"},
      {head + "{\"n\":1,\"at\":0,\"ask\":\"tick\",\"read\":0}\n", "field \"read\""},
      {head + "{\"n\":1,\"at\":0,\"ask\":\"tick\",\"became\":\"x\"}\n", "field \"became\""},
      {head + "{\"n\":1,\"at\":0,\"ask\":\"add_worker\",\"name\":\"w\",\"limit\":1,\"group\":\"\"}\n",
       "field \"models\" is missing"},
      {head + "{\"n\":1,\"at\":0,\"ask\":\"submit\",\"model\":0,\"prompt\":9223372036854775807}\n", "field \"prompt\""},
      {"{\"evenkeel_recording\":2}\n", "evenkeel_recording"},
  };
  for (const auto& [recording, why] : cases) {
    const auto result = of(recording);
    ASSERT_FALSE(result.has_value()) << recording;
    EXPECT_NE(result.error().message.find(why), std::string::npos) << result.error().message;
  }
  EXPECT_FALSE(retrace("/nowhere/at/all").has_value());
}

}  // namespace
}  // namespace evenkeel::simulation
