#include "ssik_moveit/robot_text.hpp"

#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <set>

namespace ssik_moveit
{
namespace
{

constexpr double STRAIGHT_UP = 1e-9;

std::string escape(const std::string & text)
{
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += letter;
    }
  }
  return escaped;
}

std::string attribute(const char * name, const std::string & value)
{
  return std::string(" ") + name + "=\"" + escape(value) + "\"";
}

/// Write a number so that reading gives the same one.
std::string number(double value)
{
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", value);
  for (char * letter = text; *letter != '\0'; ++letter) {
    if (*letter == ',') {
      *letter = '.';  // The host's locale may have a comma.
    }
  }
  return text;
}

std::string numbers(std::initializer_list<double> values)
{
  std::string text;
  for (const double value : values) {
    text += (text.empty() ? "" : " ") + number(value);
  }
  return text;
}

/// Return roll, pitch and yaw of a rotation.
std::array<double, 3> to_angles(const std::array<double, 9> & r)
{
  const double cosine = std::hypot(r[0], r[3]);
  const double pitch = std::atan2(-r[6], cosine);
  if (cosine < STRAIGHT_UP) {
    return {std::atan2(-r[5], r[4]), pitch, 0.0};
  }
  return {std::atan2(r[7], r[8]), pitch, std::atan2(r[3], r[0])};
}

std::string element(const char * name, const std::string & attributes)
{
  return std::string("    <") + name + attributes + "/>\n";
}

std::string write_joint(const JointText & joint)
{
  const auto [roll, pitch, yaw] = to_angles(joint.rotation);
  const auto & t = joint.translation;
  const auto & a = joint.axis;
  std::string text = "  <joint" + attribute("name", joint.name) + attribute("type", joint.type) + ">\n";
  text += element("parent", attribute("link", joint.parent));
  text += element("child", attribute("link", joint.child));
  text += element(
    "origin", attribute("xyz", numbers({t[0], t[1], t[2]})) +
    attribute("rpy", numbers({roll, pitch, yaw})));
  if (joint.type != "fixed" && joint.type != "floating") {
    text += element("axis", attribute("xyz", numbers({a[0], a[1], a[2]})));
  }
  if (joint.type == "revolute" || joint.type == "prismatic") {
    text += element(
      "limit", attribute("lower", number(joint.lower)) + attribute("upper", number(joint.upper)) +
      attribute("effort", "0") + attribute("velocity", number(joint.velocity)));
  }
  if (!joint.leader.empty()) {
    text += element(
      "mimic", attribute("joint", joint.leader) + attribute("multiplier", number(joint.factor)) +
      attribute("offset", number(joint.offset)));
  }
  return text + "  </joint>\n";
}

std::string write_group(const std::string & name, const std::vector<std::string> & joints)
{
  std::string text = "  <group" + attribute("name", name) + ">\n";
  for (const std::string & joint : joints) {
    text += element("joint", attribute("name", joint));
  }
  return text + "  </group>\n";
}

}  // namespace

std::string write_urdf(const RobotText & robot)
{
  std::string text = "<robot" + attribute("name", robot.name) + ">\n";
  text += "  <link" + attribute("name", robot.root_link) + "/>\n";
  for (const JointText & joint : robot.joints) {
    text += "  <link" + attribute("name", joint.child) + "/>\n" + write_joint(joint);
  }
  return text + "</robot>\n";
}

std::string write_srdf(const RobotText & robot)
{
  std::string text = "<robot" + attribute("name", robot.name) + ">\n";
  if (!robot.virtual_joint.empty()) {
    text += "  <virtual_joint" + attribute("name", robot.virtual_joint) +
      attribute("type", robot.virtual_type) + attribute("parent_frame", robot.parent_frame) +
      attribute("child_link", robot.root_link) + "/>\n";
  }
  text += write_group(robot.group, robot.group_joints);
  std::set<std::string> written{robot.group};
  for (const EndEffectorText & effector : robot.end_effectors) {
    if (written.insert(effector.group).second) {
      text += write_group(effector.group, effector.group_joints);
    }
    text += "  <end_effector" + attribute("name", effector.name) +
      attribute("parent_link", effector.parent_link) + attribute("group", effector.group) + "/>\n";
  }
  return text + "</robot>\n";
}

}  // namespace ssik_moveit
