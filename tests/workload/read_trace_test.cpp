// Slices, detection, errors and determinism of read_trace().
#include <zlib.h>

#include <fmt/format.h>

#include "base/random.hpp"
#include "trace_support.hpp"
#include "workload/access_log.hpp"

namespace evenkeel::workload {
namespace {

const std::string azure_header = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n";

/// Ten rows a second apart, prompt 10, 20, ..., output 1, 2, ...
std::string ten_rows() {
  std::string text = azure_header;
  for (int i = 0; i < 10; ++i)
    text += fmt::format("2023-11-16 18:15:{:02}.0000000,{},{}\r\n", 40 + i, 10 * (i + 1), i + 1);
  return text;
}

std::vector<std::int64_t> prompts(const Trace& trace) {
  std::vector<std::int64_t> out;
  for (const auto& r : trace.requests) out.push_back(r.prompt_tokens.value());
  return out;
}

void expect_refusal(const TraceSpec& spec, std::string_view part) {
  const auto message = refusal(spec);
  EXPECT_NE(message.find(part), std::string::npos) << "wanted: " << part << "\ngot: " << message;
}

void expect_refused_rows(const std::string& bytes, std::string_view part) {
  const TemporaryFile file(bytes);
  expect_refusal(file.spec(), part);
}

TEST(Slice, KeepsATimeRangeAndMovesItToZero) {
  const TemporaryFile file(ten_rows());
  auto spec = file.spec();
  spec.slice.from_s = 3;
  spec.slice.to_s = 6;
  spec.slice.time_scale = 2;
  const Trace trace = must_read(spec);
  EXPECT_EQ(prompts(trace), (std::vector<std::int64_t>{40, 50, 60}));
  EXPECT_EQ(trace.requests[0].arrival, Duration{});
  EXPECT_EQ(trace.requests[2].arrival, std::chrono::seconds(1));
}

TEST(Slice, FiltersCountsAndCapsLengths) {
  const TemporaryFile file(ten_rows());
  auto spec = file.spec();
  spec.slice.output_from = 3;
  spec.slice.output_to = 8;
  spec.slice.prompt_to = 70;
  spec.slice.max_requests = 3;
  spec.slice.cap_prompt = 45;
  spec.slice.cap_output = 4;
  const Trace trace = must_read(spec);
  EXPECT_EQ(prompts(trace), (std::vector<std::int64_t>{30, 40, 45}));
  EXPECT_EQ(trace.requests[2].output_tokens, Tokens(4));
  spec.slice.max_requests = 100;
  EXPECT_EQ(prompts(must_read(spec)).size(), 5U);
}

TEST(Slice, FilterOfOutputsGivesThePublishedRows) {
  auto spec = spec_of("azure-2023-conv.csv.gz");
  spec.slice.output_from = 501;
  const Trace trace = must_read(spec);
  ASSERT_EQ(trace.requests.size(), 509U);  // as published: 509 rows, prompt 1,101.3, output 590.9 on average
  EXPECT_NEAR(lengths_of(trace).prompt.mean, 1101.3, 0.05);
  EXPECT_NEAR(lengths_of(trace).output.mean, 590.9, 0.05);
}

TEST(Slice, BadBoundsAreNamed) {
  const TemporaryFile file(ten_rows());
  const auto with = [&](auto change) {
    auto spec = file.spec();
    change(spec.slice);
    return spec;
  };
  expect_refusal(with([](Slice& s) { s.from_s = -1; }), "from_s is -1");
  expect_refusal(with([](Slice& s) { s.from_s = 5, s.to_s = 5; }), "to_s is 5; allowed: more than where it begins (5)");
  expect_refusal(with([](Slice& s) { s.output_from = 9, s.output_to = 8; }), "output_to is 8");
  expect_refusal(with([](Slice& s) { s.time_scale = 0; }), "time_scale is 0");
  expect_refusal(with([](Slice& s) { s.max_requests = 0; }), "max_requests is 0");
  expect_refusal(with([](Slice& s) { s.cap_output = 0; }), "cap_output is 0");
  expect_refusal(with([](Slice& s) { s.from_s = 100; }), "no request is left after the slice");
}

TEST(Reader, SmallDisorderIsSortedAndLargeRefused) {
  const TemporaryFile file(azure_header +
                           "2023-11-16 18:15:10,1,1\n2023-11-16 18:15:30,3,1\n2023-11-16 18:15:20,2,1\n");
  EXPECT_EQ(prompts(must_read(file.spec())), (std::vector<std::int64_t>{1, 2, 3}));
  expect_refused_rows(azure_header + "2023-11-16 18:15:10,1,1\n2023-11-16 18:15:09,1,1\n", ":3: field `TIMESTAMP`");
  expect_refused_rows(azure_header + "2023-11-16 18:15:10,1,1\n2023-11-16 18:18:09,1,1\n2023-11-16 18:16:09,1,1\n",
                      ":4: field `TIMESTAMP`");
}

TEST(Reader, FaultsNameFileLineFieldAndWhatIsAllowed) {
  const TemporaryFile file(azure_header + "2023-11-16 18:15:10,1,1\n\n2023-11-16 18:15:11,-4,1\n");
  EXPECT_EQ(refusal(file.spec()),
            file.path() + ":4: field `ContextTokens` is \"-4\"; allowed: a whole number from 0 to 100000000");
  expect_refused_rows(azure_header + "2023-11-16 18:15:10,1\n", ":2: the row has 2 fields; the header has 3");
  expect_refused_rows(azure_header + "2023-11-16 18:15:10,1,2,3\n", ":2: the row has more fields; the header has 3");
  for (const auto* bad : {"2023-13-16 18:15:10", "2023-02-30 18:15:10", "2023-11-16 24:15:10", "2023-11-16",
                          "2023-11-16 18:15:10.", "2023-11-16 18:15:10.0123456789", "2023-11-16 18:15:10+1:00", ""}) {
    expect_refused_rows(azure_header + bad + ",1,1\n", fmt::format("field `TIMESTAMP` is \"{}\"", bad));
  }
  expect_refused_rows("arrival_s,client,prompt_tokens,output_tokens\n1e99,a,1,1\n", "allowed: a number from 0");
  expect_refused_rows(R"({"timestamp": 0, "input_length": 1.5, "output_length": 1, "hash_ids": []})",
                      R"(:1: field "input_length" is 1.5; allowed: a whole number)");
  expect_refused_rows("{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1}\n{\"timestamp\": 1}",
                      R"(:2: field "input_length" is missing)");
  expect_refused_rows(R"({"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [1, -2]})",
                      "allowed: a list of whole numbers");
  expect_refused_rows("{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1}\n{\"timestamp\": ",
                      ":2: not a JSON object");
}

TEST(Reader, LinesAreBoundedAndCutArchivesNoticed) {
  expect_refused_rows(std::string((16U << 20U) + 5, 'x'), "the line is too long; allowed: 16777216 bytes");
  std::ifstream whole(data_file("azure-2023-code.csv.gz"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  expect_refused_rows(bytes.substr(0, bytes.size() / 2), "the compressed file ends too early");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x55);
  const TemporaryFile broken(bytes);
  EXPECT_FALSE(read_trace(broken.spec()).has_value());
}

TEST(Reader, AnAccessLogThatBreaksOffIsReadUpToThereAndSaysSo) {
  const TemporaryFile log("");
  gzFile file = gzopen(log.path().c_str(), "wb");
  Random random(3);
  constexpr std::size_t lines = 2000;
  for (std::size_t i = 0; i < lines; ++i) {
    AccessLogRecord record;
    record.ts = static_cast<std::int64_t>(1'700'000'000'000 + i);
    record.model = "m";
    record.prompt_tokens = static_cast<std::int64_t>(random.below(5000));
    record.prompt_tokens_from = TokenSource::usage;
    record.output_tokens = static_cast<std::int64_t>(random.below(5000));
    std::string line;
    append_access_log_line(line, record);
    ASSERT_EQ(gzwrite(file, line.data(), static_cast<unsigned>(line.size())), static_cast<int>(line.size()));
  }
  gzclose(file);
  EXPECT_TRUE(must_read(log.spec()).notes.empty());
  std::filesystem::resize_file(log.path(), std::filesystem::file_size(log.path()) / 2);
  const Trace half = must_read(log.spec());
  EXPECT_GT(half.requests.size(), lines / 4);
  EXPECT_LT(half.requests.size(), 3 * lines / 4);
  ASSERT_EQ(half.notes.size(), 1U);
  EXPECT_EQ(half.notes[0],
            fmt::format("the compressed file breaks off after line {}: read up to there", half.requests.size()));
  std::filesystem::resize_file(log.path(), 12);
  EXPECT_NE(refusal(log.spec()).find("ends in its first line"), std::string::npos);
}

TEST(Detection, UnknownFilesAndNamesAreRefusedWithWhatThereIs) {
  expect_refused_rows("a,b,c\n1,2,3\n", "no known trace format; formats that can be named: azure, mooncake");
  expect_refused_rows("", "the file is empty");
  expect_refused_rows("{\"x\":1}\n", "no known trace format");
  TraceSpec spec;
  expect_refusal(spec, "a trace wants a file");
  spec.path = "/nowhere/at/all.csv";
  expect_refusal(spec, "/nowhere/at/all.csv: cannot be opened: No such file");
  spec.format = "mooncale";
  expect_refusal(spec, "trace format \"mooncale\" is not known, \"mooncake\" is near");
  const TemporaryFile file(ten_rows());
  auto wrong = file.spec();
  wrong.format = "servegen-drawn";
  expect_refusal(wrong, ":1: the header has no column `arrival_s`");
  wrong.format = "azure";
  EXPECT_EQ(must_read(wrong).requests.size(), 10U);
}

TEST(Detection, OptionsWithoutEffectAreRefused) {
  const TemporaryFile file(ten_rows());
  auto spec = file.spec();
  spec.rate = 5;
  expect_refusal(spec, "option rate has no effect on the trace format azure");
  spec.rate.reset();
  spec.session_rate = 1;
  expect_refusal(spec, "option session_rate has no effect");
  spec.session_rate.reset();
  spec.prompt = LengthLaw();
  expect_refusal(spec, "option prompt has no effect");
  TraceSpec synthetic;
  synthetic.format = "synthetic";
  expect_refusal(synthetic, "wants a rate");
  synthetic.rate = 0;
  expect_refusal(synthetic, "option rate is 0; allowed");
  synthetic.rate = 3;
  expect_refusal(synthetic, "a prompt and an output length law");
  synthetic.prompt = synthetic.output = LengthLaw();
  expect_refusal(synthetic, "no end of its own");
  synthetic.slice.to_s = 10;
  EXPECT_LT(last_arrival_s(must_read(synthetic)), 10);
}

TEST(Laws, TextsThatAreNoLawAreRefused) {
  for (const auto* bad : {"", "fixed", "fixed:0", "fixed:1:2", "uniform:5:4", "uniform:1", "lognormal:10", "normal:3:4",
                          "lognormal:0.5:1", "lognormal:10:-1", "lognormal:10:1:0", "lognormal:10:1:5:6"}) {
    const auto law = LengthLaw::parse(bad);
    ASSERT_FALSE(law.has_value()) << bad;
    EXPECT_NE(law.error().message.find("lognormal:MEAN:CV[:CAP]"), std::string::npos);
  }
  for (const auto* bad : {"", "poison", "gamma", "gamma:0", "gamma:101"}) EXPECT_FALSE(ArrivalLaw::parse(bad)) << bad;
  Random random(1);
  EXPECT_EQ(LengthLaw::parse("fixed:77")->draw(random), 77);
  for (int i = 0; i < 1000; ++i) EXPECT_LE(LengthLaw::parse("lognormal:50:3:60")->draw(random), 60);
}

TEST(Determinism, SameSeedSameTraceAndAnotherSeedAnother) {
  auto spec = spec_of("servegen-tables");
  spec.slice.to_s = 600;
  const auto arrivals_of = [&](std::uint64_t seed) {
    spec.seed = seed;
    std::vector<Duration> out;
    for (const auto& r : must_read(spec).requests) out.push_back(r.arrival);
    return out;
  };
  EXPECT_EQ(arrivals_of(4), arrivals_of(4));
  EXPECT_NE(arrivals_of(4), arrivals_of(5));
  // A part of the hour is the same whether the rest is drawn or not.
  spec.slice.from_s = 600;
  spec.slice.to_s = 900;
  const auto part = arrivals_of(4);
  spec.slice.to_s = 3600;
  auto whole = arrivals_of(4);
  ASSERT_GT(whole.size(), part.size());
  whole.resize(part.size());
  EXPECT_EQ(whole, part);
}

TEST(Determinism, ServegenRateIsTheMeanOfTheSlice) {
  auto spec = spec_of("servegen-tables");
  spec.rate = 3;
  double requests = 0;
  for (spec.seed = 1; spec.seed <= 8; ++spec.seed) requests += static_cast<double>(must_read(spec).requests.size()) / 8;
  EXPECT_NEAR(requests, 3 * 3600, 0.06 * 3 * 3600);
}

TEST(AccessLogTrace, ALogIsATrace) {
  std::string log;
  const auto write = [&](std::int64_t ts, std::string_view model, std::int64_t prompt, std::int64_t output,
                         TokenSource from) {
    AccessLogRecord r;
    r.ts = ts;
    r.model = model;
    r.client = "c\"1";
    r.prompt_tokens = prompt;
    r.output_tokens = output;
    r.prompt_tokens_from = from;
    append_access_log_line(log, r);
  };
  // Lines are written at the end of a request: arrivals are out of order by as long as requests last.
  write(1'700'000'600'000, "b", 30, 3, TokenSource::usage);
  write(1'700'000'000'500, "a", 10, 1, TokenSource::estimate);
  write(1'700'000'100'000, "a", 0, 0, TokenSource::none);
  write(1'700'000'010'500, "a", 20, 2, TokenSource::usage);
  const TemporaryFile file(log);
  const Trace trace = must_read(file.spec());
  EXPECT_EQ(trace.format, "access-log");
  ASSERT_EQ(prompts(trace), (std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_EQ(trace.requests[0].arrival, Duration{});
  EXPECT_EQ(trace.requests[1].arrival, std::chrono::seconds(10));
  EXPECT_EQ(trace.name(trace.requests[2].model), "b");
  EXPECT_EQ(trace.name(trace.requests[2].client), "c\"1");
  ASSERT_EQ(trace.notes.size(), 1U);
  EXPECT_NE(trace.notes[0].find("1 requests are left out"), std::string::npos);
  const TemporaryFile newer(log + "{\"v\":2,\"ts\":1,\"model\":\"m\"}\n");
  expect_refusal(newer.spec(), ":5: field \"v\" is 2");
}

TEST(Formats, EveryOneHasANameAndALineOfHelp) {
  EXPECT_EQ(trace_formats().size(), 9U);
  for (const auto& format : trace_formats()) EXPECT_FALSE(format.summary.empty()) << format.name;
}

}  // namespace
}  // namespace evenkeel::workload
