#include "gateway/peer_control.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "config/load.hpp"
#include "gateway/unix_time.hpp"

namespace evenkeel::gateway {

namespace {

constexpr std::size_t answer_limit = 4U << 20U;
constexpr Duration beat = std::chrono::milliseconds(20);
constexpr std::size_t most_models_of_a_peer = 64;

}  // namespace

PeerControl::PeerControl(const config::ServeSettings& settings, http::EventLoop& loop, PeerBoard& board,
                         FleetControl& fleet)
    : settings_(settings), loop_(loop), board_(board), fleet_(fleet) {
  for (std::size_t i = 0; i < settings.peers.size(); ++i) {
    auto box = std::make_shared<Box>();
    box->number = PeerNumber{static_cast<std::uint32_t>(i)};
    if (const auto url = http::parse_url(settings.peers[i].url)) box->url = *url;
    box->origin = "http://" + box->url.authority() + box->url.base_path;
    if (const auto key = config::api_key(settings.peers[i]); key && !key->empty())
      box->authorization = "Bearer " + *key;
    boxes_.push_back(std::move(box));
  }
}

void PeerControl::start() {
  follow_hosted();
  for (const BoxPtr& box : boxes_) {
    (void)resolve(*box);
    box->fiber = &loop_.spawn(
        [](http::Fiber& fiber, PeerControl* self, BoxPtr of) { return self->watch(fiber, std::move(of)); }, this, box);
  }
  loop_.spawn([](http::Fiber& fiber, PeerControl* self) { return self->tick(fiber); }, this);
  board_.set_alarm([this] { loop_.post([this] { send_releases(); }); });
}

void PeerControl::stop() {
  stopped_ = true;
  board_.set_alarm({});
  for (const BoxPtr& box : boxes_) {
    if (box->fiber != nullptr) box->fiber->wake();
  }
}

http::Task<void> PeerControl::tick(http::Fiber& fiber) {
  while (!stopped_) {
    follow_hosted();
    board_.tick();
    co_await fiber.sleep_until(fiber.loop().now() + beat);
  }
}

http::Task<void> PeerControl::watch(http::Fiber& fiber, BoxPtr box) {
  while (!stopped_) {
    if (board_.probe_due(box->number)) co_await probe(fiber, *box);
    if (stopped_) break;
    co_await fiber.sleep_until(fiber.loop().now() + beat);
  }
  box->fiber = nullptr;
}

// --- probes ------------------------------------------------------------------------------------------------

bool PeerControl::resolve(Box& box) {
  // Its address may have changed while it was gone.
  if (box.address.size() != 0 && box.lost_in_a_row < settings_.peer_options.lost_probes) return true;
  const auto address = http::resolve(box.url.host, box.url.port);
  if (!address) return box.address.size() != 0;
  if (box.address.text() == address->text()) return true;
  box.address = *address;
  board_.set_hosts(box.number, {box.address.host()});
  for (const PeerBoard::Row& row : board_.rows()) {
    const auto upstream = row.peer == box.number ? fleet_.map()->upstream(row.worker) : nullptr;
    if (upstream == nullptr) continue;
    Upstream moved = *upstream;
    moved.address = box.address;
    fleet_.lend(std::move(moved), row.served, row.fingerprint.max_model_len.value_or(0));
  }
  return true;
}

http::ClientRequest PeerControl::request_to(const Box& box, std::string_view path) const {
  http::ClientRequest request;
  request.path = box.url.base_path + std::string(path);
  request.host = box.url.authority();
  request.fields.emplace_back("User-Agent", "evenkeel");
  request.fields.emplace_back(std::string(peer_field::hop), board_.self().name);
  if (!box.authorization.empty()) request.fields.emplace_back("Authorization", box.authorization);
  return request;
}

http::Task<http::FetchResult> PeerControl::get(http::Fiber& fiber, Box& box, std::string_view path, Time deadline) {
  co_return co_await http::fetch(fiber, box.address, request_to(box, path), deadline, answer_limit, &box.connections);
}

void PeerControl::complain(Box& box, const std::string& what) {
  if (box.complaint == what) return;
  const std::string& name = board_.setting(box.number).name;
  if (what.empty()) {
    spdlog::info("peer {} answers", name);
  } else {
    spdlog::warn("peer {}: {}", name, what);
  }
  box.complaint = what;
}

void PeerControl::lost(Box& box, std::string why) {
  ++box.lost_in_a_row;
  complain(box, why);
  board_.probe_lost(box.number, std::move(why));
  choose_references();
}

http::Task<void> PeerControl::probe(http::Fiber& fiber, Box& box) {
  const Time deadline = fiber.loop().now() + settings_.peer_options.probe_timeout;
  board_.probe_sent(box.number);
  if (!resolve(box)) co_return lost(box, fmt::format("the name {} is not known", box.url.host));
  const auto failed = [](std::string_view path, const http::FetchResult& answer) -> std::string {
    if (answer.status != http::ClientStatus::ok) return fmt::format("{}: {}", path, http::to_string(answer.status));
    if (answer.code == 401) return fmt::format("{}: 401, it wants another key (api_key_file)", path);
    if (answer.code != 200) return fmt::format("{}: answered {}", path, answer.code);
    return {};
  };
  const auto status = co_await get(fiber, box, "/status", deadline);
  if (stopped_) co_return;
  if (auto why = failed("/status", status); !why.empty()) co_return lost(box, std::move(why));
  const std::string& kind = board_.setting(box.number).kind;
  auto page = engines::read_router_status(status.body, kind == "lobes");
  if (!page) co_return lost(box, page.error().message);
  if (kind == "evenkeel" && !page->evenkeel) co_return lost(box, "/status is not that of a router of kind evenkeel");
  if (!page->evenkeel) {
    const auto capabilities = co_await get(fiber, box, "/capabilities", deadline);
    if (stopped_) co_return;
    if (auto why = failed("/capabilities", capabilities); !why.empty()) co_return lost(box, std::move(why));
    const auto read = engines::read_router_capabilities(capabilities.body, *page);
    if (!read) co_return lost(box, read.error().message);
  }
  take(box, *page);
}

std::string PeerControl::unusable(const Box& box, const engines::RouterPage& page) const {
  if (!page.evenkeel || page.instance.empty()) return {};
  if (page.instance == board_.self().instance) return "it is this router itself: take it off the list of peers";
  for (const BoxPtr& other : boxes_) {
    if (other->number < box.number && other->instance == page.instance) {
      return fmt::format("it is the same router as peer {}: take it off the list of peers",
                         board_.setting(other->number).name);
    }
  }
  return {};
}

// --- what they answered ------------------------------------------------------------------------------------

bool PeerControl::wanted(const Box& box, const std::string& served) const {
  const auto& models = board_.setting(box.number).models;
  return models.empty() || std::find(models.begin(), models.end(), served) != models.end();
}

const HostedModel* PeerControl::hosted(ModelId model) const {
  const auto at = std::find_if(hosted_.begin(), hosted_.end(), [&](const auto& one) { return one.model == model; });
  return at == hosted_.end() ? nullptr : &*at;
}

/// Makes the peer a worker of the model, unless it is one that is reached and marked in the same way.
void PeerControl::join(const Box& box, ModelId model, const engines::RouterModel& told) {
  auto link = std::make_shared<PeerLink>();
  link->number = box.number;
  link->evenkeel = board_.is_evenkeel(box.number);
  link->origin = box.origin;
  link->hop_field = link->evenkeel ? fmt::format("{}: {}\r\n", peer_field::hop, board_.self().name)
                                   : fmt::format("{}: {}\r\n", peer_field::lobes_hop, told.backend);
  auto worker = board_.worker(box.number, model);
  const auto before = worker ? fleet_.map()->upstream(*worker) : nullptr;
  if (before != nullptr && before->peer->hop_field == link->hop_field) return;
  if (!worker) worker = board_.add(box.number, model, told.served);
  Upstream upstream;
  upstream.id = *worker;
  upstream.name = board_.setting(box.number).name;
  upstream.address = box.address;
  upstream.authority = box.url.authority();
  upstream.base_path = box.url.base_path;
  upstream.authorization = box.authorization;
  upstream.adapter = &engines::adapter(engines::Kind::openai);
  upstream.peer = std::move(link);
  fleet_.lend(std::move(upstream), told.served, told.status.fingerprint.max_model_len.value_or(0));
}

void PeerControl::take(Box& box, const engines::RouterPage& page) {
  follow_hosted();  // what it serves is compared with what is served here now
  box.lost_in_a_row = 0;
  box.instance = page.instance;
  board_.set_identity(box.number, page.name, page.instance, page.evenkeel);
  const std::string bar = unusable(box, page);
  complain(box, bar);
  board_.bar(box.number, bar);
  std::vector<PeerBoard::Said> said;
  for (const engines::RouterModel& told : page.models) {
    if (!bar.empty() || !wanted(box, told.served)) continue;
    const ModelId model = fleet_.model_id(told.served);
    if (!board_.worker(box.number, model)) {
      // An engine of our own that has not told its models may serve this one, and differently.
      if (hosted(model) == nullptr && fleet_.map()->undiscovered) continue;
      if (box.backends.size() >= most_models_of_a_peer) continue;
    }
    join(box, model, told);
    box.backends[model] = told.backend;
    said.push_back({model, told.status});
  }
  // What served a model may serve another one now: then this is what is known of it there.
  for (const auto& [model, backend] : box.backends) {
    const auto about = [&, id = model](const auto& one) { return one.model == id; };
    if (!bar.empty() || std::find_if(said.begin(), said.end(), about) != said.end()) continue;
    for (const engines::RouterModel& told : page.models) {
      if (told.backend == backend && !backend.empty()) said.push_back({model, told.status});
    }
  }
  board_.probe_answered(box.number, said);
  choose_references();
  list_models();
}

void PeerControl::follow_hosted() {
  std::vector<HostedModel> now = fleet_.hosted();
  const std::int64_t now_ms = unix_ms();
  for (HostedModel& model : now) {
    const HostedModel* before = hosted(model.model);
    const bool same = before != nullptr && !peers::definitely_changed(before->fingerprint, model.fingerprint);
    model.since_ms = same ? before->since_ms : now_ms;
  }
  if (now == hosted_) return;
  const bool others = !std::equal(now.begin(), now.end(), hosted_.begin(), hosted_.end(), [](auto& one, auto& other) {
    return one.model == other.model && one.fingerprint == other.fingerprint;
  });
  hosted_ = std::move(now);
  board_.set_hosted(hosted_);
  if (others) board_.ask_again();
  choose_references();
}

/// With what is served here; where nothing is, with what the first peer in their order serves that is ready. Nobody
/// else is asked about that one.
void PeerControl::choose_references() {
  const auto rows = board_.rows();
  const auto boxes = board_.boxes();
  std::map<ModelId, const PeerBoard::Row*> first;
  for (const PeerBoard::Row& row : rows) {
    if (hosted(row.model) != nullptr || !row.ready || !boxes[row.peer.value].up) continue;
    const PeerBoard::Row*& best = first[row.model];
    if (best == nullptr || row.peer < best->peer) best = &row;
  }
  for (const PeerBoard::Row& row : rows) {
    const HostedModel* here = hosted(row.model);
    const auto best = first.find(row.model);
    if (here != nullptr) {
      board_.compare_with(row.worker, here->fingerprint);
    } else if (best != first.end()) {
      const bool itself = best->second->peer == row.peer;
      board_.compare_with(row.worker, itself ? std::nullopt : std::optional(best->second->fingerprint));
    }
  }
  board_.tick();
}

void PeerControl::list_models() {
  for (const PeerBoard::Row& row : board_.rows()) fleet_.list_lent(row.worker, row.listed);
}

// --- what they are told ------------------------------------------------------------------------------------

void PeerControl::send_releases() {
  for (const PeerBoard::Release& release : board_.take_releases()) {
    const BoxPtr& box = boxes_[release.peer.value];
    box->releases.insert(release.model);
    if (stopped_ || std::exchange(box->telling, true)) continue;
    loop_.spawn(
        [](http::Fiber& fiber, PeerControl* self, BoxPtr to) { return self->tell_releases(fiber, std::move(to)); },
        this, box);
  }
}

http::Task<void> PeerControl::tell_releases(http::Fiber& fiber, BoxPtr box) {
  while (!box->releases.empty() && !stopped_ && box->address.size() != 0) {
    const ModelId model = *box->releases.begin();
    box->releases.erase(box->releases.begin());
    const HostedModel* here = hosted(model);
    if (here == nullptr) continue;
    http::ClientRequest request = request_to(*box, "/peers/news");
    request.method = "POST";
    request.fields.emplace_back("Content-Type", "application/json");
    request.body = "{\"model\":";
    append_json_string(request.body, here->served);
    request.body += fmt::format(",\"load\":\"{}\"}}", write_load(board_.load_for(box->number, model)));
    const Time deadline = fiber.loop().now() + settings_.peer_options.probe_timeout;
    // Who does not hear it asks.
    (void)co_await http::fetch(fiber, box->address, std::move(request), deadline, answer_limit, &box->connections);
  }
  box->releases.clear();
  box->telling = false;
}

}  // namespace evenkeel::gateway
