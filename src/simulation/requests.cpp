#include "simulation/requests.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "simulation/words.hpp"

namespace evenkeel::simulation {

double Lengths::mean_output() const {
  if (!trace) return outputs.mean();
  double sum = 0;
  for (const auto& request : trace->requests) sum += request.output_tokens.as_double();
  return trace->requests.empty() ? 1 : sum / static_cast<double>(trace->requests.size());
}

std::string Lengths::text() const {
  if (trace) {
    const auto size = static_cast<std::int64_t>(trace->requests.size());
    return fmt::format("trace of {} ({})", counted(size, "request"), trace->format);
  }
  const std::string laws = fmt::format("prompts {}, outputs {}", prompts.text(), outputs.text());
  if (shared) {
    return fmt::format("{} behind one of {} beginnings of {} tokens, the first {:g} times as often", laws,
                       shared->count, shared->tokens, shared->hot);
  }
  if (!classes) return laws;
  return fmt::format("{}, {} class{} +-{:g}", laws, classes->count, classes->count == 1 ? "" : "es", classes->spread);
}

RequestSequence::RequestSequence(const Lengths& lengths, std::uint64_t seed)
    : lengths_(lengths), random_(mix64(seed ^ 0x6c656e67746873ULL)) {
  if (lengths.trace) {
    // Seeds begin at places that lie evenly over the trace however many there are (Weyl's sequence); the first at its
    // start.
    const double place = static_cast<double>(seed - 1) * 0.6180339887498949;
    const auto size = static_cast<double>(lengths.trace->requests.size());
    next_of_trace_ = static_cast<std::size_t>((place - std::floor(place)) * size) % lengths.trace->requests.size();
    return;
  }
  if (!lengths.classes) return;
  classes_.resize(lengths.classes->count);
  for (Class& each : classes_) each = {lengths.prompts.draw(random_), lengths.outputs.draw(random_)};
}

Request RequestSequence::next() {
  if (lengths_.trace) {
    const std::size_t index = next_of_trace_;
    next_of_trace_ = (index + 1) % lengths_.trace->requests.size();
    return of_trace(index);
  }
  if (classes_.empty()) {
    Request request;
    request.prompt = lengths_.prompts.draw(random_);
    request.output = lengths_.outputs.draw(random_);
    if (lengths_.shared) begin_alike(request);
    return request;
  }
  const std::uint64_t number = random_.below(classes_.size());
  const Class& each = classes_[number];
  const double factor = 1 + lengths_.classes->spread * (2 * random_.unit() - 1);
  const auto output = std::llround(factor * static_cast<double>(each.mean_output));
  return {each.prompt, std::max<std::int64_t>(1, output), mix64(number + 1) | 1U};
}

void RequestSequence::begin_alike(Request& request) {
  const SharedPrefixes& shared = *lengths_.shared;
  const double place = random_.unit() * (shared.hot + static_cast<double>(shared.count - 1)) - shared.hot;
  request.shared = place < 0 ? 0 : std::min(static_cast<std::uint32_t>(place) + 1, shared.count - 1);
  request.prompt += shared.tokens;
}

Request RequestSequence::of_trace(std::size_t index) const {
  const workload::TraceRequest& from = lengths_.trace->requests[index];
  Request request;
  request.place = static_cast<workload::RequestIndex>(index);
  request.prompt = std::max<std::int64_t>(1, from.prompt_tokens.value());
  request.output = std::max<std::int64_t>(1, from.output_tokens.value());
  if (from.session != workload::no_index) request.affinity_key = mix64(from.session + 1ULL) | 1U;
  return request;
}

}  // namespace evenkeel::simulation
