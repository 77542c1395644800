#include "fleet/books.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace evenkeel::fleet {

namespace {
constexpr auto relaxed = std::memory_order_relaxed;

void add(std::atomic<std::int64_t>& counter, std::int64_t amount) {
  [[maybe_unused]] const std::int64_t before = counter.fetch_add(amount, std::memory_order_release);
  assert(before + amount >= 0 && "the books went below zero");
}
}  // namespace

Load WorkerBooks::load() const {
  constexpr auto acquire = std::memory_order_acquire;  // with the release in add(): see sound()
  return {in_flight_.load(acquire), Tokens(prompt_.load(acquire)), Tokens(queued_prompt_.load(acquire)),
          Tokens(generated_.load(acquire)), decoding_.load(acquire)};
}

bool WorkerBooks::sound() const {
  // A lease that comes or goes between two of these loads must not read as a residue. Every lease counts itself as
  // begun before all else and as ended after all else. So if `ended` had caught up with `begun` and `begun` has not
  // moved since, no lease was open in between and what was read was read at rest.
  const std::uint64_t ended = ended_.load(std::memory_order_acquire);
  const std::uint64_t begun = begun_.load(std::memory_order_acquire);
  const Load now = load();
  const bool at_rest = ended == begun && begun_.load(relaxed) == begun;
  const bool negative = now.in_flight < 0 || now.decoding < 0 || now.prompt_tokens < Tokens() ||
                        now.queued_prompt < Tokens() || now.generated_tokens < Tokens();
  const bool residue =
      now.in_flight == 0 && (now.decoding != 0 || now.kv_tokens() != Tokens() || now.queued_prompt != Tokens());
  return !negative && !(residue && at_rest);
}

Lease::Lease(WorkerBooks& books, LeaseObserver& observer, const Clock& clock, RequestId request, WorkerId worker,
             ModelId model, Tokens estimate)
    : books_(&books), observer_(&observer), clock_(&clock), begun_(clock.now()) {
  summary_.request = request;
  summary_.worker = worker;
  summary_.model = model;
  const Tokens prompt = std::max(estimate, Tokens());
  summary_.prompt_tokens = prompt;
  books.begun_.fetch_add(1, relaxed);
  add(books.in_flight_, 1);
  add(books.prompt_, prompt.value());
  owe(prompt);
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  end(Outcome::cancelled);
  books_ = std::exchange(other.books_, nullptr);
  observer_ = other.observer_;
  clock_ = other.clock_;
  progress_ = other.progress_;
  summary_ = other.summary_;
  hit_ = other.hit_;
  owed_ = other.owed_;
  begun_ = other.begun_;
  return *this;
}

/// Replaces what is owed, or, once the first token has come, what was.
void Lease::owe(Tokens prefill) {
  const std::int64_t more = (prefill - owed_).value();
  owed_ = prefill;
  if (summary_.had_output) {
    books_->prefilled_ever_.fetch_add(more, relaxed);
  } else {
    add(books_->queued_prompt_, more);
  }
}

void Lease::expect_hit(Tokens tokens) {
  if (!open() || summary_.had_output) return;
  hit_ = std::max(tokens, Tokens());
  owe(std::max(summary_.prompt_tokens - hit_, Tokens()));
}

void Lease::end_prefill() {
  summary_.had_output = true;
  add(books_->decoding_, 1);
  add(books_->queued_prompt_, -owed_.value());
  books_->prefilled_ever_.fetch_add(owed_.value(), relaxed);
}

void Lease::track(LeaseProgress& progress, std::uint64_t key, std::uint32_t place) {
  progress_ = &progress;
  summary_.prompt_key = key;
  summary_.place = place;
}

void Lease::tell_progress() {
  if (progress_ != nullptr) progress_->store(summary_.output_tokens.value(), relaxed);
}

void Lease::generated(Tokens count) {
  if (!open() || count <= Tokens()) return;
  if (!summary_.had_output) end_prefill();
  summary_.output_tokens += count;
  add(books_->generated_, count.value());
  books_->generated_ever_.fetch_add(count.value(), relaxed);
  tell_progress();
}

void Lease::settle(Tokens prompt, Tokens output) {
  if (!open() || prompt < Tokens() || output < Tokens()) return;
  if (!summary_.had_output && output > Tokens()) end_prefill();
  const Tokens more_prompt = prompt - summary_.prompt_tokens;
  const Tokens more_output = output - summary_.output_tokens;
  add(books_->prompt_, more_prompt.value());
  owe(std::max(prompt - hit_, Tokens()));
  add(books_->generated_, more_output.value());
  books_->generated_ever_.fetch_add(more_output.value(), relaxed);
  summary_.prompt_tokens = prompt;
  summary_.output_tokens = output;
  tell_progress();
}

void Lease::end(Outcome outcome) {
  if (!open()) return;
  WorkerBooks& books = *std::exchange(books_, nullptr);
  if (summary_.had_output) {
    add(books.decoding_, -1);
  } else {
    add(books.queued_prompt_, -owed_.value());
  }
  add(books.prompt_, -summary_.prompt_tokens.value());
  add(books.generated_, -summary_.output_tokens.value());
  add(books.in_flight_, -1);
  books.ended_.fetch_add(1, std::memory_order_release);
  summary_.outcome = outcome;
  summary_.held = clock_->now() - begun_;
  observer_->lease_ended(summary_);
}

}  // namespace evenkeel::fleet
