/*
 * Time of one call of a C library: all branches, first solution, one cycle of a control loop.
 *
 * Compiled once for each library, with the header of that library: -DNAME=ur5e -DUPPER=UR5E. Poses come from random joint
 * vectors within limits. Printed: the median over rounds of the mean time of a call, and the slowest single call [us].
 */
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define CALL(name) PASTE(NAME, name)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define HEADER_(a) TEXT_(a.h)
#define HEADER(a) HEADER_(a)
#include HEADER(NAME)

enum { N = PASTE(UPPER, JOINTS), POSES = 2000, ROUNDS = 9, MOST = 4096 };

static int64_t memory[PASTE(UPPER, MEMORY) / 8];
static double poses[POSES][16], seeds[POSES][N], rows[MOST * N];
static CALL(solver) * solver;

/* Time of this thread: what other programs take does not count. */
static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void all_branches(int k) { CALL(solve_all)(solver, poses[k], NULL, 1, MOST, rows, NULL, NULL); }
static void first_found(int k) { CALL(solve)(solver, poses[k], seeds[k], NULL, rows, NULL); }
static void step(int k) {
  double q[N], near[N], pose[16];
  for (int i = 0; i < N; ++i) q[i] = seeds[k][i];
  for (int i = 0; i < N; ++i) near[i] = seeds[k][i] + 0.002;
  CALL(fk)(solver, near, pose);
  CALL(track)(solver, pose, NULL, q, NULL);
}
static void kinematics(int k) {
  double near[N], pose[16];
  for (int i = 0; i < N; ++i) near[i] = seeds[k][i] + 0.002;
  CALL(fk)(solver, near, pose);
}

static int ascending(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static double median_of(void (*call)(int), int count) {
  double means[ROUNDS];
  for (int round = 0; round < ROUNDS; ++round) {
    const double start = now_us();
    for (int k = 0; k < count; ++k) call(k);
    means[round] = (now_us() - start) / count;
  }
  qsort(means, ROUNDS, sizeof *means, ascending);
  return means[ROUNDS / 2];
}

static double slowest(void (*call)(int), long calls) {
  double worst = 0.0;
  for (long k = 0; k < calls; ++k) {
    const double start = now_us();
    call((int)(k % POSES));
    const double took = now_us() - start;
    if (took > worst) worst = took;
  }
  return worst;
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : POSES;
  const long calls = argc > 2 ? atol(argv[2]) : 0;
  double lower[N], upper[N], q[N];
  if (CALL(init)(&solver, 0, memory, sizeof memory) != 0) return 1;
  CALL(limits)(solver, lower, upper);
  uint64_t state = 88172645463325252u;
  for (int k = 0; k < 2 * POSES; ++k) {
    for (int i = 0; i < N; ++i) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      const double share = (double)(state >> 11) / 9007199254740992.0;
      const int is_limited = upper[i] - lower[i] < 1e6;
      const double low = is_limited ? lower[i] : -3.14159, high = is_limited ? upper[i] : 3.14159;
      q[i] = low + share * (high - low);
      if (k % 2) seeds[k / 2][i] = q[i];
    }
    if (k % 2 == 0) CALL(fk)(solver, q, poses[k / 2]);
  }
  printf("all_branches %.3f\n", median_of(all_branches, count));
  printf("first_found %.3f\n", median_of(first_found, count));
  printf("track %.3f\n", median_of(step, count) - median_of(kinematics, count));
  if (calls) printf("slowest_all_branches %.1f\n", slowest(all_branches, calls));
  if (calls) printf("slowest_track %.1f\n", slowest(step, calls));
  return 0;
}
