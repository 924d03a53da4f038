// The source of a solver as plugins of ROS find it.
#pragma once

#include <string>

#include "ssik_control/pose_solver.hpp"

namespace ssik_control {

// Return a source whose command is ended when ROS shuts down.
//
// blocks: name of a file, which may begin with package://NAME/, or empty.
SolverSource make_source(const std::string &urdf, const std::string &base, const std::string &tip, const std::string &blocks);

}  // namespace ssik_control
