#include "hodometer/methods/nope.h"

namespace hodometer {

Status check(const Nope&) { return {}; }

std::vector<Action> actions(const Nope&, int64_t) { return {}; }

}  // namespace hodometer
