// Solvers of one chain from the C library: joint vectors for a pose, and steps towards a pose.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ssik_control/chain.hpp"

struct ssik_solver;

namespace ssik_control {

// The chain of a solver, and the places where its blocks are looked for.
struct SolverSource {
  std::string urdf, base, tip;
  std::string file;               // of `ssik build --blocks`, as a path or package://NAME/PATH; empty: cache or command
  std::string command;            // empty: of the ROS package ssik_ros, else of the PATH
  double patience = 60.0;         // longest time of the command [s]
  std::function<bool()> is_over;  // ends the command early, such as after Ctrl-C; may be empty
};

// Largest speeds and accelerations of each joint, and its wished posture; empty for none.
struct StepLimits {
  double period = 0.0;  // [s]
  std::vector<double> velocity, acceleration, posture;
};

// Result of a step, see ssik.h.
struct StepReport {
  bool is_reached = false;
  std::int32_t cause = 0;
  double scale = 0.0, condition = 0.0, position_error = 0.0, rotation_error = 0.0;
};

// One thread at a time. Methods for steps and for one solution allocate nothing.
class PoseSolver {
 public:
  // Throws std::runtime_error if there are no blocks, or if they belong to another chain.
  PoseSolver(const Chain &chain, const SolverSource &source);
  // The solver lies in the memory of this object.
  PoseSolver(const PoseSolver &) = delete;
  PoseSolver &operator=(const PoseSolver &) = delete;

  // Joint limits, infinite for none [rad or m].
  const std::vector<double> &lower() const { return lower_; }
  const std::vector<double> &upper() const { return upper_; }

  // The solution nearest to the seed within limits; false without one.
  bool nearest(const Frame &pose, const double *seed, double *q) noexcept;
  // All solutions within limits that a closed form has, or that a search finds from the middle of the ranges.
  std::vector<std::vector<double>> all(const Frame &pose);
  // The solution within ranges that is nearest to their middle; NaN as a range leaves a joint free. False without one.
  bool within(const Frame &pose, const std::vector<std::pair<double, double>> &ranges, std::vector<double> &q);

  // Move q by one cycle. The speeds of the previous cycle go in, the speeds of this cycle come out.
  // previous: the pose of the cycle before, if the pose moves; null: it rests.
  // stopped_by: one number for each joint, see SSIK_BY_... in ssik.h; may be null.
  StepReport step(const Frame &pose, const Frame *previous, const StepLimits &limits, double *q, double *speeds,
                  std::int32_t *stopped_by) noexcept;

 private:
  bool start(std::vector<std::int64_t> blocks);
  bool is_of(const Chain &chain) const;
  bool search(const double *matrix, const double *seed, double *q) noexcept;

  std::size_t size_ = 0;
  std::vector<std::int64_t> blocks_, memory_;
  std::vector<double> rows_, seed_, other_, lower_, upper_;
  ssik_solver *solver_ = nullptr;
};

}  // namespace ssik_control
