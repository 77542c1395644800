#include "gateway/forecast_keeper.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace evenkeel::gateway {

namespace {

/// Requests taught at once: the dispatcher's lock is held for some ten microseconds.
constexpr std::size_t piece = 16;

Result<forecast::SavedHistory> load(const std::string& path, std::uint64_t new_salt) {
  std::error_code error;
  const forecast::SavedHistory fresh{new_salt, {}};
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return fresh;
  auto saved = forecast::read_history(path);
  if (saved) return saved;
  const std::string aside = path + ".bad";
  std::filesystem::rename(path, aside, error);
  if (error)
    return failure(
        fmt::format("{}; it cannot be renamed to \"{}\": {}", saved.error().message, aside, error.message()));
  spdlog::warn("{}; it is now \"{}\", and forecasts begin anew", saved.error().message, aside);
  return fresh;
}

}  // namespace

Result<std::unique_ptr<ForecastKeeper>> ForecastKeeper::open(std::string path, std::uint64_t new_salt,
                                                             ModelNames& names) {
  auto loaded = load(path, new_salt);
  if (!loaded) return tl::unexpected(loaded.error());
  if (auto written = forecast::write_history(*loaded, path); !written) {
    return failure(fmt::format("forecast file: {}", written.error().message));
  }
  return std::unique_ptr<ForecastKeeper>(new ForecastKeeper(std::move(path), std::move(*loaded), names));
}

ForecastKeeper::~ForecastKeeper() {
  if (writing_.valid()) writing_.wait();
}

void ForecastKeeper::recall(dispatch::Dispatcher& dispatcher,
                            const std::function<ModelId(const std::string&)>& model_id) {
  std::size_t requests = 0;
  for (const auto& [name, ended] : loaded_.models) {
    const ModelId id = model_id(name);
    names_.know(id, name);
    for (std::size_t i = 0; i < ended.size(); i += piece) {
      dispatcher.recall(id, std::span(ended).subspan(i, std::min(piece, ended.size() - i)));
    }
    requests += ended.size();
  }
  spdlog::info("forecast file \"{}\": {} ended requests of {} models", path_, requests, loaded_.models.size());
  loaded_.models.clear();
}

void ForecastKeeper::tick(const dispatch::Dispatcher& dispatcher, Time now) {
  if (!due_) due_ = now + interval;
  if (writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) finish();
  if (now < *due_ || writing_.valid()) return;
  due_ = now + interval;
  began_ = now;
  writing_ = std::async(std::launch::async, [history = collect(dispatcher), path = path_] {
    return forecast::write_history(history, path);
  });
}

void ForecastKeeper::save(const dispatch::Dispatcher& dispatcher, Time now) {
  if (writing_.valid()) finish();
  began_ = now;
  std::promise<Result<void>> written;
  written.set_value(forecast::write_history(collect(dispatcher), path_));
  writing_ = written.get_future();
  finish();
}

forecast::SavedHistory ForecastKeeper::collect(const dispatch::Dispatcher& dispatcher) {
  const ModelNames::All names = names_.all();
  forecast::SavedHistory history{loaded_.salt, {}};
  for (const auto& known : dispatcher.forecasts()) {
    const auto name = names.find(known.model);
    if (name == names.end() || name->second.empty() || name->second.size() > forecast::longest_model_name) continue;
    // Grown and touched out here, so that what is copied under the dispatcher's lock meets no new page.
    scratch_.resize(forecast::history_length);
    dispatcher.copy_history(known.model, scratch_);
    if (!scratch_.empty()) history.models.push_back({name->second, scratch_});
  }
  return history;
}

void ForecastKeeper::finish() {
  const Result<void> written = writing_.get();
  const std::lock_guard lock(mutex_);
  if (written) {
    status_.saved = began_;
    return;
  }
  ++status_.errors;
  spdlog::warn("forecast file: {}", written.error().message);
}

ForecastKeeper::Status ForecastKeeper::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace evenkeel::gateway
