// The keys of a group that are for the plugin, not for the solver.
#pragma once

#include <map>
#include <string>

namespace ssik_moveit
{

/// How the solver is reached.
enum class Transport { IN_PROCESS, SERVICE };

/// What the plugin itself is told.
struct HostParameters
{
  Transport transport = Transport::IN_PROCESS;
  std::string blocks;         ///< File of `ssik build --blocks` for the transport in_process; empty: cache or command.
  std::string service = "solve_ik";  ///< A server's, for the transport by service.
  double service_wait = 1.0;  ///< Longest wait for a response beyond the budget of the request [s].
};

/**
 * Take the plugin's keys out of those of a group, and read them.
 *
 * @param parameters values as YAML by key; the solver's are left.
 * @param where where they stand, for messages.
 * @throws LoadError for a misspelt key that begins as ours do, with the nearest one, and for a wrong value.
 */
HostParameters take_host_parameters(
  std::map<std::string, std::string> & parameters, const std::string & where);

/**
 * Make the loaded plugin class decide which solver runs.
 *
 * @param parameters values as YAML by key of the group; kinematics_solver becomes the solver of the class.
 * @param solver the name under which the class is exported, such as ssik_ros/Auto.
 * @param where where the parameters stand, for messages.
 * @return a warning if kinematics_solver named another solver, else an empty text.
 */
std::string set_solver(
  std::map<std::string, std::string> & parameters, const std::string & solver, const std::string & where);

/// Return a text as a scalar of YAML.
std::string to_yaml(const std::string & text);
std::string to_yaml(double value);
std::string to_yaml(bool value);

}  // namespace ssik_moveit
