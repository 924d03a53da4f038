/*
 * Requests from a file, and the time of calls, for the programs of this folder in C and in C++.
 *
 * The file has doubles: number of joints n, number of requests; lower and upper limits; axes (n, 3) and offsets (n + 1, 3) of
 * the chain at zero, rotation of the tip at zero (3, 3); for each request joint values (n), a seed (n), a pose (4, 4).
 */
#ifndef SPEED_H
#define SPEED_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 5, MOST_JOINTS = 7 };

struct requests {
  int n, count;
  const double *lower, *upper, *axes, *offsets, *home, *rows;
};

static struct requests asked;

static const double *joints_of(int k) { return asked.rows + (2 * asked.n + 16) * k; }
static const double *seed_of(int k) { return joints_of(k) + asked.n; }
static const double *pose_of(int k) { return joints_of(k) + 2 * asked.n; }

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) exit(2);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void *data = malloc(*size);
  if (!data || fread(data, 1, *size, file) != *size) exit(2);
  fclose(file);
  return data;
}

static void read_requests(const char *path) {
  size_t size;
  const double *at = (const double *)read_file(path, &size);
  asked.n = (int)at[0];
  asked.count = (int)at[1];
  asked.lower = at + 2;
  asked.upper = asked.lower + asked.n;
  asked.axes = asked.upper + asked.n;
  asked.offsets = asked.axes + 3 * asked.n;
  asked.home = asked.offsets + 3 * (asked.n + 1);
  asked.rows = asked.home + 9;
}

/* Time of this thread; the time of other programs does not count. */
static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* The least mean time of a call over rounds, and the mean of the numbers that the calls return. */
static double best_of(int (*call)(int), double *mean) {
  double best = 1e300;
  for (int round = 0; round < ROUNDS; ++round) {
    double total = 0.0;
    const double start = now_us();
    for (int k = 0; k < asked.count; ++k) total += call(k);
    const double each = (now_us() - start) / asked.count;
    best = each < best ? each : best;
    *mean = total / asked.count;
  }
  return best;
}

static double slowest_of(int (*call)(int), long calls) {
  double worst = 0.0;
  for (long k = 0; k < calls; ++k) {
    const double start = now_us();
    call((int)(k % asked.count));
    const double took = now_us() - start;
    worst = took > worst ? took : worst;
  }
  return worst;
}

/* Print time and mean result of a call, and the slowest of so many calls. */
static void measure(const char *name, int (*call)(int), long calls) {
  double mean = 0.0;
  const double best = best_of(call, &mean);
  printf("%s %.3f\n%s_result %.3f\n", name, best, name, mean);
  if (calls) printf("%s_slowest %.1f\n", name, slowest_of(call, calls));
}

#endif
