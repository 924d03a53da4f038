#include "nearest_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "matrices.hpp"

namespace ssik_moveit
{
namespace
{

constexpr double LONGEST_BUDGET = 0.05;  ///< Longest budget of a request for one cycle [s].
constexpr double CYCLES = 2.0;           ///< Length of a cycle, as a multiple of the budget.
constexpr double EXACT = 1e-6;           ///< Largest error of a step that reaches the pose [m, rad].
constexpr double USUAL_VELOCITY = 1.0;   ///< Of joints without a velocity limit [rad/s or m/s].

}  // namespace

NearestStep::NearestStep(std::vector<double> velocity, bool is_position_only)
: velocity_(std::move(velocity)), is_position_only_(is_position_only)
{
  for (double & each : velocity_) {
    each = std::isfinite(each) ? each : USUAL_VELOCITY;
  }
}

bool NearestStep::take(
  CSolver & solver, double budget, Conditions & conditions, Response & response,
  std::vector<double> & solution) const
{
  if (solver.poses.size() != 16 || budget > LONGEST_BUDGET) {
    return false;
  }
  const std::size_t size = solver.size();
  std::vector<double> room(size);
  for (std::size_t i = 0; i < size; ++i) {
    room[i] = CYCLES * budget * velocity_[i];
    if (!(room[i] > 0.0) || solver.seed[i] < solver.lower[i] || solver.seed[i] > solver.upper[i]) {
      return false;
    }
  }
  if (!is_near(solver, room)) {
    return false;
  }
  std::vector<double> q = solver.seed;
  ssik_report report{};
  if (ssik_track(solver.get(), solver.poses.data(), room.data(), q.data(), &report) < 0) {
    return false;
  }
  if (!conditions.accepts(q)) {
    return false;
  }
  response.code = code::SUCCESS;
  response.is_approximate = !(std::max(report.position_error, report.rotation_error) <= EXACT);
  response.text = "Solved by one step from the seed.";
  if (response.is_approximate) {
    char text[96];
    std::snprintf(
      text, sizeof(text), "The nearest step is off by %.3g m and %.3g rad: ", report.position_error,
      report.rotation_error);
    response.text = std::string(text) + ssik_step_text(report.cause) + ".";
  }
  solution = std::move(q);
  return true;
}

bool NearestStep::is_near(CSolver & solver, const std::vector<double> & room) const
{
  std::array<double, 16> pose;
  std::vector<double> jacobian(6 * solver.size());
  ssik_fk(solver.get(), solver.seed.data(), pose.data());
  ssik_jacobian(solver.get(), solver.seed.data(), jacobian.data());
  std::array<double, 6> most{};
  for (std::size_t row = 0; row < most.size(); ++row) {
    for (std::size_t i = 0; i < room.size(); ++i) {
      most[row] += std::abs(jacobian[row * room.size() + i]) * room[i];
    }
  }
  const double * goal = solver.poses.data();
  return length_between(pose.data(), goal) <= std::hypot(most[0], most[1], most[2]) &&
         (is_position_only_ || angle_between(pose.data(), goal) <= std::hypot(most[3], most[4], most[5]));
}

}  // namespace ssik_moveit
