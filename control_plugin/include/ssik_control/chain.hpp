// A serial chain of a URDF: poses and Jacobians of its links. Nothing is allocated after the constructor.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace ssik_control {

// Rotation matrix row by row, then translation [m]: the pose of a frame in another one.
using Frame = std::array<double, 12>;

// The joints between two links, in the order from base to tip. The base may lie below the tip in the tree: joints are
// then passed from their child link to their parent link.
class Chain {
 public:
  // Joints that mimic others count as joints of their own. Throws std::invalid_argument if the text is not a URDF, a link
  // is missing, or a joint turns or slides in more than one direction.
  Chain(const std::string &urdf, std::string base, const std::string &tip);

  std::size_t size() const { return names_.size(); }
  // Names of the joints, and their limits: infinite for none [rad or m, rad/s or m/s].
  const std::vector<std::string> &names() const { return names_; }
  const std::vector<double> &lower() const { return lower_; }
  const std::vector<double> &upper() const { return upper_; }
  const std::vector<double> &velocity() const { return velocity_; }

  // Names of the links; the base is the first, the tip the last.
  const std::vector<std::string> &links() const { return links_; }
  // Place of a link in links(), or -1.
  int find(const std::string &link) const noexcept;

  // Pose of a link in the base.
  Frame pose(const double *q, int link) const noexcept;
  // Jacobian of the origin of a link in base axes: 6 rows (linear, then angular) of size() numbers, with `stride` numbers
  // from one joint to the next and `row` from one row to the next.
  void jacobian(const double *q, int link, double *out, std::ptrdiff_t stride, std::ptrdiff_t row) const noexcept;

 private:
  struct Segment {
    Frame placement;  // before the motion; after it if the joint is passed backwards
    std::array<double, 3> axis;
    int joint;  // place in a joint vector; -1 for a fixed joint
    bool slides;
    bool is_backwards;
  };

  static Frame motion(const Segment &segment, double value) noexcept;
  static Frame step(const Segment &segment, const Frame &before, double value, Frame *at_joint) noexcept;

  std::vector<Segment> segments_;
  std::vector<std::string> links_, names_;
  std::vector<double> lower_, upper_, velocity_;
};

}  // namespace ssik_control
