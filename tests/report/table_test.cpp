#include "report/table.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace evenkeel::report {
namespace {

TEST(Table, AlignsByDisplayWidth) {
  Table table({{"policy", Align::left}, {"p95"}, {"note", Align::left}});
  table.add_row({"round_robin", "12.3", "a"});
  table.add_row({"\xE6\xBC\xA2", "7"});
  table.add_rule();
  table.add_row({"\xC3\xA9t\xC3\xA9", "1234.5", "long"});
  EXPECT_EQ(table.text(),
            "policy          p95  note\n"
            "-----------  ------  ----\n"
            "round_robin    12.3  a\n"
            "\xE6\xBC\xA2                7\n"
            "-----------  ------  ----\n"
            "\xC3\xA9t\xC3\xA9          1234.5  long\n");
}

TEST(Table, CellsCannotMoveTheCursor) {
  Table table({{"name", Align::left}});
  table.add_row({"a\x1b[2Jb\nc\rd\x7f"});
  EXPECT_EQ(table.text(), "name\n-----------\na [2Jb c d\n");
}

TEST(Table, TooManyCellsAreAMistakeOfTheCaller) {
  Table table({{"one"}});
  EXPECT_THROW(table.add_row({"1", "2"}), std::invalid_argument);
}

}  // namespace
}  // namespace evenkeel::report
