#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulator/kv_transfer.hpp"
#include "emulator/lease_table.hpp"
#include "emulator/live_engine.hpp"
#include "emulator/options.hpp"
#include "http/server.hpp"

namespace evenkeel::emulator {

/// What became of KV transfers, of one rank.
struct KvCounters {
  // As the prefill side.
  std::int64_t opened = 0;    ///< leases
  std::int64_t pulled = 0;    ///< of them: the decode side has the KV
  std::int64_t declined = 0;  ///< the decode side does not want it any more
  std::int64_t expired = 0;
  std::int64_t reused = 0;  ///< parameters came a second time
  // As the decode side.
  std::int64_t loaded = 0;  ///< pulls that brought the KV
  Tokens loaded_tokens;
  Tokens asked_tokens;          ///< of all pulls
  std::int64_t recomputed = 0;  ///< the KV was not there any more, or the parameters were not whole: prefilled here
  std::int64_t garbled = 0;     ///< answers from KV that was not theirs
  std::int64_t failed = 0;      ///< transfers: the prefill side did not answer, or the KV was another's
};

/// The hand-over of KV between a prefill and a decode engine, as vLLM's NIXL connector does it (pull). One for each
/// port. The side channel is our own, three posts to the prefill side's port, and real engines do not speak it:
///   /kv/end   {"remote_engine_id","remote_request_id","pulled":bool} -> {"standing":"held|reused|expired|unknown"}
///   /kv/renew {"remote_engine_id","remote_request_id"}               -> {"held":bool}
class KvHandoff : public std::enable_shared_from_this<KvHandoff> {
 public:
  [[nodiscard]] static std::shared_ptr<KvHandoff> start(http::EventLoop& loop, std::shared_ptr<LiveEngine> engine,
                                                        const KvOptions& options, std::string engine_id);

  /// Whether the KV of this request is to be kept here, or to be pulled.
  [[nodiscard]] bool keeps(const KvTransferParams& params) const;
  [[nodiscard]] bool pulls(const KvTransferParams& params) const;

  // --- prefill side
  /// The engine keeps this request's blocks from now on. What the answer tells: `offer` lacks what is ours.
  [[nodiscard]] std::string open(LeaseTable::Kept kept, KvOffer offer);
  http::Task<void> serve(const http::ServerRequest& request, http::Responder& responder);

  // --- decode side
  enum class Pull : std::uint8_t { whole, absent, garbled, failed };
  /// Takes the time of a transfer of so many tokens, then tells the prefill side.
  http::Task<Pull> pull(http::Fiber& fiber, KvTransferParams params, std::size_t rank, Tokens tokens);
  /// While a request waits for its turn to pull. Every sixth of a lease.
  http::Task<void> renew(http::Fiber& fiber, KvTransferParams params);
  [[nodiscard]] Duration renew_every() const { return options_.lease / 6; }
  /// It will never be pulled. Tells the prefill side in a fiber of its own.
  void decline(KvTransferParams params);
  /// Parameters that cannot be pulled with.
  void count_recomputed(std::size_t rank) { ++counters_[rank].recomputed; }

  /// The loop will not run any more: nothing more is opened or told.
  void close() { closed_ = true; }

  [[nodiscard]] const std::vector<KvCounters>& counters() const { return counters_; }  ///< by rank
  /// Times that a decode side said that it still waits.
  [[nodiscard]] std::int64_t renewed() const { return renewed_; }
  [[nodiscard]] std::size_t open_leases() const { return leases_.open_leases(); }
  [[nodiscard]] const KvOptions& options() const { return options_; }

 private:
  KvHandoff(http::EventLoop& loop, std::shared_ptr<LiveEngine> engine, const KvOptions& options, std::string engine_id);
  static http::Task<void> keep_leases(http::Fiber& fiber, std::shared_ptr<KvHandoff> self);
  static http::Task<void> tell_declined(http::Fiber& fiber, std::shared_ptr<KvHandoff> self, KvTransferParams params);
  /// One post to the prefill side. None: it did not answer as it should.
  http::Task<std::optional<std::string>> tell(http::Fiber& fiber, KvTransferParams params, std::string path,
                                              std::string more);
  void expire();

  http::EventLoop& loop_;
  std::shared_ptr<LiveEngine> engine_;
  KvOptions options_;
  std::string engine_id_;
  LeaseTable leases_;
  std::vector<KvCounters> counters_;
  http::Fiber* keeper_ = nullptr;
  std::uint64_t offers_ = 0;
  std::int64_t next_block_ = 0;
  std::int64_t renewed_ = 0;
  bool closed_ = false;
};

}  // namespace evenkeel::emulator
