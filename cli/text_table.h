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

/// Rows of text under titles.
class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  struct Cell {
    Cell(std::string cell_text, Style cell_style = Style::plain)  // NOLINT: a text is a cell
        : text(std::move(cell_text)), style(cell_style) {}
    /// The last cell of its row, which may use the rest of the line.
    static Cell rest_of_line(std::string cell_text, Style cell_style) {
      Cell cell(std::move(cell_text), cell_style);
      cell.takes_rest = true;
      return cell;
    }
    Cell(const char* cell_text) : text(cell_text) {}  // NOLINT: so is a literal
    std::string text;
    Style style = Style::plain;
    bool takes_rest = false;
  };

  /// Missing cells at the end are empty.
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }

  /// Aligned and cut to fit on a terminal; elsewhere whole, separated by tabs.
  std::string text(const Console& console) const;
  /// Aligned wherever it goes, `indent` spaces from the left: part of a text for people.
  std::string aligned_text(const Console& console, int indent) const;

 private:
  std::vector<std::vector<Cell>> with_titles() const;
  std::vector<int> widths(const Console& console, int indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace hodometer::cli
