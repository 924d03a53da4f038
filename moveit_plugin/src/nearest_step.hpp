// Steps for hosts that ask for a motion in cycles, such as MoveIt Servo; see ssik_ros/moveit/nearest_steps.py.
#pragma once

#include <vector>

#include "c_solver.hpp"

namespace ssik_moveit
{

/// Takes the step from the seed that comes nearest to a pose in one cycle.
class NearestStep
{
public:
  /**
   * @param velocity velocity limits of the joints; infinite for none [rad/s or m/s].
   * @param is_position_only whether the orientation of poses is free.
   */
  explicit NearestStep(std::vector<double> velocity = {}, bool is_position_only = false);

  /**
   * Take the step for the pose and the seed in the arrays of a solver.
   *
   * A request asks for a step if its budget is short, its seed is within the limits, and the joints could move the tip as
   * far as the pose is away.
   * @param budget half of the cycle [s].
   * @return false if the request asks for something else, or if the conditions refuse the step.
   */
  bool take(
    CSolver & solver, double budget, Conditions & conditions, Response & response,
    std::vector<double> & solution) const;

private:
  bool is_near(CSolver & solver, const std::vector<double> & room) const;

  std::vector<double> velocity_;
  bool is_position_only_;
};

}  // namespace ssik_moveit
