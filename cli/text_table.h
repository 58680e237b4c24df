#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace hodometer::cli {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  /// The fewest columns that it may be cut to when the terminal is narrow; 0: never cut.
  int least_width = 0;
};

/// Rows of text under titles. On a terminal the columns are aligned and cut to fit; elsewhere
/// values are separated by tabs and whole.
class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  struct Cell {
    Cell(std::string cell_text, Style cell_style = Style::plain)  // NOLINT: a text is a cell
        : text(std::move(cell_text)), style(cell_style) {}
    Cell(const char* cell_text) : text(cell_text) {}  // NOLINT: so is a literal
    std::string text;
    Style style = Style::plain;
  };

  /// Missing cells at the end are empty.
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }

  /// The table, `indent` spaces from the left on a terminal.
  std::string text(const Console& console, int indent = 0) const;

 private:
  std::vector<int> widths(const Console& console, int indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace hodometer::cli
