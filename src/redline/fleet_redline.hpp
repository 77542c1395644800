#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "fleet/view.hpp"
#include "redline/answer_law.hpp"
#include "redline/headroom.hpp"
#include "redline/heavy.hpp"
#include "redline/level_redline.hpp"
#include "redline/options.hpp"
#include "redline/projection.hpp"
#include "redline/trigger.hpp"

namespace evenkeel::redline {

/// What a request would need. Good until the next end of a request of its model.
struct Demand {
  ModelId model;
  RequestSigns signs;
  std::int64_t sequences = 1;
  bool heavy = false;
  double footprint = 0;   ///< tokens, by the chosen reading
  Projection::Part part;  ///< what it adds to its worker's projection
};

/// Whether a worker has room for a request above all that must stay free there.
struct Verdict {
  bool admissible = true;
  Dominant left;  ///< what is scarcest once the request is there
};

struct WorkerRedline {
  double capacity = 0;  ///< KV tokens of this router's share; 0: the engine does not tell, and memory is not guarded
  double used = 0;      ///< ours and foreign
  double peak = 0;      ///< what they may grow to
  double floor = 0;     ///< what must stay free beyond that: the arrival reserve
  LeaseMode lease = LeaseMode::siloed;
  bool crossed = false;  ///< by what the engine reports, memory is at its end
};

struct FleetStatus {
  ModelId model;
  bool frozen = false;
  double usable = 0;  ///< KV tokens at its last look
  double reserve = 0;
  double stranded = 0;  ///< share of the headroom that is under some worker's own floor
  std::uint64_t freezes = 0;
  std::uint64_t releases = 0;
};

/// The redline over the workers of one dispatcher: which of them have room for a request, and whether the fleet has.
/// All it knows it was told: leases that begin and end, ages of what is resident, engines' reports. KV memory is in
/// tokens. Not thread-safe; no clock, no randomness.
///
/// A worker is admissible if, with the request, what is resident there stays within the memory with probability `level`
/// whoever ends when (Projection), less foreign load and the arrival reserve; and if it has a slot and owes no more
/// prefill than it may. One that holds nothing takes anything. While its engine is heard of, the arrival reserve is one
/// block a request: own placements are known at once, so nothing is on the wire; else it is that of a worker alone.
///
/// Cost: demand() about 0.2 us, judge() of a worker that has room 0.1 us, of a full one some ns; refresh() 0.2 us a
/// resident.
class FleetRedline {
 public:
  explicit FleetRedline(const Options& options);

  // --- what happens ---
  /// An engine's report of its own: `looked` when it can have looked at the earliest.
  void heard(WorkerId worker, Time looked, Tokens kv_used, Tokens kv_capacity);
  /// The worker was replaced by another of its name.
  void replaced(WorkerId worker);
  void admitted(WorkerId worker, RequestId request, const Demand& demand);
  void ended(const fleet::LeaseSummary& summary);
  /// Whether refresh() is wanted before the worker is judged.
  [[nodiscard]] bool stale(WorkerId worker, Time now) const;
  /// Ages of all that is resident.
  void refresh(WorkerId worker, std::span<const fleet::RunningView> running, Time now);
  /// The workers that serve a model, refreshed. `may_release`: nobody waits.
  void look(ModelId model, std::span<const fleet::WorkerView> workers, Time now, bool may_release);

  // --- questions ---
  [[nodiscard]] Demand demand(ModelId model, const RequestSigns& signs, std::int64_t sequences) const;
  [[nodiscard]] Verdict judge(const fleet::WorkerView& worker, const Demand& demand, Time now) const;
  /// Whether there is room for the smallest request: what is cheap to ask of full workers.
  [[nodiscard]] bool has_room(const fleet::WorkerView& worker, Time now) const;
  /// Whether a heavy request is to be refused rather than to wait.
  [[nodiscard]] bool refuses(const Demand& demand) const { return demand.heavy && frozen(demand.model); }
  [[nodiscard]] bool frozen(ModelId model) const;

  [[nodiscard]] WorkerRedline status(const fleet::WorkerView& worker, Time now) const;
  [[nodiscard]] std::vector<FleetStatus> fleet() const;
  [[nodiscard]] const HeavyClassifier::Counts& heavy_counts() const { return heavy_.counts(); }

 private:
  struct Resident {
    RequestSigns signs;
    ModelId model;
    std::int64_t sequences = 1;
    bool called_heavy = false;
    bool found_heavy = false;
    std::int64_t told = 0;  ///< age up to which the law of answers knows of it
  };
  struct Worker {
    explicit Worker(const CapacityLease& of) : lease(of) {}
    std::unordered_map<RequestId, Resident> residents;
    Projection projection;
    double peak = 0;
    bool changed = false;
    Time refreshed = Time::min();
    LevelRedline physical;
    double physical_capacity = 0;
    Duration between{};  ///< the last two reports
    CapacityLease lease;
  };
  struct Model {
    explicit Model(const Options& options)
        : answers(options.unknown_output), trigger(0, 0, options.line == Line::published) {}
    AnswerLaw answers;
    AggregateTrigger trigger;
    FleetHeadroom left;
  };

  [[nodiscard]] Worker& worker(WorkerId id);
  [[nodiscard]] const Worker* find(WorkerId id) const;
  [[nodiscard]] Model& model(ModelId id);
  [[nodiscard]] const Model* find(ModelId id) const;
  [[nodiscard]] Projection::Part part_of(const AnswerLaw& law, std::int64_t prompt, std::int64_t generated,
                                         std::int64_t sequences, std::int64_t bound) const;
  [[nodiscard]] double footprint_of(const AnswerLaw& law, std::int64_t prompt, std::int64_t sequences,
                                    std::int64_t bound) const;
  [[nodiscard]] double arrival_floor(const Worker* known, double capacity, Time now) const;

  const Options options_;
  const double z_;
  const AnswerLaw unknown_;
  HeavyClassifier heavy_;
  std::vector<std::unique_ptr<Worker>> workers_;  ///< by id
  std::unordered_map<ModelId, std::unique_ptr<Model>> models_;
  std::unique_ptr<Model> others_;  ///< all models beyond a number share it
};

}  // namespace evenkeel::redline
