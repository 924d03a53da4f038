// A group of MoveIt's model whose solver is behind a service.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <rclcpp/node.hpp>

#include "moveit_headers.hpp"
#include "ssik_moveit/host_parameters.hpp"
#include "ssik_moveit/kinematics.hpp"

namespace ssik_moveit
{

/**
 * Return the kinematics of a group that a server responses for; the server may come later.
 *
 * @throws LoadError for a group with a joint of several variables, which no joint state names.
 */
std::unique_ptr<Kinematics> open_service_group(
  rclcpp::Node & node, const moveit::core::RobotModelConstPtr & model, const std::string & group,
  const std::string & base_frame, const std::vector<std::string> & tip_frames,
  const HostParameters & host);

}  // namespace ssik_moveit
