#include "calibrate/level_meter.hpp"

#include <limits>

#include "maths/percentile.hpp"

namespace evenkeel::calibrate {

LevelMeter::LevelMeter(std::int64_t level, std::int64_t per_stream)
    : streams_(static_cast<std::size_t>(level)), wanted_(level * per_stream) {}

void LevelMeter::began(std::size_t stream, Time now) {
  Stream& of = streams_.at(stream);
  of.began = now;
  of.events = of.events_in_open = 0;
}

void LevelMeter::content(std::size_t stream, Time now, std::int64_t events) {
  if (events <= 0) return;
  Stream& of = streams_.at(stream);
  if (of.events == 0 && of.warm && !closed_) ttfts_s_.push_back(to_seconds(now - of.began));
  of.events += events;
  if (open()) of.events_in_open += events;
}

bool LevelMeter::ended(std::size_t stream, Time now, std::optional<std::int64_t> tokens) {
  Stream& of = streams_.at(stream);
  if (of.events > 0) {
    // An event may hold several tokens; over one request they are taken to be as many in each.
    const auto all = static_cast<double>(tokens.value_or(of.events));
    tokens_ += all * static_cast<double>(of.events_in_open) / static_cast<double>(of.events);
  }
  if (open() && ++requests_ == wanted_) closed_ = now;
  if (!of.warm) {
    of.warm = true;
    if (++warm_ == streams_.size()) opened_ = now;
  }
  return !closed_;
}

LevelSample LevelMeter::sample() const {
  LevelSample sample;
  sample.level = static_cast<std::int64_t>(streams_.size());
  if (!closed_) return sample;
  sample.requests = requests_;
  sample.tokens = tokens_;
  sample.window_s = to_seconds(*closed_ - *opened_);
  if (sample.window_s > 0) sample.tokens_per_s = sample.tokens / sample.window_s;
  sample.ttft_s = ttfts_s_.empty() ? std::numeric_limits<double>::infinity() : maths::summarize(ttfts_s_).p50;
  return sample;
}

}  // namespace evenkeel::calibrate
