#include "description.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "matrices.hpp"
#include "ssik_moveit/host_parameters.hpp"

namespace ssik_moveit
{
namespace
{

constexpr double SAME = 1e-6;    ///< Largest difference between limits and poses of blocks and host [m, rad].
constexpr int CHECKED_POSES = 4;

std::string join(const std::vector<std::string> & words)
{
  std::string text;
  for (const std::string & word : words) {
    text += (text.empty() ? "" : ",") + word;
  }
  return text;
}

std::string without_slash(const std::string & frame)
{
  return frame.rfind('/', 0) == 0 ? frame.substr(1) : frame;
}

/// Return the parameters as the content of a kinematics.yaml.
std::string write_yaml(const GroupDescription & description)
{
  std::string text = to_yaml(description.group) + ":\n";
  for (const auto & [key, value] : description.parameters) {
    text += "  " + to_yaml(key) + ": " + value + "\n";
  }
  return description.parameters.empty() ? "" : text;
}

std::vector<std::string> tips_of(const GroupDescription & description)
{
  std::vector<std::string> tips;
  for (const std::string & tip : description.tip_frames) {
    tips.push_back(without_slash(tip));
  }
  return tips;
}

/// Return the place of a joint in the solver's order.
std::size_t find_joint(const GroupNames & names, const std::string & joint)
{
  return static_cast<std::size_t>(std::find(names.joints.begin(), names.joints.end(), joint) - names.joints.begin());
}

/// Return which name of the blocks differs from the host's; empty if none does.
std::string find_other_name(const GroupDescription & description, const GroupNames & names)
{
  const std::string solver = read_parameter(description, "kinematics_solver");
  if (solver.rfind("ssik_ros/", 0) == 0 && solver != names.solver) {
    return "has blocks of the solver " + names.solver + ", not of " + solver;
  }
  const std::string base = without_slash(description.base_frame);
  if (!base.empty() && base != names.base_frame) {
    return "has blocks for poses in '" + names.base_frame + "', but the base of the group is '" + base + "'";
  }
  const std::vector<std::string> tips = tips_of(description);
  if (description.is_chain && tips != names.tip_frames) {
    return "has blocks for poses of " + join(names.tip_frames) + ", but the tip of the group is " + join(tips);
  }
  std::vector<std::string> joints, own = names.joints;
  for (const HostJoint & joint : description.joints) {
    joints.push_back(joint.name);
  }
  std::sort(joints.begin(), joints.end());
  std::sort(own.begin(), own.end());
  if (!joints.empty() && joints != own) {
    return "has blocks for the joints " + join(own) + ", but the group '" + description.group + "' moves " +
           join(joints);
  }
  return "";
}

/// Return how limits or poses of the blocks differ from the host's; empty if they do not.
std::string find_other_robot(const GroupDescription & description, const GroupNames & names, CSolver & solver)
{
  for (const HostJoint & joint : description.joints) {
    const std::size_t place = find_joint(names, joint.name);
    // Limits of a file may be narrower, but never wider.
    if (solver.lower[place] < joint.lower - SAME || solver.upper[place] > joint.upper + SAME) {
      return "has blocks with wider limits of the joint '" + joint.name + "' than the robot";
    }
  }
  if (!description.forward || names.tip_frames.size() != 1) {
    return "";
  }
  std::mt19937_64 random(0);
  std::array<double, 16> pose, expected;
  std::vector<Pose> poses;
  for (int k = 0; k < CHECKED_POSES; ++k) {
    for (std::size_t i = 0; i < solver.size(); ++i) {
      const auto [low, high] = solver.sampling_range(i);
      solver.seed[i] = std::uniform_real_distribution<double>(low, high)(random);
    }
    ssik_fk(solver.get(), solver.seed.data(), pose.data());
    const std::string reason = forward_by_host(description, names, names.tip_frames, solver.seed, poses);
    if (!reason.empty()) {
      return "has blocks for a tip that the host does not know: " + reason;
    }
    write_matrix(poses[0], expected.data());
    if (!(length_between(pose.data(), expected.data()) <= SAME && angle_between(pose.data(), expected.data()) <= SAME)) {
      return "has blocks of another robot, whose link '" + names.tip_frames[0] + "' is at another place";
    }
  }
  return "";
}

}  // namespace

ssik::BlocksSource to_source(const GroupDescription & description, const InterruptionCheck & is_interrupted)
{
  ssik::BlocksSource source;
  source.texts = {
    {"--urdf", "robot.urdf", description.urdf}, {"--srdf", "robot.srdf", description.srdf},
    {"--kinematics", "kinematics.yaml", write_yaml(description)}};
  source.words = {"--group", description.group};
  const std::vector<std::string> tips = tips_of(description);
  if (!tips.empty()) {
    source.words.insert(source.words.end(), {"--tips", join(tips)});
  }
  source.file = description.blocks;
  source.command = description.command;
  source.patience = description.patience;
  source.is_over = is_interrupted;
  source.warn = description.warn;
  return source;
}

std::string read_parameter(const GroupDescription & description, const std::string & key)
{
  const auto found = description.parameters.find(key);
  std::string text = found == description.parameters.end() ? "" : found->second;
  text.erase(std::remove(text.begin(), text.end(), '"'), text.end());
  return text;
}

std::string forward_by_host(
  const GroupDescription & description, const GroupNames & names, const std::vector<std::string> & links,
  View<double> values, std::vector<Pose> & poses)
{
  if (!description.forward) {
    return "This host has no forward kinematics.";
  }
  if (values.size() != names.joints.size()) {
    return "There have to be " + std::to_string(names.joints.size()) + " values, not " +
           std::to_string(values.size()) + ".";
  }
  std::vector<double> own;
  for (const HostJoint & joint : description.joints) {
    own.push_back(values[find_joint(names, joint.name)]);
  }
  return description.forward(links, own, poses);
}

std::string find_difference(const GroupDescription & description, const GroupNames & names, CSolver & solver)
{
  const std::string other = find_other_name(description, names);
  return other.empty() ? find_other_robot(description, names, solver) : other;
}

}  // namespace ssik_moveit
