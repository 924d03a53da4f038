#include "ros_caller.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include <moveit_msgs/srv/get_position_ik.hpp>
#include <rclcpp/executors/single_threaded_executor.hpp>
#include <rclcpp/rclcpp.hpp>

#if __has_include(<ssik_msgs/srv/solve_all.hpp>)
#include <ssik_msgs/srv/solve_all.hpp>
#define SSIK_MOVEIT_HAS_SOLVE_ALL
#endif

namespace ssik_moveit
{
namespace
{

using GetPositionIK = moveit_msgs::srv::GetPositionIK;
using Seconds = std::chrono::duration<double>;

/// A node, and the thread that takes its responses.
class Spinner
{
public:
  explicit Spinner(rclcpp::Node & parent, const std::string & group)
  : node_(make_node(parent, group)), executor_(make_options(parent))
  {
    executor_.add_node(node_);
    thread_ = std::thread([this]() {executor_.spin();});
  }

  ~Spinner()
  {
    // A spin that has not begun yet would not hear of it.
    while (!executor_.is_spinning() && rclcpp::ok(node_->get_node_base_interface()->get_context())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    executor_.cancel();
    thread_.join();
  }

  rclcpp::Node & node() { return *node_; }

private:
  static rclcpp::Node::SharedPtr make_node(rclcpp::Node & parent, const std::string & group)
  {
    rclcpp::NodeOptions options;
    options.context(parent.get_node_base_interface()->get_context());
    // Remappings of the parent's name are not meant for this one.
    options.use_global_arguments(false);
    options.start_parameter_services(false);
    options.start_parameter_event_publisher(false);
    std::string name = std::string(parent.get_name()) + "_" + group + "_ik_client";
    std::replace_if(
      name.begin(), name.end(), [](unsigned char letter) {return std::isalnum(letter) == 0;}, '_');
    return std::make_shared<rclcpp::Node>(name, parent.get_namespace(), options);
  }

  static rclcpp::ExecutorOptions make_options(rclcpp::Node & parent)
  {
    rclcpp::ExecutorOptions options;
    options.context = parent.get_node_base_interface()->get_context();
    return options;
  }

  rclcpp::Node::SharedPtr node_;
  rclcpp::executors::SingleThreadedExecutor executor_;
  std::thread thread_;
};

/// Wait for a server and its response, both within one time. @return null where it does not come.
template <typename Service>
std::shared_ptr<typename Service::Response> call(
  rclcpp::Client<Service> & client, std::shared_ptr<typename Service::Request> request, double wait)
{
  const auto end = std::chrono::steady_clock::now() + Seconds(wait);
  const auto left = [&end]() {
      return std::max(
        std::chrono::duration_cast<std::chrono::nanoseconds>(end - std::chrono::steady_clock::now()),
        std::chrono::nanoseconds(0));
    };
  if (!client.service_is_ready() && !client.wait_for_service(left())) {
    return nullptr;
  }
  auto future = client.async_send_request(std::move(request));
  if (future.wait_for(left()) != std::future_status::ready) {
    client.remove_pending_request(future.request_id);
    return nullptr;
  }
  return future.get();
}

template <typename Message>
void write_pose(const Pose & pose, Message & message)
{
  message.position.x = pose.position[0];
  message.position.y = pose.position[1];
  message.position.z = pose.position[2];
  message.orientation.x = pose.orientation[0];
  message.orientation.y = pose.orientation[1];
  message.orientation.z = pose.orientation[2];
  message.orientation.w = pose.orientation[3];
}

template <typename Message>
void write_time(double seconds, Message & message)
{
  message.sec = static_cast<std::int32_t>(std::floor(seconds));
  message.nanosec = static_cast<std::uint32_t>(1e9 * (seconds - std::floor(seconds)));
}

template <typename Code>
auto text_of(const Code & error, int) -> decltype(std::string(error.message))
{
  return error.message;
}

template <typename Code>
std::string text_of(const Code &, long)
{
  return "";
}

class RosCaller : public ServiceCaller
{
public:
  RosCaller(
    rclcpp::Node & parent, const std::string & service, std::string group, GroupNames names)
  : group_(std::move(group)), names_(std::move(names)), spinner_(parent, group_),
    one_(spinner_.node().create_client<GetPositionIK>(service))
  {
#ifdef SSIK_MOVEIT_HAS_SOLVE_ALL
    const auto place = service.rfind('/');
    const std::string folder = place == std::string::npos ? "" : service.substr(0, place + 1);
    all_ = spinner_.node().create_client<ssik_msgs::srv::SolveAll>(folder + "ssik_ros/solve_all");
#endif
  }

  std::optional<ServiceReply> ask_one(const ServiceRequest & request, double wait) override
  {
    auto message = std::make_shared<GetPositionIK::Request>();
    auto & ik_request = message->ik_request;
    ik_request.group_name = group_;
    ik_request.ik_link_names = names_.tip_frames;
    for (const Pose & pose : request.poses) {
      geometry_msgs::msg::PoseStamped stamped;
      stamped.header.frame_id = names_.base_frame;
      write_pose(pose, stamped.pose);
      ik_request.pose_stamped_vector.push_back(stamped);
    }
    write_state(request, ik_request.robot_state);
    write_limits(request, ik_request.constraints);
    write_time(request.timeout, ik_request.timeout);
    const auto response = call<GetPositionIK>(*one_, message, wait);
    if (!response) {
      return std::nullopt;
    }
    ServiceReply reply;
    reply.code = response->error_code.val;
    reply.text = text_of(response->error_code, 0);
    if (reply.code == code::SUCCESS) {
      const auto & joints = response->solution.joint_state;
      reply.solutions.push_back(in_our_order(joints.name, joints.position));
    }
    return reply;
  }

  std::optional<ServiceReply> ask_all(const ServiceRequest & request, double wait) override
  {
#ifdef SSIK_MOVEIT_HAS_SOLVE_ALL
    if (request.poses.size() != 1 || !all_->service_is_ready()) {
      return std::nullopt;
    }
    auto message = std::make_shared<ssik_msgs::srv::SolveAll::Request>();
    message->group = group_;
    message->link = names_.tip_frames[0];
    message->pose_stamped.header.frame_id = names_.base_frame;
    write_pose(request.poses[0], message->pose_stamped.pose);
    write_state(request, message->robot_state);
    write_time(request.timeout, message->timeout);
    const auto response = call<ssik_msgs::srv::SolveAll>(*all_, message, wait);
    if (!response) {
      return std::nullopt;
    }
    ServiceReply reply;
    reply.code = response->error_code.val;
    reply.text = text_of(response->error_code, 0);
    for (const auto & branch : response->branches) {
      reply.solutions.push_back(in_our_order(response->joint_names, branch.positions));
    }
    return reply;
#else
    (void)request;
    (void)wait;
    return std::nullopt;
#endif
  }

private:
  void write_state(const ServiceRequest & request, moveit_msgs::msg::RobotState & state) const
  {
    // What is not named stays as the server knows it.
    state.is_diff = true;
    state.joint_state.name = names_.variables;
    state.joint_state.position.assign(request.seed.begin(), request.seed.end());
  }

  void write_limits(const ServiceRequest & request, moveit_msgs::msg::Constraints & wishes) const
  {
    for (std::size_t i = 0; i < request.limits.size(); ++i) {
      if (std::isfinite(request.limits[i])) {
        moveit_msgs::msg::JointConstraint wish;
        wish.joint_name = names_.variables[i];
        wish.position = request.reference[i];
        wish.tolerance_above = wish.tolerance_below = request.limits[i];
        wish.weight = 1.0;
        wishes.joint_constraints.push_back(wish);
      }
    }
  }

  /// Return the values of the group's variables; empty where one is not named.
  std::vector<double> in_our_order(
    const std::vector<std::string> & names, const std::vector<double> & values) const
  {
    std::vector<double> own;
    for (const std::string & name : names_.variables) {
      const auto found = std::find(names.begin(), names.end(), name);
      const auto index = static_cast<std::size_t>(found - names.begin());
      if (index >= values.size()) {
        return {};
      }
      own.push_back(values[index]);
    }
    return own;
  }

  std::string group_;
  GroupNames names_;
  Spinner spinner_;
  rclcpp::Client<GetPositionIK>::SharedPtr one_;
#ifdef SSIK_MOVEIT_HAS_SOLVE_ALL
  rclcpp::Client<ssik_msgs::srv::SolveAll>::SharedPtr all_;
#endif
};

}  // namespace

std::shared_ptr<ServiceCaller> make_ros_caller(
  rclcpp::Node & node, const std::string & service, const std::string & group,
  const GroupNames & names)
{
  const std::string full =
    node.get_node_base_interface()->resolve_topic_or_service_name(service, true);
  return std::make_shared<RosCaller>(node, full, group, names);
}

}  // namespace ssik_moveit
