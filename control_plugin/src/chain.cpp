#include "ssik_control/chain.hpp"

#include <tinyxml2.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <locale>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "frames.hpp"

namespace ssik_control {
namespace {

constexpr double NONE = std::numeric_limits<double>::infinity();
// The rules of the package's URDF reader: a limit as large as this means no limit [rad, m, or one of them per s], and a
// joint with an axis as short as this is fixed.
constexpr double UNBOUNDED = 1e9, SHORTEST_AXIS = 1e-12;
constexpr Frame HERE = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};

using tinyxml2::XMLElement;

// A joint of a URDF.
struct Joint {
  std::string name, type, parent, child;
  Frame origin = HERE;
  std::array<double, 3> axis = {1, 0, 0};
  double lower = -NONE, upper = NONE, velocity = NONE;
};

std::string attribute(const XMLElement *element, const char *name) {
  const char *text = element ? element->Attribute(name) : nullptr;
  return text ? text : "";
}

// Three numbers of an attribute, or the default where it is missing.
std::array<double, 3> triple(const XMLElement *element, const char *name, std::array<double, 3> values) {
  const std::string text = attribute(element, name);
  if (text.empty()) return values;
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  for (double &value : values)
    if (!(stream >> value)) throw std::invalid_argument(std::string(name) + "=\"" + text + "\" is not three numbers");
  return values;
}

// A number of an attribute, which may be infinite, or the default where it is missing.
double number(const XMLElement *element, const char *name, double otherwise) {
  const std::string text = attribute(element, name);
  const char *const blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return otherwise;
  const char *const begin = text.data() + first + (text[first] == '+');
  const char *const end = text.data() + text.find_last_not_of(blanks) + 1;
  double value = 0.0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end || std::isnan(value))
    throw std::invalid_argument(std::string(name) + "=\"" + text + "\" is not a number");
  return value;
}

double unbounded(double limit) { return std::fabs(limit) < UNBOUNDED ? limit : std::copysign(NONE, limit); }

Frame frame_of(const std::array<double, 3> &xyz, const std::array<double, 3> &rpy) {
  const double a = std::cos(rpy[0]), b = std::sin(rpy[0]), c = std::cos(rpy[1]), d = std::sin(rpy[1]);
  const double e = std::cos(rpy[2]), f = std::sin(rpy[2]);
  return {e * c, e * d * b - f * a, e * d * a + f * b, f * c, f * d * b + e * a, f * d * a - e * b,
          -d,    c * b,             c * a,             xyz[0], xyz[1], xyz[2]};
}

bool is_movable(const Joint &joint) { return joint.type == "revolute" || joint.type == "continuous" || joint.type == "prismatic"; }

Joint read_joint(const XMLElement *element) {
  Joint joint;
  joint.name = attribute(element, "name");
  joint.type = attribute(element, "type");
  joint.parent = attribute(element->FirstChildElement("parent"), "link");
  joint.child = attribute(element->FirstChildElement("child"), "link");
  const XMLElement *origin = element->FirstChildElement("origin"), *limit = element->FirstChildElement("limit");
  joint.origin = frame_of(triple(origin, "xyz", {0, 0, 0}), triple(origin, "rpy", {0, 0, 0}));
  const auto [x, y, z] = triple(element->FirstChildElement("axis"), "xyz", joint.axis);
  const double length = std::hypot(x, y, z);
  if (length > SHORTEST_AXIS && std::isfinite(length)) joint.axis = {x / length, y / length, z / length};
  else if (is_movable(joint)) joint.type = "fixed";
  if (limit && joint.type != "continuous") {
    const auto [lower, upper] = std::minmax({number(limit, "lower", 0.0), number(limit, "upper", 0.0)});
    joint.lower = unbounded(lower);
    joint.upper = unbounded(upper);
  }
  const double velocity = std::fabs(number(limit, "velocity", NONE));
  if (velocity > 0.0) joint.velocity = unbounded(velocity);
  return joint;
}

// The joints of a URDF by their child links, and the names of its links.
struct Tree {
  std::map<std::string, Joint> joints;
  std::set<std::string> links;

  explicit Tree(const std::string &urdf) {
    tinyxml2::XMLDocument document;
    const XMLElement *robot = document.Parse(urdf.c_str(), urdf.size()) ? nullptr : document.FirstChildElement("robot");
    if (!robot) throw std::invalid_argument("the robot description is no URDF");
    for (auto *link = robot->FirstChildElement("link"); link; link = link->NextSiblingElement("link"))
      links.insert(attribute(link, "name"));
    for (auto *element = robot->FirstChildElement("joint"); element; element = element->NextSiblingElement("joint")) {
      Joint joint = read_joint(element);
      joints[joint.child] = std::move(joint);
    }
  }

  // Links from a link up to the root, itself first.
  std::vector<std::string> ancestors(std::string link) const {
    std::vector<std::string> found;
    for (; found.size() <= joints.size(); link = joints.at(link).parent) {
      found.push_back(link);
      if (!joints.count(link)) return found;
    }
    throw std::invalid_argument("the joints of the robot description form a ring at link '" + link + "'");
  }

  std::string root() const {
    if (links.empty()) throw std::invalid_argument("the robot description has no links");
    return ancestors(*links.begin()).back();
  }
};

}  // namespace

Chain::Chain(const std::string &urdf, std::string base, const std::string &tip) {
  const Tree tree(urdf);
  if (base.empty()) base = tree.root();
  for (const std::string &link : {base, tip})
    if (!tree.links.count(link)) throw std::invalid_argument("the robot has no link '" + link + "'");
  auto up = tree.ancestors(base), down = tree.ancestors(tip);
  if (up.back() != down.back()) throw std::invalid_argument("no joints connect '" + base + "' and '" + tip + "'");
  while (up.size() > 1 && down.size() > 1 && up[up.size() - 2] == down[down.size() - 2]) up.pop_back(), down.pop_back();

  links_.push_back(base);
  const auto pass = [&](const std::string &child, bool is_backwards) {
    const Joint &joint = tree.joints.at(child);
    Segment segment{is_backwards ? inverse(joint.origin) : joint.origin, {0, 0, 0}, -1, joint.type == "prismatic", is_backwards};
    if (is_movable(joint)) {
      segment.axis = joint.axis;
      segment.joint = static_cast<int>(names_.size());
      names_.push_back(joint.name);
      lower_.push_back(joint.lower);
      upper_.push_back(joint.upper);
      velocity_.push_back(joint.velocity);
    } else if (joint.type != "fixed") {
      throw std::invalid_argument("joint '" + joint.name + "' of type '" + joint.type + "' neither turns nor slides");
    }
    segments_.push_back(segment);
    links_.push_back(is_backwards ? joint.parent : child);
  };
  for (std::size_t k = 0; k + 1 < up.size(); ++k) pass(up[k], true);
  for (std::size_t k = down.size() - 1; k-- > 0;) pass(down[k], false);
}

int Chain::find(const std::string &link) const noexcept {
  const auto at = std::find(links_.begin(), links_.end(), link);
  return at == links_.end() ? -1 : static_cast<int>(at - links_.begin());
}

Frame Chain::motion(const Segment &segment, double value) noexcept {
  const auto [x, y, z] = segment.axis;
  if (segment.slides) return {1, 0, 0, 0, 1, 0, 0, 0, 1, value * x, value * y, value * z};
  return rotation(segment.axis, value);
}

// Return the frame after a segment; at_joint gets the frame in which its joint moves.
Frame Chain::step(const Segment &segment, const Frame &before, double value, Frame *at_joint) noexcept {
  if (segment.is_backwards) {
    *at_joint = before;
    return product(segment.joint < 0 ? before : product(before, motion(segment, -value)), segment.placement);
  }
  *at_joint = product(before, segment.placement);
  return segment.joint < 0 ? *at_joint : product(*at_joint, motion(segment, value));
}

Frame Chain::pose(const double *q, int link) const noexcept {
  Frame frame = HERE, at_joint;
  for (int k = 0; k < link; ++k) {
    const Segment &segment = segments_[static_cast<std::size_t>(k)];
    frame = step(segment, frame, segment.joint < 0 ? 0.0 : q[segment.joint], &at_joint);
  }
  return frame;
}

void Chain::jacobian(const double *q, int link, double *out, std::ptrdiff_t stride, std::ptrdiff_t row) const noexcept {
  const Frame tip = pose(q, link);
  for (std::size_t joint = 0; joint < size(); ++joint)
    for (int k = 0; k < 6; ++k) out[static_cast<std::ptrdiff_t>(joint) * stride + k * row] = 0.0;
  Frame frame = HERE, at;
  for (int k = 0; k < link; ++k) {
    const Segment &segment = segments_[static_cast<std::size_t>(k)];
    frame = step(segment, frame, segment.joint < 0 ? 0.0 : q[segment.joint], &at);
    if (segment.joint < 0) continue;
    double axis[3], arm[3];
    for (int i = 0; i < 3; ++i) {
      const double along = at[3 * i] * segment.axis[0] + at[3 * i + 1] * segment.axis[1] + at[3 * i + 2] * segment.axis[2];
      axis[i] = segment.is_backwards ? -along : along;
      arm[i] = tip[9 + i] - at[9 + i];
    }
    double *column = out + segment.joint * stride;
    for (int i = 0; i < 3; ++i) {
      const int a = (i + 1) % 3, b = (i + 2) % 3;
      column[i * row] = segment.slides ? axis[i] : axis[a] * arm[b] - axis[b] * arm[a];
      column[(3 + i) * row] = segment.slides ? 0.0 : axis[i];
    }
  }
}

}  // namespace ssik_control
