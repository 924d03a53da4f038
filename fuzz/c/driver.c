/*
 * Inputs for a harness without libFuzzer: driver COUNT [SEED [SECONDS]] draws random ones; driver FILE ... runs files.
 *
 * A call that takes longer than some seconds of processor time counts as endless and ends the program, as a fault does. The
 * input of the last run is in the file that FUZZ_LAST names.
 */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void count_runs(long *runs, long *accepted);

enum { MOST = 512, ENDLESS_SECONDS = 30 };

static uint8_t data[1 << 16];
static size_t size;

static void keep(void) {
  const char *name = getenv("FUZZ_LAST");
  FILE *file = name ? fopen(name, "wb") : NULL;
  if (!file) return;
  fwrite(data, 1, size, file);
  fclose(file);
}

static void end(int number) {
  static const char endless[] = "endless call\n";
  if (number == SIGPROF && write(2, endless, sizeof endless - 1) < 0) _exit(3);
  keep();
  signal(number, SIG_DFL);
  if (number == SIGPROF) _exit(2);
  raise(number);
}

static volatile sig_atomic_t is_over;

static void stop_soon(int number) {
  (void)number;
  is_over = 1;
}

static void run(void) {
  const struct itimerval most = {{0, 0}, {ENDLESS_SECONDS, 0}};
  setitimer(ITIMER_PROF, &most, NULL);
  LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv) {
  static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF};
  for (unsigned k = 0; k < sizeof numbers / sizeof numbers[0]; ++k) signal(numbers[k], end);
  signal(SIGTERM, stop_soon);
  signal(SIGINT, stop_soon);
  char *rest = NULL;
  const long count = argc > 1 ? strtol(argv[1], &rest, 10) : 0;
  if (argc < 2 || *rest) {
    for (int k = 1; k < argc; ++k) {
      FILE *file = fopen(argv[k], "rb");
      if (!file) return 1;
      size = fread(data, 1, sizeof data, file);
      fclose(file);
      run();
    }
  } else {
    uint64_t state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * UINT64_C(0x9E3779B97F4A7C15) | 1;
    const time_t last = argc > 3 ? time(NULL) + atol(argv[3]) : 0;
    for (long k = 0; k < count && !is_over && !(last && k % 64 == 0 && time(NULL) > last); ++k) {
      for (size = 0; size < MOST; ++size) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data[size] = (uint8_t)(state >> 33);
      }
      run();
    }
  }
  long runs, accepted;
  count_runs(&runs, &accepted);
  printf("%ld blocks, %ld accepted, 0 faults, 0 endless\n", runs, accepted);
  return 0;
}
