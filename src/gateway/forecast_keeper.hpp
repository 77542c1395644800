#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "dispatch/dispatcher.hpp"
#include "forecast/history_file.hpp"
#include "gateway/model_names.hpp"

namespace evenkeel::gateway {

/// Keeps what the policy's forecasts have learned from one run of the router to the next: reads the file at the start,
/// writes it every `interval`, on a thread of its own so that no probe and no plan waits for the disk, and at the end.
/// Control thread only, but for status().
class ForecastKeeper {
 public:
  static constexpr Duration interval = std::chrono::minutes(2);

  /// Reads what was saved and shows that the file can be written. One that is damaged, too large or of another version
  /// is renamed to path.bad, with a warning that says what is wrong, and nothing of it is used. An error if no file can
  /// be made there.
  [[nodiscard]] static Result<std::unique_ptr<ForecastKeeper>> open(std::string path, std::uint64_t new_salt,
                                                                    ModelNames& names);
  /// A write under way is waited for.
  ~ForecastKeeper();
  ForecastKeeper(const ForecastKeeper&) = delete;
  ForecastKeeper& operator=(const ForecastKeeper&) = delete;

  /// Of the prompt keys in the file, or the new one where none was saved.
  [[nodiscard]] std::uint64_t salt() const { return loaded_.salt; }
  /// Teaches the dispatcher's forecasts what was saved, in small pieces. Once, before the first request.
  void recall(dispatch::Dispatcher& dispatcher, const std::function<ModelId(const std::string&)>& model_id);
  /// Saves if it is time to.
  void tick(const dispatch::Dispatcher& dispatcher, Time now);
  /// Saves and waits for the disk.
  void save(const dispatch::Dispatcher& dispatcher, Time now);

  struct Status {
    Time saved = Time::min();  ///< what the file holds is that of then; min: of an earlier run
    std::uint64_t errors = 0;  ///< saves that failed
  };
  /// Thread-safe.
  [[nodiscard]] Status status() const;

 private:
  ForecastKeeper(std::string path, forecast::SavedHistory loaded, ModelNames& names)
      : path_(std::move(path)), loaded_(std::move(loaded)), names_(names) {}
  [[nodiscard]] forecast::SavedHistory collect(const dispatch::Dispatcher& dispatcher);
  void finish();

  const std::string path_;
  forecast::SavedHistory loaded_;
  ModelNames& names_;
  std::optional<Time> due_;
  Time began_{};  ///< the write under way
  std::future<Result<void>> writing_;
  std::vector<forecast::EndedRequest> scratch_;
  mutable std::mutex mutex_;
  Status status_;
};

}  // namespace evenkeel::gateway
