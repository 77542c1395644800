#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "base/clock.hpp"
#include "dispatch/submission.hpp"
#include "dispatch/worker.hpp"
#include "fleet/books.hpp"
#include "fleet/rate_curve.hpp"
#include "fleet/view.hpp"
#include "forecast/history.hpp"

namespace evenkeel::dispatch {

/// What the dispatcher can be asked, with what came along. Views, for the time of the call.
namespace ask {
struct AddWorker {
  const WorkerSpec& spec;
};
struct SetState {
  WorkerId worker;
  WorkerState state;
};
struct SetModels {
  WorkerId worker;
  std::span<const ModelId> models;
};
struct SetMaxInFlight {
  WorkerId worker;
  std::int64_t limit;
};
struct SetShare {
  WorkerId worker;
  const WorkerShare& share;
};
struct SetRate {
  WorkerId worker;
  std::span<const fleet::RatePoint> points;
};
struct BeginRate {
  WorkerId worker;
  std::span<const fleet::RatePoint> points;
};
struct SetShedding {
  bool on;
};
struct SetStepTime {
  WorkerId worker;
  fleet::StepTime step_time;
};
struct Report {
  WorkerId worker;
  const EngineReport& report;
};
struct SetPrefixCache {
  WorkerId worker;
  std::size_t blocks;
};
struct ForgetPrefixes {
  WorkerId worker;
};
struct SetAlarm {
  bool on;
};
struct Recall {
  ModelId model;
  std::span<const forecast::EndedRequest> ended;
};
struct Submit {
  const Submission& submission;
};
struct LeaseAt {
  WorkerId worker;
  const Submission& submission;
};
struct Cancel {
  RequestId request;
};
struct Ended {
  const fleet::LeaseSummary& summary;
};
struct Pause {};
struct Resume {
  std::int64_t step;
};
struct PlanDue {};
struct Tick {};
struct Close {};
}  // namespace ask

using Ask =
    std::variant<ask::AddWorker, ask::SetState, ask::SetModels, ask::SetMaxInFlight, ask::SetShare, ask::SetRate,
                 ask::BeginRate, ask::SetShedding, ask::SetStepTime, ask::Report, ask::SetPrefixCache,
                 ask::ForgetPrefixes, ask::SetAlarm, ask::Recall, ask::Submit, ask::LeaseAt, ask::Cancel, ask::Ended,
                 ask::Pause, ask::Resume, ask::PlanDue, ask::Tick, ask::Close>;

/// Runs along with a dispatcher, so that its decisions can be made again exactly: a recorder notes what is asked, what
/// is read from books that other threads write meanwhile, and what comes of it; a player puts back what was read and
/// compares what comes of it. Called under the dispatcher's lock.
class Tape {
 public:
  virtual ~Tape() = default;
  /// Opens a turn. A player need not look: it is who asks.
  virtual void begin(const Ask& asked, Time now) = 0;
  /// A value from the books; a player replaces it.
  virtual void read(std::int64_t& value) = 0;
  /// A lease that ended, as it was told; a player replaces all but its place.
  virtual void ended(fleet::LeaseSummary& summary) = 0;
  virtual void placed(RequestId request, WorkerId worker, std::string_view reason) = 0;
  virtual void refused(RequestId request, fleet::Refusal why) = 0;
  virtual void finish() = 0;
};

/// How the dispatcher reads what other threads write: past the tape, if there is one.
class BooksReader {
 public:
  explicit BooksReader(Tape* tape) : tape_(tape) {}
  [[nodiscard]] std::int64_t value(std::int64_t known) const {
    if (tape_ != nullptr) tape_->read(known);
    return known;
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t known) const {
    return static_cast<std::uint64_t>(value(static_cast<std::int64_t>(known)));
  }
  [[nodiscard]] fleet::Load load(const fleet::WorkerBooks& books) const {
    const fleet::Load now = books.load();
    if (tape_ == nullptr) return now;
    return {value(now.in_flight), Tokens(value(now.prompt_tokens.value())), Tokens(value(now.queued_prompt.value())),
            Tokens(value(now.generated_tokens.value())), value(now.decoding)};
  }

 private:
  Tape* tape_;
};

}  // namespace evenkeel::dispatch
