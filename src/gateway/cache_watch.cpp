#include "gateway/cache_watch.hpp"

#include <cmath>

#include "affinity/block_chain.hpp"

namespace evenkeel::gateway {

namespace {
/// Tokens of a block before any answer has told how much text a token is.
constexpr double assumed_block_tokens = 0.25 * affinity::default_block_bytes;
constexpr double worth_a_rebuild = 0.25;
}  // namespace

bool CacheWatch::see(const engines::Report& report) {
  bool another = false;
  if (report.started && started_) another = *report.started != *started_;
  if (report.prompt_total && prompt_total_) another = another || *report.prompt_total < *prompt_total_;
  if (unreachable_) another = another || (!report.started && !report.prompt_total);
  unreachable_ = false;
  if (report.started) started_ = report.started;
  if (report.prompt_total) prompt_total_ = report.prompt_total;
  if (report.prefix_caching || report.kv_capacity) {
    told_ = report.prefix_caching == true && report.kv_capacity ? report.kv_capacity->value() : 0;
  }
  return another;
}

std::size_t CacheWatch::blocks(double block_tokens) {
  const std::int64_t tokens = given_ >= 0 ? given_ : told_;
  const double each = block_tokens > 0 ? block_tokens : assumed_block_tokens;
  const double wanted = std::floor(static_cast<double>(tokens) / each);
  const auto now = static_cast<double>(blocks_);
  if (tokens != blocks_of_ || std::abs(wanted - now) > worth_a_rebuild * now) {
    blocks_ = static_cast<std::size_t>(wanted);
    blocks_of_ = tokens;
  }
  return blocks_;
}

}  // namespace evenkeel::gateway
