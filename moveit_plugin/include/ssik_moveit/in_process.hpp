// Kinematics by the C library of ssik_ros, in this process. It needs neither MoveIt nor ROS nor Python.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ssik_moveit/kinematics.hpp"

namespace ssik_moveit
{

/// A joint of the group as the host knows it; limits and velocity are infinite for none [rad or m, rad/s or m/s].
struct HostJoint
{
  std::string name;
  double lower;
  double upper;
  double velocity;
};

/// A group of a robot.
struct GroupDescription
{
  std::string urdf;
  std::string srdf;
  std::string group;
  std::string base_frame;               ///< Empty: the group's.
  std::vector<std::string> tip_frames;  ///< Empty: the group's.
  bool is_chain = false;                ///< True: the solver must take poses of these tips, and of no others.
  std::vector<HostJoint> joints;        ///< Empty: unknown.
  std::vector<std::string> links;       ///< Of the group, for Kinematics::names().
  std::map<std::string, std::string> parameters;  ///< The group's keys of a kinematics.yaml; values are YAML.
  std::string where = "kinematics";     ///< Place of the parameters, for messages.
  Forward forward;                      ///< Of the host, for values in the order of `joints`; also checks the blocks.

  std::string blocks;                   ///< File of `ssik build --blocks`, package:// too; empty: cache or command.
  std::string command;                  ///< Empty: `ssik` of the installed ssik_ros, else of the PATH.
  double patience = 60.0;               ///< Longest time of the command [s].
  std::function<void(const std::string &)> warn;  ///< Gets each line that the command writes to its log.
};

/// Returns whether the host was told to end, such as by Ctrl-C. It is called every few milliseconds during loading.
using InterruptionCheck = std::function<bool()>;

/**
 * Return the kinematics of a group.
 *
 * The solver comes from the file of the description, else from a cache in the user's home, else from the command.
 * @param description the robot, its group and the parameters.
 * @param is_interrupted loading stops soon after it returns true; empty if nothing stops loading.
 * @throws LoadError if the description or a parameter is wrong, the C library cannot serve the group, the blocks are of
 *   another version or group, or the host was interrupted.
 */
std::unique_ptr<Kinematics> open_in_process(
  const GroupDescription & description, const InterruptionCheck & is_interrupted = {});

}  // namespace ssik_moveit
