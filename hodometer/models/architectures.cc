#include "hodometer/models/families-inl.h"

namespace hodometer {
namespace {

void add_rows(const std::vector<FamilyRow>& rows, std::vector<Family>& table) {
  for (const FamilyRow& row : rows) {
    std::string_view names = row.model_types;
    while (!names.empty()) {
      const size_t end = std::min(names.find(' '), names.size());
      table.push_back(row.family);
      table.back().model_type = names.substr(0, end);
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> table = [] {
    std::vector<Family> made;
    add_rows(rotary_families(), made);
    add_rows(other_families(), made);
    return made;
  }();
  return table;
}

const Family* find_family(std::string_view model_type) {
  for (const Family& family : families()) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

}  // namespace hodometer
