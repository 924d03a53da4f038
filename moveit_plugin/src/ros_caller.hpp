// Carries requests over ROS, by a node of its own whose thread nobody else waits for.
#pragma once

#include <memory>
#include <string>

#include <rclcpp/node.hpp>

#include "ssik_moveit/service_kinematics.hpp"

namespace ssik_moveit
{

/**
 * Return a caller of MoveIt's GetPositionIK.
 *
 * MoveIt's node cannot be the client's: nobody may be spinning it, or the one who does may be waiting for this very response.
 * @param node whose context and namespace count.
 * @param service name of the service, relative to that namespace.
 * @param group what is asked about.
 * @param names its names.
 */
std::shared_ptr<ServiceCaller> make_ros_caller(
  rclcpp::Node & node, const std::string & service, const std::string & group,
  const GroupNames & names);

}  // namespace ssik_moveit
