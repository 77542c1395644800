#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "engines/adapter.hpp"

namespace evenkeel::engines {

/// Bodies of GET answers with status 200, "" otherwise. Each alone may decide; the first two nearly always
/// do.
struct DetectionInput {
  std::string models_body;   ///< /v1/models
  std::string metrics_body;  ///< /metrics
  std::string props_body;    ///< /props
  std::string info_body;     ///< /info
};

/// What kind answers so: by `owned_by` of the models, then by the prefix of the metrics' names, then by a
/// page that only one kind has. `openai` if nothing fits.
[[nodiscard]] Kind detect(const DetectionInput& input);

/// What a page at Adapter::version_path() says, "" if it says nothing. At most 128 bytes.
[[nodiscard]] std::string read_version(std::string_view body);

struct ModelCard {
  std::string id;
  std::optional<Tokens> max_model_len;  ///< context of one request, where the engine tells it
  bool adapter = false;                 ///< a LoRA adapter over another model of the engine
};

inline constexpr std::size_t max_model_cards = 4096;
inline constexpr std::size_t max_model_id_bytes = 512;

/// The cards of a /v1/models answer, in its order, each id once; LoRA adapters are cards too. An error if the
/// body is no such list, or is over the bounds above.
[[nodiscard]] Result<std::vector<ModelCard>> read_models(std::string_view body);

}  // namespace evenkeel::engines
