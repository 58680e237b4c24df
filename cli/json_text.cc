#include "cli/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace hodometer::cli {
namespace {

class Writer {
 public:
  std::string text() && {
    out_ += '\n';
    return std::move(out_);
  }

  void write(const Json& value, size_t depth) {
    if (value.is_object()) {
      write_object(value, depth);
    } else if (value.is_array()) {
      write_array(value, depth);
    } else {
      write_scalar(value);
    }
  }

 private:
  void write_scalar(const Json& value) {
    if (value.is_number_float()) {
      const size_t begin = out_.size();
      fmt::format_to(std::back_inserter(out_), "{}", value.get<double>());
      // A whole number stays a floating-point one for readers that tell them apart.
      if (out_.find_first_of(".en", begin) == std::string::npos) out_ += ".0";
    } else {
      out_ += value.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }

  void write_object(const Json& value, size_t depth) {
    if (value.empty()) {
      out_ += "{}";
      return;
    }
    out_ += '{';
    bool first = true;
    for (const auto& [key, member] : value.items()) {
      begin_line(first, depth + 1);
      write_scalar(Json(key));
      out_ += ": ";
      write(member, depth + 1);
    }
    end_lines(depth);
    out_ += '}';
  }

  void write_array(const Json& value, size_t depth) {
    const bool on_one_line = std::none_of(value.begin(), value.end(),
                                          [](const Json& one) { return one.is_structured(); });
    out_ += '[';
    bool first = true;
    for (const Json& element : value) {
      if (on_one_line) {
        if (!first) out_ += ", ";
        first = false;
      } else {
        begin_line(first, depth + 1);
      }
      write(element, depth + 1);
    }
    if (!on_one_line) end_lines(depth);
    out_ += ']';
  }

  void begin_line(bool& first, size_t depth) {
    if (!first) out_ += ',';
    first = false;
    end_lines(depth);
  }
  void end_lines(size_t depth) {
    out_ += '\n';
    out_.append(2 * depth, ' ');
  }

  std::string out_;
};

Json number(double value, Precision precision) {
  if (!std::isfinite(value)) return nullptr;
  return precision == Precision::float32 ? shortest_float32(value) : value;
}

}  // namespace

std::string json_text(const Json& value) {
  Writer writer;
  writer.write(value, 0);
  return std::move(writer).text();
}

double shortest_float32(double value) {
  return std::strtod(fmt::format("{}", static_cast<float>(value)).c_str(), nullptr);
}

Json number_list(std::span<const double> values, Precision precision) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value, precision));
  return list;
}

Json number_list(std::span<const float> values) {
  Json list = Json::array();
  for (const float value : values) list.push_back(number(double{value}, Precision::float32));
  return list;
}

Json number_rows(std::span<const double> values, int64_t width, Precision precision) {
  Json rows = Json::array();
  const auto size = static_cast<size_t>(width);
  for (size_t at = 0; size > 0 && at < values.size(); at += size) {
    rows.push_back(number_list(values.subspan(at, size), precision));
  }
  return rows;
}

}  // namespace hodometer::cli
