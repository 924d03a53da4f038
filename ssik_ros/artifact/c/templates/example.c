/* Every branch of a pose, the nearest one, and one cycle of a control loop. */
#include "@NAME@.h"

#include <stdint.h>
#include <stdio.h>

/* All the memory that a solver needs; in a controller it is as static as here. */
static int64_t memory[@UPPER@_MEMORY / 8];

static void print(const char *what, const double *q) {
  printf("%s:", what);
  for (int k = 0; k < @UPPER@_JOINTS; ++k) printf(" %.6f", q[k]);
  printf("\n");
}

int main(void) {
  @NAME@_solver *solver;
  double seed[@UPPER@_JOINTS] = {@SEED@}, q[8 * @UPPER@_JOINTS], pose[16];
  @NAME@_report report;
  if (@NAME@_init(&solver, 0, memory, sizeof memory) != 0) return 1;
  @NAME@_fk(solver, seed, pose);
@if form@
  const int64_t count = @NAME@_solve_all(solver, pose, seed, @UPPER@_WITHIN_LIMITS, 8, q, NULL, &report);
  printf("%d branches, %d within limits\n", (int)report.branches, (int)(report.branches - report.dropped));
  for (int64_t k = 0; k < count; ++k) print("branch", q + k * @UPPER@_JOINTS);
@end@
  pose[11] += 0.001; /* 1 mm up */
  if (@NAME@_solve(solver, pose, seed, NULL, q, &report) == 1) print("next", q);
  const double bounds[@UPPER@_JOINTS] = {@BOUNDS@};
  @NAME@_track(solver, pose, bounds, seed, &report);
  print("one cycle", seed);
  return 0;
}
