// One plugin class for each solver: pluginlib does not tell an object under which name it was loaded.
#include <pluginlib/class_list_macros.hpp>

#include "kinematics_plugin.hpp"

#define EXPORT_SOLVER(Name) \
  namespace ssik_moveit \
  { \
  class Name : public KinematicsPlugin \
  { \
  public: \
    Name() : KinematicsPlugin("ssik_ros/" #Name) {} \
  }; \
  } \
  PLUGINLIB_EXPORT_CLASS(ssik_moveit::Name, kinematics::KinematicsBase)

EXPORT_SOLVER(Auto)
EXPORT_SOLVER(Analytic)
EXPORT_SOLVER(PoseIK)
EXPORT_SOLVER(NewtonRaphson)
EXPORT_SOLVER(GaussNewton)
EXPORT_SOLVER(LevenbergMarquardt)
EXPORT_SOLVER(ClosedChain)
