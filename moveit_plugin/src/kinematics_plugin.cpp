#include "kinematics_plugin.hpp"

#include <memory>
#include <utility>

#include <rclcpp/logging.hpp>
#include <rclcpp/utilities.hpp>

#include "group_sources.hpp"
#include "service_group.hpp"
#include "ssik_moveit/host_parameters.hpp"
#include "ssik_moveit/in_process.hpp"
#include "ssik_moveit/robot_text.hpp"

namespace ssik_moveit
{
namespace
{

rclcpp::Logger logger()
{
  return rclcpp::get_logger("ssik_moveit");
}

Pose from_message(const geometry_msgs::msg::Pose & pose)
{
  Pose own;
  own.position = {pose.position.x, pose.position.y, pose.position.z};
  own.orientation = {
    pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w};
  return own;
}

geometry_msgs::msg::Pose to_message(const Pose & own)
{
  geometry_msgs::msg::Pose pose;
  pose.position.x = own.position[0];
  pose.position.y = own.position[1];
  pose.position.z = own.position[2];
  pose.orientation.x = own.orientation[0];
  pose.orientation.y = own.orientation[1];
  pose.orientation.z = own.orientation[2];
  pose.orientation.w = own.orientation[3];
  return pose;
}

/// Older releases of moveit_msgs have no text in an error code.
template <typename Code>
auto set_text(Code & error, const std::string & text, int) -> decltype(error.message, void())
{
  error.message = text;
  error.source = text.empty() ? "" : "ssik_ros";
}

template <typename Code>
void set_text(Code &, const std::string &, long)
{
}

}  // namespace

std::unique_ptr<Kinematics> KinematicsPlugin::open(rclcpp::Node & node) const
{
  GroupKeys keys = read_keys(node, group_name_);
  const HostParameters host = take_host_parameters(keys.values, keys.prefix);
  if (host.transport == Transport::SERVICE) {
    return open_service_group(node, robot_model_, group_name_, base_frame_, tip_frames_, host);
  }
  const std::string warning = set_solver(keys.values, solver_, keys.prefix);
  if (!warning.empty()) {
    RCLCPP_WARN(logger(), "%s", warning.c_str());
  }
  const RobotText robot = read_robot(*robot_model_, group_name_);
  const moveit::core::JointModelGroup & group = *robot_model_->getJointModelGroup(group_name_);
  GroupDescription description;
  description.urdf = write_urdf(robot);
  description.srdf = write_srdf(robot);
  description.group = group_name_;
  description.base_frame = base_frame_;
  description.tip_frames = tip_frames_;
  description.is_chain = group.isChain();
  description.joints = read_joints(group);
  description.links = group.getLinkModelNames();
  description.parameters = keys.values;
  description.where = keys.prefix;
  description.blocks = host.blocks;
  description.forward = make_forward(robot_model_, names_of(description.joints), base_frame_);
  description.warn = [](const std::string & line) {RCLCPP_WARN(logger(), "%s", line.c_str());};
  RCLCPP_INFO(
    logger(), "Loading %s for group '%s'. The first time takes a few seconds. Ctrl-C stops it.", solver_.c_str(),
    group_name_.c_str());
  const auto context = node.get_node_base_interface()->get_context();
  return open_in_process(description, [context]() {return !rclcpp::ok(context);});
}

bool KinematicsPlugin::initialize(
  const rclcpp::Node::SharedPtr & node, const moveit::core::RobotModel & robot_model,
  const std::string & group_name, const std::string & base_frame,
  const std::vector<std::string> & tip_frames, double search_discretization)
{
  node_ = node;
  storeValues(robot_model, group_name, base_frame, tip_frames, search_discretization);
  try {
    kinematics_ = open(*node);
    names_ = kinematics_->names();
    if (names_.tip_frames != tip_frames_) {
      std::string tips;
      for (const std::string & tip : names_.tip_frames) {
        tips += (tips.empty() ? "" : ", ") + tip;
      }
      RCLCPP_INFO(logger(), "Group '%s' branches. Its solver takes poses of %s.", group_name.c_str(), tips.c_str());
    }
    tip_frames_ = names_.tip_frames;
  } catch (const std::exception & error) {
    kinematics_.reset();
    names_ = GroupNames();
    RCLCPP_ERROR(
      logger(), "No kinematics for group '%s': %s", group_name.c_str(), error.what());
    return false;
  }
  supported_methods_ = {
    kinematics::DiscretizationMethods::NO_DISCRETIZATION,
    kinematics::DiscretizationMethods::ALL_DISCRETIZED,
    kinematics::DiscretizationMethods::SOME_DISCRETIZED,
    kinematics::DiscretizationMethods::ALL_RANDOM_SAMPLED,
    kinematics::DiscretizationMethods::SOME_RANDOM_SAMPLED};
  RCLCPP_INFO(
    logger(), "Solver of group '%s': %s.", group_name.c_str(), names_.solver.c_str());
  return true;
}

Request KinematicsPlugin::to_request(
  View<ssik_moveit::Pose> poses, const Values & seed, const Options & options) const
{
  Request request;
  request.poses = poses;
  request.seed = seed;
  request.lock_redundant = options.lock_redundant_joints;
  request.approximate = options.return_approximate_solution;
  request.discretization = static_cast<Discretization>(options.discretization_method);
  return request;
}

KinematicsPlugin::Values KinematicsPlugin::steps_of_redundant() const
{
  Values steps;
  for (const unsigned int joint : redundant_joint_indices_) {
    steps.push_back(getSearchDiscretization(static_cast<int>(joint)));
  }
  return steps;
}

SolutionCallback KinematicsPlugin::to_callback(const Asked & asked) const
{
  if (asked.callback == nullptr || !*asked.callback) {
    return {};
  }
  return [&asked](const Values & candidate) {
           ErrorCode verdict;
           verdict.val = ErrorCode::SUCCESS;
           (*asked.callback)(asked.poses[0], candidate, verdict);
           return static_cast<int>(verdict.val);
         };
}

CostFunction KinematicsPlugin::to_cost(const Asked & asked) const
{
  if (asked.cost == nullptr || !*asked.cost) {
    return {};
  }
  auto state = std::make_shared<moveit::core::RobotState>(
    asked.context == nullptr ? moveit::core::RobotState(robot_model_) : *asked.context);
  if (asked.context == nullptr) {
    state->setToDefaultValues();
  }
  const auto * group = robot_model_->getJointModelGroup(group_name_);
  return [this, &asked, state, group](const Values & candidate) {
           state->setVariablePositions(names_.variables, candidate);
           state->update();
           return (*asked.cost)(asked.poses[0], *state, group, asked.seed);
         };
}

bool KinematicsPlugin::search(
  const Asked & asked, const Options & options, Values & solution, ErrorCode & error) const
{
  error.val = ErrorCode::NO_IK_SOLUTION;
  if (!kinematics_) {
    set_text(error, "The solver is not initialized.", 0);
    return false;
  }
  std::vector<ssik_moveit::Pose> poses;
  for (std::size_t i = 0; i < asked.count; ++i) {
    poses.push_back(from_message(asked.poses[i]));
  }
  Request request = to_request(poses, asked.seed, options);
  const Values steps = steps_of_redundant();
  const SolutionCallback callback = to_callback(asked);
  const CostFunction cost = to_cost(asked);
  if (options.lock_redundant_joints) {
    request.redundant = redundant_joint_indices_;
    request.steps = steps;
  }
  request.timeout = asked.timeout > 0.0 ? asked.timeout : default_timeout_;
  request.accepts = &callback;
  request.cost = &cost;
  if (asked.limits != nullptr) {
    request.consistency_limits = *asked.limits;
  }
  const Response response = kinematics_->search(request, solution);
  error.val = response.code;
  set_text(error, response.text, 0);
  return response.solved();
}

bool KinematicsPlugin::getPositionIK(
  const Pose & pose, const Values & seed, Values & solution, ErrorCode & error,
  const Options & options) const
{
  error.val = ErrorCode::NO_IK_SOLUTION;
  if (!kinematics_) {
    return false;
  }
  const ssik_moveit::Pose own = from_message(pose);
  Request request = to_request({&own, 1}, seed, options);
  const Values steps = steps_of_redundant();
  if (options.lock_redundant_joints) {
    request.redundant = redundant_joint_indices_;
    request.steps = steps;
  }
  const Response response = kinematics_->nearest(request, solution);
  error.val = response.code;
  set_text(error, response.text, 0);
  return response.solved();
}

bool KinematicsPlugin::getPositionIK(
  const std::vector<Pose> & poses, const Values & seed, std::vector<Values> & solutions,
  kinematics::KinematicsResult & result, const Options & options) const
{
  result.kinematic_error = kinematics::KinematicErrors::SOLVER_NOT_ACTIVE;
  result.solution_percentage = 0.0;
  if (!kinematics_) {
    return false;
  }
  std::vector<ssik_moveit::Pose> own;
  for (const Pose & pose : poses) {
    own.push_back(from_message(pose));
  }
  Request request = to_request(own, seed, options);
  const Values steps = steps_of_redundant();
  request.redundant = redundant_joint_indices_;
  request.steps = steps;
  Responses responses = kinematics_->several(request);
  result.kinematic_error = static_cast<kinematics::KinematicError>(responses.error);
  result.solution_percentage = responses.percentage;
  solutions = std::move(responses.solutions);
  return result.kinematic_error == kinematics::KinematicErrors::OK;
}

bool KinematicsPlugin::searchPositionIK(
  const Pose & pose, const Values & seed, double timeout, Values & solution, ErrorCode & error,
  const Options & options) const
{
  const Asked asked{&pose, 1, seed, timeout, nullptr, nullptr, nullptr, nullptr};
  return search(asked, options, solution, error);
}

bool KinematicsPlugin::searchPositionIK(
  const Pose & pose, const Values & seed, double timeout, const Values & consistency_limits,
  Values & solution, ErrorCode & error, const Options & options) const
{
  const Asked asked{&pose, 1, seed, timeout, &consistency_limits, nullptr, nullptr, nullptr};
  return search(asked, options, solution, error);
}

bool KinematicsPlugin::searchPositionIK(
  const Pose & pose, const Values & seed, double timeout, Values & solution,
  const IKCallbackFn & callback, ErrorCode & error, const Options & options) const
{
  const Asked asked{&pose, 1, seed, timeout, nullptr, &callback, nullptr, nullptr};
  return search(asked, options, solution, error);
}

bool KinematicsPlugin::searchPositionIK(
  const Pose & pose, const Values & seed, double timeout, const Values & consistency_limits,
  Values & solution, const IKCallbackFn & callback, ErrorCode & error,
  const Options & options) const
{
  const Asked asked{&pose, 1, seed, timeout, &consistency_limits, &callback, nullptr, nullptr};
  return search(asked, options, solution, error);
}

bool KinematicsPlugin::searchPositionIK(
  const std::vector<Pose> & poses, const Values & seed, double timeout,
  const Values & consistency_limits, Values & solution, const IKCallbackFn & callback,
  ErrorCode & error, const Options & options, const moveit::core::RobotState * context) const
{
  const Asked asked{
    poses.data(), poses.size(), seed, timeout, &consistency_limits, &callback, nullptr, context};
  return search(asked, options, solution, error);
}

bool KinematicsPlugin::searchPositionIK(
  const std::vector<Pose> & poses, const Values & seed, double timeout,
  const Values & consistency_limits, Values & solution, const IKCallbackFn & callback,
  const IKCostFn & cost, ErrorCode & error, const Options & options,
  const moveit::core::RobotState * context) const
{
  const Asked asked{
    poses.data(), poses.size(), seed, timeout, &consistency_limits, &callback, &cost, context};
  return search(asked, options, solution, error);
}

bool KinematicsPlugin::getPositionFK(
  const std::vector<std::string> & links, const Values & values, std::vector<Pose> & poses) const
{
  if (!kinematics_) {
    return false;
  }
  std::vector<ssik_moveit::Pose> found;
  const std::string reason = kinematics_->forward(links, values, found);
  if (!reason.empty()) {
    RCLCPP_ERROR(logger(), "No forward kinematics: %s", reason.c_str());
    return false;
  }
  poses.clear();
  for (const auto & pose : found) {
    poses.push_back(to_message(pose));
  }
  return true;
}

const std::vector<std::string> & KinematicsPlugin::getJointNames() const
{
  return names_.joints;
}

const std::vector<std::string> & KinematicsPlugin::getLinkNames() const
{
  return names_.links;
}

bool KinematicsPlugin::supportsGroup(
  const moveit::core::JointModelGroup * group, std::string * reason) const
{
  // What initialize() was told is what it has tried; a group of another name is refused.
  if (kinematics_ && group->getName() == group_name_) {
    return true;
  }
  if (reason != nullptr) {
    *reason = kinematics_ ? "The solver serves the group '" + group_name_ + "'." :
      "The solver is not initialized.";
  }
  return false;
}

}  // namespace ssik_moveit
