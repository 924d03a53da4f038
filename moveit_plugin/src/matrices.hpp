// Poses as matrices of 4 by 4, row by row.
#pragma once

#include "ssik_moveit/kinematics.hpp"

namespace ssik_moveit
{

/// Write a pose as a matrix.
void write_matrix(const Pose & pose, double * m);

/// Return the distance between the positions of two matrices [m].
double length_between(const double * a, const double * b);

/// Return the angle between the rotations of two matrices [rad].
double angle_between(const double * a, const double * b);

}  // namespace ssik_moveit
