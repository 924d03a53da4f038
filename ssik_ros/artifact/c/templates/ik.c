/*
 * From the functions of the header to the kernels: arrays are views of the image and of the caller's buffer.
 *
 * The image describes the arm. It is read only. The buffer begins with the solver, followed by a part for each array that
 * the kernels write. A kernel takes its arguments as words of 64 bits; an array is taken apart as numba does it.
 */
#include "@NAME@.h"

#include <math.h>

typedef int64_t word;

#include "layout.h" /* S_*, N_*, P_*, lay_out_parts and constants of the kernels, written by ssik_ros */

@if arm@
#include "image.h" /* IMAGE */
@end@

#define KERNEL(name) int32_t ssik_ros_##name(void *result, const word *words)
KERNEL(closed_form__branches__branch_block__solve);
KERNEL(closed_form__branches__search__search);
KERNEL(closed_form__elimination__general_search__search);
KERNEL(closed_form__branches__held_search__search);
KERNEL(closed_form__branches__held_slide__slide_range);
KERNEL(closed_form__certification__windings__count_windings);
KERNEL(closed_form__certification__windings__write_windings);
KERNEL(closed_form__certification__windings__take_best);
KERNEL(search__causes__of_absence);
KERNEL(search__causes__of_both);
KERNEL(search__causes__of_search);
KERNEL(search__causes__of_step);
KERNEL(search__plain_request__solve_one);
KERNEL(search__plain_request__search_one);
KERNEL(search__restart_search__search);
KERNEL(search__tracking__condition_number);
KERNEL(search__tracking__follow);
KERNEL(rows__relative_pose__pose_of_b_in_a);
KERNEL(rows__relative_pose__twist_of_b_in_a);

struct @NAME@_solver {
  word magic;
  const word *image;
  word windings; /* most that fit */
  word never;    /* a cancel flag that stays zero */
  word at[PARTS + 1];
};

typedef struct @NAME@_solver solver_t;
typedef @NAME@_report report_t;

enum { HEAD_WORDS = (int)(sizeof(solver_t) / sizeof(word)) };

static const word *section(const word *image, int which) { return image + image[HEAD + 2 * which]; }
static word section_size(const word *image, int which) { return image[HEAD + 2 * which + 1]; }
@if arm@
/* The compiler sees the image, and leaves out the code for other kinds of arms. */
static const word *image_of(const solver_t *s) {
  (void)s;
  return IMAGE;
}
@end@
@if library@
static const word *image_of(const solver_t *s) { return s->image; }
@end@
static word number(const solver_t *s, int which) { return section(image_of(s), S_NUMBERS)[which]; }
static word *part(solver_t *s, int which) { return (word *)(void *)s + s->at[which]; }
static double *reals(solver_t *s, int which) { return (double *)(void *)part(s, which); }
static word part_size(const solver_t *s, int which) { return s->at[which + 1] - s->at[which]; }
static const double *image_reals(const word *image, int which) { return (const double *)(const void *)section(image, which); }

/* Words of an argument, one after the other: an array of up to three dimensions, without gaps. */
static word *put_array(word *at, const void *data, word item, int dimensions, const word *shape) {
  word count = 1;
  for (int k = 0; k < dimensions; ++k) count *= shape[k];
  at[0] = at[1] = 0;
  at[2] = count;
  at[3] = item;
  at[4] = (word)(intptr_t)data;
  for (int k = 0; k < dimensions; ++k) at[5 + k] = shape[k];
  for (int k = dimensions - 1; k >= 0; --k) {
    at[5 + dimensions + k] = item;
    item *= shape[k];
  }
  return at + 5 + 2 * dimensions;
}

static word *put_list(word *at, const void *data, word size) { return put_array(at, data, 8, 1, &size); }
static word *put_table(word *at, const void *data, word rows, word columns) {
  const word shape[] = {rows, columns};
  return put_array(at, data, 8, 2, shape);
}
static word *put_part(word *at, solver_t *s, int which) { return put_list(at, part(s, which), part_size(s, which)); }
static word *put_section(word *at, const solver_t *s, int which) {
  return put_list(at, section(image_of(s), which), section_size(image_of(s), which));
}

static void copy(double *to, const double *from, word count) {
  for (word k = 0; k < count; ++k) to[k] = from[k];
}

/* The functions that kernels and compiler call in place of memset, memcpy and memmove. */
void *ssik_ros_clear(void *memory, int value, size_t size);
void *ssik_ros_copy(void *to, const void *from, size_t size);
void *ssik_ros_move(void *to, const void *from, size_t size);

void *ssik_ros_clear(void *memory, int value, size_t size) {
  unsigned char *at = (unsigned char *)memory;
  for (; size % 8; --size) at[size - 1] = (unsigned char)value;
  for (; size; size -= 8) {
    const uint64_t bytes = UINT64_C(0x0101010101010101) * (unsigned char)value;
    __builtin_memcpy(at + size - 8, &bytes, 8);
  }
  return memory;
}

void *ssik_ros_copy(void *to, const void *from, size_t size) {
  for (size_t k = 0; k < size; ++k) ((unsigned char *)to)[k] = ((const unsigned char *)from)[k];
  return to;
}

void *ssik_ros_move(void *to, const void *from, size_t size) {
  if ((uintptr_t)to < (uintptr_t)from) return ssik_ros_copy(to, from, size);
  for (; size; --size) ((unsigned char *)to)[size - 1] = ((const unsigned char *)from)[size - 1];
  return to;
}

static void copy_words(word *to, const word *from, word count) {
  for (word k = 0; k < count; ++k) to[k] = from[k];
}

static double size_of(double value) { return value < 0.0 ? -value : value; }

/* ---- memory ---- */

static word lay_out(const word *image, word windings, word *at) {
  at[0] = HEAD_WORDS;
  lay_out_parts(section(image, S_NUMBERS), windings, at);
  return at[PARTS];
}

/* Write begin and size of each array, counted from the head of the block, for the kernels of plain requests. */
static void write_head(solver_t *s) {
  static const unsigned char order[] = {P_INTS, P_COUNTERS, P_REALS, P_SAMPLES, P_OPTIONS, P_POSE,
                                        P_SEED, P_ROWS,     P_FOUND, P_WORK,    P_OWN};
  word *head = part(s, P_HEAD);
  for (unsigned k = 0; k < sizeof order; ++k) {
    head[2 * k] = s->at[order[k]] - s->at[P_HEAD];
    head[2 * k + 1] = part_size(s, order[k]);
  }
}

/* The clock that the kernels call: the caller's own, kept before the counters in which the scratch lies. */
struct clock {
  int64_t (*now)(void *);
  void *context;
};

int32_t ssik_ros_clock(int32_t which, word *scratch);

int32_t ssik_ros_clock(int32_t which, word *scratch) {
  const struct clock *clock = (const struct clock *)(const void *)(scratch - CLOCK_BEFORE);
  /* A search for the nearest solution asks for the time even if no caller sets a limit. */
  const int64_t now = clock->now ? clock->now(clock->context) : 0;
  (void)which;
  scratch[0] = now / 1000000000;
  scratch[1] = now % 1000000000;
  return 0;
}

static struct clock *clock_of(solver_t *s) {
  return (struct clock *)(void *)(part(s, P_SEARCH) + number(s, N_CLOCK));
}

static void fill_parts(solver_t *s) {
  const word *image = image_of(s);
  for (word *at = part(s, 0), *end = part(s, PARTS); at < end; ++at) *at = 0;
  copy_words(part(s, P_INTS), section(image, S_INTS), section_size(image, S_INTS));
  copy_words(part(s, P_REALS), section(image, S_REALS), section_size(image, S_REALS));
  copy_words(part(s, P_OPTIONS), section(image, S_OPTIONS), section_size(image, S_OPTIONS));
  copy_words(part(s, P_OWN), section(image, S_OWN), section_size(image, S_OWN));
  copy_words(part(s, P_SEARCH), section(image, S_SEARCH), section_size(image, S_SEARCH));
  copy_words(part(s, P_TRACK), section(image, S_TRACK), part_size(s, P_TRACK));
  write_head(s);
}

static int64_t memory_size(const word *image, int64_t windings) {
  word at[PARTS + 1];
  if (windings < 0 || windings > MOST_WINDINGS) return @UPPER@_BAD_ARGUMENT;
  return 8 * lay_out(image, windings, at);
}

static int start(solver_t **made, const word *image, int64_t windings, void *memory, size_t size) {
  if (!made || !memory) return @UPPER@_BAD_ARGUMENT;
  *made = NULL;
  const int64_t needed = memory_size(image, windings);
  if (needed < 0) return (int)needed;
  if ((uintptr_t)memory % 8 || size < (size_t)needed) return @UPPER@_BAD_MEMORY;
  solver_t *s = (solver_t *)memory;
  s->magic = MAGIC;
  s->image = image;
  s->windings = windings;
  s->never = 0;
  lay_out(image, windings, s->at);
  fill_parts(s);
  *made = s;
  return 0;
}

static int is_solver(const solver_t *s) { return s && (uintptr_t)s % 8 == 0 && s->magic == MAGIC; }

@if arm@
int64_t @NAME@_memory_size(int64_t windings) { return memory_size(IMAGE, windings); }

int @NAME@_init(solver_t **solver, int64_t windings, void *memory, size_t size) {
  return start(solver, IMAGE, windings, memory, size);
}
@end@
@if library@
/* ---- blocks: checked once, so their code is apart from functions that are called often ---- */

#define COLD __attribute__((cold))

/* SHA-256 (FIPS 180-4) of the words of an image, without those that hold it. */
static COLD uint32_t turned(uint32_t value, unsigned turns) { return value >> turns | value << (32 - turns); }

static COLD void mix_chunk(uint32_t *state, const uint32_t *chunk) {
  static const uint32_t parts[] = {@SHA_PARTS@};
  uint32_t w[64], v[8];
  for (int k = 0; k < 64; ++k) {
    const uint32_t early = k < 16 ? 0 : w[k - 15], late = k < 16 ? 0 : w[k - 2];
    w[k] = k < 16 ? chunk[k]
                  : w[k - 16] + w[k - 7] + (turned(early, 7) ^ turned(early, 18) ^ early >> 3) +
                        (turned(late, 17) ^ turned(late, 19) ^ late >> 10);
  }
  for (int k = 0; k < 8; ++k) v[k] = state[k];
  for (int k = 0; k < 64; ++k) {
    const uint32_t a = v[0], e = v[4];
    const uint32_t one = v[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + parts[k] + w[k];
    const uint32_t two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
    for (int i = 7; i > 0; --i) v[i] = v[i - 1];
    v[4] += one;
    v[0] = one + two;
  }
  for (int k = 0; k < 8; ++k) state[k] += v[k];
}

/* Half a word as SHA-256 reads it: the first of its bytes counts most. */
static COLD uint32_t half_of(uint64_t value, int which) {
  uint32_t turned_round = 0;
  for (int k = 0; k < 4; ++k) turned_round = turned_round << 8 | (uint32_t)(value >> (32 * which + 8 * k) & 255);
  return turned_round;
}

static COLD void write_sum(const word *image, uint32_t *state) {
  static const uint32_t start[] = {@SHA_START@};
  uint32_t chunk[16];
  const uint64_t hidden = DIGEST_WORDS, count = (uint64_t)image[3] - hidden;
  for (int k = 0; k < 8; ++k) state[k] = start[k];
  /* The message ends with the bit 1, zeros, and its length in bits, which fill the last chunk of eight words. */
  for (uint64_t first = 0; first < count + 2; first += 8) {
    for (uint64_t k = 0; k < 8; ++k) {
      const uint64_t at = first + k;
      uint64_t value = at < count ? (uint64_t)image[at < HEAD - hidden ? at : at + hidden] : 0;
      if (at == count) value = 0x80;
      chunk[2 * k] = half_of(value, 0);
      chunk[2 * k + 1] = half_of(value, 1);
    }
    if (first + 8 >= count + 2) {
      chunk[14] = (uint32_t)(64 * count >> 32);
      chunk[15] = (uint32_t)(64 * count);
    }
    mix_chunk(state, chunk);
  }
}

static COLD int has_digest(const word *image) {
  uint32_t sum[8];
  int differs = 0;
  write_sum(image, sum);
  for (int k = 0; k < 8; ++k) differs |= sum[k] != half_of((uint64_t)image[HEAD - DIGEST_WORDS + k / 2], k % 2);
  return !differs;
}

/* The rules of the words, see checks.h: each function reads some words and moves on. */
static COLD double real_of(word bits) {
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

static COLD int are_whole(const word **at, word count, word low, word high) {
  int is_kept = 1;
  for (; count > 0; --count, ++*at) is_kept &= low <= **at && **at <= high;
  return is_kept;
}

static COLD int are_members(const word **at, word count, word members, word unused) {
  int is_kept = 1;
  (void)unused;
  for (; count > 0; --count, ++*at) is_kept &= 0 <= **at && **at < 63 && (members >> **at & 1);
  return is_kept;
}

static COLD int are_real(const word **at, word count, double low, double high) {
  int is_kept = 1;
  for (; count > 0; --count, ++*at) is_kept &= low <= real_of(**at) && real_of(**at) <= high;
  return is_kept;
}

static COLD int are_real_or_none(const word **at, word count, double low, double high) {
  int is_kept = 1;
  for (; count > 0; --count, ++*at) is_kept &= real_of(**at) != real_of(**at) || (low <= real_of(**at) && real_of(**at) <= high);
  return is_kept;
}

static COLD int are_counted(const word **at, word count, word low, word high) {
  int is_kept = 1;
  for (; count > 0; --count, ++*at) {
    const double value = real_of(**at);
    is_kept &= (double)low <= value && value <= (double)high && value == (double)(word)value;
  }
  return is_kept;
}

static COLD int has_place(const word *image, int which, word *end, word size) {
  const word *place = image + HEAD + 2 * which;
  const int is_right = place[0] == *end && place[1] == size;
  *end += size;
  return is_right;
}

#define MUST(condition) (condition)
#include "checks.h" /* are_numbers_sound, are_sizes_sound, are_words_sound, written by ssik_ros */

/* Whether blocks are whole, unchanged, written for these kernels, and keep every rule that the kernels rely on. */
static COLD int are_sound(const word *image, size_t size) {
  const word *numbers = image + HEAD + 2 * SECTIONS;
  if (!image || (uintptr_t)image % 8 || size / 8 < HEAD + 2 * SECTIONS + NUMBERS) return 0;
  if (image[0] != MAGIC || image[1] != FORMAT || image[2] != DIGEST || image[3] < 0 || (uint64_t)image[3] > size / 8) return 0;
  if (!are_numbers_sound(numbers) || !are_sizes_sound(image, numbers) || !has_digest(image)) return 0;
  return are_words_sound(numbers + NUMBERS, numbers);
}

int64_t @NAME@_memory_size(const void *blocks, size_t blocks_size, int64_t windings) {
  const word *image = (const word *)blocks;
  return are_sound(image, blocks_size) ? memory_size(image, windings) : @UPPER@_BAD_BLOCKS;
}

int @NAME@_init(solver_t **solver, const void *blocks, size_t blocks_size, int64_t windings, void *memory, size_t size) {
  const word *image = (const word *)blocks;
  return are_sound(image, blocks_size) ? start(solver, image, windings, memory, size) : @UPPER@_BAD_BLOCKS;
}
@end@

/* ---- kinematics ---- */

int @NAME@_joints(const solver_t *s) { return is_solver(s) ? (int)number(s, N_JOINTS) : @UPPER@_BAD_MEMORY; }

int @NAME@_tips(const solver_t *s) { return is_solver(s) ? (int)number(s, N_TIPS) : @UPPER@_BAD_MEMORY; }

const char *@NAME@_names(const solver_t *s) {
  return is_solver(s) ? (const char *)(const void *)section(image_of(s), S_NAMES) : NULL;
}

const char *@NAME@_cause_text(int32_t cause) {
  switch (cause) {
@CAUSE_TEXTS@
    default: return "";
  }
}

const char *@NAME@_step_text(int32_t cause) {
  switch (cause) {
@STEP_TEXTS@
  }
}

int @NAME@_limits(const solver_t *s, double *lower, double *upper) {
  if (!is_solver(s)) return @UPPER@_BAD_MEMORY;
  if (!lower || !upper) return @UPPER@_BAD_ARGUMENT;
  const word n = number(s, N_JOINTS);
  const double *limits = image_reals(image_of(s), S_LIMITS);
  copy(lower, limits, n);
  copy(upper, limits + n, n);
  return 0;
}

/* Words of a kernel that reads a joint vector and writes a matrix. */
static void put_kinematics(solver_t *s, word *at, const double *q, double *out, word rows, word columns) {
  at = put_section(at, s, S_FK_INTS);
  at = put_section(at, s, S_FK_REALS);
  at = put_part(at, s, P_FK);
  copy(reals(s, P_JOINTS), q, number(s, N_JOINTS));
  at = put_part(at, s, P_JOINTS);
  put_table(at, out, rows, columns);
}

int @NAME@_fk(solver_t *s, const double *q, double *pose) {
  word words[40], nothing;
  if (!is_solver(s)) return @UPPER@_BAD_MEMORY;
  if (!q || !pose) return @UPPER@_BAD_ARGUMENT;
  put_kinematics(s, words, q, pose, 4, 4);
  return ssik_ros_rows__relative_pose__pose_of_b_in_a(&nothing, words);
}

int @NAME@_jacobian(solver_t *s, const double *q, double *jacobian) {
  word words[40], nothing;
  if (!is_solver(s)) return @UPPER@_BAD_MEMORY;
  if (!q || !jacobian) return @UPPER@_BAD_ARGUMENT;
  put_kinematics(s, words, q, jacobian, 6, number(s, N_JOINTS));
  return ssik_ros_rows__relative_pose__twist_of_b_in_a(&nothing, words);
}

/* ---- closed form ---- */

static void clear(report_t *report) {
  const report_t empty = {0};
  if (report) *report = empty;
}

static void refuse(report_t *report, int cause) {
  if (report) report->status = @UPPER@_REFUSED;
  if (report) report->cause = cause;
}

static int is_usable(const solver_t *s, const double *q) {
  for (word k = 0; k < number(s, N_JOINTS); ++k)
    if (!(size_of(q[k]) <= LARGEST_JOINT)) return 0;
  return 1;
}

static word *put_start(word *at, solver_t *s) {
  const word n = number(s, N_JOINTS);
  at = put_table(at, part(s, P_ROWS), part_size(s, P_ROWS) / (n + 3), n + 3);
  at = put_part(at, s, P_COUNTERS);
  at = put_part(at, s, P_INTS);
  return put_part(at, s, P_REALS);
}

static word *put_end(word *at, solver_t *s) {
  at = put_table(at, part(s, P_POSE), 4, 4);
  at = put_part(at, s, P_SEED);
  at = put_part(at, s, P_OPTIONS);
  return put_part(at, s, P_WORK);
}

/* Every branch of an arm that needs neither samples nor an elimination; solve_one calls the same kernel. */
static word search_block(solver_t *s) {
  word words[40], count = 0, *at = words;
  *at++ = (word)(intptr_t)part(s, P_HEAD);
  at = put_table(at, part(s, P_POSE), 4, 4);
  put_part(at, s, P_SEED);
  ssik_ros_closed_form__branches__branch_block__solve(&count, words);
  /* At a singular pose others may exist; the report then proves nothing. */
  return count == B_DOUBTFUL ? part(s, P_COUNTERS)[C_COUNT] : count;
}

/* Every branch at so many values of the held joint; one that is not read where none is held. */
static word search_values(solver_t *s, word values) {
  word words[160], count = 0, *at = put_start(words, s);
  at = put_list(at, part(s, P_SAMPLES), values);
  at = put_end(at, s);
  if (number(s, N_CLOSED_FORM) != ELIMINATION) {
    ssik_ros_closed_form__branches__search__search(&count, words);
    return count;
  }
  copy(reals(s, P_CONSTANTS), reals(s, P_REALS) + number(s, N_PLAN_SIZE), part_size(s, P_CONSTANTS));
  at = put_part(at, s, P_CONSTANTS);
  at = put_table(at, part(s, P_SIX), 16, 6);
  at = put_part(at, s, P_LOOP);
  const word loop_ints = 2 * part_size(s, P_LOOP_INTS);
  put_array(at, part(s, P_LOOP_INTS), 4, 1, &loop_ints);
  ssik_ros_closed_form__elimination__general_search__search(&count, words);
  return count;
}

static word search_arcs(solver_t *s, double low, double high) {
  word words[160], count = 0, *at = put_start(words, s);
  double *spread = reals(s, P_SPREAD);
  spread[0] = low;
  spread[1] = high;
  spread[2] = (double)number(s, N_SAMPLES);
  spread[3] = 0.0;
  at = put_part(at, s, P_SPREAD);
  at = put_end(at, s);
  at = put_part(at, s, P_PLACES);
  at = put_part(at, s, P_STACK);
  put_part(at, s, P_SCRATCH);
  ssik_ros_closed_form__branches__held_search__search(&count, words);
  return count;
}

/* The range over which the values of the held joint are spread. */
static void held_range(solver_t *s, int mode, double *low, double *high) {
  const word held = number(s, N_HELD);
  *low = reals(s, P_REALS)[number(s, N_FORM_LOWER) + held];
  *high = reals(s, P_REALS)[number(s, N_FORM_UPPER) + held];
  if (number(s, N_HELD_SLIDES)) {
    word words[40], *at = put_part(words, s, P_INTS);
    double range[2] = {0.0, 0.0};
    at = put_part(at, s, P_REALS);
    put_table(at, part(s, P_POSE), 4, 4);
    ssik_ros_closed_form__branches__held_slide__slide_range(range, words);
    *low = range[0];
    *high = range[1];
  } else if (mode != @UPPER@_WITHIN_LIMITS || !(*high - *low <= LARGEST_FINITE)) {
    *low = -PI;
    *high = PI;
  } else if (*high - *low >= 2.0 * PI) {
    const double middle = 0.5 * (*low + *high);
    *low = middle - PI;
    *high = middle + PI;
  }
}

/* The winding of the seed's value inside a range, or the nearest end. */
static double into_range(double value, double low, double high, word slides) {
  const double turn = 2.0 * PI;
  double moved = value;
  if (!slides && moved > high) moved -= turn * ceil((moved - high) / turn);
  else if (!slides && moved < low) moved += turn * ceil((low - moved) / turn);
  if (low <= moved && moved <= high) return moved;
  const double above = low > value ? low : value;
  return high < above ? high : above;
}

static word search_samples(solver_t *s, double low, double high, word wanted, word *tried) {
  const double step = (high - low) / (double)wanted;
  double *values = reals(s, P_SAMPLES);
  word count = 0;
  if (reals(s, P_OPTIONS)[O_HAS_SEED] != 0.0)
    values[count++] = into_range(reals(s, P_SEED)[number(s, N_HELD)], low, high, number(s, N_HELD_SLIDES));
  for (word k = 0; k < wanted; ++k) values[count++] = low + ((double)k + 0.5) * step;
  *tried = count;
  return search_values(s, count);
}

static int is_met(solver_t *s, word count) { return count > 0 || part(s, P_COUNTERS)[C_PROVED] != 0; }

/* Finer and finer values of the held joint until one meets the pose. */
static word search_held(solver_t *s, int mode, word *tried) {
  static const short finer[] = {50, 256, 1024};
  double low, high;
  word count, *counters = part(s, P_COUNTERS);
  held_range(s, mode, &low, &high);
  if (!(high - low <= LARGEST_FINITE)) return 0;
  if (!(low < high)) {
    /* A request holds the joint. */
    reals(s, P_SAMPLES)[0] = low;
    *tried = 1;
    return search_values(s, 1);
  }
  const int on_arcs = number(s, N_ARCS) && mode == @UPPER@_WITHIN_LIMITS;
  count = on_arcs ? search_arcs(s, low, high) : search_samples(s, low, high, number(s, N_SAMPLES), tried);
  if (on_arcs) *tried = (word)reals(s, P_SPREAD)[3];
  for (int k = 0; k < 3 && count == 0 && !is_met(s, count); ++k) {
    if (k > 0 && counters[C_BRANCHES] == 0) break;
    count = search_samples(s, low, high, finer[k], tried);
  }
  return count;
}

/* Why a closed form has no branch within the limits; `beyond` is the cause if branches exist outside of them. */
static int cause_of_absence(const solver_t *s, int is_too_far, int is_doubtful, int is_beyond, int beyond) {
  const word words[] = {is_too_far, is_doubtful, is_beyond, number(s, N_IS_COMPLETE), beyond};
  word cause = 0;
  ssik_ros_search__causes__of_absence(&cause, words);
  return (int)cause;
}

static void report_branches(solver_t *s, word count, word tried, int beyond, report_t *report) {
  const word *counters = part(s, P_COUNTERS);
  if (!report) return;
  const word different = counters[C_BRANCHES], dropped = counters[C_DROPPED];
  report->candidates = counters[C_RAW];
  report->branches = different;
  report->dropped = dropped;
  report->samples = tried;
  report->status = count > 0 ? @UPPER@_SOLVED : @UPPER@_UNSOLVED;
  if (count > 0) {
    const double *row = reals(s, P_ROWS) + number(s, N_JOINTS);
    report->position_error = row[0];
    report->rotation_error = row[1];
  } else {
    const int is_doubtful = counters[C_DOUBT] && number(s, N_HELD) < 0;
    report->cause = cause_of_absence(s, counters[C_PROVED] != 0, is_doubtful, dropped > 0, beyond);
  }
}

/* Leave the branches of a pose in the rows, and return how many; no more than `most` where limits are all that counts. */
static word find(solver_t *s, const double *pose, const double *seed, int mode, word most, int beyond, report_t *report) {
  double *options = reals(s, P_OPTIONS);
  word tried = 1, count;
  clear(report);
  if (seed && !is_usable(s, seed)) {
    refuse(report, @UPPER@_CAUSE_BAD_STATE);
    return 0;
  }
  copy(reals(s, P_POSE), pose, 16);
  for (word k = 0; k < number(s, N_JOINTS); ++k) reals(s, P_SEED)[k] = seed ? seed[k] : 0.0;
  options[O_MODE] = (double)mode;
  options[O_HAS_SEED] = seed ? 1.0 : 0.0;
  options[O_MAX_SOLUTIONS] = (double)most;
  if (number(s, N_HELD) >= 0) count = search_held(s, mode, &tried);
  else count = number(s, N_CLOSED_FORM) == ELIMINATION ? search_values(s, 1) : search_block(s);
  if (count < 0) {
    refuse(report, @UPPER@_CAUSE_BAD_TARGET);
    return 0;
  }
  report_branches(s, count, tried, beyond, report);
  return count;
}

static int64_t check(const solver_t *s, const double *pose, const double *q, int64_t capacity) {
  if (!is_solver(s)) return @UPPER@_BAD_MEMORY;
  if (!pose || !q || capacity < 0) return @UPPER@_BAD_ARGUMENT;
  return number(s, N_CLOSED_FORM) == NO_FORM ? @UPPER@_NO_CLOSED_FORM : 0;
}

int64_t @NAME@_solve_all(solver_t *s, const double *pose, const double *seed, int mode, int64_t capacity, double *q,
                         double *errors, report_t *report) {
  const int64_t wrong = check(s, pose, q, capacity);
  if (wrong) return wrong;
  if (mode < 0 || mode > 2) return @UPPER@_BAD_ARGUMENT;
  const word n = number(s, N_JOINTS), count = find(s, pose, seed, mode, MOST_BRANCHES, @UPPER@_CAUSE_LIMITS, report);
  const word written = count < capacity ? count : capacity;
  const double *rows = reals(s, P_ROWS);
  for (word k = 0; k < written; ++k) {
    copy(q + n * k, rows + (n + 3) * k, n);
    if (errors) copy(errors + 3 * k, rows + (n + 3) * k + n, 3);
  }
  return written;
}

int64_t @NAME@_solve_nearest(solver_t *s, const double *pose, const double *seed, double *q, report_t *report) {
  const int64_t wrong = check(s, pose, q, 1);
  if (wrong) return wrong;
  if (!seed) return @UPPER@_BAD_ARGUMENT;
  const word count = find(s, pose, seed, @UPPER@_WITHIN_LIMITS, 1, @UPPER@_CAUSE_LIMITS, report);
  if (count > 0) copy(q, reals(s, P_ROWS), number(s, N_JOINTS));
  return count;
}

/*
 * Write how many values each joint of each branch has; return how many postures that makes, no more than `most` and some.
 * It is -1 if a joint has more values than there is room for.
 */
static word count_windings(solver_t *s, word b, word most, word *widest) {
  const word n = number(s, N_JOINTS);
  const double *limits = image_reals(image_of(s), S_LIMITS), *rows = reals(s, P_ROWS);
  double *branches = reals(s, P_WIND_BRANCHES);
  word *sizes = part(s, P_WIND_SIZES), words[40], nothing, total = 0, *at;
  for (word k = 0; k < b; ++k) copy(branches + n * k, rows + (n + 3) * k, n);
  at = put_table(words, sizes, b, n);
  at = put_table(at, branches, b, n);
  at = put_list(at, limits, n);
  at = put_list(at, limits + n, n);
  *at = part(s, P_INTS)[PLAN_SLIDES];
  ssik_ros_closed_form__certification__windings__count_windings(&nothing, words);
  for (word k = 0; k < b * n; ++k) {
    if (sizes[k] < 1 || sizes[k] > number(s, N_WIDEST)) return -1;
    *widest = sizes[k] > *widest ? sizes[k] : *widest;
  }
  for (word k = 0; k < b && total <= most; ++k) {
    word product = 1;
    for (word i = 0; i < n && product <= most; ++i) product *= sizes[n * k + i];
    total += product;
  }
  return total;
}

static void write_windings(solver_t *s, word b, word widest, int has_seed) {
  const word n = number(s, N_JOINTS), shape[] = {b, n, widest};
  const double *limits = image_reals(image_of(s), S_LIMITS);
  word words[80], nothing, *at;
  for (word k = 0; k < b * n * widest; ++k) reals(s, P_WIND_VALUES)[k] = reals(s, P_WIND_COSTS)[k] = 0.0;
  at = put_array(words, part(s, P_WIND_VALUES), 8, 3, shape);
  at = put_array(at, part(s, P_WIND_COSTS), 8, 3, shape);
  at = put_table(at, part(s, P_WIND_SIZES), b, n);
  at = put_table(at, part(s, P_WIND_BRANCHES), b, n);
  at = put_list(at, limits, n);
  at = put_list(at, limits + n, n);
  *at++ = part(s, P_INTS)[PLAN_SLIDES];
  at = put_part(at, s, P_SEED);
  *at = has_seed;
  ssik_ros_closed_form__certification__windings__write_windings(&nothing, words);
}

static void take_best(solver_t *s, word b, word widest, word count, double *q) {
  const word n = number(s, N_JOINTS), shape[] = {b, n, widest}, room = b + count * n;
  word words[120], nothing[2], *at;
  at = put_table(words, q, count, n);
  at = put_list(at, part(s, P_WIND_OWNER), count);
  at = put_array(at, part(s, P_WIND_VALUES), 8, 3, shape);
  at = put_array(at, part(s, P_WIND_COSTS), 8, 3, shape);
  at = put_table(at, part(s, P_WIND_SIZES), b, n);
  *at++ = (word)reals(s, P_OPTIONS)[O_METRIC];
  for (int k = P_WIND_HEAP; k <= P_WIND_CODES; ++k) at = put_list(at, part(s, k), room);
  put_part(at, s, P_JOINT_INTS);
  ssik_ros_closed_form__certification__windings__take_best(nothing, words);
}

int64_t @NAME@_solve_windings(solver_t *s, const double *pose, const double *seed, int64_t capacity, double *q,
                              report_t *report) {
  const int64_t wrong = check(s, pose, q, capacity);
  if (wrong) return wrong;
  if (capacity > 0 && s->windings == 0) return @UPPER@_BAD_MEMORY;
  const word most = capacity < s->windings ? capacity : s->windings;
  const word b = find(s, pose, seed, @UPPER@_WITHIN_LIMITS, MOST_BRANCHES, @UPPER@_CAUSE_LIMITS, report);
  if (b == 0 || most == 0) return 0;
  word widest = 1;
  const word total = count_windings(s, b, most, &widest), count = total < most ? total : most;
  if (total < 0) return @UPPER@_BAD_MEMORY;
  write_windings(s, b, widest, seed != NULL);
  take_best(s, b, widest, count, q);
  return count;
}

/* ---- numerical solver ---- */

/* Real numbers in the block of the search, from a place that is one of the arm's numbers. */
static double *search_reals(solver_t *s, int place) { return (double *)(void *)(part(s, P_SEARCH) + number(s, place)); }
static double *search_options(solver_t *s) { return search_reals(s, N_SEARCH_OPTIONS); }
static const word *search_counters(solver_t *s) { return part(s, P_SEARCH) + number(s, N_SEARCH_COUNTERS); }

/* The first arguments of the kernels of a search: the packed problem and the options. */
static word *put_problem(word *at, solver_t *s, const void *options) {
  const word *head = part(s, P_SEARCH);
  at = put_list(at, head + 3, head[0]);
  at = put_list(at, search_reals(s, N_SEARCH_REALS), head[1]);
  return put_list(at, options, head[2]);
}

static word *put_search_work(word *at, solver_t *s) {
  return put_list(at, search_reals(s, N_SEARCH_WORK), part_size(s, P_SEARCH) - number(s, N_SEARCH_WORK));
}

static int status_of(word code) {
  if (code == CODE_FOUND) return @UPPER@_SOLVED;
  return code == CODE_BAD_TARGET || code == CODE_BAD_STATE ? @UPPER@_REFUSED : @UPPER@_UNSOLVED;
}

/* Whether a proof that a pose is out of reach holds whatever the limits. The reach without limits of slides is not here. */
static int is_proved(const solver_t *s) { return !number(s, N_SLIDES); }

static int cause_of_search(solver_t *s, word code, word refused, int beyond) {
  word words[16], cause = 0, *at = words;
  *at++ = code;
  at = put_list(at, search_counters(s), SEARCH_COUNTERS);
  *at++ = refused;
  *at++ = is_proved(s);
  *at = beyond;
  ssik_ros_search__causes__of_search(&cause, words);
  return (int)cause;
}

/* Cause of a request that neither the closed form nor the search met, from the causes of both. */
static int cause_of_both(solver_t *s, int exact, int searched, double residual) {
  word words[] = {exact, searched, 0, 0}, cause = 0;
  __builtin_memcpy(words + 2, &residual, sizeof(residual));
  __builtin_memcpy(words + 3, reals(s, P_OWN) + OWN_TOLERANCE, sizeof(double));
  ssik_ros_search__causes__of_both(&cause, words);
  return (int)cause;
}

/* Cause with the count of a fast closed form, which is negative if the closed form was not called or proves nothing. */
static int cause_with_branches(solver_t *s, word code, word branches, double residual) {
  const int searched = cause_of_search(s, code, 0, @UPPER@_CAUSE_LIMITS);
  const int is_asked = number(s, N_FORM_FIRST) && code == CODE_EXHAUSTED;
  const int is_doubtful = branches < 0 && is_asked && part(s, P_COUNTERS)[C_DOUBT];
  if (branches < 0 && !is_doubtful) return searched;
  const int exact = cause_of_absence(s, 0, is_doubtful, branches > 0, @UPPER@_CAUSE_LIMITS);
  return cause_of_both(s, exact, searched, residual);
}

struct plain {
  word code, iterations, searches;
  double norm, position, rotation;
  word branches;
  double energy;
};

/* Numbers for each joint in the options of the search: ROW_LOWER and so on. */
static double *option_row(solver_t *s, int row) { return search_options(s) + FIRST_ROW + row * number(s, N_JOINTS); }

static void set_budget(solver_t *s, const @NAME@_budget *budget) {
  const double *own = (const double *)(const void *)(section(image_of(s), S_SEARCH) + number(s, N_SEARCH_OPTIONS));
  double *options = search_options(s);
  const int64_t searches = budget ? budget->max_searches : 0, steps = budget ? budget->max_iterations : 0;
  options[O_MAX_SEARCHES] = searches > 0 ? (double)searches : own[O_MAX_SEARCHES];
  options[O_MAX_ITERATIONS] = steps > 0 ? (double)steps : own[O_MAX_ITERATIONS];
  clock_of(s)->now = budget ? budget->clock_ns : NULL;
  clock_of(s)->context = budget ? budget->clock_context : NULL;
}

static struct plain run_plain(solver_t *s, const double *pose, const double *seed, const @NAME@_budget *budget, double *q) {
  const word n = number(s, N_JOINTS);
  struct plain result = {0};
  word words[60], *at = words;
  *at++ = (word)(intptr_t)part(s, P_SEARCH);
  if (number(s, N_FORM_FIRST)) *at++ = (word)(intptr_t)part(s, P_HEAD);
  *at++ = budget && budget->clock_ns ? budget->timeout_ns : 0;
  *at++ = (word)(intptr_t)(budget && budget->cancel ? budget->cancel : &s->never);
  at = put_list(at, seed, n);
  at = put_table(at, pose, 4, 4);
  put_list(at, q, n);
  if (number(s, N_FORM_FIRST)) {
    double *options = reals(s, P_OPTIONS);
    options[O_MODE] = (double)@UPPER@_WITHIN_LIMITS;
    options[O_HAS_SEED] = options[O_MAX_SOLUTIONS] = 1.0;
    ssik_ros_search__plain_request__solve_one(&result, words);
  } else {
    ssik_ros_search__plain_request__search_one(&result, words);
  }
  return result;
}

static void report_plain(solver_t *s, const struct plain *result, report_t *report) {
  if (!report) return;
  report->iterations = result->iterations;
  report->searches = result->searches;
  report->branches = result->branches > 0 ? result->branches : 0;
  report->position_error = result->position;
  report->rotation_error = result->rotation;
  if (result->code == CODE_FOUND) return;
  report->cause = cause_with_branches(s, result->code, result->branches, result->norm);
  report->status = status_of(result->code);
}

static int is_budget(const @NAME@_budget *budget) { return !budget || budget->timeout_ns <= 0 || budget->clock_ns; }

/* Copy pose and seed, which may lie in the caller's result, and begin a report. */
static void keep_request(solver_t *s, const double *pose, const double *seed, const @NAME@_budget *budget, report_t *report) {
  copy(reals(s, P_START), seed, number(s, N_JOINTS));
  copy(reals(s, P_TARGET), pose, 16 * number(s, N_TIPS));
  set_budget(s, budget);
  clear(report);
}

static int is_within_tolerance(solver_t *s, double position, double rotation) {
  return sqrt(position * position + rotation * rotation) <= reals(s, P_OWN)[OWN_TOLERANCE];
}

/* The solution of the kernels of plain requests. */
static int64_t solve_plain(solver_t *s, const double *pose, const double *seed, const @NAME@_budget *budget, double *q,
                           report_t *report) {
  const word n = number(s, N_JOINTS);
  const struct plain result = run_plain(s, pose, seed, budget, q);
  if (result.code == CODE_FOUND) {
    report_plain(s, &result, report);
    return 1;
  }
  if (result.code == CODE_EXHAUSTED && number(s, N_FORM_LAST)) {
    /* A complete closed form that takes longer than the starts. */
    report_t found;
    const word count = find(s, pose, seed, @UPPER@_WITHIN_LIMITS, 1, @UPPER@_CAUSE_LIMITS, &found);
    if (count > 0 && is_within_tolerance(s, found.position_error, found.rotation_error)) {
      copy(q, reals(s, P_ROWS), n);
      found.searches = result.searches;
      found.iterations = result.iterations;
      if (report) *report = found;
      return 1;
    }
  }
  report_plain(s, &result, report);
  return 0;
}

/* A request with conditions; all arrays are the solver's but q. */
struct request {
  const double *pose, *seed;
  const @NAME@_conditions *conditions;
  const @NAME@_budget *budget;
  word most; /* solutions that fit */
  double *q;
  report_t *report;
  word refused; /* candidates that the verdict refused */
};

/* The cause of solutions that exist only outside the limits of a request. */
static int cause_beyond(const struct request *r) {
  return r->conditions->consistency ? @UPPER@_CAUSE_CONSISTENCY : @UPPER@_CAUSE_LIMITS;
}

static int is_accepted(struct request *r, const double *q) {
  if (!r->conditions->accept || r->conditions->accept(r->conditions->context, q)) return 1;
  ++r->refused;
  return 0;
}

/*
 * Narrow the limits of closed form and search to the consistency around the seed; 0 if a joint has no room. A joint that
 * is held stays at the seed, or at the limit next to it.
 */
static int narrow(solver_t *s, const struct request *r) {
  const word n = number(s, N_JOINTS);
  const double *consistency = r->conditions->consistency, *limits = image_reals(image_of(s), S_LIMITS);
  double *lower = option_row(s, ROW_LOWER), *upper = option_row(s, ROW_UPPER);
  double *first = option_row(s, ROW_SAMPLING_LOWER), *last = option_row(s, ROW_SAMPLING_UPPER);
  if (!consistency) return 1;
  for (word k = 0; k < n; ++k) {
    const double seed = r->seed[k], width = consistency[k];
    double low = limits[k] > seed - width ? limits[k] : seed - width;
    double high = limits[n + k] < seed + width ? limits[n + k] : seed + width;
    if (width == 0.0) low = high = seed < limits[k] ? limits[k] : seed > limits[n + k] ? limits[n + k] : seed;
    if (!(low <= high)) return 0;
    lower[k] = low;
    upper[k] = high;
    first[k] = first[k] < low ? low : first[k] > high ? high : first[k];
    last[k] = last[k] < low ? low : last[k] > high ? high : last[k];
    if (number(s, N_CLOSED_FORM) == NO_FORM) continue;
    reals(s, P_REALS)[number(s, N_FORM_LOWER) + k] = low;
    reals(s, P_REALS)[number(s, N_FORM_UPPER) + k] = high;
  }
  return 1;
}

/* Undo `narrow`. */
static void widen(solver_t *s) {
  const word n = number(s, N_JOINTS);
  const double *limits = image_reals(image_of(s), S_LIMITS);
  const word *options = section(image_of(s), S_SEARCH) + number(s, N_SEARCH_OPTIONS);
  copy_words((word *)(void *)search_options(s), options, number(s, N_OPTION_COUNT));
  if (number(s, N_CLOSED_FORM) == NO_FORM) return;
  copy(reals(s, P_REALS) + number(s, N_FORM_LOWER), limits, n);
  copy(reals(s, P_REALS) + number(s, N_FORM_UPPER), limits + n, n);
}

/*
 * Whether the closed form may meet a request: if joints are held, only one that samples just this joint does. The
 * other joints are too few to reach a pose, except by chance.
 */
static int form_serves(const solver_t *s, const struct request *r) {
  if (number(s, N_CLOSED_FORM) == NO_FORM) return 0;
  if (!r->conditions->consistency || number(s, N_FORM_ONLY)) return 1;
  for (word k = 0; k < number(s, N_JOINTS); ++k)
    if (r->conditions->consistency[k] == 0.0 && k != number(s, N_HELD)) return 0;
  return 1;
}

/* Write the branches of a pose that are accepted, the nearest to the seed first; return how many. */
static int64_t take_branches(solver_t *s, struct request *r) {
  const word n = number(s, N_JOINTS);
  const word count = find(s, r->pose, r->seed, @UPPER@_WITHIN_LIMITS, MOST_BRANCHES, cause_beyond(r), r->report);
  int64_t taken = 0;
  for (word k = 0; k < count && taken < r->most; ++k) {
    const double *row = reals(s, P_ROWS) + (n + 3) * k;
    if (!is_within_tolerance(s, row[n], row[n + 1]) || !is_accepted(r, row)) continue;
    copy(r->q + n * taken, row, n);
    if (taken++) continue;
    r->report->position_error = row[n];
    r->report->rotation_error = row[n + 1];
  }
  return taken;
}

/* The largest position and rotation error over all tips. */
static void report_errors(const solver_t *s, const double *errors, report_t *report) {
  report->position_error = report->rotation_error = 0.0;
  for (word k = 0; k < number(s, N_TIPS); ++k, errors += 2) {
    if (!(errors[0] <= report->position_error)) report->position_error = errors[0];
    if (!(errors[1] <= report->rotation_error)) report->rotation_error = errors[1];
  }
}

/* One run of the search, which goes on after each verdict; return the code of the kernel. */
static word run_search(solver_t *s, struct request *r) {
  const word n = number(s, N_JOINTS), width = n + 2 * number(s, N_TIPS) + 2;
  const @NAME@_budget *budget = r->budget;
  double *rows = reals(s, P_CANDIDATES), *candidate = rows + r->most * width;
  word phase = PHASE_FRESH, code = 0, words[80], *at;
  copy(search_reals(s, N_MATRICES), r->pose, 16 * number(s, N_TIPS));
  copy(search_reals(s, N_REFERENCE), r->seed, n);
  do {
    at = put_problem(words, s, search_options(s));
    *at++ = phase;
    *at++ = budget && budget->clock_ns ? budget->timeout_ns : 0;
    at = put_list(at, budget && budget->cancel ? budget->cancel : &s->never, 1);
    at = put_list(at, search_counters(s), SEARCH_COUNTERS);
    at = put_search_work(at, s);
    put_table(at, rows, r->most + 1, width);
    ssik_ros_search__restart_search__search(&code, words);
    if (code == CODE_CANDIDATE) phase = is_accepted(r, candidate) ? PHASE_ACCEPTED : PHASE_REFUSED;
  } while (code == CODE_CANDIDATE);
  return code;
}

/* Write the solutions that a search finds, the nearest to the seed first; return how many. */
static int64_t take_searched(solver_t *s, struct request *r) {
  const word n = number(s, N_JOINTS), width = n + 2 * number(s, N_TIPS) + 2, *counters = search_counters(s);
  double *rows = reals(s, P_CANDIDATES), *options = search_options(s);
  report_t *report = r->report;
  clear(report);
  options[O_VALIDATED] = r->conditions->accept ? 1.0 : 0.0;
  options[O_KEEPS_LOOKING] = r->conditions->wants_nearest ? 1.0 : 0.0;
  word code = run_search(s, r);
  report->searches = counters[C_SEARCHES];
  report->iterations = counters[C_ITERATIONS];
  report->status = status_of(code);
  if (code == CODE_FOUND) {
    const word count = counters[C_COUNT_FOUND];
    for (word k = 0; k < count; ++k) copy(r->q + n * k, rows + width * k, n);
    report_errors(s, rows + n, report);
    return count;
  }
  if (report->status != @UPPER@_REFUSED) {
    copy(r->q, search_reals(s, N_BEST), n);
    report_errors(s, search_reals(s, N_ERRORS), report);
  }
  /* A report has no other place that says that the clock ended the search. */
  report->cause = cause_of_search(s, code, code == CODE_EXHAUSTED ? r->refused : 0, cause_beyond(r));
  if (code == CODE_EXHAUSTED && r->conditions->wants_nearest) {
    /* The search left out the proof that the pose is out of reach. */
    options[O_MAX_SEARCHES] = options[O_KEEPS_LOOKING] = 0.0;
    code = run_search(s, r);
    if (code == CODE_OUT_OF_REACH) report->cause = cause_of_search(s, code, 0, cause_beyond(r));
  }
  return 0;
}

/* The methods for a request with conditions, in their order; return the number of solutions. */
static int64_t solve_by_methods(solver_t *s, struct request *r) {
  const int has_form = form_serves(s, r), is_complete = has_form && number(s, N_IS_COMPLETE);
  const int is_first = has_form && (is_complete || number(s, N_FORM_ONLY) || r->most > 1);
  report_t known;
  clear(&known);
  if (is_first) {
    const int64_t count = take_branches(s, r);
    if (count > 0 || r->report->status == @UPPER@_REFUSED) return count;
    if (r->report->status == @UPPER@_SOLVED) {
      /* Every branch was offered. */
      r->report->cause = r->refused ? @UPPER@_CAUSE_VALIDATION : @UPPER@_CAUSE_NOT_FOUND;
      r->report->status = @UPPER@_UNSOLVED;
    }
    known = *r->report;
    if (number(s, N_FORM_ONLY)) {
      copy(r->q, r->seed, number(s, N_JOINTS));
      return 0;
    }
    if (is_complete && known.branches > 0 && !r->conditions->wants_nearest) return 0;
  }
  const int64_t count = take_searched(s, r);
  const int cause = r->report->cause;
  const int is_over = cause == @UPPER@_CAUSE_BAD_TARGET || cause == @UPPER@_CAUSE_DEADLINE || cause == @UPPER@_CAUSE_UNREACHABLE;
  if (count > 0 || is_over) return count;
  if (is_complete) {
    /* The search has the nearest joint vector, the closed form the cause. If the vector is near, nothing is proved. */
    const double position = r->report->position_error, rotation = r->report->rotation_error;
    const double residual = sqrt(position * position + rotation * rotation);
    r->report->cause = cause_of_both(s, known.cause, cause, residual);
    r->report->branches = known.branches;
    r->report->dropped = known.dropped;
  } else if (has_form && !is_first) {
    const report_t searched = *r->report;
    const int64_t taken = take_branches(s, r);
    if (taken > 0) return taken;
    *r->report = searched;
    if (r->refused) r->report->cause = @UPPER@_CAUSE_VALIDATION;
  }
  return 0;
}

int64_t @NAME@_solve_several(solver_t *s, const double *pose, const double *seed, const @NAME@_conditions *conditions,
                             const @NAME@_budget *budget, int64_t capacity, double *q, report_t *report) {
  static const @NAME@_conditions none = {0};
  if (!is_solver(s)) return @UPPER@_BAD_MEMORY;
  if (!pose || !seed || !q || capacity < 1 || !is_budget(budget)) return @UPPER@_BAD_ARGUMENT;
  if (!conditions) conditions = &none;
  for (word k = 0; conditions->consistency && k < number(s, N_JOINTS); ++k)
    if (!(conditions->consistency[k] >= 0.0)) return @UPPER@_BAD_ARGUMENT;
  report_t unread;
  if (!report) report = &unread;
  keep_request(s, pose, seed, budget, report);
  const word room = s->windings > 1 ? s->windings : 1;
  struct request r = {reals(s, P_TARGET), reals(s, P_START), conditions, budget, capacity < room ? capacity : room, q, report, 0};
  if (!is_usable(s, r.seed)) {
    refuse(report, @UPPER@_CAUSE_BAD_STATE);
    return 0;
  }
  int64_t count = 0;
  if (narrow(s, &r)) {
    count = solve_by_methods(s, &r);
  } else {
    report->status = @UPPER@_UNSOLVED;
    report->cause = @UPPER@_CAUSE_CONSISTENCY;
    copy(q, r.seed, number(s, N_JOINTS));
  }
  widen(s);
  return count;
}

int64_t @NAME@_solve(solver_t *s, const double *pose, const double *seed, const @NAME@_budget *budget, double *q,
                     report_t *report) {
  if (!is_solver(s)) return @UPPER@_BAD_MEMORY;
  if (!number(s, N_PLAIN)) return @NAME@_solve_several(s, pose, seed, NULL, budget, 1, q, report);
  if (!pose || !seed || !q || !is_budget(budget)) return @UPPER@_BAD_ARGUMENT;
  keep_request(s, pose, seed, budget, report);
  return solve_plain(s, reals(s, P_TARGET), reals(s, P_START), budget, q, report);
}

static int cause_of_step(solver_t *s, word code) {
  word words[16], cause = 0, *at = words;
  *at++ = code;
  *at++ = is_proved(s);
  put_part(at, s, P_TRACK_REPORT);
  ssik_ros_search__causes__of_step(&cause, words);
  return (int)cause;
}

/* One row of the cycle's numbers: T_LARGEST_MOTION and so on. */
static double *cycle_row(solver_t *s, int row) { return reals(s, P_CYCLE) + row * number(s, N_JOINTS); }

/* Write a bound for each joint; 0 if one is not positive. */
static int put_bounds(solver_t *s, int row, const double *limits, double factor) {
  double *to = cycle_row(s, row);
  for (word k = 0; k < number(s, N_JOINTS); ++k) {
    to[k] = limits ? factor * limits[k] : ENDLESS;
    if (!(to[k] > 0.0)) return 0;
  }
  return 1;
}

/* Take the step of a cycle, whose bounds are written; return 1 if the pose is reached. */
static int64_t follow(solver_t *s, const double *pose, const double *previous, double *q, report_t *report) {
  const word n = number(s, N_JOINTS);
  double *numbers = reals(s, P_TRACK_REPORT);
  word words[96], code = 0, *at;
  clear(report);
  copy(search_reals(s, N_MATRICES), pose, 16);
  if (previous) copy(reals(s, P_PREVIOUS), previous, 16);
  copy(reals(s, P_JOINTS), q, n);
  at = put_problem(words, s, section(image_of(s), S_TRACK));
  at = put_part(at, s, P_TRACK);
  at = put_part(at, s, P_CYCLE);
  at = put_list(at, reals(s, P_PREVIOUS), previous ? 16 : 0);
  at = put_list(at, &s->never, 1);
  at = put_list(at, search_counters(s), SEARCH_COUNTERS);
  at = put_search_work(at, s);
  at = put_part(at, s, P_JOINTS);
  at = put_part(at, s, P_TRACK_REPORT);
  put_part(at, s, P_TRACK_SCRATCH);
  ssik_ros_search__tracking__follow(&code, words);
  copy(q, reals(s, P_JOINTS), n);
  if (report) {
    report->iterations = (int64_t)numbers[T_ITERATIONS];
    report->position_error = search_reals(s, N_ERRORS)[0];
    report->rotation_error = search_reals(s, N_ERRORS)[1];
    report->status = status_of(code);
    report->cause = code == CODE_FOUND ? @UPPER@_CAUSE_NONE : cause_of_step(s, code);
  }
  return code == CODE_FOUND;
}

int64_t @NAME@_track(@NAME@_solver *s, const double *pose, const double *bounds, double *q, @NAME@_report *report) {
  if (!is_solver(s)) return @UPPER@_BAD_MEMORY;
  if (!pose || !q || number(s, N_TIPS) != 1) return @UPPER@_BAD_ARGUMENT;
  if (!put_bounds(s, T_LARGEST_MOTION, bounds, 1.0)) return @UPPER@_BAD_ARGUMENT;
  reals(s, P_TRACK)[O_POSTURE_GAIN] = reals(s, P_TRACK)[O_IMPROVES] = 0.0;
  put_bounds(s, T_LARGEST_CHANGE, NULL, 1.0);
  return follow(s, pose, NULL, q, report);
}

static double condition_number(solver_t *s) {
  word words[48], *at;
  double value = 0.0;
  at = put_problem(words, s, section(image_of(s), S_TRACK));
  at = put_search_work(at, s);
  put_part(at, s, P_TRACK_SCRATCH);
  ssik_ros_search__tracking__condition_number(&value, words);
  return value;
}

int64_t @NAME@_step(@NAME@_solver *s, const double *pose, @NAME@_cycle *cycle, double *q, @NAME@_report *report) {
  if (!is_solver(s)) return @UPPER@_BAD_MEMORY;
  if (!pose || !cycle || !q || !(cycle->period > 0.0) || number(s, N_TIPS) != 1) return @UPPER@_BAD_ARGUMENT;
  const double period = cycle->period;
  if (!put_bounds(s, T_LARGEST_MOTION, cycle->velocity, period)) return @UPPER@_BAD_ARGUMENT;
  if (!put_bounds(s, T_LARGEST_CHANGE, cycle->acceleration, period * period)) return @UPPER@_BAD_ARGUMENT;
  const word n = number(s, N_JOINTS);
  double *last = cycle_row(s, T_LAST_MOTION), *numbers = reals(s, P_TRACK_REPORT);
  for (word k = 0; k < n; ++k) {
    last[k] = cycle->speeds ? period * cycle->speeds[k] : 0.0;
    if (!(size_of(last[k]) <= LARGEST_JOINT)) return @UPPER@_BAD_ARGUMENT;
    cycle_row(s, T_STOPPED_BY)[k] = 0.0;
  }
  double *options = reals(s, P_TRACK), *posture = options + part_size(s, P_TRACK) - n;
  options[O_POSTURE_GAIN] = options[O_IMPROVES] = cycle->posture ? 1.0 : 0.0;
  for (word k = 0; k < n; ++k) {
    posture[k] = cycle->posture ? cycle->posture[k] : 0.0;
    if (!(size_of(posture[k]) <= LARGEST_JOINT)) return @UPPER@_BAD_ARGUMENT;
  }
  report_t own;
  if (!report) report = &own;
  const int64_t result = follow(s, pose, cycle->previous, q, report);
  const double before = numbers[T_BEFORE], after = numbers[T_AFTER];
  cycle->scale = result ? 1.0 : before > after ? 1.0 - sqrt(after / before) : 0.0;
  if (report->status == @UPPER@_REFUSED && report->cause == @UPPER@_CAUSE_BAD_STATE) return result;
  if (cycle->condition) *cycle->condition = condition_number(s);
  for (word k = 0; k < n; ++k) {
    if (cycle->speeds) cycle->speeds[k] = last[k] / period;
    if (cycle->stopped_by) cycle->stopped_by[k] = (int32_t)cycle_row(s, T_STOPPED_BY)[k];
  }
  return result;
}
