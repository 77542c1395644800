#include "dispatch/running_set.hpp"

namespace evenkeel::dispatch {

void RunningSet::add(fleet::Lease& lease, ModelId model, std::uint64_t prompt_key) {
  if (vacant_.empty()) {
    vacant_.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.emplace_back();
  }
  const std::uint32_t number = vacant_.back();
  vacant_.pop_back();
  Place& place = places_[number];
  place.id = lease.request();
  place.prompt_tokens = lease.prompt_tokens();
  place.model = model;
  place.prompt_key = prompt_key;
  place.at = order_.size();
  place.generated.store(0, std::memory_order_relaxed);
  order_.push_back(number);
  lease.track(place.generated, prompt_key, number);
}

void RunningSet::remove(std::uint32_t place) {
  const std::size_t gap = places_.at(place).at;
  order_[gap] = order_.back();
  places_[order_[gap]].at = gap;
  order_.pop_back();
  vacant_.push_back(place);
}

void RunningSet::append_to(std::vector<fleet::RunningView>& views, const BooksReader& books) const {
  for (const std::uint32_t number : order_) {
    const Place& place = places_[number];
    const std::int64_t generated = books.value(place.generated.load(std::memory_order_relaxed));
    views.push_back({place.id, place.prompt_tokens, generated, place.prompt_key, place.model});
  }
}

}  // namespace evenkeel::dispatch
