#include <string>

#include <gtest/gtest.h>

#include "gateway/body_skim.hpp"

namespace evenkeel::gateway {
namespace {

BodySkim::Facts facts_of(const std::string& body) {
  BodySkim skim(true);
  EXPECT_TRUE(skim.feed(body) && skim.finish()) << body << skim.complaint();
  EXPECT_TRUE(skim.blanks().empty());
  return skim.facts();
}

/// Everything that a submission, and so a policy, can know of a body.
auto what_routing_knows(const BodySkim::Facts& facts) {
  return std::tuple(facts.model, facts.has_model, facts.model_wrong_type, facts.stream, facts.priority, facts.sequences,
                    facts.list_prompts, facts.session, facts.text_bytes, facts.prompt_ids, facts.media_parts);
}

// Policies must not place by an output length that clients seldom know: the limit changes nothing that is learned.
TEST(OutputLength, NoFieldThatBoundsItChangesWhatRoutingKnows) {
  const std::string before =
      R"({"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true,"n":2,"user":"u")";
  const auto absent = what_routing_knows(facts_of(before + "}"));
  for (const std::string field :
       {R"("max_tokens":1)", R"("max_tokens":4096)", R"("max_completion_tokens":7)", R"("max_output_tokens":7)",
        R"("min_tokens":100)", R"("ignore_eos":true)", R"("stop":["x"])", R"("max_tokens":null)"}) {
    EXPECT_EQ(what_routing_knows(facts_of(before + "," + field + "}")), absent) << field;
    EXPECT_EQ(what_routing_knows(facts_of("{" + field + "," + before.substr(1) + "}")), absent) << field;
  }
}

}  // namespace
}  // namespace evenkeel::gateway
