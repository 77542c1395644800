#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "routing/open_slots.hpp"
#include "routing/projection.hpp"

namespace evenkeel::routing {

/// Which of a few requests enter and where, so that as many enter as can and
///
///     J = sum_h w_h [ G peak(h) - sum_g load_g(h) ],   w_h = gamma^h
///
/// is least, G workers; a request of s prompt tokens that enters adds s + h at every offset h (IO_H, arXiv 2601.17855).
///
/// Depth-first branch and bound, the longest prompts first. What is still to enter adds to the sums at most the longest
/// of the rest, and no peak falls, so with n entering in all
///
///     J >= sum_h w_h max(0, G peak(h) - sum_g load_g(h) - longest of the rest - n h)
///
/// Of workers that are alike and empty-handed only the first is tried. Keeps its scratch.
class PlacementSearch {
 public:
  static constexpr std::uint32_t nowhere = 0xffffffff;
  struct Found {
    double cost = 0;
    bool proven = false;                     ///< nothing is better; else the best of what was looked at
    std::span<const std::uint32_t> workers;  ///< by position in the window, or nowhere; until the next run
  };

  explicit PlacementSearch(double gamma) : gamma_(gamma) {}

  /// Each of the window may enter somewhere. The projection is as before when it returns. Every child looked at, O(H),
  /// takes one from `looks`; when there are none left it ends with the best so far, which is never worse than to let
  /// in the best single one (judged by J after it) again and again, wherever that lets in as many.
  [[nodiscard]] Found run(Projection& projection, const OpenSlots& slots, std::span<const std::uint32_t> window,
                          std::int64_t& looks);

 private:
  struct Child {
    double bound = 0;
    std::uint32_t worker = nowhere;  ///< nowhere: the request does not enter
  };
  /// The way to a node.
  struct Path {
    std::size_t depth = 0;  ///< requests decided upon, in order_
    std::int64_t entered = 0;
    std::int64_t tokens = 0;  ///< of those that entered
  };

  struct Single {
    std::uint32_t position = 0;
    Child child;
  };

  void prepare();
  void find_twins();
  [[nodiscard]] bool alike(std::uint32_t a, std::uint32_t b) const;
  void count_those_that_can_enter();
  bool find_place(std::uint32_t position);
  void start();
  [[nodiscard]] Single best_single(std::int64_t tokens, std::int64_t count) const;
  void search(const Path& path);
  void list_children(const Path& path, std::vector<Child>& children);
  void follow(const Path& path, const Child& child);
  [[nodiscard]] bool untouched_twin(std::uint32_t worker) const;
  /// With `count` and `tokens` in all entered, among them one of `size` at `worker`.
  [[nodiscard]] double bound(std::uint32_t worker, std::int64_t size, std::int64_t tokens, std::int64_t count) const;
  [[nodiscard]] std::int64_t size(std::uint32_t position) const { return slots_->prompt(window_[position]); }
  [[nodiscard]] bool may_enter(std::uint32_t position, std::uint32_t worker) const;
  void enter(std::uint32_t position, std::uint32_t worker);
  void leave(std::uint32_t position, std::span<const std::int64_t> peak_before);
  void leave_all();

  double gamma_;
  Projection* projection_ = nullptr;
  const OpenSlots* slots_ = nullptr;
  std::span<const std::uint32_t> window_;
  std::int64_t* looks_ = nullptr;

  std::vector<double> weights_;
  std::vector<std::int64_t> sums_;     ///< by offset, over all workers, before anybody enters
  std::int64_t count_ = 0;             ///< how many enter
  std::vector<std::uint32_t> order_;   ///< positions, longest prompt first
  std::vector<std::int64_t> longest_;  ///< [i]: prompt tokens of the first i of order_
  std::vector<std::uint32_t> twin_;    ///< by worker: one before it that it is like, or nowhere
  std::vector<std::int64_t> given_;    ///< by worker: entered on the way to the node
  std::vector<std::uint32_t> place_;   ///< by position, on the way to the node
  std::vector<std::uint32_t> best_place_;
  double best_ = 0;
  std::vector<std::int64_t> start_peak_;
  std::vector<bool> visited_;                     ///< by worker, of find_place()
  std::vector<std::vector<Child>> children_;      ///< by depth
  std::vector<std::vector<std::int64_t>> peaks_;  ///< by depth: before its request entered
};

}  // namespace evenkeel::routing
