#include "ssik_moveit/kinematics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ssik_moveit
{
namespace
{

constexpr double SHORTEST_QUATERNION = 1e-12;
constexpr double ROUNDING = 1e-9;  ///< A solution may be outside its bounds by this [rad or m].

bool all_finite(View<double> values)
{
  return std::all_of(values.begin(), values.end(), [](double value) {return std::isfinite(value);});
}

bool is_pose(const Pose & pose)
{
  const auto & q = pose.orientation;
  const double length = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  return all_finite({pose.position.data(), 3}) && std::isfinite(length) && length > SHORTEST_QUATERNION;
}

std::string count_of(const char * what, std::size_t given, std::size_t wanted)
{
  return std::string("There have to be ") + std::to_string(wanted) + " " + what + ", not " +
         std::to_string(given) + ".";
}

}  // namespace

std::string find_fault(const GroupNames & names, const Request & request)
{
  const std::size_t size = names.variables.size();
  if (request.poses.size() != names.tip_frames.size()) {
    return count_of("poses, one for each tip", request.poses.size(), names.tip_frames.size());
  }
  if (request.seed.size() != size) {
    return count_of("values of the seed", request.seed.size(), size);
  }
  const auto & limits = request.consistency_limits;
  if (!limits.empty() && limits.size() != size) {
    return count_of("consistency limits", limits.size(), size);
  }
  if (request.redundant.size() != request.steps.size()) {
    return count_of("steps of redundant joints", request.steps.size(), request.redundant.size());
  }
  const auto is_outside = [size](unsigned int joint) {return joint >= size;};
  if (std::any_of(request.redundant.begin(), request.redundant.end(), is_outside)) {
    return "There is no joint for the index of a redundant joint.";
  }
  if (!std::all_of(request.poses.begin(), request.poses.end(), is_pose)) {
    return "A pose is not finite, or has a quaternion of length zero.";
  }
  const auto is_nan = [](double value) {return std::isnan(value);};
  if (!all_finite(request.seed) || std::isnan(request.timeout)) {
    return "The seed or the timeout is not finite.";
  }
  if (std::any_of(limits.begin(), limits.end(), is_nan)) {
    return "A consistency limit is not a number.";
  }
  return "";
}

Responses find_fault_of_several(const GroupNames & names, const Request & request)
{
  Responses responses;
  responses.text = find_fault(names, request);
  if (request.poses.empty()) {
    responses.error = KinematicError::EMPTY_TIP_POSES;
  } else if (request.poses.size() != names.tip_frames.size()) {
    responses.error = KinematicError::MULTIPLE_TIPS_NOT_SUPPORTED;
  }
  return responses;
}

std::vector<double> bounds_of(const Request & request)
{
  std::vector<double> bounds(request.consistency_limits.begin(), request.consistency_limits.end());
  if (request.lock_redundant && !request.redundant.empty()) {
    bounds.resize(request.seed.size(), std::numeric_limits<double>::infinity());
    for (const unsigned int joint : request.redundant) {
      bounds.at(joint) = 0.0;
    }
  }
  return bounds;
}

bool is_within(View<double> q, View<double> seed, View<double> bounds)
{
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!(std::abs(q[i] - seed[i]) <= bounds[i] + ROUNDING)) {
      return false;
    }
  }
  return true;
}

double distance(View<double> q, View<double> seed)
{
  double sum = 0.0;
  for (std::size_t i = 0; i < seed.size(); ++i) {
    sum += std::abs(q[i] - seed[i]);
  }
  return sum;
}

}  // namespace ssik_moveit
