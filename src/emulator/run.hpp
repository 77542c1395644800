#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/bootstrap.hpp"
#include "emulator/kv_handoff.hpp"
#include "emulator/replica.hpp"

namespace evenkeel::emulator {

/// Sequences in the engine: whatever ends the request, those still there are aborted.
class Replica::Submitted {
 public:
  explicit Submitted(LiveEngine& engine) : engine_(engine) {}
  Submitted(const Submitted&) = delete;
  Submitted& operator=(const Submitted&) = delete;
  ~Submitted() {
    for (const auto id : ids_) engine_.abort(id);
  }
  void add(engine::RequestId id) { ids_.push_back(id); }
  [[nodiscard]] const std::vector<engine::RequestId>& ids() const { return ids_; }

 private:
  LiveEngine& engine_;
  std::vector<engine::RequestId> ids_;
};

/// What a request has to do with KV elsewhere. KV that lies at a prefill engine and is not pulled in the end: that one
/// is told.
struct Replica::KvErrand {
  explicit KvErrand(std::shared_ptr<KvHandoff> of) : handoff(std::move(of)) {}
  KvErrand(const KvErrand&) = delete;
  KvErrand& operator=(const KvErrand&) = delete;
  ~KvErrand() { give_up(); }

  void look_at(const GenerationRequest& request, const KvHandoff& with);
  void give_up() {
    if (wanted) handoff->decline(take());
    keep = false;
  }
  [[nodiscard]] KvTransferParams take() { return *std::exchange(wanted, std::nullopt); }
  [[nodiscard]] bool prefills_in_room() const { return leg && leg->prefill(); }
  [[nodiscard]] bool decodes_in_room() const { return leg && !leg->prefill(); }
  [[nodiscard]] bool keeps() const { return keep || prefills_in_room(); }
  [[nodiscard]] bool pulls() const { return wanted || decodes_in_room(); }

  std::shared_ptr<KvHandoff> handoff;
  std::optional<KvTransferParams> wanted;  ///< what is still to be pulled
  bool missing = false;                    ///< the request says that its KV lies elsewhere, and not where
  bool keep = false;                       ///< for a pull
  std::unique_ptr<Bootstrap::Leg> leg;
};

/// One request while it is in the engine.
struct Replica::Run {
  enum class End : std::uint8_t { open, complete, client_gone, died, truncated, no_kv };

  const GenerationRequest& request;
  std::vector<Sequence>& sequences;
  AnswerShape& shape;
  Inbox inbox;
  KvErrand& kv;
  std::string_view id;
  std::string kv_offer = "null";  ///< kv_transfer_params of the answer
  Time renew_at{};                ///< engine time: when the prefill side is to hear that the KV is still wanted
  std::optional<std::size_t> asked_rank{};  ///< none: the engine chooses, for each sequence
  std::vector<std::size_t> ranks{};         ///< of each sequence
  bool stream = false;
  Time arrived;                 ///< engine time
  std::vector<Time> last_at{};  ///< engine time of each sequence's last token
  std::size_t left = 0;         ///< sequences that are not finished
  std::int64_t delivered = 0;
  End end = End::open;
};

/// The blocks of a request that is prefilled for somebody else. Once the engine has finished it they are under a lease,
/// however the answer ends: a client that goes between the two legs leaves them there until then. Those of a request
/// in a room are freed with it.
class Replica::KeptKv {
 public:
  KeptKv(Replica& replica, Run& run) : replica_(replica), run_(run) {}
  KeptKv(const KeptKv&) = delete;
  KeptKv& operator=(const KeptKv&) = delete;
  ~KeptKv();
  void keep(LeaseTable::Kept kept, std::int64_t tokens) {
    kept_ = kept;
    tokens_ = tokens;
  }
  /// The answer is complete. `offer`: what it says of the KV.
  http::Task<void> hand_over(std::string& offer);

 private:
  [[nodiscard]] std::string lease();

  Replica& replica_;
  Run& run_;
  std::optional<LeaseTable::Kept> kept_;
  std::int64_t tokens_ = 0;
};

}  // namespace evenkeel::emulator
