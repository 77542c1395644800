#include "emulator/emulator.hpp"

namespace evenkeel::emulator {

Result<Emulator> Emulator::open(http::EventLoop& loop, const EmulatorOptions& options) {
  if (auto fine = validate(options); !fine) return tl::unexpected<Error>(fine.error());
  Emulator emulator;
  for (std::size_t i = 0; i < options.replicas; ++i) {
    const auto port = options.port == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(options.port + i);
    auto replica = Replica::open(loop, options, port);
    if (!replica) return tl::unexpected<Error>(replica.error());
    emulator.replicas_.push_back(std::move(*replica));
  }
  return emulator;
}

Emulator::~Emulator() {
  for (const auto& replica : replicas_) replica->close();
}

std::vector<std::uint16_t> Emulator::ports() const {
  std::vector<std::uint16_t> ports;
  for (const auto& replica : replicas_) ports.push_back(replica->port());
  return ports;
}

}  // namespace evenkeel::emulator
