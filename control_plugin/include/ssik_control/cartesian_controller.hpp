// A controller of ros2_control: poses or twists of a link in, joint positions or velocities out.
#pragma once

#include <controller_interface/chainable_controller_interface.hpp>
#include <geometry_msgs/msg/pose_stamped.hpp>
#include <geometry_msgs/msg/twist_stamped.hpp>
#include <rclcpp/rclcpp.hpp>
#include <ssik_msgs/msg/stream_status.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "ssik_control/cartesian_controller_parameters.hpp"
#include "ssik_control/cartesian_loop.hpp"
#include "ssik_control/latest.hpp"

namespace ssik_control {

// Its reference interfaces are position.x to position.z and orientation.x to orientation.w, or linear.x to angular.z. If one
// of them is NaN, the controller has no target.
class CartesianController : public controller_interface::ChainableControllerInterface {
 public:
  controller_interface::CallbackReturn on_init() override;
  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State &) override;
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State &) override;
  controller_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;

 protected:
  std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() override;
  controller_interface::return_type update_reference_from_subscribers(const rclcpp::Time &, const rclcpp::Duration &) override;
  controller_interface::return_type update_and_write_commands(const rclcpp::Time &, const rclcpp::Duration &) override;

 private:
  using Clock = std::chrono::steady_clock;

  // A target as it came.
  struct Target {
    std::array<double, 7> numbers;
    bool is_in_tip = false;  // whether a twist is along the axes of the tip
    Clock::time_point time;
    bool is_there = false;
  };
  // Result of a cycle.
  struct Outcome {
    std::uint8_t status = ssik_msgs::msg::StreamStatus::HELD;
    const char *cause = "NO_TARGET";
    StepReport report;
    std::vector<std::int32_t> stopped_by;
    std::uint64_t cycle = 0;
  };

  StepLimits read_limits() const;
  void take_pose(const geometry_msgs::msg::PoseStamped &message);
  void take_twist(const geometry_msgs::msg::TwistStamped &message);
  bool is_in(const std::string &frame, const char *wanted) const;
  bool read_state();
  bool is_behind() const;
  const char *why_held();
  StepReport follow();
  bool write_commands();
  void report(const char *held, const StepReport &report);
  void publish(const std::vector<std::string> &joints);

  std::shared_ptr<cartesian_controller::ParamListener> listener_;
  cartesian_controller::Params parameters_;
  std::unique_ptr<Chain> chain_;
  std::unique_ptr<PoseSolver> solver_;
  std::unique_ptr<CartesianLoop> loop_;
  std::vector<double> state_, state_speeds_;
  bool has_started_ = false, is_twist_ = false;
  const char *no_target_ = "NO_TARGET";
  Target known_;
  Latest<Target> target_;
  Outcome outcome_;
  Latest<Outcome> shown_;
  rclcpp::Subscription<geometry_msgs::msg::PoseStamped>::SharedPtr poses_;
  rclcpp::Subscription<geometry_msgs::msg::TwistStamped>::SharedPtr twists_;
  rclcpp::Publisher<ssik_msgs::msg::StreamStatus>::SharedPtr statuses_;
  rclcpp::TimerBase::SharedPtr timer_;
};

}  // namespace ssik_control
