#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "maths/scalability.hpp"

namespace evenkeel::cli {

/// Measured throughput against the scalability law: `evenkeel plan fit --points`.
struct PointsFit {
  std::vector<maths::ScalePoint> points;
  maths::Scalability law;
  std::optional<double> planned;  ///< how many are to be run

  /// A CSV with the columns n and per_s. Errors name file, line and field, or say why no law can be fitted.
  [[nodiscard]] static Result<PointsFit> read(const std::string& path, std::optional<double> planned);

  /// Empty, or that more are planned than half of those at the peak: past it more give less, and one cannot see it
  /// come.
  [[nodiscard]] std::string warning() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json(const std::string& path) const;
  [[nodiscard]] std::string svg() const;
};

}  // namespace evenkeel::cli
