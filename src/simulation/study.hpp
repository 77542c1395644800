#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "simulation/batch.hpp"
#include "simulation/options.hpp"

namespace evenkeel::simulation {

/// One policy of a study, under an overtaking cap.
struct StudyLine {
  std::string policy;       ///< as PolicySpec reads it
  int overtake_cap = 0;     ///< 0: none but its own
  bool in_pictures = true;  ///< pictures have room for seven

  [[nodiscard]] std::string label() const;
};

/// One setting of a study and what runs in it. All lines have the same requests.
struct StudyCase {
  std::string label;
  Options options;               ///< its steps are not looked at
  std::vector<StudyLine> lines;  ///< the first is the one that the others are compared with
  double length = 1;             ///< steps, in parts of the study's
};

struct CaseResult {
  StudyCase what;
  Setting setting;
  std::vector<std::string> notes;
  std::vector<Summary> lines;  ///< one for each of what.lines

  /// Of the line with that policy and cap; null if there is none.
  [[nodiscard]] const Summary* find(std::string_view policy, int overtake_cap = 0) const;
};
using StudyResults = std::vector<CaseResult>;

/// What a study shows of its results.
struct StudyPage {
  std::string tables;    ///< Markdown
  std::string findings;  ///< what is seen, its numbers from the results
  std::string picture;   ///< SVG
};

/// A named comparison that writes a page and a picture.
struct Study {
  std::string_view name;
  std::string title;
  std::string reading;  ///< what is asked, and how to read the tables
  std::vector<StudyCase> cases;
  std::function<StudyPage(const StudyResults&)> page;
};

struct StudyRun {
  std::int64_t steps = 140'000;  ///< 1 to 1,000,000,000
  std::size_t seeds = 3;
  std::uint64_t first_seed = 1;
  std::size_t jobs = 1;
  std::function<void(std::uint64_t)> progress;  ///< as of BatchOptions, over all cases
};

/// Steps measured in a case.
[[nodiscard]] std::int64_t steps_of(const StudyCase& one, const StudyRun& run);
/// About how many steps a study takes, warm-ups included.
[[nodiscard]] std::uint64_t total_steps(const Study& study, const StudyRun& run);

/// Errors name the case.
[[nodiscard]] Result<StudyResults> run_study(const Study& study, const StudyRun& run);

}  // namespace evenkeel::simulation
