#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "http/server.hpp"

namespace evenkeel::load {

/// What the server does with a request, chosen by the output length that its header tells.
enum class Act {
  answer,           ///< as many words as told, usage, [DONE]
  answer_no_usage,  ///< without the usage event
  refuse_429,       ///< as the router does, with its reason
  refuse_503,
  refuse_400,
  error_event,  ///< two words, then an error and [DONE]
  no_done,      ///< two words, then a proper end of the body
  cut,          ///< two words, then a reset
  garbage_event,
  web_page,        ///< 200 with a body that is no stream
  vanish,          ///< a reset in place of an answer
  vanish_if_kept,  ///< a reset if the connection has served before, else an answer
  stall,           ///< nothing, until the client is gone
};

/// A server on a thread of its own that follows a script. What it saw may be read once stop() has returned.
class ScriptedServer {
 public:
  struct Seen {
    std::int64_t told = 0;
    std::string path;
    std::string body;
    std::string session;
    std::string peer;
  };

  ScriptedServer();
  ~ScriptedServer() { stop(); }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  /// Before the first request.
  std::map<std::int64_t, Act> acts;  ///< by told output length; `answer` where nothing stands
  std::size_t gather = 1;            ///< holds requests until so many are there, then lets these go on

  /// Read after stop().
  std::vector<Seen> seen;                          ///< in order of arrival
  std::vector<std::pair<char, std::int64_t>> log;  ///< 'b'egin and 'e'nd with the told length
  std::size_t most_inside = 0;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  void stop();

 private:
  static http::Task<void> serve(http::Fiber& fiber, const http::ServerRequest& request, http::Responder& responder,
                                ScriptedServer* self);
  static http::Task<void> play(http::Fiber& fiber, http::Responder& responder, Act act, bool streamed,
                               std::int64_t told, std::int64_t prompt_tokens);
  http::Task<void> gathered(http::Fiber& fiber);

  std::set<std::string> peers_;
  std::vector<http::Fiber*> held_;
  std::uint64_t generation_ = 0;
  std::size_t inside_ = 0;
  http::EventLoop loop_;
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

}  // namespace evenkeel::load
