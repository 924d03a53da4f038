// The transport without a transport: the package's solvers inside this process.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ssik_moveit/kinematics.hpp"

namespace ssik_moveit
{

/// A group of a robot, as text.
struct GroupDescription
{
  std::string urdf;
  std::string srdf;
  std::string group;
  std::string base_frame;               ///< Empty: the group's.
  std::vector<std::string> tip_frames;  ///< Empty: the group's.
  double search_discretization = 0.1;   ///< [rad or m]
  std::map<std::string, std::string> parameters;  ///< The group's keys of a kinematics.yaml; values are YAML.
  std::string where = "kinematics";     ///< Where the parameters stand, for messages.
};

/// Called with a level of Python's logging (10 debug, 20 info, 30 warning, 40 error) and a sentence.
using LogSink = std::function<void(int level, const std::string & text)>;

/// Hand what the package logs to somebody, from the next open_in_process() on; levels below the lowest are dropped.
void send_log_to(LogSink sink, int lowest_level = 20);

/// Returns whether the host was told to end, such as by Ctrl-C. A thread of its own calls it during loading.
using InterruptionCheck = std::function<bool()>;

/**
 * Return the kinematics of a group, ready to response at once.
 *
 * Starts Python when it does not run in this process yet, and never ends it. Signals stay with the host.
 * @param description the robot, its group and the parameters.
 * @param is_interrupted loading stops soon after it returns true; empty if nothing stops loading.
 * @throws LoadError when the package cannot be imported, the description or a parameter is wrong, or the host was
 *   interrupted.
 */
std::unique_ptr<Kinematics> open_in_process(
  const GroupDescription & description, const InterruptionCheck & is_interrupted = {});

}  // namespace ssik_moveit
