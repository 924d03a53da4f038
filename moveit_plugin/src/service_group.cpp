#include "service_group.hpp"

#include <utility>

#include "ros_caller.hpp"
#include "ssik_moveit/service_kinematics.hpp"

namespace ssik_moveit
{
namespace
{

constexpr double HALF_TURN = 3.14159265358979323846;

/// Return the tips of a group: an arm with its hand takes poses of the hand's mount, as in_process does.
std::vector<std::string> find_tips(
  const moveit::core::RobotModel & model, const moveit::core::JointModelGroup & group,
  const std::vector<std::string> & named)
{
  if (group.isChain() || named.size() != 1) {
    return named;
  }
  for (const srdf::Model::EndEffector & effector : model.getSRDF()->getEndEffectors()) {
    if (group.hasLinkModel(effector.parent_link_) &&
      model.hasJointModelGroup(effector.component_group_) &&
      model.getJointModelGroup(effector.component_group_)->hasLinkModel(named[0]))
    {
      return {effector.parent_link_};
    }
  }
  return named;
}

GroupNames read_names(
  const moveit::core::JointModelGroup & group, const std::string & base_frame,
  const std::vector<std::string> & tip_frames, const HostParameters & host)
{
  GroupNames names;
  names.solver = "the service " + host.service;
  names.base_frame = base_frame;
  names.tip_frames = tip_frames;
  for (const auto * joint : group.getActiveJointModels()) {
    if (joint->getVariableCount() != 1) {
      throw LoadError(
        "Joint '" + joint->getName() + "' has several variables, which a service does not name; "
        "kinematics_solver_transport: in_process can.");
    }
    names.joints.push_back(joint->getName());
  }
  names.variables = names.joints;
  names.links = group.getLinkModelNames();
  return names;
}

/// Return a pose of Eigen as ours.
Pose to_pose(const Eigen::Isometry3d & transform)
{
  const Eigen::Quaterniond turn(transform.linear());
  Pose pose;
  pose.position = {transform(0, 3), transform(1, 3), transform(2, 3)};
  pose.orientation = {turn.x(), turn.y(), turn.z(), turn.w()};
  return pose;
}

std::string forward_by_moveit(
  const moveit::core::RobotModelConstPtr & model, const GroupNames & names,
  const std::vector<std::string> & links, View<double> values, std::vector<Pose> & poses)
{
  if (values.size() != names.variables.size()) {
    return "There have to be " + std::to_string(names.variables.size()) + " values.";
  }
  for (const std::string & link : links) {
    if (!model->hasLinkModel(link)) {
      return "There is no link '" + link + "'.";
    }
  }
  moveit::core::RobotState state(model);
  state.setToDefaultValues();
  state.setVariablePositions(names.variables, {values.begin(), values.end()});
  state.update();
  // The frame of the whole model is no link.
  const Eigen::Isometry3d to_base = model->hasLinkModel(names.base_frame) ?
    state.getGlobalLinkTransform(names.base_frame).inverse() : Eigen::Isometry3d::Identity();
  poses.clear();
  for (const std::string & link : links) {
    poses.push_back(to_pose(to_base * state.getGlobalLinkTransform(link)));
  }
  return "";
}

}  // namespace

std::unique_ptr<Kinematics> open_service_group(
  rclcpp::Node & node, const moveit::core::RobotModelConstPtr & model, const std::string & group,
  const std::string & base_frame, const std::vector<std::string> & tip_frames,
  const HostParameters & host)
{
  ServiceGroup own;
  const moveit::core::JointModelGroup & joints = *model->getJointModelGroup(group);
  own.names = read_names(joints, base_frame, find_tips(*model, joints, tip_frames), host);
  own.wait = host.service_wait;
  for (const std::string & variable : own.names.variables) {
    const auto & bounds = model->getVariableBounds(variable);
    own.lower.push_back(bounds.position_bounded_ ? bounds.min_position_ : -HALF_TURN);
    own.upper.push_back(bounds.position_bounded_ ? bounds.max_position_ : HALF_TURN);
  }
  own.forward = [model, names = own.names](
    const std::vector<std::string> & links, View<double> values, std::vector<Pose> & poses) {
      return forward_by_moveit(model, names, links, values, poses);
    };
  auto caller = make_ros_caller(node, host.service, group, own.names);
  return open_by_service(std::move(own), std::move(caller));
}

}  // namespace ssik_moveit
