#include "service_group.hpp"

#include <cmath>
#include <utility>

#include "group_sources.hpp"
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

void refuse_several_variables(const moveit::core::JointModelGroup & group)
{
  for (const auto * joint : group.getActiveJointModels()) {
    if (joint->getVariableCount() != 1) {
      throw LoadError("Joint '" + joint->getName() + "' has several variables, which a service does not name.");
    }
  }
}

}  // namespace

std::unique_ptr<Kinematics> open_service_group(
  rclcpp::Node & node, const moveit::core::RobotModelConstPtr & model, const std::string & group,
  const std::string & base_frame, const std::vector<std::string> & tip_frames,
  const HostParameters & host)
{
  const moveit::core::JointModelGroup & joints = *model->getJointModelGroup(group);
  refuse_several_variables(joints);
  ServiceGroup own;
  for (const HostJoint & joint : read_joints(joints)) {
    own.names.joints.push_back(joint.name);
    own.lower.push_back(std::isfinite(joint.lower) ? joint.lower : -HALF_TURN);
    own.upper.push_back(std::isfinite(joint.upper) ? joint.upper : HALF_TURN);
  }
  own.names.solver = "the service " + host.service;
  own.names.base_frame = base_frame;
  own.names.tip_frames = find_tips(*model, joints, tip_frames);
  own.names.variables = own.names.joints;
  own.names.links = joints.getLinkModelNames();
  own.wait = host.service_wait;
  own.forward = make_forward(model, own.names.variables, base_frame);
  auto caller = make_ros_caller(node, host.service, group, own.names);
  return open_by_service(std::move(own), std::move(caller));
}

}  // namespace ssik_moveit
