#pragma once

#include <cstdint>
#include <memory>

#include "base/error.hpp"
#include "config/settings.hpp"

namespace evenkeel::gateway {

/// The whole router: shards, dispatcher, control loop. Construct, start(), run(), and it is over.
class Router {
 public:
  /// Binds its ports and starts nothing yet.
  [[nodiscard]] static Result<std::unique_ptr<Router>> make(const config::ServeSettings& settings);
  ~Router();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::uint16_t admin_port() const;

  /// Serves until SIGTERM or SIGINT (or stop()), then stops accepting, lets requests finish until the drain timeout
  /// and ends what is left explicitly. True if nothing had to be cut off.
  [[nodiscard]] bool run();
  /// Thread-safe: as a signal would.
  void stop();

 private:
  struct Parts;
  explicit Router(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace evenkeel::gateway
