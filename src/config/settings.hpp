#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace evenkeel::config {

/// One engine that requests can go to.
struct WorkerSetting {
  std::string url;                  ///< http://host:port[/base]
  std::string name;                 ///< default host:port
  std::vector<std::string> models;  ///< default: what its /v1/models says
  std::string engine = "auto";      ///< auto, vllm, sglang, llama.cpp, tgi, openai
  /// Of each of its ranks; 0 = the fleet's setting, else what the engine says, else its kind's default.
  std::int64_t max_in_flight = 0;
  std::int64_t ranks = 0;     ///< data-parallel ranks, each a worker of its own; 0 = the fleet's setting
  std::string group;          ///< workers of one name make their steps together; default: the ranks of this engine
  bool sync = true;           ///< off: its ranks step on their own
  std::string role = "both";  ///< both, prefill, decode
  std::int64_t bootstrap_port = 0;  ///< where decode engines meet an SGLang prefill engine; 0 = what it tells
  /// Tokens that its prefix cache holds, of each rank; 0 = it has none, -1 = the fleet's setting.
  std::int64_t prefix_cache_tokens = -1;
  std::string kv_events;         ///< where its first rank publishes KV-cache events (ZeroMQ); empty = it does not
  std::string kv_events_replay;  ///< where it can be asked for them again; empty = it cannot
  std::string calibration;       ///< a file of `evenkeel calibrate`; empty = what it does is learned
  std::string api_key_file;      ///< sent as Authorization: Bearer, on probes too
  std::string api_key_env;       ///< the same, from the environment
};

/// Another router that lends us capacity, and that we lend ours.
struct PeerSetting {
  std::string url;                  ///< of its public port, http://host:port[/base]
  std::string name;                 ///< default host:port
  std::string kind = "auto";        ///< auto, evenkeel, lobes
  std::vector<std::string> models;  ///< by the ids it serves them by; default: all that are the same as here
  std::string api_key_file;         ///< sent to it as Authorization: Bearer
  std::string api_key_env;
  std::string accept_key_file;  ///< that it must send with what it forwards here; none: its address suffices
  std::string accept_key_env;
};

/// Limits on the stages of one request; 0 = off. Per model, the fleet's where a model has none.
struct Timeouts {
  Duration connect = std::chrono::seconds(5);
  Duration first_byte =
      std::chrono::seconds(600);                 ///< from the last request byte sent to the first of the answer's body
  Duration silence = std::chrono::seconds(300);  ///< between bytes of the answer
  Duration total{};                              ///< from arrival to the last byte
};

struct ModelSetting {
  std::string name;                  ///< as the workers serve it
  std::vector<std::string> aliases;  ///< other names that clients may use
  bool never_shed = false;           ///< taken on even while this box sheds
  // What it is served as, for peers. Served id, window and runtime are asked of the engine.
  std::string runtime;       ///< default: the engine's kind
  std::string quantization;  ///< default: that of PeerOptionSettings
  std::string kv_cache_dtype;
  std::string reasoning_parser;
  std::string tool_parser;
  std::string speculative_config;
  Timeouts timeouts;
};

struct RetrySettings {
  int attempts = 3;                                  ///< first one included
  double budget = 0.10;                              ///< retries as a share of recent first attempts of the model
  Duration backoff = std::chrono::milliseconds(25);  ///< mean of the first pause, doubled each time, jittered fully
  Duration backoff_cap = std::chrono::seconds(1);
};

struct HealthSettings {
  Duration interval = std::chrono::seconds(1);
  Duration timeout = std::chrono::seconds(5);
  int rise = 1;                                     ///< good probes in a row to come back
  int fall = 3;                                     ///< bad probes in a row to go
  int breaker_faults = 5;                           ///< worker or transport faults in a row that open the breaker
  Duration breaker_open = std::chrono::seconds(2);  ///< first time; doubles while trials fail
  Duration breaker_cap = std::chrono::seconds(30);
  double ejection_cap = 0.5;  ///< share of a model's workers that breakers may eject at once
};

struct PoolSettings {
  std::int64_t requests = 2048;
  Bytes bytes{256LL << 20U};
  Duration timeout = std::chrono::seconds(60);
  Duration unroutable_wait = std::chrono::seconds(5);
  std::int64_t overtake_cap = -1;  ///< 0 = none; -1 = the policy's own bound, else the dispatcher's default
};

/// What is kept account of to send prompts where their beginning is in a prefix cache.
struct PrefixSettings {
  Bytes bytes{512LL << 10U};                  ///< of a prompt's beginning that are looked at; 0 = off
  std::int64_t cache_tokens = -1;             ///< of a worker that has no number of its own; -1 = what its engine says
  std::int64_t blocks = 1 << 20;              ///< of the index, of all workers together
  Duration lifetime = std::chrono::hours(1);  ///< a block is believed in for so long after it was last asked for
};

struct LimitSettings {
  Bytes head{64LL << 10U};
  Bytes body{64LL << 20U};
  Bytes kept_body{1LL << 20U};                ///< larger bodies are streamed up and then not retried
  std::int64_t connections = 65536;           ///< per router
  std::int64_t remembered_responses = 65536;  ///< ids of /v1/responses kept with their worker
  Duration idle = std::chrono::seconds(75);   ///< a client's silent keep-alive connection
  Duration head_timeout = std::chrono::seconds(30);
  Duration body_timeout = std::chrono::seconds(60);  ///< between two pieces of a request body
};

/// What holds for all peers; docs/peers.md.
struct PeerOptionSettings {
  std::string quantization;  ///< of models that name none of their own
  bool capacities = true;
  std::int64_t capacity_clamp = 4096;
  std::int64_t uncalibrated_slots = 1;
  Duration probe_interval = std::chrono::seconds(5);
  Duration probe_timeout = std::chrono::seconds(3);
  int lost_probes = 2;
  Duration slack = std::chrono::milliseconds(300);
  Duration fresh = std::chrono::milliseconds(250);
  double ahead_over = 0.05;

  bool operator==(const PeerOptionSettings&) const = default;
};

/// docs/redline.md says what each is.
struct RedlineSettings {
  std::string mode = "off";  ///< off, on, published
  double level = 0.9999;
  double reserve = 0.05;
  double band = 0.05;
  double silo = 0.10;
  double share = 1;
  Duration lease = std::chrono::seconds(10);
  std::string cut_off = "admit";  ///< admit, block
  std::string frozen = "meter";   ///< meter, close
  std::string footprint = "window_mean";
  std::int64_t heavy_tokens = 1024;
  std::int64_t unknown_output = 1024;
  std::int64_t prefill_tokens = 65536;

  bool operator==(const RedlineSettings&) const = default;
};

/// docs/pressure.md says what each is.
struct PressureSettings {
  std::string mode = "off";  ///< off, show, shed
  std::string root = "/";
  Duration interval = std::chrono::seconds(2);
  std::string evidence = "thrash";  ///< thrash, swap
  double swap_percent = 75;
  double stall_percent = 10;
  double swap_ins = 1000;  ///< pages a second
  double iowait_percent = 50;
  Duration hold = std::chrono::seconds(10);

  bool operator==(const PressureSettings&) const = default;
};

/// Everything `evenkeel serve` can be told.
struct ServeSettings {
  std::vector<WorkerSetting> workers;
  std::vector<ModelSetting> models;
  std::vector<PeerSetting> peers;
  std::string self_name;        ///< what peers call this router; empty = an id that is drawn at each start
  std::string policy = "auto";  ///< as routing::make_policy() reads it
  std::string host = "0.0.0.0";
  int port = 30000;
  std::string admin_host = "127.0.0.1";
  int admin_port = 29000;
  int threads = 0;                 ///< 0 = one per core
  std::uint64_t seed = 0;          ///< of decisions; 0 = from the system
  std::int64_t max_in_flight = 0;  ///< per worker; 0 = from the engine or its kind
  std::int64_t ranks = 0;          ///< of each engine that has no number of its own; 0 = found out, 1 = not looked for
  bool sync = true;                ///< off: no ranks of any engine step together, unless a group is named
  Duration transfer_lease = std::chrono::seconds(30);  ///< that a prefill engine keeps KV for a decode engine
  Timeouts timeouts;
  RetrySettings retry;
  HealthSettings health;
  PoolSettings pool;
  PrefixSettings prefix;
  RedlineSettings redline;
  PeerOptionSettings peer_options;
  PressureSettings pressure;
  LimitSettings limits;
  std::int64_t kv_event_blocks = std::int64_t{1} << 17U;  ///< of each worker that publishes KV-cache events
  std::string access_log = "off";                         ///< a file, "-" for standard output, or "off"
  std::string record = "off";                             ///< a file for all that decisions rest on, or "off"
  std::vector<std::string> calibrations;  ///< files, each for the worker with the url in it; check() hands them out
  std::string forecast_file = "off";      ///< what forecasts have learned, kept from run to run, or "off"
  bool receipts = true;                   ///< X-Evenkeel-* on answers
  bool metrics_on_public_port = false;
  bool trust_client_transfer = false;  ///< keep transfer and rank fields that clients send
  bool forward_authorization = false;  ///< pass the client's Authorization to workers
  bool client_fin_cancels = true;      ///< a half-closed client counts as gone
  Duration heartbeat{};                ///< SSE comment while no token has come; 0 = off
  std::vector<std::string> client_key_headers = {"authorization", "x-api-key",
                                                 "x-client-id"};  ///< what tells clients apart, first found
  std::vector<std::string> affinity_headers = {"x-session-id"};
  std::vector<std::string> cors_origins = {"*"};      ///< empty = OPTIONS is passed over
  Duration drain_timeout = std::chrono::seconds(30);  ///< from SIGTERM to the end
};

}  // namespace evenkeel::config
