#include "ssik_moveit/kinematics.hpp"

#include <algorithm>
#include <cmath>

namespace ssik_moveit
{
namespace
{

constexpr double SHORTEST_QUATERNION = 1e-12;

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

}  // namespace ssik_moveit
