#include "cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hodometer::cli {
namespace {

constexpr int gap = 2;

std::string padded(const Console& console, const TextTable::Cell& cell, int width, Align align) {
  const std::string text = cut_to_width(cell.text, width);
  const std::string space(static_cast<size_t>(width - display_width(text)), ' ');
  const std::string shown = text.empty() ? text : console.styled(cell.style, text);
  return align == Align::left ? shown + space : space + shown;
}

}  // namespace

void TextTable::add(std::vector<Cell> row) {
  for (Cell& cell : row) {
    cell.text = printable(cell.text);
    // A cell is one field of one line, whatever it says.
    std::replace(cell.text.begin(), cell.text.end(), '\n', ' ');
  }
  row.resize(columns_.size(), Cell(""));
  rows_.push_back(std::move(row));
}

std::vector<std::vector<TextTable::Cell>> TextTable::with_titles() const {
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.emplace_back(column.title, Style::heading);
  std::vector<std::vector<Cell>> all = {std::move(titles)};
  all.insert(all.end(), rows_.begin(), rows_.end());
  return all;
}

std::vector<int> TextTable::widths(const Console& console, int indent) const {
  std::vector<int> result;
  int total = indent + gap * (static_cast<int>(columns_.size()) - 1);
  for (size_t i = 0; i < columns_.size(); ++i) {
    int width = display_width(columns_[i].title);
    for (const auto& row : rows_) {
      if (!row[i].takes_rest) width = std::max(width, display_width(row[i].text));
    }
    result.push_back(width);
    total += width;
  }
  // The widest column that may shrink gives way first.
  while (total > console.columns()) {
    int* widest = nullptr;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const bool may = columns_[i].least_width > 0 && result[i] > columns_[i].least_width;
      if (may && (widest == nullptr || result[i] > *widest)) widest = &result[i];
    }
    if (widest == nullptr) break;
    --*widest;
    --total;
  }
  return result;
}

std::string TextTable::text(const Console& console) const {
  if (console.terminal()) return aligned_text(console, 0);
  std::string text;
  for (const auto& row : with_titles()) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += '\t';
      text += row[i].text;
    }
    text += '\n';
  }
  return text;
}

std::string TextTable::aligned_text(const Console& console, int indent) const {
  const std::vector<int> width = widths(console, indent);
  std::string text;
  for (const auto& row : with_titles()) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line.append(gap, ' ');
      if (row[i].takes_rest) {
        const int left = std::max(8, console.columns() - display_width(line));
        line += padded(console, row[i], left, Align::left);
        break;
      }
      line += padded(console, row[i], width[i], columns_[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace hodometer::cli
