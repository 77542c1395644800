#pragma once

#include <deque>
#include <vector>

#include "simulation/placement_design.hpp"

namespace evenkeel::simulation {

/// Late binding (Sparrow: Ousterhout et al. 2013): a reservation is queued at each of d workers, the task goes to the
/// first of them that has room and asks for it, and the others are told to forget it. Whether there is room is seen
/// where the room is.
class LateProbe final : public PlacementDesign {
 public:
  /// A task that nobody has asked for after `patience_s` is refused.
  LateProbe(FleetWorld& world, std::size_t probes, double patience_s, Random random)
      : world_(world), probes_(probes), patience_s_(patience_s), random_(random) {}
  [[nodiscard]] std::string_view name() const override { return "late_probe"; }
  PlacementAnswer submit(const HeavyTask& task, double t) override;
  void turn(double t, std::vector<PlacementAnswer>& late) override;

 private:
  struct Waiting {
    HeavyTask task;
    double submitted_s = 0;
    std::vector<std::size_t> probed;
  };
  PlacementAnswer ask(const Waiting& waiting, double t);

  FleetWorld& world_;
  std::size_t probes_;
  double patience_s_;
  Random random_;
  std::deque<Waiting> waiting_;  ///< in order of arrival, as in each worker's queue
};

/// Lazy pull: tasks wait in a backlog, of which there are `shards`; a worker belongs to one, looks into it every
/// `poll_s` while it has room, and claims the first that fits.
class LazyPull final : public PlacementDesign {
 public:
  LazyPull(FleetWorld& world, std::size_t shards, double poll_s, double patience_s, Random random);
  [[nodiscard]] std::string_view name() const override { return shards_.size() == 1 ? "pull" : "pull, sharded"; }
  PlacementAnswer submit(const HeavyTask& task, double t) override;
  void turn(double t, std::vector<PlacementAnswer>& late) override;

 private:
  struct Waiting {
    HeavyTask task;
    double submitted_s = 0;
  };
  void poll(std::size_t node, double t, std::vector<PlacementAnswer>& late);

  FleetWorld& world_;
  double poll_s_;
  double patience_s_;
  Random random_;
  std::vector<std::deque<Waiting>> shards_;
  std::vector<double> next_poll_s_;
};

/// Optimistic shared state (Omega: Schwarzkopf et al. 2013): each of several schedulers has a copy of the whole state,
/// as old as `sync_s`, takes the worker with the most room in it and commits; a commit is turned back if the worker has
/// changed since it was copied, which brings its state up to date, and the scheduler tries again.
class SharedState final : public PlacementDesign {
 public:
  SharedState(FleetWorld& world, std::size_t schedulers, double sync_s, Random random);
  [[nodiscard]] std::string_view name() const override { return "shared state"; }
  PlacementAnswer submit(const HeavyTask& task, double t) override;
  void turn(double t, std::vector<PlacementAnswer>& late) override;

 private:
  struct Copy {
    NodeReport report;
    std::uint64_t changes = 0;
  };
  void copy(std::size_t scheduler, std::size_t node, double t);

  FleetWorld& world_;
  double sync_s_;
  Random random_;
  std::vector<std::vector<Copy>> copies_;  ///< [scheduler][node]
  std::vector<double> next_sync_s_;
};

/// One decider for all: it knows what each worker holds, decides one task after the other, `decision_s` each, and its
/// knowledge is as current as what it placed itself; of departures it hears by reports.
class SerialDecider final : public PlacementDesign {
 public:
  SerialDecider(FleetWorld& world, double decision_s, double report_s);
  [[nodiscard]] std::string_view name() const override { return "serial decider"; }
  PlacementAnswer submit(const HeavyTask& task, double t) override;
  void turn(double t, std::vector<PlacementAnswer>& late) override;

 private:
  FleetWorld& world_;
  double decision_s_;
  double report_s_;
  double next_report_s_ = 0;
  double free_at_s_ = 0;  ///< when it has decided all it was given
  std::vector<NodeReport> known_;
};

}  // namespace evenkeel::simulation
