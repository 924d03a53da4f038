#include "ssik_control/kinematics.hpp"

#include <pluginlib/class_list_macros.hpp>
#include <rclcpp/logging.hpp>

#include <algorithm>
#include <cmath>
#include <exception>

#include "ssik_control/plugin_source.hpp"

namespace ssik_control {
namespace {

using Parameters = rclcpp::node_interfaces::NodeParametersInterface;

// Damping of the inverse, as in the plugins of kinematics_interface.
constexpr double ALPHA = 5e-6;
constexpr int POSE_ROWS = 6;

rclcpp::Logger logger() { return rclcpp::get_logger("ssik_control"); }

Eigen::Isometry3d to_isometry(const Frame &frame) {
  Eigen::Isometry3d pose = Eigen::Isometry3d::Identity();
  pose.linear() = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(frame.data());
  pose.translation() = Eigen::Map<const Eigen::Vector3d>(frame.data() + 9);
  return pose;
}

Frame to_frame(const Eigen::Isometry3d &pose) {
  Frame frame;
  Eigen::Map<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(frame.data()) = pose.linear();
  Eigen::Map<Eigen::Vector3d>(frame.data() + 9) = pose.translation();
  return frame;
}

// A parameter that the node has declared, or that its user has given although the node has not declared it: controllers
// declare the names that all plugins share.
bool find(Parameters &parameters, const std::string &name, rclcpp::Parameter &found) {
  if (parameters.has_parameter(name) && parameters.get_parameter(name, found)) return true;
  const auto &overrides = parameters.get_parameter_overrides();
  const auto at = overrides.find(name);
  if (at == overrides.end()) return false;
  found = rclcpp::Parameter(name, at->second);
  return true;
}

std::string text_of(Parameters &parameters, const std::string &name) {
  rclcpp::Parameter found;
  return find(parameters, name, found) ? found.as_string() : std::string();
}

}  // namespace

bool Kinematics::initialize(const std::string &robot_description, std::shared_ptr<Parameters> parameters,
                            const std::string &param_namespace) {
  const std::string prefix = param_namespace.empty() ? "" : param_namespace + ".";
  chain_.reset();
  solver_.reset();
  try {
    std::string urdf = robot_description;
    if (urdf.empty()) urdf = text_of(*parameters, "robot_description");
    if (urdf.empty()) throw std::invalid_argument("there is no robot description, and the parameter 'robot_description' is not set");
    const std::string tip = text_of(*parameters, prefix + "tip");
    if (tip.empty()) throw std::invalid_argument("the parameter '" + prefix + "tip' names no link");
    rclcpp::Parameter alpha, verbose, wants_solver;
    alpha_ = find(*parameters, prefix + "alpha", alpha) ? alpha.as_double() : ALPHA;
    if (!(alpha_ >= 0.0)) throw std::invalid_argument("the parameter '" + prefix + "alpha' is negative");
    is_verbose_ = find(*parameters, prefix + "verbose", verbose) && verbose.as_bool();
    auto chain = std::make_unique<Chain>(urdf, text_of(*parameters, prefix + "base"), tip);
    const auto joints = static_cast<Eigen::Index>(chain->size());
    jacobian_.setZero(POSE_ROWS, joints);
    why_no_solver_ = "the parameter '" + prefix + "pose_solver' is false";
    if (!find(*parameters, prefix + "pose_solver", wants_solver) || wants_solver.as_bool()) {
      try {
        const std::string blocks = text_of(*parameters, prefix + "blocks");
        solver_ = std::make_unique<PoseSolver>(*chain, make_source(urdf, chain->links().front(), tip, blocks));
      } catch (const std::exception &error) {
        why_no_solver_ = error.what();
        RCLCPP_WARN(logger(), "No inverse kinematics of poses, only of deltas: %s", error.what());
      }
    }
    chain_ = std::move(chain);
  } catch (const std::exception &error) {
    RCLCPP_ERROR(logger(), "No kinematics: %s.", error.what());
    return false;
  }
  if (is_verbose_)
    RCLCPP_INFO(logger(), "Chain from '%s' to '%s' with %zu joints, alpha %g", chain_->links().front().c_str(),
                chain_->links().back().c_str(), chain_->size(), alpha_);
  return true;
}

bool Kinematics::is_usable(const char *method, std::ptrdiff_t joints) const {
  if (!chain_) {
    RCLCPP_ERROR(logger(), "%s: initialize was not called, or has failed.", method);
    return false;
  }
  if (static_cast<std::size_t>(joints) == chain_->size()) return true;
  RCLCPP_ERROR(logger(), "%s: %td numbers were given for %zu joints.", method, joints, chain_->size());
  return false;
}

// The place of a link in the chain; -1 after a line in the log if the link or a number of joints is wrong.
int Kinematics::find_link(const char *method, const std::string &link_name, std::initializer_list<Eigen::Index> sizes) const {
  for (const Eigen::Index size : sizes)
    if (!is_usable(method, size)) return -1;
  const int link = chain_->find(link_name);
  if (link >= 0) return link;
  std::string names;
  for (const std::string &name : chain_->links()) names += (names.empty() ? "'" : ", '") + name + "'";
  RCLCPP_ERROR(logger(), "%s: the chain has no link '%s', only %s.", method, link_name.c_str(), names.c_str());
  return -1;
}

bool Kinematics::has_solver(const char *method, std::size_t joints) const {
  if (!is_usable(method, static_cast<std::ptrdiff_t>(joints))) return false;
  if (!solver_) RCLCPP_ERROR(logger(), "%s: %s.", method, why_no_solver_.c_str());
  return solver_ != nullptr;
}

void Kinematics::write_jacobian(const Eigen::VectorXd &joint_pos, int link) {
  chain_->jacobian(joint_pos.data(), link, jacobian_.data(), POSE_ROWS, 1);
}

// Write (J^T J + alpha I)^-1 J^T * right. Both forms are equal; the smaller matrix is factorised. Other products than lazy
// ones may allocate memory.
template <typename Result, typename Right>
void Kinematics::solve_damped(const Right &right, Result &result) {
  if (jacobian_.cols() >= POSE_ROWS) {
    Eigen::Matrix<double, POSE_ROWS, POSE_ROWS> normal = alpha_ * Eigen::Matrix<double, POSE_ROWS, POSE_ROWS>::Identity();
    normal += jacobian_.lazyProduct(jacobian_.transpose());
    result = jacobian_.transpose().lazyProduct(normal.ldlt().solve(right).eval());
    return;
  }
  // At most five joints: memory on the stack.
  using Small = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, POSE_ROWS, POSE_ROWS>;
  Small normal = alpha_ * Small::Identity(jacobian_.cols(), jacobian_.cols());
  normal += jacobian_.transpose().lazyProduct(jacobian_);
  Eigen::Matrix<double, Eigen::Dynamic, Right::ColsAtCompileTime, Right::ColsAtCompileTime == 1 ? Eigen::ColMajor : Eigen::RowMajor, POSE_ROWS,
                Right::ColsAtCompileTime>
      product(jacobian_.cols(), right.cols());
  product = jacobian_.transpose().lazyProduct(right);
  result = normal.ldlt().solve(product);
}

bool Kinematics::convert_cartesian_deltas_to_joint_deltas(const Eigen::VectorXd &joint_pos, const Eigen::Matrix<double, 6, 1> &delta_x,
                                                          const std::string &link_name, Eigen::VectorXd &delta_theta) {
  const int link = find_link(__func__, link_name, {joint_pos.size(), delta_theta.size()});
  if (link < 0) return false;
  write_jacobian(joint_pos, link);
  solve_damped(delta_x, delta_theta);
  return true;
}

bool Kinematics::convert_joint_deltas_to_cartesian_deltas(const Eigen::VectorXd &joint_pos, const Eigen::VectorXd &delta_theta,
                                                          const std::string &link_name, Eigen::Matrix<double, 6, 1> &delta_x) {
  const int link = find_link(__func__, link_name, {joint_pos.size(), delta_theta.size()});
  if (link < 0) return false;
  write_jacobian(joint_pos, link);
  delta_x = jacobian_.lazyProduct(delta_theta);
  return true;
}

bool Kinematics::calculate_link_transform(const Eigen::VectorXd &joint_pos, const std::string &link_name, Eigen::Isometry3d &transform) {
  const int link = find_link(__func__, link_name, {joint_pos.size()});
  if (link < 0) return false;
  transform = to_isometry(chain_->pose(joint_pos.data(), link));
  return true;
}

bool Kinematics::calculate_jacobian(const Eigen::VectorXd &joint_pos, const std::string &link_name, Jacobian &jacobian) {
  const int link = find_link(__func__, link_name, {joint_pos.size(), jacobian.cols()});
  if (link < 0) return false;
  chain_->jacobian(joint_pos.data(), link, jacobian.data(), POSE_ROWS, 1);
  return true;
}

bool Kinematics::calculate_jacobian_inverse(const Eigen::VectorXd &joint_pos, const std::string &link_name,
                                            Eigen::Matrix<double, Eigen::Dynamic, 6> &jacobian_inverse) {
  const int link = find_link(__func__, link_name, {joint_pos.size(), jacobian_inverse.rows()});
  if (link < 0) return false;
  write_jacobian(joint_pos, link);
  solve_damped(Eigen::Matrix<double, POSE_ROWS, POSE_ROWS>::Identity().eval(), jacobian_inverse);
  return true;
}

bool Kinematics::calculate_frame_difference(Eigen::Matrix<double, 7, 1> &x_a, Eigen::Matrix<double, 7, 1> &x_b, double dt,
                                            Eigen::Matrix<double, 6, 1> &delta_x) {
  if (!(dt >= 0.0)) {
    RCLCPP_ERROR(logger(), "%s: the period %g is negative.", __func__, dt);
    return false;
  }
  const Eigen::Quaterniond a(x_a(6), x_a(3), x_a(4), x_a(5)), b(x_b(6), x_b(3), x_b(4), x_b(5));
  const Eigen::AngleAxisd turn((b.normalized() * a.normalized().conjugate()).normalized());
  delta_x.head<3>() = (x_b.head<3>() - x_a.head<3>()) / dt;
  delta_x.tail<3>() = turn.angle() / dt * turn.axis();
  return true;
}

bool Kinematics::convert_cartesian_pose_to_closest_joint_state(const Eigen::Isometry3d &pose, const std::vector<double> &current_joint_state,
                                                               std::vector<double> &joint_state) {
  if (!has_solver(__func__, current_joint_state.size())) return false;
  std::vector<double> found(current_joint_state.size());
  if (!solver_->nearest(to_frame(pose), current_joint_state.data(), found.data())) return false;
  joint_state = std::move(found);
  return true;
}

bool Kinematics::convert_cartesian_pose_to_joint_state_within_range(const Eigen::Isometry3d &pose,
                                                                    const std::vector<std::pair<double, double>> &joint_ranges,
                                                                    std::vector<double> &joint_state) {
  return has_solver(__func__, joint_ranges.size()) && solver_->within(to_frame(pose), joint_ranges, joint_state);
}

bool Kinematics::convert_cartesian_pose_to_possible_joint_states(const Eigen::Isometry3d &pose,
                                                                 std::vector<std::vector<double>> &joint_states) {
  if (!has_solver(__func__, chain_ ? chain_->size() : 0)) return false;
  joint_states = solver_->all(to_frame(pose));
  return true;
}

bool Kinematics::convert_joint_state_to_cartesian_pose(const std::vector<double> &joint_state, Eigen::Isometry3d &pose) {
  if (!is_usable(__func__, static_cast<std::ptrdiff_t>(joint_state.size()))) return false;
  pose = to_isometry(chain_->pose(joint_state.data(), static_cast<int>(chain_->links().size()) - 1));
  return true;
}

}  // namespace ssik_control

PLUGINLIB_EXPORT_CLASS(ssik_control::Kinematics, kinematics_interface::KinematicsInterface)
