#include "ssik_control/cartesian_loop.hpp"

#include <ssik.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "frames.hpp"

namespace ssik_control {
namespace {

// Largest deviation from the path of a twist that later cycles correct [m, rad].
constexpr double MOST_DEVIATION = 0.02;
constexpr double MOST_TURN = 0.1;
// A twist counts as reached if the tip moves at this part of it or faster.
constexpr double REACHED = 0.99;

double dot(const Vector &a, const Vector &b) noexcept { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
double length(const Vector &a) noexcept { return std::sqrt(dot(a, a)); }

// Turn the axes of a frame by a rotation vector along the axes of the base; its origin stays.
void turn(Frame &frame, const Vector &way) noexcept {
  const double angle = length(way);
  if (!(angle > 0.0)) return;
  const Frame turned = product(rotation({way[0] / angle, way[1] / angle, way[2] / angle}, angle), frame);
  std::copy_n(turned.begin(), 9, frame.begin());
}

// Rotation vector along base axes from one frame to another.
Vector turn_between(const Frame &from, const Frame &to) noexcept {
  const Frame relative = product(to, inverse(from));
  Vector way = {0.5 * (relative[7] - relative[5]), 0.5 * (relative[2] - relative[6]), 0.5 * (relative[3] - relative[1])};
  const double sine = length(way), cosine = 0.5 * (relative[0] + relative[4] + relative[8] - 1.0);
  if (sine > 0.0)
    for (double &value : way) value *= std::atan2(sine, cosine) / sine;
  return way;
}

// The part of a wanted motion that was made.
double part_made(const Vector &made, const Vector &wanted) noexcept {
  const double square = dot(wanted, wanted);
  return square > 0.0 ? dot(made, wanted) / square : 1.0;
}

// Take away the part of an error that lies ahead along a direction, and shorten the rest.
void keep_deviation(Vector &error, const Vector &direction, double most) noexcept {
  const double speed = length(direction);
  if (speed > 0.0) {
    const double ahead = std::max(0.0, dot(error, direction) / speed);
    for (int k = 0; k < 3; ++k) error[k] -= ahead * direction[k] / speed;
  }
  const double size = length(error);
  if (size > most)
    for (double &value : error) value *= most / size;
}

}  // namespace

CartesianLoop::CartesianLoop(const Chain &chain, PoseSolver &solver, StepLimits limits)
    : chain_(chain), solver_(solver), limits_(std::move(limits)), tip_link_(static_cast<int>(chain.links().size()) - 1),
      q_(chain.size()), speeds_(chain.size()), stopped_by_(chain.size()) {}

bool CartesianLoop::start(const double *q, const double *speeds, double slack) noexcept {
  for (std::size_t k = 0; k < q_.size(); ++k)
    if (!std::isfinite(speeds[k]) || !(q[k] >= solver_.lower()[k] - slack && q[k] <= solver_.upper()[k] + slack)) return false;
  for (std::size_t k = 0; k < q_.size(); ++k) {
    q_[k] = std::min(std::max(q[k], solver_.lower()[k]), solver_.upper()[k]);
    const double most = limits_.velocity.empty() ? std::numeric_limits<double>::infinity() : limits_.velocity[k];
    speeds_[k] = std::min(std::max(speeds[k], -most), most);
    stopped_by_[k] = 0;
  }
  has_target_ = false;
  return true;
}

StepReport CartesianLoop::step(const Frame &pose, const Frame *previous) noexcept {
  return solver_.step(pose, previous, limits_, q_.data(), speeds_.data(), stopped_by_.data());
}

std::int32_t CartesianLoop::cause_of_stop() const noexcept {
  std::int32_t cause = SSIK_CAUSE_SINGULAR;
  for (const std::int32_t bound : stopped_by_) {
    if (bound == SSIK_BY_LIMIT) return SSIK_CAUSE_LIMITS;
    if (bound != SSIK_BY_NOTHING) cause = SSIK_CAUSE_CONSISTENCY;
  }
  return cause;
}

StepReport CartesianLoop::to_pose(const Frame &pose) noexcept {
  has_target_ = false;
  return step(pose, nullptr);
}

StepReport CartesianLoop::hold() noexcept {
  has_target_ = false;
  Frame none;
  none.fill(std::numeric_limits<double>::quiet_NaN());
  return step(none, nullptr);
}

StepReport CartesianLoop::by_twist(const Twist &twist) noexcept {
  const Vector linear = {twist[0], twist[1], twist[2]}, angular = {twist[3], twist[4], twist[5]};
  const double speed = length(linear) + length(angular), t = limits_.period;
  if (!std::isfinite(speed)) return hold();
  const Frame before = tip();
  if (!has_target_) target_ = before;
  has_target_ = true;
  const Vector moved = {t * linear[0], t * linear[1], t * linear[2]}, turned_by = {t * angular[0], t * angular[1], t * angular[2]};
  const Frame previous = target_;
  for (int k = 0; k < 3; ++k) target_[9 + k] += moved[k];
  turn(target_, turned_by);
  StepReport report = step(target_, &previous);
  const Frame now = tip();
  if (speed > 0.0) {
    const Vector made = {now[9] - before[9], now[10] - before[10], now[11] - before[11]};
    const double part = std::min(part_made(made, moved), part_made(turn_between(before, now), turned_by));
    report.scale = std::min(1.0, std::max(0.0, part));
    report.is_reached = part >= REACHED;
    report.cause = report.is_reached ? SSIK_CAUSE_NONE : cause_of_stop();
  }
  Vector error = {target_[9] - now[9], target_[10] - now[10], target_[11] - now[11]}, turned = turn_between(now, target_);
  keep_deviation(error, linear, MOST_DEVIATION);
  keep_deviation(turned, angular, MOST_TURN);
  target_ = now;
  for (int k = 0; k < 3; ++k) target_[9 + k] += error[k];
  turn(target_, turned);
  return report;
}

}  // namespace ssik_control
