#include "emulator/emulator.hpp"

namespace evenkeel::emulator {

Result<Emulator> Emulator::open(http::EventLoop& loop, const EmulatorOptions& options) {
  if (auto fine = validate(options); !fine) return tl::unexpected<Error>(fine.error());
  Emulator emulator;
  const LiveEngineOptions engine_options{options.engine, options.sync, options.balancing, options.time_scale};
  for (std::size_t replica = 0; replica < options.replicas; ++replica) {
    auto engine = LiveEngine::start(loop, engine_options);
    if (!engine) return tl::unexpected<Error>(engine.error());
    if (options.kv_events) {
      auto publisher = KvPublisher::open(loop, options, replica);
      if (!publisher) return tl::unexpected<Error>(publisher.error());
      (*engine)->publish_to(std::move(*publisher));
    }
    for (std::size_t i = 0; i < ports_each(options); ++i) {
      const std::size_t place = emulator.served_.size();
      const auto port = options.port == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(options.port + place);
      const auto own_rank = options.rank_ports ? std::optional(i) : std::nullopt;
      auto opened = Replica::open(loop, options, port, *engine, own_rank);
      if (!opened) return tl::unexpected<Error>(opened.error());
      emulator.served_.push_back({(*opened)->port(), replica, own_rank});
      emulator.replicas_.push_back(std::move(*opened));
    }
  }
  return emulator;
}

Emulator::~Emulator() {
  for (const auto& replica : replicas_) replica->close();
}

std::vector<std::uint16_t> Emulator::ports() const {
  std::vector<std::uint16_t> ports;
  for (const ServedPort& each : served_) ports.push_back(each.port);
  return ports;
}

}  // namespace evenkeel::emulator
