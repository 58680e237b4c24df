/* Rotates q and k of one layer through the C interface and checks the result against libm. */

#include <math.h>
#include <stdio.h>

#include "hodometer/capi/hodometer_c.h"

enum { BATCH = 2, LENGTH = 3, Q_HEADS = 4, K_HEADS = 2, HEAD_DIM = 64 };

static float q[BATCH][LENGTH][Q_HEADS][HEAD_DIM];
static float k[BATCH][LENGTH][K_HEADS][HEAD_DIM];

static hodo_heads contiguous(void* data, int64_t heads) {
  hodo_heads view = {data,
                     HODO_FLOAT32,
                     BATCH,
                     LENGTH,
                     heads,
                     HEAD_DIM,
                     LENGTH * heads * HEAD_DIM,
                     heads * HEAD_DIM,
                     HEAD_DIM};
  return view;
}

/* The largest difference from a rotation in double. All lanes were 1 before. */
static double worst_error(const int64_t* first) {
  double worst = 0;
  for (int b = 0; b < BATCH; ++b) {
    for (int i = 0; i < LENGTH; ++i) {
      for (int j = 0; j < HEAD_DIM / 2; ++j) {
        const double angle = (double)(first[b] + i) * pow(10000.0, -2.0 * j / HEAD_DIM);
        const double x = cos(angle) - sin(angle), y = cos(angle) + sin(angle);
        for (int h = 0; h < Q_HEADS; ++h) {
          worst = fmax(worst, fabs(q[b][i][h][j] - x));
          worst = fmax(worst, fabs(q[b][i][h][j + HEAD_DIM / 2] - y));
        }
        for (int h = 0; h < K_HEADS; ++h) {
          worst = fmax(worst, fabs(k[b][i][h][j] - x));
          worst = fmax(worst, fabs(k[b][i][h][j + HEAD_DIM / 2] - y));
        }
      }
    }
  }
  return worst;
}

int main(void) {
  for (int e = 0; e < BATCH * LENGTH * Q_HEADS * HEAD_DIM; ++e) (&q[0][0][0][0])[e] = 1;
  for (int e = 0; e < BATCH * LENGTH * K_HEADS * HEAD_DIM; ++e) (&k[0][0][0][0])[e] = 1;

  hodo_plan* plan = NULL;
  const char* spec =
      "{\"method\":\"rotary\",\"head_dim\":64,\"layout\":\"half_split\",\"base\":10000}";
  if (hodo_plan_create(spec, 1, HODO_ANGLES_EXACT, &plan) != HODO_OK) {
    fprintf(stderr, "%s\n", hodo_last_error());
    return 1;
  }

  /* Two sequences whose caches hold 5 and 131071 tokens. */
  const int64_t first[BATCH] = {5, 131071};
  const hodo_positions positions = hodo_positions_starts(first, BATCH, 1);
  const hodo_heads tensors[2] = {contiguous(q, Q_HEADS), contiguous(k, K_HEADS)};
  const hodo_status status =
      hodo_rotate(plan, tensors, 2, &positions, HODO_FORWARD, HODO_ROLE_UNSAID, NULL);
  hodo_plan_free(plan);
  if (status != HODO_OK) {
    fprintf(stderr, "%s\n", hodo_last_error());
    return 1;
  }

  const double worst = worst_error(first);
  printf("hodometer %s: largest difference from libm in double: %.2g\n", hodo_version(), worst);
  return worst < 5e-7 ? 0 : 1;
}
