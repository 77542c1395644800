#include "gateway/shard.hpp"

#include "gateway/connection.hpp"

namespace evenkeel::gateway {

Result<std::uint16_t> Shard::listen(const http::Address& at, bool share_port) {
  auto opened = http::Listener::open(
      loop, at, [this](http::Stream stream, const http::Address& peer) { accept(std::move(stream), peer); },
      {.share_port = share_port});
  if (!opened) return tl::unexpected(opened.error());
  listener_ = std::move(*opened);
  return listener_->port();
}

http::Task<void> Shard::sweep_pools(http::Fiber& fiber) {
  // Engines close what idles; without this their half of the connection would stay open until the next request.
  while (true) {
    co_await fiber.sleep_until(loop.now() + std::chrono::seconds(1));
    for (const auto& pool : pools_) {
      if (pool != nullptr) pool->sweep(loop.now());
    }
  }
}

void Shard::start() {
  loop.spawn([](http::Fiber& fiber, Shard* shard) { return shard->sweep_pools(fiber); }, this);
  thread_ = std::thread([this] { loop.run(); });
}

void Shard::accept(http::Stream stream, const http::Address& peer) {
  if (shared.connections.load(std::memory_order_relaxed) >= shared.settings.limits.connections) return;  // closes it
  loop.spawn(serve_connection, std::ref(*this), std::move(stream), peer);
}

void Shard::publish(std::shared_ptr<const FleetMap> map) {
  loop.post([this, map = std::move(map)] {
    // A removed engine's idle connections are of no use.
    std::vector<bool> there(pools_.size(), false);
    for (const auto& upstream : map->upstreams) {
      if (upstream != nullptr && upstream->engine < there.size()) there[upstream->engine] = true;
    }
    for (std::size_t engine = 0; engine < pools_.size(); ++engine) {
      if (!there[engine] && pools_[engine] != nullptr) pools_[engine]->clear();
    }
    fleet = map;
  });
}

void Shard::drain() {
  loop.post([this] {
    draining = true;
    if (listener_ != nullptr) listener_->close();
    loop.wake_all();  // idle connections close, busy ones see it when they are done
  });
}

void Shard::cut_off() {
  loop.post([this] {
    cutting = true;
    loop.wake_all();
  });
}

void Shard::stop() { loop.stop(); }

void Shard::join() {
  if (thread_.joinable()) thread_.join();
}

http::ConnectionPool& Shard::pool(const Upstream& upstream) {
  const std::size_t at = upstream.engine;
  if (pools_.size() <= at) pools_.resize(at + 1);
  if (pools_[at] == nullptr) {
    http::ConnectionPool::Limits limits;
    limits.idle = upstream.adapter->idle_keep_alive();
    if (!upstream.rank_field.empty()) limits.connections *= 8;  // many ranks share it
    pools_[at] = std::make_unique<http::ConnectionPool>(limits);
  }
  return *pools_[at];
}

double& Shard::tokens_per_event(WorkerId worker) {
  if (tokens_per_event_.size() <= worker.value) tokens_per_event_.resize(worker.value + 1, 1.0);
  return tokens_per_event_[worker.value];
}

bool& Shard::tells_cached(WorkerId worker) {
  if (tells_cached_.size() <= worker.value) tells_cached_.resize(worker.value + 1, false);
  return tells_cached_[worker.value];
}

double& Shard::tokens_per_byte(ModelId model) {
  if (tokens_per_byte_.size() <= model.value) tokens_per_byte_.resize(model.value + 1, 0.25);
  return tokens_per_byte_[model.value];
}

}  // namespace evenkeel::gateway
