// Uses the C++ interface from outside: every header at once, a type and symbols of the library.
#include <cstdio>
#include <vector>

#include "hodometer/hodometer.h"

int main() {
  const auto spec = hodometer::parse_spec(R"({"method":"alibi","num_heads":8})");
  if (!spec.ok()) {
    std::printf("%s\n", spec.error().message.c_str());
    return 1;
  }
  const auto executor = hodometer::make_executor(2);
  std::vector<int> seen(100);
  auto body = [&](int64_t task) { seen[static_cast<size_t>(task)] = 1; };
  executor->run(100, body);
  int sum = 0;
  for (int count : seen) sum += count;
  std::printf("%s; %d tasks ran\n", hodometer::spec_text(*spec).c_str(), sum);
  return sum == 100 ? 0 : 1;
}
