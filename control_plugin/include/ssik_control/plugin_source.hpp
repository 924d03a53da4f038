// The source of a solver as plugins of ROS find it.
#pragma once

#include <string>

#include "ssik_control/pose_solver.hpp"

namespace ssik_control {

// blocks: a file, also as package://NAME/PATH, or empty. The command is that of the installed package ssik_ros; it ends
// with the context of ROS. Throws if a package is not there.
SolverSource make_source(const std::string &urdf, const std::string &base, const std::string &tip, std::string blocks);

}  // namespace ssik_control
