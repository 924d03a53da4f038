/*
 * Random cycles of ssik_step: are limits of position, velocity and acceleration kept, and does the arm always move?
 *
 * usage: random_steps BLOCKS CYCLES SEED [CALLS]
 *
 * A run begins at a random posture, often with joints at exact angles or on limits, and follows a twist for some cycles.
 * Half of the twists are faster than the joints may move. Prints one line: numbers of cycles, of cycles that broke a
 * limit, that jumped, that did not move though the tip could come nearer along the gradient, and times in microseconds. The
 * time of a cycle is the shortest of so many equal calls (1): others may have been interrupted by other programs.
 */
#define _POSIX_C_SOURCE 200112L
#include "ssik.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 64, CYCLES_OF_A_RUN = 50 };

static const double PERIOD = 0.01, FASTEST = 2.0, HARDEST = 10.0, ROUNDING = 1e-9;
static uint64_t random_state;

static double uniform(double low, double high) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return low + (high - low) * (double)(random_state >> 11) / 9007199254740992.0;
}

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) exit(2);
  *size = (size_t)ftell(file);
  rewind(file);
  void *data = malloc(*size + 8);
  if (!data || fread(data, 1, *size, file) != *size) exit(2);
  fclose(file);
  return data;
}

/* Rotate the pose about an axis of the base, and move it. */
static void move(double *pose, const double *twist) {
  for (int axis = 0; axis < 3; ++axis) {
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    const double c = cos(twist[3 + axis]), s = sin(twist[3 + axis]);
    for (int k = 0; k < 3; ++k) {
      const double first = pose[4 * a + k], second = pose[4 * b + k];
      pose[4 * a + k] = c * first - s * second;
      pose[4 * b + k] = s * first + c * second;
    }
    pose[4 * axis + 3] += twist[axis];
  }
}

/* Whether a joint that is free to move would bring the tip nearer: the gradient of the squared error is not zero. */
static int could_move(ssik_solver *solver, int n, const double *pose, const double *q, const double *lower, const double *upper) {
  double at[16], jacobian[6 * MOST], error[6];
  ssik_fk(solver, q, at);
  ssik_jacobian(solver, q, jacobian);
  for (int k = 0; k < 3; ++k) {
    const int a = (k + 1) % 3, b = (k + 2) % 3;
    error[k] = pose[4 * k + 3] - at[4 * k + 3];
    /* The rotation is small: half of the skew part of pose * transpose(at). */
    double low = 0.0, high = 0.0;
    for (int j = 0; j < 3; ++j) {
      low += pose[4 * a + j] * at[4 * b + j];
      high += pose[4 * b + j] * at[4 * a + j];
    }
    error[3 + k] = 0.5 * (high - low);
  }
  double size = 0.0;
  for (int k = 0; k < 6; ++k) size += error[k] * error[k];
  size = sqrt(size);
  for (int v = 0; v < n; ++v) {
    double slope = 0.0, length = 0.0;
    for (int k = 0; k < 6; ++k) {
      slope += jacobian[k * n + v] * error[k];
      length += jacobian[k * n + v] * jacobian[k * n + v];
    }
    if (slope > 0.0 ? q[v] >= upper[v] - 1e-6 : q[v] <= lower[v] + 1e-6) continue;
    if (fabs(slope) > 0.02 * size * sqrt(length)) return 1;
  }
  return 0;
}

static int by_value(const void *a, const void *b) {
  const double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

int main(int count, char **arguments) {
  if (count != 4 && count != 5) return 2;
  size_t size;
  void *blocks = read_file(arguments[1], &size);
  const long cycles = atol(arguments[2]), calls = count == 5 ? atol(arguments[4]) : 1;
  random_state = (uint64_t)atol(arguments[3]) * 2654435761u + 88172645463325252u;
  const int64_t bytes = ssik_memory_size(blocks, size, 0);
  if (bytes < 0) return 3;
  ssik_solver *solver;
  if (ssik_init(&solver, blocks, size, 0, malloc((size_t)bytes), (size_t)bytes)) return 3;
  const int n = ssik_joints(solver);
  double lower[MOST], upper[MOST], velocity[MOST], acceleration[MOST], speeds[MOST], q[MOST], before[MOST], last[MOST];
  double pose[16], twist[6] = {0}, *times = malloc((size_t)cycles * sizeof *times);
  long broken = 0, jumps = 0, halts = 0;
  ssik_limits(solver, lower, upper);
  for (int k = 0; k < n; ++k) velocity[k] = FASTEST, acceleration[k] = HARDEST;
  ssik_cycle cycle = {.period = PERIOD, .velocity = velocity, .acceleration = acceleration, .speeds = speeds};
  for (long number = 0; number < cycles; ++number) {
    if (number % CYCLES_OF_A_RUN == 0) {
      static const double exact[] = {0.0, 1.5707963267948966, -1.5707963267948966, 1e-4, -1e-4};
      for (int k = 0; k < n; ++k) {
        const double low = lower[k] > -3.1 ? lower[k] : -3.1, high = upper[k] < 3.1 ? upper[k] : 3.1;
        const double kind = uniform(0.0, 1.0);
        q[k] = kind < 0.5 ? uniform(low, high) : kind < 0.8 ? exact[(int)uniform(0.0, 5.0)] : kind < 0.9 ? lower[k] : upper[k];
        if (!(fabs(q[k]) < 1e3)) q[k] = 0.0;
        q[k] = fmin(fmax(q[k], lower[k]), upper[k]);
        speeds[k] = 0.0;
      }
      ssik_fk(solver, q, pose);
      const double speed = uniform(0.0, 1.0) < 0.5 ? 0.2 : 2.0;
      for (int k = 0; k < 6; ++k) twist[k] = PERIOD * speed * uniform(-1.0, 1.0) * (k < 3 ? 0.5 : 1.0);
    }
    move(pose, twist);
    memcpy(before, q, sizeof q);
    memcpy(last, speeds, sizeof last);
    ssik_report report;
    times[number] = HUGE_VAL;
    for (long call = 0; call < calls; ++call) {
      struct timespec begin, end;
      memcpy(q, before, sizeof q);
      memcpy(speeds, last, sizeof last);
      clock_gettime(CLOCK_MONOTONIC, &begin);
      ssik_step(solver, pose, &cycle, q, &report);
      clock_gettime(CLOCK_MONOTONIC, &end);
      const double took = 1e6 * (double)(end.tv_sec - begin.tv_sec) + 1e-3 * (double)(end.tv_nsec - begin.tv_nsec);
      times[number] = fmin(times[number], took);
    }
    int is_broken = 0, is_still = 1;
    for (int k = 0; k < n; ++k) {
      const double speed = (q[k] - before[k]) / PERIOD;
      is_broken |= !(q[k] >= lower[k] && q[k] <= upper[k]);
      is_broken |= !(fabs(speed) <= FASTEST + ROUNDING);
      is_broken |= !(fabs(speed - last[k]) <= HARDEST * PERIOD + ROUNDING);
      jumps += fabs(q[k] - before[k]) > FASTEST * PERIOD + ROUNDING;
      is_still &= q[k] == before[k];
    }
    broken += is_broken;
    /* Poses far out of reach are not followed. */
    const int is_near = hypot(report.position_error, report.rotation_error) < 0.3;
    halts += is_still && is_near && could_move(solver, n, pose, q, lower, upper);
  }
  qsort(times, (size_t)cycles, sizeof *times, by_value);
  printf("cycles %ld broken %ld jumps %ld halts %ld median %.2f p99 %.2f p999 %.2f longest %.1f us\n", cycles, broken, jumps,
         halts, times[cycles / 2], times[cycles - cycles / 100 - 1], times[cycles - cycles / 1000 - 1], times[cycles - 1]);
  return broken || jumps || halts;
}
