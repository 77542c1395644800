#include "load/request_maker.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace evenkeel::load {
namespace {

using workload::Trace;

Trace two_requests() {
  Trace trace;
  workload::TraceRequest request;
  request.prompt_tokens = Tokens(40);
  request.output_tokens = Tokens(1500);
  request.model = trace.intern("big");
  request.session = trace.intern("s 1\r\nEvil: yes");
  trace.requests.push_back(request);
  request.output_tokens = Tokens(0);
  request.prompt_tokens = Tokens(0);
  request.model = workload::no_index;
  trace.requests.push_back(request);
  return trace;
}

struct Made {
  http::ClientRequest request;
  boost::json::value body;
  std::string field(std::string_view name) const {
    for (const auto& [key, value] : request.fields) {
      if (key == name) return value;
    }
    return "absent";
  }
};

Made make(const ReplayOptions& options, const Trace& trace, workload::RequestIndex place,
          const std::vector<std::string>& served = {"big"}) {
  const auto maker = RequestMaker::create(options, *http::parse_url("http://h:1/base"), trace, served);
  EXPECT_TRUE(maker.has_value()) << maker.error().message;
  Made made;
  made.request = maker->make(place);
  made.body = boost::json::parse(made.request.body);
  return made;
}

TEST(RequestMaker, SendsTheTracesOutputLengthInTheHeaderOnly) {
  const auto trace = two_requests();
  const auto made = make({}, trace, 0);
  EXPECT_EQ(made.field("X-Emulate-Output-Tokens"), "1500");
  EXPECT_EQ(made.request.body.find("1500"), std::string::npos);
  EXPECT_EQ(made.body.at("max_tokens").to_number<int>(), 2048);  // 1500 fits into it
  const auto other = make({}, trace, 1);
  EXPECT_EQ(other.body.at("max_tokens").to_number<int>(), 2048);  // the same for every row
  EXPECT_EQ(other.field("X-Emulate-Output-Tokens"), "1");
}

TEST(RequestMaker, MaxTokensCanBeAbsentExactOrAGivenBound) {
  const auto trace = two_requests();
  ReplayOptions options;
  options.output_bound = OutputBound::absent;
  EXPECT_FALSE(make(options, trace, 0).body.as_object().contains("max_tokens"));
  options.output_bound = OutputBound::exact;
  EXPECT_EQ(make(options, trace, 0).body.at("max_tokens").to_number<int>(), 1500);
  EXPECT_FALSE(make(options, trace, 0).body.as_object().contains("ignore_eos"));
  options.ignore_eos = true;
  EXPECT_TRUE(make(options, trace, 0).body.at("ignore_eos").as_bool());
  options = {};
  options.loose_bound = 600;
  EXPECT_EQ(make(options, trace, 0).body.at("max_tokens").to_number<int>(), 600);
}

TEST(RequestMaker, MakesChatAndCompletionsStreamedOrNot) {
  const auto trace = two_requests();
  ReplayOptions options;
  const auto chat = make(options, trace, 0);
  EXPECT_EQ(chat.request.path, "/base/v1/chat/completions");
  EXPECT_EQ(chat.request.host, "h:1");
  EXPECT_TRUE(chat.body.at("stream").as_bool());
  EXPECT_TRUE(chat.body.at("stream_options").at("include_usage").as_bool());
  const auto text = chat.body.at("messages").at(0).at("content").as_string();
  EXPECT_EQ(std::count(text.begin(), text.end(), ' '), 39);
  options.api = Api::completions;
  options.stream = false;
  const auto completions = make(options, trace, 0);
  EXPECT_EQ(completions.request.path, "/base/v1/completions");
  EXPECT_EQ(completions.body.at("prompt").as_string(), text);
  EXPECT_FALSE(completions.body.as_object().contains("stream"));
  EXPECT_FALSE(make(options, trace, 1).body.at("prompt").as_string().empty());
}

TEST(RequestMaker, NamesOutOfATraceCannotBecomeHeaders) {
  EXPECT_EQ(make({}, two_requests(), 0).field("X-Session-Id"), "s_1__Evil:_yes");
}

TEST(RequestMaker, ChoosesTheModel) {
  const auto trace = two_requests();
  ReplayOptions options;
  EXPECT_EQ(make(options, trace, 0, {"small", "big"}).body.at("model").as_string(), "big");
  EXPECT_EQ(make(options, trace, 1, {"small", "big"}).body.at("model").as_string(), "small");
  EXPECT_EQ(make(options, trace, 0, {"small"}).body.at("model").as_string(), "small");
  options.model = "mine";
  EXPECT_EQ(make(options, trace, 0).body.at("model").as_string(), "mine");
  options.model = "";
  const auto none = RequestMaker::create(options, *http::parse_url("http://h"), trace, {});
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find("--model"), std::string::npos);
}

TEST(RequestMaker, TheDefaultBoundIsAPowerOfTwoOverEveryOutput) {
  Trace trace;
  EXPECT_EQ(default_loose_bound(trace), 1024);
  for (const auto& [longest, bound] : {std::pair{1024, 1024}, {1025, 2048}, {32769, 65536}}) {
    workload::TraceRequest request;
    request.output_tokens = Tokens(longest);
    trace.requests.push_back(request);
    EXPECT_EQ(default_loose_bound(trace), bound);
  }
}

TEST(ReplayOptions, AreRefusedWithTheOptionsName) {
  const auto fault = [](auto change) {
    ReplayOptions options;
    options.url = "http://h";
    change(options);
    return fault_of(options);
  };
  EXPECT_EQ(fault([](auto&) {}), "");
  const auto names = [&](std::string_view name, auto change) {
    EXPECT_EQ(fault(change).find(name), 0U) << fault(change);
  };
  names("url", [](auto& o) { o.url = "https://h"; });
  names("timeout", [](auto& o) { o.timeout = {}; });
  names("concurrency", [](auto& o) { o.concurrency = 2'000'000; });
  names("loose-bound", [](auto& o) { o.loose_bound = -1; });
  names("loose-bound", [](auto& o) {
    o.loose_bound = 9;
    o.output_bound = OutputBound::absent;
  });
  names("ignore-eos", [](auto& o) { o.ignore_eos = true; });
  names("slo-ttft-ms", [](auto& o) { o.slo_ttft_ms = 0; });
  names("slo-tpot-ms", [](auto& o) {
    o.slo_tpot_ms = 5;
    o.stream = false;
  });
  names("header", [](auto& o) { o.headers = {{"A", "b\r\nC: d"}}; });
  names("header", [](auto& o) { o.headers = {{"A b", "c"}}; });
}

}  // namespace
}  // namespace evenkeel::load
