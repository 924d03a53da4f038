/*
 * Hostile blocks for the C library: an input describes changes of the blocks of a real arm, which get the right digest.
 *
 * The rules of checks.h are included twice: as checks, in the library, and as repairs, which bring a word that breaks its
 * rule back into its range. Repaired blocks pass the checks, so that the kernels run with everything that the checks allow.
 * The library is included as source, because the digest is a static function.
 *
 * libFuzzer links this file as it is; driver.c draws inputs where libFuzzer is missing.
 */
#define _DEFAULT_SOURCE
#include "ssik.c"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "seeds.h" /* SEEDS, SEED_WORDS, SEED_COUNT: blocks of real arms */

enum { MOST_WORDS = 1 << 17, MOST_MEMORY = 1 << 26, PAGE = 4096, CAPACITY = 24 };

static struct {
  long runs, accepted, made;
} counts;

/* ---- input ---- */

static const uint8_t *input;
static size_t left;
static uint64_t state = 1;

static unsigned take(void) {
  if (!left) return 0;
  --left;
  return *input++;
}

static word take_word(void) {
  uint64_t value = 0;
  for (int k = 0; k < 8; ++k) value = value << 8 | take();
  return (word)value;
}

static uint64_t draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static word word_of(double value) {
  word bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* ---- rules as repairs ---- */

static int has_repairs;

static int repair_whole(const word **at, word count, word low, word high) {
  const uint64_t span = (uint64_t)high - (uint64_t)low + 1;
  for (; count > 0; --count, ++*at)
    if (!(low <= **at && **at <= high) && low <= high)
      *(word *)(uintptr_t)*at = (word)((uint64_t)low + (span ? draw() % span : draw()));
  return 1;
}

static int repair_members(const word **at, word count, word members, word unused) {
  (void)unused;
  for (; count > 0; --count, ++*at)
    for (int k = 0; k < 200 && !(0 <= **at && **at < 63 && (members >> **at & 1)); ++k) *(word *)(uintptr_t)*at = (word)(draw() % 8);
  return 1;
}

static int repair_real(const word **at, word count, double low, double high) {
  for (; count > 0; --count, ++*at)
    if (!(low <= real_of(**at) && real_of(**at) <= high)) {
      const double part = (double)(draw() % 1000001) / 1e6, edge = draw() % 4 ? 10.0 : 1e150;
      const double from = low < -edge ? -edge : low, to = high > edge ? edge : high;
      *(word *)(uintptr_t)*at = word_of(from + part * (to - from));
    }
  return 1;
}

static int repair_counted(const word **at, word count, word low, word high) {
  for (; count > 0; --count, ++*at) {
    word whole = (word)0;
    const double value = real_of(**at);
    if ((double)low <= value && value <= (double)high && value == (double)(word)value) continue;
    const word *one = &whole;
    whole = low - 1;
    repair_whole(&one, 1, low, high);
    *(word *)(uintptr_t)*at = word_of((double)whole);
  }
  return 1;
}

static word sizes[SECTIONS];

static int repair_place(const word *image, int which, word *end, word size) {
  (void)image;
  sizes[which] = size;
  *end += size;
  return 1;
}

#undef MUST
#define MUST(condition) ((condition) || !(has_repairs = 0))
#define are_whole repair_whole
#define are_members repair_members
#define are_real repair_real
#define are_real_or_none repair_real
#define are_counted repair_counted
#define has_place repair_place
#define are_numbers_sound repair_numbers
#define are_sizes_sound repair_sizes
#define are_words_sound repair_words
#include "checks.h"
#undef are_numbers_sound
#undef are_sizes_sound
#undef are_words_sound

/* ---- changes ---- */

static word changed_value(word value, const word *words, word count) {
  static const double odd[] = {0.0, -0.0, 1.0, -1.0, 3.141592653589793, 1e-300, 5e-324, 1e150, -1e150, 1.7e308, 0.5, 1e16};
  const unsigned kind = take() % 10, small = take();
  switch (kind) {
    case 0: return take_word();
    case 1: return (word)small - 3;
    case 2: return (word)((uint64_t)value + small - 128);
    case 3: return value ^ (word)((uint64_t)1 << (small % 64));
    case 4: return word_of(odd[small % (sizeof odd / sizeof odd[0])]);
    case 5: return word_of(small % 3 == 0 ? HUGE_VAL : small % 3 == 1 ? -HUGE_VAL : HUGE_VAL - HUGE_VAL);
    case 6: return words[(uint64_t)(take_word() & INT64_MAX) % (uint64_t)count];
    case 7: return word_of(-real_of(value));
    case 8: return word_of(real_of(value) * ((double)small - 127.0));
    default: return (word)((uint64_t)1 << (small % 64));
  }
}

/* Change a word from a place on, or exchange it with one a multiple of 63 places away. */
static void change(word *words, word from, word count, int exchanges) {
  const word size = count - from, at = (word)((uint64_t)(take() << 8 | take()) % (uint64_t)size);
  const word other = (at + 63 * (word)(take() % 8)) % size, value = words[from + at];
  words[from + at] = exchanges ? words[from + other] : changed_value(value, words, count);
  if (exchanges) words[from + other] = value;
}

static word buffer[2][MOST_WORDS];

/* Write blocks as the input says and return how many words they have. */
static word make_blocks(word *to) {
  const unsigned arm = take() % SEED_COUNT, flags = take();
  const word first = HEAD + 2 * SECTIONS;
  word count = SEED_WORDS[arm], *from = buffer[0];
  memcpy(from, SEEDS[arm], (size_t)count * sizeof(word));
  has_repairs = flags % 4 == 1;
  if (has_repairs) {
    for (unsigned k = take() % 4; k > 0; --k) {
      word *one = from + first + take() % NUMBERS;
      *one = changed_value(*one, from, count);
    }
    repair_numbers(from + first);
    repair_sizes(from, from + first);
    word end = first;
    for (int k = 0; k < SECTIONS; ++k) {
      if (end + sizes[k] > MOST_WORDS) return 0;
      for (word i = 0; i < sizes[k]; ++i) {
        const word *old = from + from[HEAD + 2 * k], size = from[HEAD + 2 * k + 1];
        to[end + i] = i < size ? old[i] : flags & 64 ? (word)draw() : 0;
      }
      to[HEAD + 2 * k] = end;
      to[HEAD + 2 * k + 1] = sizes[k];
      end += sizes[k];
    }
    count = end;
  } else {
    memcpy(to, from, (size_t)count * sizeof(word));
  }
  const word free_from = has_repairs ? first + NUMBERS : HEAD;
  const unsigned changes = flags & 128 && !has_repairs ? 0 : take() % (flags & 32 ? 32 : 4) + 1;
  for (unsigned k = changes; k > 0; --k) change(to, free_from, count, flags & 16);
  if (has_repairs) repair_words(to + first + NUMBERS, to + first);
  if (has_repairs && flags % 16 == 1) {
    has_repairs = 0;
    change(to, HEAD, count, flags & 16);
  }
  to[0] = MAGIC;
  to[1] = FORMAT;
  to[2] = DIGEST;
  to[3] = count;
  return count;
}

static void write_digest(word *image) {
#ifndef TRUST_DIGEST
  uint32_t sum[8];
  write_sum(image, sum);
  for (int k = 0; k < 4; ++k)
    image[HEAD - DIGEST_WORDS + k] = (word)((uint64_t)half_of(sum[2 * k], 0) | (uint64_t)half_of(sum[2 * k + 1], 0) << 32);
#else
  (void)image;
#endif
}

/* ---- memory between pages without access ---- */

static char *area_of(size_t size) {
  char *area = mmap(NULL, size + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) abort();
  mprotect(area, PAGE, PROT_NONE);
  mprotect(area + PAGE + size, PAGE, PROT_NONE);
  return area + PAGE + size; /* the end: any access after it leaves the area */
}

static word *image;
static char *memory;
static size_t memory_size_now, image_size_now;

/* The functions that the checked flavour of the kernels calls. */
void ssik_ros_failed_at(const char *text);
int32_t ssik_ros_is_inside(int64_t address, int64_t size);

void ssik_ros_failed_at(const char *text) {
  fprintf(stderr, "a kernel left an array: %s\n", text);
  abort();
}

static const int64_t no_cancel = 0;

int32_t ssik_ros_is_inside(int64_t address, int64_t size) {
  const char *at = (const char *)(intptr_t)address;
  if (size < 0) return 0;
  if (at == (const char *)&no_cancel) return size <= 1;
  if (at >= memory && at <= memory + memory_size_now) return (uint64_t)size <= (uint64_t)(memory + memory_size_now - at) / 8;
  const char *begin = (const char *)image;
  return at >= begin && at <= begin + image_size_now && (uint64_t)size <= (uint64_t)(begin + image_size_now - at) / 8;
}

/* ---- calls ---- */

static double taken_real(void) {
  const unsigned kind = take();
  if (kind < 200) return ((double)kind - 100.0) / 31.0;
  return kind < 230 ? real_of(take_word()) : kind < 245 ? 1e3 * (kind - 237.0) : HUGE_VAL - HUGE_VAL;
}

static int accept(void *context, const double *q) {
  (void)q;
  return *(unsigned *)context & 8 ? take() % 4 == 0 : 0;
}

static void use(ssik_solver *solver, unsigned wishes) {
  const int n = ssik_joints(solver);
  if (n < 1 || n > 64) abort();
  double *q = malloc((size_t)n * sizeof *q), *other = malloc((size_t)n * sizeof *q), *rows = malloc(CAPACITY * (size_t)n * sizeof *q);
  double *matrix = malloc(6 * (size_t)n * sizeof *q), *errors = malloc(3 * CAPACITY * sizeof *q), pose[16];
  ssik_report report;
  ssik_budget budget = {.max_searches = 3, .max_iterations = 12, .cancel = &no_cancel};
  ssik_limits(solver, q, other);
  for (int k = 0; k < n; ++k) q[k] = taken_real();
  for (int k = 0; k < n; ++k) other[k] = wishes & 1 ? taken_real() : q[k] * 0.75 + 0.1;
  ssik_fk(solver, q, pose);
  if (strlen(ssik_names(solver)) > image_size_now) abort();
  const int tips = ssik_tips(solver);
  double *poses = malloc(16 * (size_t)tips * sizeof *q);
  ssik_jacobian(solver, q, matrix);
  if (wishes & 2) pose[take() % 16] = taken_real();
  for (int k = 0; k < 16 * tips; ++k) poses[k] = pose[k % 16];
  const double *seed = wishes & 4 ? other : NULL;
  for (int call = 0; call < 6; ++call) {
    /* All of them in one of eight runs, otherwise one: the others cost time and look at the same arrays. */
    if (wishes / 32 != 7 && (int)(wishes / 32 % 6) != call) continue;
    if (call == 0) ssik_solve_all(solver, pose, seed, (int)(wishes % 5) - 1, CAPACITY, rows, errors, &report);
    if (call == 1) ssik_solve_nearest(solver, pose, other, q, &report);
    if (call == 2) ssik_solve_windings(solver, pose, seed, CAPACITY, rows, &report);
    if (call == 3) ssik_solve(solver, poses, other, take() % 64 ? &budget : NULL, q, &report);
    if (call == 5) {
      for (int k = 0; k < n; ++k) errors[k % (3 * CAPACITY)] = wishes & 16 ? (take() % 3 ? HUGE_VAL : 0.0) : 0.1 * (take() % 16);
      ssik_conditions conditions = {.accept = wishes & 1 ? accept : NULL, .context = &wishes, .wants_nearest = wishes & 2};
      if (wishes & 4) conditions.consistency = errors;
      ssik_solve_several(solver, poses, other, &conditions, &budget, wishes & 8 ? CAPACITY : 1, rows, &report);
    }
    if (call == 4) {
      for (int k = 0; k < n; ++k) q[k] = wishes & 16 ? 0.01 : HUGE_VAL;
      ssik_track(solver, pose, q, other, &report);
      for (int k = 0; k < n; ++k) rows[k] = taken_real();
      ssik_cycle cycle = {.period = 1e-3, .velocity = q, .acceleration = q, .speeds = wishes & 8 ? rows : NULL};
      ssik_step(solver, pose, &cycle, other, &report);
    }
  }
  free(q), free(other), free(rows), free(matrix), free(errors), free(poses);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char *image_end, *memory_end;
  if (!image_end) {
    image_end = area_of(MOST_WORDS * sizeof(word));
    memory_end = area_of(MOST_MEMORY);
  }
  input = data;
  left = size;
  state = 88172645463325252u;
  for (size_t k = 0; k < size; ++k) state = (state ^ data[k]) * UINT64_C(1099511628211) + 1;
  ++counts.runs;
  const word count = make_blocks(buffer[1]);
  if (count <= 0) return 0;
  write_digest(buffer[1]);
  image_size_now = (size_t)count * sizeof(word);
  image = (word *)(void *)(image_end - image_size_now);
  memcpy(image, buffer[1], image_size_now);
  const unsigned wishes = take();
  int64_t windings = wishes & 8 ? CAPACITY : 0, needed = ssik_memory_size(image, image_size_now, windings);
  if (needed < 0) {
    if (has_repairs && getenv("FUZZ_STRICT")) abort(); /* repaired blocks keep all rules */
    return 0;
  }
  ++counts.accepted;
  if (needed > MOST_MEMORY) needed = ssik_memory_size(image, image_size_now, windings = 0);
  if (needed > MOST_MEMORY) return 0;
  memory_size_now = (size_t)needed;
  memory = memory_end - needed;
  ssik_solver *solver = NULL;
  if (ssik_init(&solver, image, image_size_now, windings, memory, memory_size_now - 8) == 0) abort();
  if (ssik_init(&solver, image, image_size_now, windings, memory, memory_size_now) != 0 || !solver) abort();
  ++counts.made;
  use(solver, wishes);
  if (memcmp(image, buffer[1], image_size_now) != 0) abort(); /* blocks are read only */
  return 0;
}

void count_runs(long *runs, long *accepted);

void count_runs(long *runs, long *accepted) {
  *runs = counts.runs;
  *accepted = counts.accepted;
}
