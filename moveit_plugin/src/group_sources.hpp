// What MoveIt knows of a group: its robot as text, and the keys beside kinematics_solver.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <rclcpp/node.hpp>

#include "moveit_headers.hpp"
#include "ssik_moveit/in_process.hpp"
#include "ssik_moveit/robot_text.hpp"

namespace ssik_moveit
{

/**
 * Return the robot with a group, as MoveIt's model has it.
 *
 * The model and not robot_description: wherever the description came from, frames and limits are the planner's, with
 * joint_limits.yaml in them.
 */
RobotText read_robot(const moveit::core::RobotModel & model, const std::string & group);

/// Return the variables of the joints that a group moves, as MoveIt's model has them.
std::vector<HostJoint> read_joints(const moveit::core::JointModelGroup & group);

/// Return names of variables.
std::vector<std::string> names_of(const std::vector<HostJoint> & joints);

/**
 * Return forward kinematics by MoveIt's model. It takes values of these variables; all others have their defaults.
 */
Forward make_forward(
  const moveit::core::RobotModelConstPtr & model, const std::vector<std::string> & variables,
  const std::string & base_frame);

/// The keys of a group.
struct GroupKeys
{
  std::string prefix;  ///< Such as robot_description_kinematics.panda_arm.
  std::map<std::string, std::string> values;  ///< YAML by key.
};

/// Return the keys that a node was given for a group, declared or not: only so can a misspelt one be seen.
GroupKeys read_keys(rclcpp::Node & node, const std::string & group);

}  // namespace ssik_moveit
