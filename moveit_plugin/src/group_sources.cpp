#include "group_sources.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include <rcl_interfaces/srv/list_parameters.hpp>

#include "ssik_moveit/host_parameters.hpp"

namespace ssik_moveit
{
namespace
{

using moveit::core::JointModel;

constexpr const char * USUAL = "robot_description_kinematics.";

std::string to_yaml_value(const rclcpp::ParameterValue & value);

template <typename T>
std::string to_sequence(const std::vector<T> & values)
{
  std::string text;
  for (const auto & value : values) {
    text += (text.empty() ? "" : ", ") + to_yaml(T(value));
  }
  return "[" + text + "]";
}

std::string to_sequence_of_integers(const std::vector<std::int64_t> & values)
{
  std::string text;
  for (const auto value : values) {
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  }
  return "[" + text + "]";
}

std::string to_yaml_value(const rclcpp::ParameterValue & value)
{
  switch (value.get_type()) {
    case rclcpp::PARAMETER_BOOL:
      return to_yaml(value.get<bool>());
    case rclcpp::PARAMETER_INTEGER:
      return std::to_string(value.get<std::int64_t>());
    case rclcpp::PARAMETER_DOUBLE:
      return to_yaml(value.get<double>());
    case rclcpp::PARAMETER_STRING:
      return to_yaml(value.get<std::string>());
    case rclcpp::PARAMETER_BOOL_ARRAY:
      return to_sequence(value.get<std::vector<bool>>());
    case rclcpp::PARAMETER_INTEGER_ARRAY:
      return to_sequence_of_integers(value.get<std::vector<std::int64_t>>());
    case rclcpp::PARAMETER_DOUBLE_ARRAY:
      return to_sequence(value.get<std::vector<double>>());
    case rclcpp::PARAMETER_STRING_ARRAY:
      return to_sequence(value.get<std::vector<std::string>>());
    default:
      return "null";
  }
}

/// Write the type of a joint, its axis and its limits.
void read_kind(const JointModel & joint, JointText & text)
{
  const auto take_axis = [&text](const Eigen::Vector3d & axis) {
      text.axis = {axis.x(), axis.y(), axis.z()};
    };
  const auto & bounds = joint.getVariableBounds();
  bool is_bounded = !bounds.empty() && bounds[0].position_bounded_;
  if (!bounds.empty()) {
    text.lower = bounds[0].min_position_;
    text.upper = bounds[0].max_position_;
    text.velocity = bounds[0].velocity_bounded_ ? bounds[0].max_velocity_ : 0.0;
  }
  switch (joint.getType()) {
    case JointModel::REVOLUTE: {
        const auto & revolute = static_cast<const moveit::core::RevoluteJointModel &>(joint);
        text.type = revolute.isContinuous() || !is_bounded ? "continuous" : "revolute";
        take_axis(revolute.getAxis());
        break;
      }
    case JointModel::PRISMATIC:
      text.type = "prismatic";
      take_axis(static_cast<const moveit::core::PrismaticJointModel &>(joint).getAxis());
      if (!is_bounded) {
        text.lower = -std::numeric_limits<double>::infinity();
        text.upper = std::numeric_limits<double>::infinity();
      }
      break;
    case JointModel::PLANAR:
      text.type = "planar";
      break;
    case JointModel::FLOATING:
      text.type = "floating";
      break;
    default:
      text.type = "fixed";
  }
}

JointText read_joint(const JointModel & joint)
{
  JointText text;
  text.name = joint.getName();
  text.parent = joint.getParentLinkModel()->getName();
  text.child = joint.getChildLinkModel()->getName();
  const Eigen::Isometry3d & origin = joint.getChildLinkModel()->getJointOriginTransform();
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      text.rotation[static_cast<std::size_t>(3 * row + column)] = origin(row, column);
    }
    text.translation[static_cast<std::size_t>(row)] = origin(row, 3);
  }
  read_kind(joint, text);
  if (joint.getMimic() != nullptr) {
    text.leader = joint.getMimic()->getName();
    text.factor = joint.getMimicFactor();
    text.offset = joint.getMimicOffset();
  }
  return text;
}

/// Return the joints of a group that the description has.
std::vector<std::string> read_group(
  const moveit::core::RobotModel & model, const std::string & group, const std::string & virtual_joint)
{
  std::vector<std::string> joints;
  for (const std::string & name : model.getJointModelGroup(group)->getJointModelNames()) {
    if (model.getJointModel(name)->getParentLinkModel() != nullptr || name == virtual_joint) {
      joints.push_back(name);
    }
  }
  return joints;
}

/// Return a pose of Eigen as ours.
Pose to_pose(const Eigen::Isometry3d & transform)
{
  const Eigen::Quaterniond turn(transform.linear());
  Pose pose;
  pose.position = {transform(0, 3), transform(1, 3), transform(2, 3)};
  pose.orientation = {turn.x(), turn.y(), turn.z(), turn.w()};
  return pose;
}

/// Return the prefix of the group's parameters: that of a second robot has another name.
std::string find_prefix(
  const std::map<std::string, rclcpp::ParameterValue> & given, const std::string & group)
{
  const std::string usual = USUAL + group;
  const std::string ending = "_kinematics." + group + ".kinematics_solver";
  if (given.count(usual + ".kinematics_solver") != 0) {
    return usual;
  }
  for (const auto & [name, value] : given) {
    if (name.size() > ending.size() &&
      name.compare(name.size() - ending.size(), ending.size(), ending) == 0)
    {
      return name.substr(0, name.rfind('.'));
    }
  }
  return usual;
}

}  // namespace

RobotText read_robot(const moveit::core::RobotModel & model, const std::string & group)
{
  RobotText robot;
  robot.name = model.getName();
  robot.root_link = model.getRootLinkName();
  robot.group = group;
  for (const JointModel * joint : model.getJointModels()) {
    if (joint->getParentLinkModel() != nullptr) {
      robot.joints.push_back(read_joint(*joint));
    } else if (joint->getType() == JointModel::PLANAR || joint->getType() == JointModel::FLOATING) {
      robot.virtual_joint = joint->getName();
      robot.virtual_type = joint->getType() == JointModel::PLANAR ? "planar" : "floating";
      robot.parent_frame = model.getModelFrame();
    }
  }
  robot.group_joints = read_group(model, group, robot.virtual_joint);
  for (const srdf::Model::EndEffector & effector : model.getSRDF()->getEndEffectors()) {
    if (model.hasJointModelGroup(effector.component_group_) && model.hasLinkModel(effector.parent_link_)) {
      const auto joints = read_group(model, effector.component_group_, robot.virtual_joint);
      robot.end_effectors.push_back(
        {effector.name_, effector.parent_link_, effector.component_group_, joints});
    }
  }
  return robot;
}

std::vector<HostJoint> read_joints(const moveit::core::JointModelGroup & group)
{
  constexpr double ANY = std::numeric_limits<double>::infinity();
  std::vector<HostJoint> joints;
  for (const JointModel * joint : group.getActiveJointModels()) {
    for (const std::string & name : joint->getVariableNames()) {
      const auto & bounds = joint->getVariableBounds(name);
      joints.push_back(
        {name, bounds.position_bounded_ ? bounds.min_position_ : -ANY,
          bounds.position_bounded_ ? bounds.max_position_ : ANY,
          bounds.velocity_bounded_ ? bounds.max_velocity_ : ANY});
    }
  }
  return joints;
}

std::vector<std::string> names_of(const std::vector<HostJoint> & joints)
{
  std::vector<std::string> names;
  for (const HostJoint & joint : joints) {
    names.push_back(joint.name);
  }
  return names;
}

Forward make_forward(
  const moveit::core::RobotModelConstPtr & model, const std::vector<std::string> & variables,
  const std::string & base_frame)
{
  return [model, variables, base_frame](
    const std::vector<std::string> & links, View<double> values, std::vector<Pose> & poses) -> std::string {
           if (values.size() != variables.size()) {
             return "There have to be " + std::to_string(variables.size()) + " values.";
           }
           for (const std::string & link : links) {
             if (!model->hasLinkModel(link)) {
               return "There is no link '" + link + "'.";
             }
           }
           moveit::core::RobotState state(model);
           state.setToDefaultValues();
           state.setVariablePositions(variables, {values.begin(), values.end()});
           state.update();
           // The frame of the whole model is no link.
           const Eigen::Isometry3d to_base = model->hasLinkModel(base_frame) ?
             state.getGlobalLinkTransform(base_frame).inverse() : Eigen::Isometry3d::Identity();
           poses.clear();
           for (const std::string & link : links) {
             poses.push_back(to_pose(to_base * state.getGlobalLinkTransform(link)));
           }
           return "";
         };
}

GroupKeys read_keys(rclcpp::Node & node, const std::string & group)
{
  // A node's own values, then what has become of them where they are declared.
  auto given = node.get_node_parameters_interface()->get_parameter_overrides();
  const auto declared = node.list_parameters({}, rcl_interfaces::srv::ListParameters::Request::DEPTH_RECURSIVE);
  for (const std::string & name : declared.names) {
    if (name.find("_kinematics." + group + ".") != std::string::npos) {
      given[name] = node.get_parameter(name).get_parameter_value();
    }
  }
  GroupKeys keys;
  keys.prefix = find_prefix(given, group);
  const std::string start = keys.prefix + ".";
  for (const auto & [name, value] : given) {
    if (name.compare(0, start.size(), start) == 0) {
      keys.values[name.substr(start.size())] = to_yaml_value(value);
    }
  }
  return keys;
}

}  // namespace ssik_moveit
