// MoveIt's KinematicsBase, computed by the package's solvers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "moveit_headers.hpp"
#include "ssik_moveit/kinematics.hpp"

namespace ssik_moveit
{

/// What every exported class does; a class adds the name of its solver.
class KinematicsPlugin : public kinematics::KinematicsBase
{
public:
  /// @param solver the solver's name, under which the class is exported.
  explicit KinematicsPlugin(std::string solver) : solver_(std::move(solver)) {}

  using Pose = geometry_msgs::msg::Pose;
  using ErrorCode = moveit_msgs::msg::MoveItErrorCodes;
  using Options = kinematics::KinematicsQueryOptions;
  using Values = std::vector<double>;

  bool initialize(
    const rclcpp::Node::SharedPtr & node, const moveit::core::RobotModel & robot_model,
    const std::string & group_name, const std::string & base_frame,
    const std::vector<std::string> & tip_frames, double search_discretization) override;

  bool getPositionIK(
    const Pose & pose, const Values & seed, Values & solution, ErrorCode & error,
    const Options & options = Options()) const override;
  bool getPositionIK(
    const std::vector<Pose> & poses, const Values & seed, std::vector<Values> & solutions,
    kinematics::KinematicsResult & result, const Options & options) const override;

  bool searchPositionIK(
    const Pose & pose, const Values & seed, double timeout, Values & solution, ErrorCode & error,
    const Options & options = Options()) const override;
  bool searchPositionIK(
    const Pose & pose, const Values & seed, double timeout, const Values & consistency_limits,
    Values & solution, ErrorCode & error, const Options & options = Options()) const override;
  bool searchPositionIK(
    const Pose & pose, const Values & seed, double timeout, Values & solution,
    const IKCallbackFn & callback, ErrorCode & error,
    const Options & options = Options()) const override;
  bool searchPositionIK(
    const Pose & pose, const Values & seed, double timeout, const Values & consistency_limits,
    Values & solution, const IKCallbackFn & callback, ErrorCode & error,
    const Options & options = Options()) const override;
  bool searchPositionIK(
    const std::vector<Pose> & poses, const Values & seed, double timeout,
    const Values & consistency_limits, Values & solution, const IKCallbackFn & callback,
    ErrorCode & error, const Options & options = Options(),
    const moveit::core::RobotState * context = nullptr) const override;
  bool searchPositionIK(
    const std::vector<Pose> & poses, const Values & seed, double timeout,
    const Values & consistency_limits, Values & solution, const IKCallbackFn & callback,
    const IKCostFn & cost, ErrorCode & error, const Options & options = Options(),
    const moveit::core::RobotState * context = nullptr) const override;

  bool getPositionFK(
    const std::vector<std::string> & links, const Values & values,
    std::vector<Pose> & poses) const override;

  const std::vector<std::string> & getJointNames() const override;
  const std::vector<std::string> & getLinkNames() const override;
  bool supportsGroup(
    const moveit::core::JointModelGroup * group, std::string * reason = nullptr) const override;

private:
  /// One request of MoveIt; what is not asked is null.
  struct Asked
  {
    const Pose * poses;
    std::size_t count;
    const Values & seed;
    double timeout;
    const Values * limits;
    const IKCallbackFn * callback;
    const IKCostFn * cost;
    const moveit::core::RobotState * context;
  };

  std::unique_ptr<Kinematics> open(rclcpp::Node & node) const;
  bool search(
    const Asked & asked, const Options & options, Values & solution, ErrorCode & error) const;
  SolutionCallback to_callback(const Asked & asked) const;
  CostFunction to_cost(const Asked & asked) const;
  Request to_request(View<ssik_moveit::Pose> poses, const Values & seed, const Options & options) const;
  Values steps_of_redundant() const;

  const std::string solver_;
  std::unique_ptr<Kinematics> kinematics_;
  GroupNames names_;
};

}  // namespace ssik_moveit
