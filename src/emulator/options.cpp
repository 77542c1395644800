#include "emulator/options.hpp"

#include <fmt/format.h>

namespace evenkeel::emulator {

Result<void> validate(const EmulatorOptions& options) {
  constexpr std::size_t most_replicas = 64;
  constexpr std::size_t longest_name = 256;
  if (options.replicas < 1 || options.replicas > most_replicas) {
    return failure(fmt::format("replicas is {}; allowed: 1 to {}", options.replicas, most_replicas));
  }
  if (options.port != 0 && options.port + options.replicas - 1 > 65535) {
    return failure(
        fmt::format("port {} leaves no room for {} consecutive ports up to 65535", options.port, options.replicas));
  }
  if (options.model.empty() || options.model.size() > longest_name) {
    return failure(fmt::format("the model name has {} bytes; allowed: 1 to {}", options.model.size(), longest_name));
  }
  if (!(options.time_scale >= 0.001 && options.time_scale <= 1000)) {
    return failure(fmt::format("time scale is {}; allowed: 0.001 to 1000", options.time_scale));
  }
  if (!options.draw_output) return failure("a law of output lengths is wanted");
  return engine::validate(options.engine);
}

}  // namespace evenkeel::emulator
