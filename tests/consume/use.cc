// Uses the C++ interface from outside: a header, a type and a symbol of the library.
#include <cstdio>
#include <vector>

#include "hodometer/base/parallel.h"

int main() {
  const auto executor = hodometer::make_executor(2);
  std::vector<int> seen(100);
  auto body = [&](int64_t task) { seen[static_cast<size_t>(task)] = 1; };
  executor->run(100, body);
  int sum = 0;
  for (int count : seen) sum += count;
  std::printf("%d tasks ran\n", sum);
  return sum == 100 ? 0 : 1;
}
