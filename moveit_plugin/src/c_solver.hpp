// One solver of the C library with its memory, and the conditions of a request in the library's terms.
#pragma once

#include <ssik.h>
#include <ssik_blocks.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "ssik_moveit/kinematics.hpp"

namespace ssik_moveit
{

/// Most solutions of one call.
constexpr std::int64_t MOST_SOLUTIONS = 256;

/// Conditions of a request on its solutions. A callback that throws ends the search; see rethrow().
class Conditions
{
public:
  /// @param request limits and locked joints count, and the callback if `asks_host`.
  Conditions(const Request & request, bool asks_host);
  Conditions(const Conditions &) = delete;
  Conditions & operator=(const Conditions &) = delete;

  /// Hold a joint at the value of the seed.
  void hold(std::size_t joint);

  bool has_bounds() const { return !bounds_.empty(); }
  bool has_callback() const { return callback_ != nullptr; }

  /// Return whether a joint vector keeps the conditions. Passes on the exceptions of the callback.
  bool accepts(View<double> q);

  /// Return the conditions for the C library, or null if there are none. They point into this object.
  const ssik_conditions * for_library();
  const std::int64_t * cancel() const { return &cancel_; }

  /// Throw the exception of the callback, if there is one.
  void rethrow() const;

private:
  static int ask(void * context, const double * q);

  const Request & request_;
  const SolutionCallback * callback_;
  std::vector<double> bounds_;  ///< Largest distance of each joint from the seed; empty: any.
  std::vector<double> candidate_;
  std::vector<std::vector<double>> refused_;  ///< Candidates that the callback has refused.
  ssik_conditions conditions_{};
  std::int64_t cancel_ = 0;
  std::exception_ptr thrown_;
};

/// Names of a solver.
struct SolverNames
{
  std::string solver, base;
  std::vector<std::string> tips, joints;
};

/// A solver and the arrays of its requests. It serves one thread at a time; methods allocate nothing.
class CSolver
{
public:
  /// @param blocks must stay while this lives. @throws std::runtime_error if they are not blocks of this version.
  explicit CSolver(const ssik::Blocks & blocks);
  CSolver(const CSolver &) = delete;
  CSolver & operator=(const CSolver &) = delete;

  SolverNames names() const;
  std::size_t size() const { return seed.size(); }
  ssik_solver * get() const { return solver_; }

  /// Return the limits of a joint; half a turn to both sides, or 3.14 m, if it has none.
  std::pair<double, double> sampling_range(std::size_t joint) const;

  /// Write the poses and the seed of a request into the arrays.
  void take(const Request & request);

  /**
   * Solve for the pose and the seed in the arrays.
   *
   * @param conditions of the solutions; their callback is asked here. What it throws, this throws.
   * @param timeout [s]; infinite for none.
   * @param starts most starts of the search; zero: the solver's default.
   * @param capacity most solutions.
   * @return the number of solutions. Without one, the first row is the nearest joint vector, or not finite.
   * @throws std::runtime_error if the C library refuses the call.
   */
  std::size_t solve(Conditions & conditions, double timeout, std::int64_t starts, std::int64_t capacity);

  /// Return a solution of the last call.
  View<double> row(std::size_t index) const { return {rows_.data() + index * size(), size()}; }

  std::vector<double> poses;  ///< 16 numbers for each tip.
  std::vector<double> seed;
  std::vector<double> lower, upper;  ///< Infinite for none.
  ssik_report report{};  ///< Of the last call.

private:
  std::vector<std::int64_t> memory_;
  ssik_solver * solver_ = nullptr;
  std::vector<double> rows_;
};

/// Return the sentence about a request without a solution.
std::string explain(const ssik_report & report);

/// Return MoveIt's code of a request without a solution.
int code_of(const ssik_report & report);

}  // namespace ssik_moveit
