/* Uses the C interface from outside, as examples/rotate.c does: turns one pair by one radian. */
#include <stdio.h>

#include "hodometer/capi/hodometer_c.h"

static int close_to(double got, double want) { return got > want - 1e-7 && got < want + 1e-7; }

int main(void) {
  hodo_plan* plan = NULL;
  if (hodo_plan_create("{\"method\":\"rotary\"}", 1, HODO_ANGLES_EXACT, &plan) == HODO_OK) return 1;
  printf("refused: %s\n", hodo_last_error());

  const char* spec =
      "{\"method\":\"rotary\",\"head_dim\":2,\"layout\":\"half_split\",\"base\":10000}";
  if (hodo_plan_create(spec, 1, HODO_ANGLES_EXACT, &plan) != HODO_OK) {
    fprintf(stderr, "%s\n", hodo_last_error());
    return 1;
  }
  float head[2] = {1, 0};
  const hodo_heads tensor = {head, HODO_FLOAT32, 1, 1, 1, 2, 2, 2, 2};
  const int64_t first = 1;
  const hodo_positions positions = hodo_positions_starts(&first, 1, 1);
  const hodo_status status =
      hodo_rotate(plan, &tensor, 1, &positions, HODO_FORWARD, HODO_ROLE_UNSAID, NULL);
  hodo_plan_free(plan);
  if (status != HODO_OK) {
    fprintf(stderr, "%s\n", hodo_last_error());
    return 1;
  }
  printf("hodometer %s: (1, 0) turned by one radian is (%.7f, %.7f)\n", hodo_version(), head[0],
         head[1]);
  return close_to(head[0], 0.5403023059) && close_to(head[1], 0.8414709848) ? 0 : 1;
}
