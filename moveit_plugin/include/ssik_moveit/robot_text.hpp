// A robot's kinematics as the text of its descriptions: whatever limits and frames a host works with are in it.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace ssik_moveit
{

/// One joint and the link behind it.
struct JointText
{
  std::string name;
  std::string type = "fixed";  ///< As URDF names it.
  std::string parent;
  std::string child;
  std::array<double, 9> rotation{1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};  ///< By rows, in the parent link.
  std::array<double, 3> translation{};  ///< In the parent link [m].
  std::array<double, 3> axis{0.0, 0.0, 1.0};
  double lower = 0.0;  ///< [rad or m]; of revolute and prismatic joints.
  double upper = 0.0;
  double velocity = 0.0;  ///< [rad/s or m/s]
  std::string leader;  ///< The joint that it follows; empty for none.
  double factor = 1.0;
  double offset = 0.0;
};

/// An end effector: an arm's poses are those of its mount.
struct EndEffectorText
{
  std::string name;
  std::string parent_link;  ///< The mount.
  std::string group;
  std::vector<std::string> group_joints;
};

/// A robot with the group that is asked about.
struct RobotText
{
  std::string name;
  std::string root_link;
  std::vector<JointText> joints;
  std::string virtual_joint;  ///< Above the root link; empty for none.
  std::string virtual_type;   ///< floating or planar.
  std::string parent_frame;   ///< What the virtual joint hangs on.
  std::string group;
  std::vector<std::string> group_joints;
  std::vector<EndEffectorText> end_effectors;
};

std::string write_urdf(const RobotText & robot);
std::string write_srdf(const RobotText & robot);

}  // namespace ssik_moveit
