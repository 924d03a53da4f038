// A group in the terms of the command that writes blocks, and its blocks in the terms of the host.
#pragma once

#include <string>
#include <vector>

#include "c_solver.hpp"
#include "ssik_moveit/in_process.hpp"

namespace ssik_moveit
{

/// Return the places of the blocks of a group, and the input of the command that writes them.
ssik::BlocksSource to_source(const GroupDescription & description, const InterruptionCheck & is_interrupted);

/// Return the text of a parameter; empty if it is not given.
std::string read_parameter(const GroupDescription & description, const std::string & key);

/// Write poses of links by the host's forward kinematics; return nothing, or why there are none.
std::string forward_by_host(
  const GroupDescription & description, const GroupNames & names, const std::vector<std::string> & links,
  View<double> values, std::vector<Pose> & poses);

/**
 * Return how a solver differs from the group of the host; empty if it does not.
 *
 * @param names of the solver.
 * @param solver its arrays are overwritten.
 */
std::string find_difference(const GroupDescription & description, const GroupNames & names, CSolver & solver);

}  // namespace ssik_moveit
