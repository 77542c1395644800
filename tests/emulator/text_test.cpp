#include "emulator/text.hpp"

#include <set>

#include <gtest/gtest.h>

namespace evenkeel::emulator {
namespace {

TEST(PromptReader, CountsWhatBlanksSeparate) {
  PromptReader reader({.keep_ids = true});
  reader.text("  a b\tc\n\nd ");
  reader.text("");
  reader.text("e");
  EXPECT_EQ(reader.tokens(), 5);
  EXPECT_EQ(reader.take_ids().size(), 5U);
}

TEST(PromptReader, TellsPromptsApartByEveryByteAndByWhereTheirPiecesEnd) {
  const auto hash = [](std::initializer_list<std::string_view> pieces) {
    PromptReader reader;
    for (const auto piece : pieces) reader.text(piece);
    return reader.hash();
  };
  EXPECT_EQ(hash({"a b"}), hash({"a b"}));
  const std::set<std::uint64_t> different = {hash({"a b"}), hash({"a c"}), hash({"a  b"}), hash({"a b", ""}),
                                             hash({"a ", "b"})};
  EXPECT_EQ(different.size(), 5U);
}

TEST(TokenChain, TellsRowsApartByTheirTokensAndTheirSaltAndIsTheSameHoweverTheTextIsCut) {
  const auto chain = [](std::initializer_list<std::string_view> pieces, std::string_view salt = {}) {
    PromptReader reader({.block_tokens = 2, .salt = salt});
    for (const auto piece : pieces) reader.text(piece);
    return reader.take_chain().links();
  };
  using Links = std::vector<std::uint64_t>;
  const Links whole = chain({"a b c d e"});
  ASSERT_EQ(whole.size(), 2U);  // "e" fills no block
  EXPECT_EQ(chain({"a  b", "c", "d f"}), whole);
  EXPECT_EQ(chain({"a b"}), Links{whole[0]});
  EXPECT_EQ(chain({"a b d c"})[0], whole[0]);
  EXPECT_NE(chain({"a b d c"})[1], whole[1]);
  EXPECT_NE(chain({"c d"})[0], whole[1]);  // where it stands counts
  EXPECT_NE(chain({"a b"}, "salt")[0], whole[0]);
}

TEST(TokenChain, GoesOnOverAnAnswerAsIfItHadStoodInThePrompt) {
  PromptReader question({.block_tokens = 4});
  question.text("one two three");
  TokenChain chain = question.take_chain();
  std::string text = "one two three";
  for (int k = 0; k < 9; ++k) {
    chain.add(static_cast<std::uint64_t>(output_id(42, k)));
    text += output_word(42, k);
  }
  PromptReader both({.block_tokens = 4});
  both.text(text);
  EXPECT_EQ(chain.links(), both.take_chain().links());
}

TEST(OutputText, IsWordsEachWithABlankBeforeIt) {
  std::string text;
  for (int k = 0; k < 1000; ++k) {
    const auto word = output_word(42, k);
    ASSERT_EQ(word.front(), ' ');
    ASSERT_EQ(word.find(' ', 1), std::string_view::npos);
    text += word;
  }
  PromptReader reader;
  reader.text(text);  // an answer that comes back as a prompt counts as many tokens as were generated
  EXPECT_EQ(reader.tokens(), 1000);
}

TEST(OutputText, IdsAndWordsTurnIntoEachOther) {
  for (int k = 0; k < 1000; ++k) {
    const auto word = output_word(42, k);
    EXPECT_EQ(id_of_word(word.substr(1)), output_id(42, k));
    EXPECT_EQ(text_of_id(output_id(42, k)), word);
  }
}

TEST(OutputText, DiffersFromKeyToKey) {
  int same = 0;
  for (int k = 0; k < 1280; ++k) same += output_word(1, k) == output_word(2, k) ? 1 : 0;
  EXPECT_LT(same, 60);  // by chance 10 of 1280
}

TEST(Vocabulary, AWordThatIsNotOursHasAnIdToo) {
  const auto id = id_of_word("hippopotamus");
  EXPECT_GE(id, 0);
  EXPECT_LT(id, vocabulary_size);
  EXPECT_EQ(id, id_of_word("hippopotamus"));
  EXPECT_EQ(text_of_id(id), " t" + std::to_string(id));
}

}  // namespace
}  // namespace evenkeel::emulator
