/*
 * @TITLE@
 *
 * Written by ssik_ros @VERSION@. C99, usable from C++ (see @NAME@.hpp for a wrapper).
 *
 * Units: metres and radians. A pose is a row-major 4 x 4 matrix, 16 doubles: @FRAMES@.
 * A joint vector has one double for each joint, in the order of the chain.
 *
 * Memory: the caller owns all of it. A solver lives in one buffer, aligned to 8 bytes, of the size that @NAME@_memory_size
 * returns. No function allocates, locks, prints, reads a file or keeps a static variable. Threads may call at the same
 * time, each with a solver of its own.
 *
 * Time: every function ends after a bounded number of steps. No function reads a clock, unless a caller passes one to
 * @NAME@_solve.
 *
 * Verified: a joint vector is returned as a solution only if the forward kinematics of exactly these numbers reaches the
 * pose within the tolerance and every joint is within its limits. Branches reach the pose up to rounding.
@if arm@
 * A posture counts as a solution of @NAME@_solve, and a pose as reached by @NAME@_track and @NAME@_step, when
 * sqrt(e * e + r * r) <= @TOLERANCE@, with the position error e [m] and the rotation error r [rad]. Each goes on to 1e-6
 * where the arm can.
@end@
@if library@
 * A posture counts as a solution of @NAME@_solve, and a pose as reached by @NAME@_track and @NAME@_step, when
 * sqrt(e * e + r * r) is at most the tolerance in the blocks, with the position error e [m] and the rotation error r
 * [rad]. Each goes on to 1e-6 where the arm can.
@end@
 *
 * Not in here: collisions, other tools and other limits than those at the build. @NAME@_solve_several asks the
 * caller about each candidate. For poses of seven joints that all samples of the redundant joint miss, the Python package
 * searches further; here the cause is NOT_FOUND.
 */
#ifndef @UPPER@_H
#define @UPPER@_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#error "@NAME@ is built for Linux and for bare ELF targets"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface: a program has to be compiled again when the major number changes. It is in the soname, too. */
#define @UPPER@_ABI_MAJOR @ABI_MAJOR@
#define @UPPER@_ABI_MINOR @ABI_MINOR@
@CONSTANTS@
/* Results of a function that did not run; zero and positive numbers are results of one that did. */
enum {
  @UPPER@_BAD_ARGUMENT = -1, /* a null pointer, a negative capacity, an unknown mode */
  @UPPER@_BAD_MEMORY = -2,   /* the buffer is too small, has no room for windings, is not aligned, or holds no solver */
  @UPPER@_BAD_BLOCKS = -3,   /* the blocks are cut off, changed, break a rule, or are from another version of the kernels */
  @UPPER@_NO_CLOSED_FORM = -4 /* the chain has no closed form; @NAME@_solve searches */
};

/* How a request ended, and why: the numbers of ssik_ros.results.IkStatus and Cause. */
enum { @UPPER@_SOLVED = 0, @UPPER@_UNSOLVED = 2, @UPPER@_REFUSED = 3 };
enum {
  @UPPER@_CAUSE_NONE = @CAUSE_NONE@,
  @UPPER@_CAUSE_UNREACHABLE = @CAUSE_UNREACHABLE@, /* proved: no joint vector reaches the pose */
  @UPPER@_CAUSE_LIMITS = @CAUSE_LIMITS@,      /* the pose is reached outside the joint limits only */
  @UPPER@_CAUSE_CONSISTENCY = @CAUSE_CONSISTENCY@, /* the largest motion of one cycle stopped a joint */
  @UPPER@_CAUSE_SINGULAR = @CAUSE_SINGULAR@,    /* each start ended at a singular posture */
  @UPPER@_CAUSE_BUDGET = @CAUSE_BUDGET@,      /* the budget of searches is used up */
  @UPPER@_CAUSE_DEADLINE = @CAUSE_DEADLINE@,    /* the caller's clock or cancel flag ended the search */
  @UPPER@_CAUSE_BAD_TARGET = @CAUSE_BAD_TARGET@,  /* the pose is not a rigid transform */
  @UPPER@_CAUSE_BAD_STATE = @CAUSE_BAD_STATE@,  /* the seed is not finite or too large */
  @UPPER@_CAUSE_VALIDATION = @CAUSE_VALIDATION@,  /* every candidate was refused by the caller */
  @UPPER@_CAUSE_NOT_FOUND = @CAUSE_NOT_FOUND@   /* no start or sample met the pose; nothing is proved */
};

/* Treatment of joint limits in a closed form. */
enum {
  @UPPER@_IGNORE_LIMITS = 0, /* angles in (-pi, pi], or next to the seed */
  @UPPER@_WITHIN_LIMITS = 1, /* drops branches that no turn brings inside */
  @UPPER@_WRAP_LIMITS = 2    /* turns joints as far as possible, drops nothing */
};

typedef struct @NAME@_solver @NAME@_solver;

/* Report of a request; every function that takes a report accepts NULL. */
typedef struct {
  int32_t status;        /* SOLVED, UNSOLVED or REFUSED */
  int32_t cause;         /* CAUSE_... */
  int64_t candidates;    /* of the closed form */
  int64_t branches;      /* different ones that reach the pose, those outside the limits included */
  int64_t dropped;       /* of these, outside the limits */
  int64_t samples;       /* values of a redundant joint that were tried */
  int64_t searches;      /* starts of the numerical solver */
  int64_t iterations;    /* its steps */
  double position_error; /* of the first solution, or of the nearest joint vector [m] */
  double rotation_error; /* the same [rad] */
} @NAME@_report;

/* Budgets of @NAME@_solve; zero or NULL is the default of each. */
typedef struct {
  int64_t max_searches;                /* starts */
  int64_t max_iterations;              /* steps of one start */
  int64_t timeout_ns;                  /* needs a clock; checked at every step */
  int64_t (*clock_ns)(void *context);  /* monotonic time [ns] */
  void *clock_context;
  const int64_t *cancel;               /* not zero ends the search at the next step */
} @NAME@_budget;

/*
 * Size of a solver's buffer [bytes], or a negative number from the list above.
@if library@
 * blocks: contents of a file of "ssik build --blocks", aligned to 8 bytes; they must stay as and where they are while a
 * solver uses them. Every word is checked here and by @NAME@_init, so that blocks from anywhere do no harm.
@end@
 * windings: most joint vectors that @NAME@_solve_windings and @NAME@_solve_several may write; 0 for at most one.
 */
@if arm@
int64_t @NAME@_memory_size(int64_t windings);
@end@
@if library@
int64_t @NAME@_memory_size(const void *blocks, size_t blocks_size, int64_t windings);
@end@

/*
 * Make a solver in a buffer; return 0, or a negative number from the list above. The solver ends with its buffer; nothing
 * has to be closed.
 */
@if arm@
int @NAME@_init(@NAME@_solver **solver, int64_t windings, void *memory, size_t size);
@end@
@if library@
int @NAME@_init(@NAME@_solver **solver, const void *blocks, size_t blocks_size, int64_t windings, void *memory, size_t size);
@end@

/* Number of joints. */
int @NAME@_joints(const @NAME@_solver *solver);

/* Number of tips. The pose of a request has 16 doubles for each, one tip after the other. */
int @NAME@_tips(const @NAME@_solver *solver);

/*
 * Names, one in each line: the robot, the solver, the base link, each tip, each joint. The text lies in the image and ends
 * with a zero. NULL without a solver.
 */
const char *@NAME@_names(const @NAME@_solver *solver);

/* A sentence about a cause, without a full stop; an empty one for numbers that are no cause. It needs no solver. */
const char *@NAME@_cause_text(int32_t cause);

/* The same about a step of @NAME@_step or @NAME@_track: why it does not reach its pose. */
const char *@NAME@_step_text(int32_t cause);

/* Write the limits of the joints, infinite for none [rad or m]. */
int @NAME@_limits(const @NAME@_solver *solver, double *lower, double *upper);

/* Write the pose (16 doubles) of the tip in the base at a joint vector; of several tips the first. */
int @NAME@_fk(@NAME@_solver *solver, const double *q, double *pose);

/* Write the Jacobian of the same tip, 6 rows of one number for each joint: linear, then angular velocity in base axes. */
int @NAME@_jacobian(@NAME@_solver *solver, const double *q, double *jacobian);

/*
 * Write every branch of a pose, the nearest to the seed first, and return how many were written.
 *
 * seed: NULL for none; the branches then have the order of the closed form.
 * q: room for `capacity` joint vectors. errors: NULL, or room for 3 numbers for each: position error [m], rotation
 * error [rad], Frobenius norm of the difference of the two matrices.
 */
int64_t @NAME@_solve_all(@NAME@_solver *solver, const double *pose, const double *seed, int mode, int64_t capacity,
                         double *q, double *errors, @NAME@_report *report);

/* Write the branch nearest to the seed, within limits; return 1, or 0 without one. */
int64_t @NAME@_solve_nearest(@NAME@_solver *solver, const double *pose, const double *seed, double *q,
                             @NAME@_report *report);

/*
 * Write every branch with every winding of joints whose range is more than one turn, and return how many were written.
 * All are within limits, the nearest to the seed first. At most the `windings` given to @NAME@_init are written;
 * without room for any the result is BAD_MEMORY.
 */
int64_t @NAME@_solve_windings(@NAME@_solver *solver, const double *pose, const double *seed, int64_t capacity, double *q,
                              @NAME@_report *report);

/*
 * Write the first joint vector found, beginning at the seed; return 1, or 0 without one.
 *
 * An arm with six joints and a fast closed form takes that, unless the seed is near. Other arms take a numerical solver
 * with restarts. Without a solution q is the nearest joint vector seen.
 */
int64_t @NAME@_solve(@NAME@_solver *solver, const double *pose, const double *seed, const @NAME@_budget *budget,
                     double *q, @NAME@_report *report);

/* A verdict on a candidate: not zero if it may be a solution. It must not call the solver. */
typedef int (*@NAME@_accept)(void *context, const double *q);

/* Conditions on solutions beyond the pose and the limits; every pointer may be NULL. */
typedef struct {
  const double *consistency; /* largest distance of each joint from the seed [rad or m]: 0 holds a joint */
  @NAME@_accept accept;      /* verdict on each candidate, such as a test for collisions */
  void *context;             /* of the verdict */
  int32_t wants_nearest;     /* not zero: without a solution q is the nearest joint vector of a search, wherever the pose is */
} @NAME@_conditions;

/*
 * Write different joint vectors that keep conditions, the nearest to the seed first, and return how many were written.
 *
 * conditions: NULL for none. capacity: room in q, at least 1; more than 1 are written only if @NAME@_init was given as
 * many `windings`. If the verdict refuses a candidate, the search goes on; if it refuses all, the cause is VALIDATION.
 *
 * A closed form that knows every branch offers those, without further windings. Other arms search from the seed, then
 * offer the branches of sampled values of the redundant joint; if several are wanted, these come first. Without
 * a solution q begins with the nearest joint vector seen.
 */
int64_t @NAME@_solve_several(@NAME@_solver *solver, const double *pose, const double *seed,
                             const @NAME@_conditions *conditions, const @NAME@_budget *budget, int64_t capacity, double *q,
                             @NAME@_report *report);

/*
 * Move a joint vector towards a pose by one cycle of a control loop; return 1 if the pose is reached, 0 if not.
 *
 * bounds: largest motion of each joint in this cycle [rad or m]; NULL for none. q is read and overwritten: it stays within
 * limits and bounds, and never moves away from the pose. For groups with one tip, as @NAME@_step.
 */
int64_t @NAME@_track(@NAME@_solver *solver, const double *pose, const double *bounds, double *q, @NAME@_report *report);

/* The bound that stopped a joint in @NAME@_step. */
enum {
  @UPPER@_BY_NOTHING = 0,
  @UPPER@_BY_LIMIT = 1,       /* it is on a position limit */
  @UPPER@_BY_VELOCITY = 2,
  @UPPER@_BY_ACCELERATION = 3 /* it could not change its speed further, or it brakes for a position limit */
};

/* Bounds and results of one cycle. Arrays have one number for each joint. Every pointer may be NULL. */
typedef struct {
  double period;              /* [s] */
  const double *velocity;     /* largest speeds [rad/s or m/s]; NULL for none */
  const double *acceleration; /* largest changes of speed [rad/s^2 or m/s^2]; NULL for none */
  const double *posture;      /* where the joints shall go if the pose leaves them a choice [rad or m]; NULL for none */
  const double *previous;     /* pose of the cycle before, if the pose moves: joints follow its motion; NULL: it rests */
  double *speeds;             /* in: of the cycle before, out: of this cycle [rad/s or m/s]; NULL: the arm was at rest */
  int32_t *stopped_by;        /* out: BY_... */
  double *condition;          /* out: condition number of the Jacobian after the step, infinite at a singular posture */
  double scale;               /* out: the part of the error that the step removed; 1 when the pose is reached */
} @NAME@_cycle;

/*
 * Take the step of one cycle that comes nearest to a pose; return 1 if the pose is reached, 0 if not.
 *
 * As @NAME@_track, with accelerations: joints brake before their limits, and before the pose. They do not brake for a
 * pose that moves, but follow its motion. A joint that is too fast to stop in time brakes as hard as it may. All joints
 * brake if the pose is invalid or far out of reach.
 */
int64_t @NAME@_step(@NAME@_solver *solver, const double *pose, @NAME@_cycle *cycle, double *q, @NAME@_report *report);

#ifdef __cplusplus
}
#endif

#endif
