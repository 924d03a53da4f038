/*
 * Solve recorded poses and compare with the package's own solutions.
 *
 * Exit code 0: every solution reaches its pose. With the argument --bytes the numbers must be the same to the bit, which
 * holds for the architecture and the libm that they were recorded with.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "@NAME@.h"
#include "recorded.h" /* POSES, RECORDED */

enum { N = @UPPER@_JOINTS, MOST = 4096 };

static int64_t memory[@UPPER@_MEMORY / 8];
static double rows[MOST * N];

static uint64_t hash_of(const double *values, int64_t count) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (int64_t k = 0; k < count; ++k) {
    unsigned char bytes[8];
    memcpy(bytes, values + k, 8);
    for (int i = 0; i < 8; ++i) hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
  }
  return hash;
}

static double distance(@NAME@_solver *solver, const double *q, const double *pose) {
  double reached[16], largest = 0.0;
  @NAME@_fk(solver, q, reached);
  for (int k = 0; k < 16; ++k) largest = fmax(largest, fabs(reached[k] - pose[k]));
  return largest;
}

/* The bytes of stack that a call touches: a pattern below the caller's frame shows them. */
enum { ROOM = 1 << 16 };

static int __attribute__((noinline)) paint(void) {
  volatile unsigned char area[ROOM];
  for (int k = 0; k < ROOM; ++k) area[k] = 0x5A;
  return area[0];
}

static int __attribute__((noinline)) look(void) {
  const volatile unsigned char *top = (const volatile unsigned char *)__builtin_frame_address(0);
  int depth = ROOM - 64;
  while (depth > 0 && top[-depth] == 0x5A) --depth;
  return depth;
}

int main(int argc, char **argv) {
  @NAME@_solver *solver;
  int same = 0, wrong = 0, stack = 0;
  double worst = 0.0;
  if (@NAME@_init(&solver, 0, memory, sizeof memory) != 0) return 2;
  for (int pose = 0; pose < POSES; ++pose) {
    double q[N];
    int is_same = 1;
    wrong += paint() != 0x5A;
@if form@
    const int64_t count = @NAME@_solve_all(solver, RECORDED[pose].pose, RECORDED[pose].seed, @UPPER@_WITHIN_LIMITS, MOST, rows, NULL, NULL);
    is_same = count == RECORDED[pose].count && hash_of(rows, count * N) == RECORDED[pose].branches;
    for (int64_t k = 0; k < count; ++k) worst = fmax(worst, distance(solver, rows + k * N, RECORDED[pose].pose));
    wrong += count <= 0;
@end@
    const int64_t found = @NAME@_solve(solver, RECORDED[pose].pose, RECORDED[pose].seed, NULL, q, NULL);
    const int used = look();
    stack = used > stack ? used : stack;
    is_same = is_same && found == RECORDED[pose].found && hash_of(q, N) == RECORDED[pose].first;
    if (found == 1) worst = fmax(worst, distance(solver, q, RECORDED[pose].pose));
    same += is_same;
  }
  printf("@NAME@: %d poses, %d with the recorded bytes, largest error %.2g, %d without a solution\n", POSES, same, worst, wrong);
  printf("machine code: @CODE@ bytes; stack of a call: at most %d bytes; memory: %d bytes\n", stack, (int)sizeof memory);
  if (!(worst < @LARGEST_ERROR@) || wrong) return 1;
  return argc > 1 && strcmp(argv[1], "--bytes") == 0 && same != POSES;
}
