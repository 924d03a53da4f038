/*
 * Monotonic clocks that run faster than the machine, for tests of code that depends on the clock: preload this library.
 *
 * SSIK_ROS_CLOCK_FACTOR=4 makes every budget, timeout and sleep of Python, rclpy and the kernels end after a quarter of
 * its time, as on a machine that is four times slower. The date stays as it is. "make test CLOCK_FACTOR=4" builds this
 * file and runs the tests with it (Linux with glibc).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define FIRST_DATE 1000000000LL /* Seconds that a date has and a time since the start of a machine has not. */

static int64_t factor(void)
{
  static int64_t known = 0;
  if (known == 0) {
    const char *text = getenv("SSIK_ROS_CLOCK_FACTOR");
    int64_t given = text == NULL ? 1 : atoll(text);
    known = given < 1 ? 1 : given;
  }
  return known;
}

static struct timespec spec_of(int64_t nanoseconds)
{
  struct timespec made = {nanoseconds / SECOND, nanoseconds % SECOND};
  return made;
}

static int64_t nanoseconds_of(const struct timespec *time)
{
  return time->tv_sec * SECOND + time->tv_nsec;
}

/* Return the time of the machine's own clock for a time of the fast clock. */
static struct timespec slow(const struct timespec *time)
{
  return spec_of(nanoseconds_of(time) / factor());
}

int clock_gettime(clockid_t id, struct timespec *time)
{
  long failed = syscall(SYS_clock_gettime, id, time);
  if (!failed && (id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_RAW || id == CLOCK_BOOTTIME))
    *time = spec_of(nanoseconds_of(time) * factor());
  return (int)failed;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *time, struct timespec *left)
{
  int is_moment = id == CLOCK_MONOTONIC && (flags & TIMER_ABSTIME);
  struct timespec end = is_moment ? slow(time) : *time;
  return syscall(SYS_clock_nanosleep, id, flags, &end, left) ? errno : 0;
}

int sem_clockwait(sem_t *semaphore, clockid_t id, const struct timespec *time)
{
  static int (*next)(sem_t *, clockid_t, const struct timespec *);
  if (next == NULL)
    next = (int (*)(sem_t *, clockid_t, const struct timespec *))dlsym(RTLD_NEXT, "sem_clockwait");
  struct timespec end = id == CLOCK_MONOTONIC ? slow(time) : *time;
  return next(semaphore, id, &end);
}

typedef int (*clock_wait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);

int pthread_cond_clockwait(
  pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t id, const struct timespec *time)
{
  static clock_wait next;
  if (next == NULL)
    next = (clock_wait)dlsym(RTLD_NEXT, "pthread_cond_clockwait");
  struct timespec end = id == CLOCK_MONOTONIC ? slow(time) : *time;
  return next(condition, mutex, id, &end);
}

typedef int (*timed_wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

int pthread_cond_timedwait(
  pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *time)
{
  static timed_wait next;
  if (next == NULL) /* The condition variables of today; a plain dlsym may find older ones, of glibc 2.2. */
    next = (timed_wait)dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (next == NULL)
    next = (timed_wait)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  struct timespec end = time->tv_sec < FIRST_DATE ? slow(time) : *time;
  return next(condition, mutex, &end);
}
