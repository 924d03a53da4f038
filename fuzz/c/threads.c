/*
 * Eight threads call every function of the C library at the same time, each with a solver of its own and the same blocks.
 *
 * For ThreadSanitizer (build.py --harness threads --sanitize thread) and for helgrind. Exit code 0: no call failed, and all
 * threads got the same bytes.
 */
#define _DEFAULT_SOURCE
#include "ssik.c"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "seeds.h" /* SEEDS, SEED_WORDS, SEED_COUNT */

enum { THREADS = 8, REQUESTS = 6, ROWS = 64, WINDINGS = 20 };

static uint64_t hashes[THREADS];

static double drawn(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (double)(*state >> 11) / 9007199254740992.0;
}

static uint64_t hash_of(uint64_t hash, const double *values, int64_t count) {
  for (int64_t k = 0; k < 8 * count; ++k) hash = (hash ^ ((const unsigned char *)values)[k]) * UINT64_C(1099511628211);
  return hash;
}

static uint64_t run(const int64_t *blocks, size_t size) {
  const int64_t needed = ssik_memory_size(blocks, size, WINDINGS);
  void *memory = needed > 0 ? malloc((size_t)needed) : NULL;
  ssik_solver *solver = NULL;
  if (!memory || ssik_init(&solver, blocks, size, WINDINGS, memory, (size_t)needed) != 0) return 0;
  const int n = ssik_joints(solver);
  uint64_t state = 77, hash = UINT64_C(14695981039346656037);
  double q[7], seed[7], bounds[7], pose[16], matrix[42], rows[ROWS * 7];
  ssik_limits(solver, q, seed);
  for (int request = 0; request < REQUESTS; ++request) {
    for (int k = 0; k < n; ++k) {
      q[k] = 3.0 * drawn(&state) - 1.5;
      seed[k] = q[k] + 0.3 * drawn(&state);
      bounds[k] = 0.01;
    }
    ssik_fk(solver, q, pose);
    ssik_jacobian(solver, q, matrix);
    hash = hash_of(hash_of(hash, pose, 16), matrix, 6 * n);
    int64_t count = ssik_solve_all(solver, pose, seed, SSIK_WITHIN_LIMITS, ROWS, rows, NULL, NULL);
    hash = hash_of(hash, rows, count * n);
    count = ssik_solve_windings(solver, pose, seed, WINDINGS, rows, NULL);
    hash = hash_of(hash, rows, count * n);
    if (ssik_solve_nearest(solver, pose, seed, q, NULL) == 1) hash = hash_of(hash, q, n);
    if (ssik_solve(solver, pose, seed, NULL, q, NULL) == 1) hash = hash_of(hash, q, n);
    ssik_track(solver, pose, bounds, seed, NULL);
    hash = hash_of(hash, seed, n);
  }
  free(memory);
  return hash;
}

static void *work(void *number) {
  uint64_t hash = 1;
  for (int arm = 0; arm < SEED_COUNT; ++arm) {
    const uint64_t own = run(SEEDS[arm], (size_t)SEED_WORDS[arm] * 8);
    hash = own ? hash * 31 + own : 0;
  }
  *(uint64_t *)number = hash;
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int k = 0; k < THREADS; ++k)
    if (pthread_create(&threads[k], NULL, work, &hashes[k]) != 0) return 2;
  for (int k = 0; k < THREADS; ++k) pthread_join(threads[k], NULL);
  int differs = hashes[0] == 0;
  for (int k = 1; k < THREADS; ++k) differs |= hashes[k] != hashes[0];
  printf("%d threads, %d arms, %d requests each: %s\n", THREADS, SEED_COUNT, REQUESTS, differs ? "different" : "same bytes");
  return differs;
}
