/*
 * Time of one call of a C library: all branches, first solution, one cycle of a control loop.
 *
 * Compiled once for each library, with its header: -DNAME=ur5e; with -DBLOCKS for the library that reads blocks.
 * speed REQUESTS CALLS [BLOCKS]: the slowest of so many calls is printed, too.
 */
#define _POSIX_C_SOURCE 199309L
#include "speed.h"

#include <stdint.h>

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define CALL(name) PASTE(NAME, name)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define HEADER_(a) TEXT_(a.h)
#define HEADER(a) HEADER_(a)
#include HEADER(NAME)

enum { MOST = 4096, WITHIN_LIMITS = 1 };

static double rows[MOST * MOST_JOINTS];
static CALL(solver) * solver;

static int all_branches(int k) {
  return (int)CALL(solve_all)(solver, pose_of(k), NULL, WITHIN_LIMITS, MOST, rows, NULL, NULL);
}

static int first_found(int k) { return (int)CALL(solve)(solver, pose_of(k), seed_of(k), NULL, rows, NULL); }

static void move_a_little(int k, double *q, double *pose) {
  double near[MOST_JOINTS];
  for (int i = 0; i < asked.n; ++i) {
    const double middle = 0.5 * (asked.lower[i] + asked.upper[i]);
    q[i] = seed_of(k)[i];
    near[i] = q[i] + (q[i] < middle ? 0.002 : -0.002);
  }
  CALL(fk)(solver, near, pose);
}

static int kinematics(int k) {
  double q[MOST_JOINTS], pose[16];
  move_a_little(k, q, pose);
  return 0;
}

static int one_cycle(int k) {
  double q[MOST_JOINTS], pose[16];
  move_a_little(k, q, pose);
  return (int)CALL(track)(solver, pose, NULL, q, NULL);
}

/* Memory as a program on a computer has it; a controller has static memory instead. */
static int make_solver(const char *blocks) {
#ifdef BLOCKS
  size_t size;
  const void *image = read_file(blocks, &size);
  const int64_t needed = CALL(memory_size)(image, size, 0);
  return needed < 0 || CALL(init)(&solver, image, size, 0, malloc((size_t)needed), (size_t)needed) != 0;
#else
  const int64_t needed = CALL(memory_size)(0);
  (void)blocks;
  return CALL(init)(&solver, 0, malloc((size_t)needed), (size_t)needed) != 0;
#endif
}

int main(int argc, char **argv) {
  double mean;
  if (argc < 3) return 2;
  const long calls = atol(argv[2]);
  read_requests(argv[1]);
  if (make_solver(argc > 3 ? argv[3] : NULL)) return 1;
  measure("all_branches", all_branches, calls);
  measure("first_found", first_found, calls);
  measure("one_cycle", one_cycle, calls);
  printf("kinematics %.3f\n", best_of(kinematics, &mean));
  return 0;
}
