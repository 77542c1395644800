#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "calibrate/calibration.hpp"
#include "engines/adapter.hpp"
#include "engines/discovery.hpp"
#include "http/address.hpp"
#include "http/client.hpp"
#include "http/loop.hpp"

namespace evenkeel::load {

/// A router's account of the worker that is measured.
struct RouterView {
  std::string url;             ///< of the worker
  std::int64_t in_flight = 0;  ///< requests that the router has there
};

/// Asks an engine what it is and what it has to do, beside the requests that measure it, and a router what it sends
/// there. For the loop that it is used on.
class EngineWatch {
 public:
  /// `headers` go with every question to the engine.
  explicit EngineWatch(std::vector<std::pair<std::string, std::string>> headers) : headers_(std::move(headers)) {}

  /// From now on the engine is that one.
  void look_at(http::Url url, http::Address address);

  /// Finds out what it is and which of its models is meant: `wanted`, or the only one. An error if it does not answer,
  /// is a router, or serves nothing of the kind.
  http::Task<Result<calibrate::Measured>> identify(http::Fiber& fiber, std::string wanted);
  /// What it reports of its load; nothing of what it does not tell. Once it is identified.
  http::Task<engines::Report> report(http::Fiber& fiber);
  [[nodiscard]] engines::Kind kind() const { return adapter_->kind(); }

  /// Of the worker `name` of the router whose admin API is at `router`.
  static http::Task<Result<RouterView>> ask_router(http::Fiber& fiber, http::Url router, http::Address address,
                                                   std::string name);

 private:
  http::Task<http::FetchResult> get(http::Fiber& fiber, std::string_view path);

  std::vector<std::pair<std::string, std::string>> headers_;
  http::Url url_;
  http::Address address_;
  const engines::Adapter* adapter_ = nullptr;
};

}  // namespace evenkeel::load
