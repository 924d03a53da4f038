// Joint commands that follow a pose or a twist of the tip, one cycle after the other. Nothing is allocated after the
// constructor, and nothing here knows ROS.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ssik_control/chain.hpp"
#include "ssik_control/pose_solver.hpp"

namespace ssik_control {

// Linear, then angular velocity along the axes of the base [m/s, rad/s].
using Twist = std::array<double, 6>;

class CartesianLoop {
 public:
  // The chain and the solver must live as long as the loop.
  CartesianLoop(const Chain &chain, PoseSolver &solver, StepLimits limits);

  // Begin where the joints are, with their speeds. Values that rounding puts outside the limits are moved to them; returns
  // false and changes nothing if a value is not finite or farther outside than `slack` [rad or m].
  bool start(const double *q, const double *speeds, double slack) noexcept;

  // Move to a pose, and come to rest there.
  StepReport to_pose(const Frame &pose) noexcept;
  // Move at a twist. Deviations to the side are corrected in later cycles; time that is lost on the way is not made up.
  // The scale of the report is the part of the twist that the tip moved at; it is reached at 0.99.
  StepReport by_twist(const Twist &twist) noexcept;
  // Brake as hard as the joints may, and stay.
  StepReport hold() noexcept;

  const std::vector<double> &positions() const { return q_; }
  const std::vector<double> &speeds() const { return speeds_; }
  // The bound that stopped each joint in the last cycle: SSIK_BY_... of ssik.h.
  const std::vector<std::int32_t> &stopped_by() const { return stopped_by_; }
  Frame tip() const noexcept { return chain_.pose(q_.data(), tip_link_); }

 private:
  StepReport step(const Frame &pose, const Frame *previous) noexcept;
  std::int32_t cause_of_stop() const noexcept;

  const Chain &chain_;
  PoseSolver &solver_;
  StepLimits limits_;
  int tip_link_;
  std::vector<double> q_, speeds_;
  std::vector<std::int32_t> stopped_by_;
  Frame target_{};
  bool has_target_ = false;  // of a twist
};

}  // namespace ssik_control
