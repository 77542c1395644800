#include "engines/kinds.hpp"

namespace evenkeel::engines {
namespace {

/// A server of which only the API is known: no load, and its health is that it lists its models. Such servers
/// often run on uvicorn, which ends idle connections after 5 s, so the default of 4 s stays.
class PlainOpenai final : public Adapter {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::openai; }
  [[nodiscard]] std::string_view health_path() const override { return "/v1/models"; }
  [[nodiscard]] std::int64_t default_max_in_flight() const override { return 128; }
};

}  // namespace

const Adapter& plain_openai() {
  static const PlainOpenai instance;
  return instance;
}

}  // namespace evenkeel::engines
