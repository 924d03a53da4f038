#include "ssik_control/cartesian_controller.hpp"

#include <ssik.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <pluginlib/class_list_macros.hpp>
#include <set>
#include <stdexcept>

#include "ssik_control/plugin_source.hpp"

namespace ssik_control {
namespace {

using controller_interface::CallbackReturn;
using controller_interface::return_type;
using Status = ssik_msgs::msg::StreamStatus;

constexpr std::size_t POSE_NUMBERS = 7, TWIST_NUMBERS = 6;
constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
// A joint may be outside its limits by this much when the controller starts [rad or m].
constexpr double SLACK = 1e-3;
// Largest difference of a quaternion's length from 1; it is normalized.
constexpr double QUATERNION_SLACK = 1e-2;
constexpr int MESSAGES_PERIOD = 5000;

const char *const POSE_NAMES[] = {"position.x", "position.y", "position.z", "orientation.x", "orientation.y", "orientation.z", "orientation.w"};
const char *const TWIST_NAMES[] = {"linear.x", "linear.y", "linear.z", "angular.x", "angular.y", "angular.z"};

Frame frame_of(const std::vector<double> &pose) {
  const double norm = std::sqrt(pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6]);
  const double x = pose[3] / norm, y = pose[4] / norm, z = pose[5] / norm, w = pose[6] / norm;
  return {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),     2 * (x * y + z * w),
          1 - 2 * (x * x + z * z), 2 * (y * z - x * w),     2 * (x * z - y * w),     2 * (y * z + x * w),
          1 - 2 * (x * x + y * y), pose[0], pose[1], pose[2]};
}

const char *name_of(std::int32_t cause) {
  switch (cause) {
    case SSIK_CAUSE_NONE: return "NONE";
    case SSIK_CAUSE_CONSISTENCY: return "SPEED";
    case SSIK_CAUSE_LIMITS: return "LIMITS";
    case SSIK_CAUSE_SINGULAR: return "SINGULAR";
    case SSIK_CAUSE_BAD_TARGET: return "BAD_TARGET";
    default: return "UNREACHED";
  }
}

}  // namespace

CallbackReturn CartesianController::on_init() {
  try {
    listener_ = std::make_shared<cartesian_controller::ParamListener>(get_node());
    parameters_ = listener_->get_params();
  } catch (const std::exception &error) {
    RCLCPP_ERROR(get_node()->get_logger(), "Parameters: %s", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

StepLimits CartesianController::read_limits() const {
  const std::size_t n = chain_->size();
  const auto numbers = [&](const std::vector<double> &given, const char *name, bool is_positive) {
    const std::vector<double> found = given.size() == 1 && n != 1 ? std::vector<double>(n, given[0]) : given;
    if (found.size() != n) throw std::invalid_argument(std::string(name) + " has " + std::to_string(given.size()) + " numbers for " + std::to_string(n) + " joints");
    for (const double value : found)
      if (!std::isfinite(value) || (is_positive && !(value > 0.0))) throw std::invalid_argument(std::string(name) + " has a number that is not " + (is_positive ? "positive" : "finite"));
    return found;
  };
  if (get_update_rate() == 0) throw std::invalid_argument("the controller manager has no update_rate");
  StepLimits limits;
  limits.period = 1.0 / get_update_rate();
  limits.acceleration = numbers(parameters_.acceleration, "acceleration", true);
  if (!parameters_.posture.empty()) limits.posture = numbers(parameters_.posture, "posture", false);
  for (const double value : chain_->velocity())
    limits.velocity.push_back(parameters_.velocity_scale * (std::isfinite(value) ? value : parameters_.default_velocity));
  return limits;
}

CallbackReturn CartesianController::on_configure(const rclcpp_lifecycle::State &) {
  const auto logger = get_node()->get_logger();
  try {
    parameters_ = listener_->get_params();
    is_twist_ = parameters_.reference == "twist";
    const std::string &urdf = get_robot_description();
    if (urdf.empty()) throw std::invalid_argument("there is no robot description yet");
    chain_ = std::make_unique<Chain>(urdf, parameters_.base, parameters_.tip);
    const auto &names = chain_->names();
    if (!parameters_.joints.empty() &&
        std::set<std::string>(names.begin(), names.end()) != std::set<std::string>(parameters_.joints.begin(), parameters_.joints.end()))
      throw std::invalid_argument("the joints between base and tip are not those of the parameter joints");
    if (names.empty()) throw std::invalid_argument("there is no joint between base and tip");
    solver_ = std::make_unique<PoseSolver>(*chain_, make_source(urdf, chain_->links().front(), parameters_.tip, parameters_.blocks));
    loop_ = std::make_unique<CartesianLoop>(*chain_, *solver_, read_limits());
  } catch (const std::exception &error) {
    RCLCPP_ERROR(logger, "Not configured: %s.", error.what());
    return CallbackReturn::ERROR;
  }
  state_.assign(chain_->size(), NONE);
  state_speeds_.assign(chain_->size(), 0.0);
  outcome_.stopped_by.assign(chain_->size(), 0);
  shown_.write(outcome_);
  const auto newest = rclcpp::QoS(1).best_effort();
  if (is_twist_)
    twists_ = get_node()->create_subscription<geometry_msgs::msg::TwistStamped>(
        "~/target_twist", newest, [this](const geometry_msgs::msg::TwistStamped &message) { take_twist(message); });
  else
    poses_ = get_node()->create_subscription<geometry_msgs::msg::PoseStamped>(
        "~/target_pose", newest, [this](const geometry_msgs::msg::PoseStamped &message) { take_pose(message); });
  if (parameters_.status_rate > 0.0) {
    statuses_ = get_node()->create_publisher<Status>("~/status", 10);
    // With names of its own, since a timer may run while the controller is configured anew.
    timer_ = get_node()->create_wall_timer(std::chrono::duration<double>(1.0 / parameters_.status_rate),
                                           [this, joints = chain_->names()] { publish(joints); });
  }
  RCLCPP_INFO(logger, "Ready: from '%s' to '%s', %zu joints, targets by ~/target_%s, %u Hz", chain_->links().front().c_str(),
              parameters_.tip.c_str(), chain_->size(), parameters_.reference.c_str(), get_update_rate());
  return CallbackReturn::SUCCESS;
}

controller_interface::InterfaceConfiguration CartesianController::command_interface_configuration() const {
  controller_interface::InterfaceConfiguration found{controller_interface::interface_configuration_type::INDIVIDUAL, {}};
  for (const std::string &joint : chain_->names()) found.names.push_back(joint + "/" + parameters_.command_interface);
  return found;
}

controller_interface::InterfaceConfiguration CartesianController::state_interface_configuration() const {
  controller_interface::InterfaceConfiguration found{controller_interface::interface_configuration_type::INDIVIDUAL, {}};
  for (const char *kind : {"/position", "/velocity"})
    for (const std::string &joint : chain_->names()) found.names.push_back(joint + kind);
  return found;
}

std::vector<hardware_interface::CommandInterface> CartesianController::on_export_reference_interfaces() {
  reference_interfaces_.assign(is_twist_ ? TWIST_NUMBERS : POSE_NUMBERS, NONE);
  std::vector<hardware_interface::CommandInterface> found;
  for (std::size_t k = 0; k < reference_interfaces_.size(); ++k)
    found.emplace_back(get_node()->get_name(), is_twist_ ? TWIST_NAMES[k] : POSE_NAMES[k], &reference_interfaces_[k]);
  return found;
}

CallbackReturn CartesianController::on_activate(const rclcpp_lifecycle::State &) {
  // A target from before would move the arm at once.
  target_.write(Target());
  known_ = Target();
  std::fill(reference_interfaces_.begin(), reference_interfaces_.end(), NONE);
  has_started_ = false;
  no_target_ = "NO_TARGET";
  return CallbackReturn::SUCCESS;
}

CallbackReturn CartesianController::on_deactivate(const rclcpp_lifecycle::State &) {
  if (parameters_.command_interface == "velocity")
    for (auto &command : command_interfaces_) (void)command.set_value(0.0);
  return CallbackReturn::SUCCESS;
}

bool CartesianController::is_in(const std::string &frame, const char *wanted) const {
  const std::string &base = chain_->links().front();
  if (frame.empty() || frame == base || (is_twist_ && frame == parameters_.tip)) return true;
  RCLCPP_WARN_THROTTLE(get_node()->get_logger(), *get_node()->get_clock(), MESSAGES_PERIOD,
                       "A %s in the frame '%s' is left out: it has to be in '%s'.", wanted, frame.c_str(), base.c_str());
  return false;
}

void CartesianController::take_pose(const geometry_msgs::msg::PoseStamped &message) {
  if (!is_in(message.header.frame_id, "pose")) return;
  const auto &p = message.pose.position;
  const auto &q = message.pose.orientation;
  target_.write({{p.x, p.y, p.z, q.x, q.y, q.z, q.w}, false, Clock::now(), true});
}

void CartesianController::take_twist(const geometry_msgs::msg::TwistStamped &message) {
  if (!is_in(message.header.frame_id, "twist")) return;
  const auto &v = message.twist.linear, &w = message.twist.angular;
  target_.write({{v.x, v.y, v.z, w.x, w.y, w.z, 0.0}, message.header.frame_id == parameters_.tip, Clock::now(), true});
}

return_type CartesianController::update_reference_from_subscribers(const rclcpp::Time &, const rclcpp::Duration &) {
  target_.try_read(known_);
  const bool is_old = parameters_.target_timeout > 0.0 &&
                      std::chrono::duration<double>(Clock::now() - known_.time).count() > parameters_.target_timeout;
  no_target_ = known_.is_there && is_old ? "STALE" : "NO_TARGET";
  for (std::size_t k = 0; k < reference_interfaces_.size(); ++k)
    reference_interfaces_[k] = known_.is_there && !is_old ? known_.numbers[k] : NONE;
  if (!known_.is_in_tip) return return_type::OK;
  // The message has the axes of the tip, the reference interfaces have the axes of the base.
  const Frame tip = loop_->tip();
  for (std::size_t part = 0; part < TWIST_NUMBERS; part += 3) {
    const double *given = known_.numbers.data() + part;
    for (std::size_t k = 0; k < 3 && !std::isnan(reference_interfaces_[0]); ++k)
      reference_interfaces_[part + k] = tip[3 * k] * given[0] + tip[3 * k + 1] * given[1] + tip[3 * k + 2] * given[2];
  }
  return return_type::OK;
}

bool CartesianController::read_state() {
  const std::size_t n = chain_->size();
  bool is_known = true;
  for (std::size_t k = 0; k < n; ++k) {
    const auto position = state_interfaces_[k].get_optional(), speed = state_interfaces_[n + k].get_optional();
    state_[k] = position.value_or(NONE);
    state_speeds_[k] = speed && std::isfinite(*speed) ? *speed : 0.0;
    is_known = is_known && std::isfinite(state_[k]);
  }
  return is_known;
}

bool CartesianController::is_behind() const {
  for (std::size_t k = 0; k < state_.size(); ++k)
    if (!(std::fabs(state_[k] - loop_->positions()[k]) <= parameters_.max_lag)) return true;
  return false;
}

// The cause for which the arm has to brake; null for none.
const char *CartesianController::why_held() {
  if (!read_state()) return "NO_STATE";
  if (!has_started_) {
    has_started_ = loop_->start(state_.data(), state_speeds_.data(), SLACK);
    if (!has_started_) return "LIMITS";
  }
  if (is_behind()) return "LAG";
  const auto &given = reference_interfaces_;
  if (std::any_of(given.begin(), given.end(), [](double value) { return std::isnan(value); })) return no_target_;
  if (is_twist_) return nullptr;
  const double norm = std::sqrt(given[3] * given[3] + given[4] * given[4] + given[5] * given[5] + given[6] * given[6]);
  return std::fabs(norm - 1.0) <= QUATERNION_SLACK ? nullptr : "BAD_TARGET";
}

StepReport CartesianController::follow() {
  if (!is_twist_) return loop_->to_pose(frame_of(reference_interfaces_));
  Twist twist;
  std::copy(reference_interfaces_.begin(), reference_interfaces_.end(), twist.begin());
  return loop_->by_twist(twist);
}

return_type CartesianController::update_and_write_commands(const rclcpp::Time &, const rclcpp::Duration &) {
  const char *held = why_held();
  StepReport result;
  if (has_started_) result = held ? loop_->hold() : follow();
  report(held, result);
  return write_commands() ? return_type::OK : return_type::ERROR;
}

bool CartesianController::write_commands() {
  // Without a start, hardware keeps its commands.
  if (!has_started_) return true;
  bool is_written = true;
  for (std::size_t k = 0; k < command_interfaces_.size(); ++k) {
    double value = loop_->positions()[k];
    if (parameters_.command_interface == "velocity") {
      const double behind = std::isfinite(state_[k]) ? loop_->positions()[k] - state_[k] : 0.0;
      value = loop_->speeds()[k] + parameters_.position_gain * behind;
    }
    is_written = command_interfaces_[k].set_value(value) && is_written;
  }
  return is_written;
}

void CartesianController::report(const char *held, const StepReport &result) {
  outcome_.status = held ? Status::HELD : result.is_reached ? Status::OK : Status::LIMITED;
  outcome_.cause = held ? held : result.is_reached ? "NONE" : name_of(result.cause);
  outcome_.report = result;
  ++outcome_.cycle;
  if (loop_) std::copy(loop_->stopped_by().begin(), loop_->stopped_by().end(), outcome_.stopped_by.begin());
  shown_.try_write(outcome_);
}

void CartesianController::publish(const std::vector<std::string> &joints) {
  const Outcome outcome = shown_.read();
  Status message;
  message.stamp = get_node()->now();
  message.status = outcome.status;
  message.cause = outcome.cause;
  message.cycle = outcome.cycle;
  message.linear = outcome.report.position_error;
  message.angular = outcome.report.rotation_error;
  message.scale = outcome.report.scale;
  message.condition = outcome.report.condition;
  message.joint_names = joints;
  message.stopped_by.assign(outcome.stopped_by.begin(), outcome.stopped_by.end());
  statuses_->publish(message);
}

}  // namespace ssik_control

PLUGINLIB_EXPORT_CLASS(ssik_control::CartesianController, controller_interface::ChainableControllerInterface)
