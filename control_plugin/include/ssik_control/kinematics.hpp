// A plugin for kinematics_interface: links, Jacobians and inverse kinematics of a chain, without Python and allocations.
#pragma once

#include <kinematics_interface/kinematics_interface.hpp>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ssik_control/chain.hpp"
#include "ssik_control/pose_solver.hpp"

namespace ssik_control {

// Poses are in the base, Jacobians in its axes, linear before angular. Methods return false and write a line to the log
// for vectors of a wrong size and unknown links; nothing is written then. Like the other plugins, one object serves one
// thread at a time.
class Kinematics : public kinematics_interface::KinematicsInterface {
 public:
  using KinematicsInterface::calculate_frame_difference;
  using KinematicsInterface::calculate_jacobian;
  using KinematicsInterface::calculate_jacobian_inverse;
  using KinematicsInterface::calculate_link_transform;
  using KinematicsInterface::convert_cartesian_deltas_to_joint_deltas;
  using KinematicsInterface::convert_joint_deltas_to_cartesian_deltas;

  bool initialize(const std::string &robot_description,
                  std::shared_ptr<rclcpp::node_interfaces::NodeParametersInterface> parameters,
                  const std::string &param_namespace) override;

  bool convert_cartesian_deltas_to_joint_deltas(const Eigen::VectorXd &joint_pos, const Eigen::Matrix<double, 6, 1> &delta_x,
                                                const std::string &link_name, Eigen::VectorXd &delta_theta) override;
  bool convert_joint_deltas_to_cartesian_deltas(const Eigen::VectorXd &joint_pos, const Eigen::VectorXd &delta_theta,
                                                const std::string &link_name, Eigen::Matrix<double, 6, 1> &delta_x) override;
  bool calculate_link_transform(const Eigen::VectorXd &joint_pos, const std::string &link_name,
                                Eigen::Isometry3d &transform) override;
  bool calculate_jacobian(const Eigen::VectorXd &joint_pos, const std::string &link_name,
                          Eigen::Matrix<double, 6, Eigen::Dynamic> &jacobian) override;
  bool calculate_jacobian_inverse(const Eigen::VectorXd &joint_pos, const std::string &link_name,
                                  Eigen::Matrix<double, Eigen::Dynamic, 6> &jacobian_inverse) override;
  // Without `override`: the interface of Jazzy has no such method.
  virtual bool calculate_frame_difference(Eigen::Matrix<double, 7, 1> &x_a, Eigen::Matrix<double, 7, 1> &x_b, double dt,
                                          Eigen::Matrix<double, 6, 1> &delta_x);

  // Inverse kinematics of the tip within joint limits, by the names that are proposed for the interface. They return
  // false if no solver could be loaded.
  virtual bool convert_cartesian_pose_to_closest_joint_state(const Eigen::Isometry3d &pose,
                                                             const std::vector<double> &current_joint_state,
                                                             std::vector<double> &joint_state);
  // The result is the solution nearest to the middle of the ranges. NaN as a range leaves a joint free.
  virtual bool convert_cartesian_pose_to_joint_state_within_range(const Eigen::Isometry3d &pose,
                                                                  const std::vector<std::pair<double, double>> &joint_ranges,
                                                                  std::vector<double> &joint_state);
  // True with no states for a pose that nothing reaches.
  virtual bool convert_cartesian_pose_to_possible_joint_states(const Eigen::Isometry3d &pose,
                                                               std::vector<std::vector<double>> &joint_states);
  virtual bool convert_joint_state_to_cartesian_pose(const std::vector<double> &joint_state, Eigen::Isometry3d &pose);

 private:
  using Jacobian = Eigen::Matrix<double, 6, Eigen::Dynamic>;

  bool is_usable(const char *method, std::ptrdiff_t joints) const;
  int find_link(const char *method, const std::string &link_name, std::initializer_list<Eigen::Index> sizes) const;
  bool has_solver(const char *method, std::size_t joints) const;
  void write_jacobian(const Eigen::VectorXd &joint_pos, int link);
  template <typename Result, typename Right>
  void solve_damped(const Right &right, Result &result);

  std::unique_ptr<Chain> chain_;
  std::unique_ptr<PoseSolver> solver_;
  std::string why_no_solver_;
  double alpha_ = 0.0;
  bool is_verbose_ = false;
  Jacobian jacobian_;
};

}  // namespace ssik_control
