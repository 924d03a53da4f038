// What MoveIt does with the plugin, one scenario for each run; the tests read what is printed.
//
// Parameters: robot_description and the others of a move_group; group; scenario; count, threads and pause [s] for some.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <moveit/robot_model_loader/robot_model_loader.hpp>
#include <moveit/robot_state/robot_state.hpp>
#include <pluginlib/class_loader.hpp>
#include <random_numbers/random_numbers.h>
#include <rclcpp/rclcpp.hpp>

namespace
{

using Clock = std::chrono::steady_clock;
using kinematics::KinematicsBase;
using moveit::core::JointModelGroup;
using moveit::core::RobotState;

constexpr double TIMEOUT = 0.5;
constexpr double TOLERANCE = 1e-3;
constexpr double LIMIT_MARGIN = 1e-9;

struct Setting
{
  rclcpp::Node::SharedPtr node;
  std::unique_ptr<robot_model_loader::RobotModelLoader> loader;
  const JointModelGroup * group;
  std::string tip;
  std::int64_t count;
  std::int64_t threads;
  double pause;   ///< What a callback takes, or what lies between requests [s].
};

double since(Clock::time_point begun)
{
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

/// Every name that this package has among MoveIt's plugins is loaded and asked for the pose of where the robot is.
void load_every_name(const Setting & setting)
{
  pluginlib::ClassLoader<KinematicsBase> loader("moveit_core", "kinematics::KinematicsBase");
  const auto & model = *setting.loader->getModel();
  const std::string base = model.getRootLinkName();
  for (const std::string & name : loader.getDeclaredClasses()) {
    if (name.rfind("ssik_ros/", 0) != 0) {
      continue;
    }
    const auto plugin = loader.createUniqueInstance(name);
    const bool is_ready =
      plugin->initialize(setting.node, model, setting.group->getName(), base, {setting.tip}, 0.01);
    std::vector<double> seed(plugin->getJointNames().size(), 0.3), solution;
    std::vector<geometry_msgs::msg::Pose> poses;
    moveit_msgs::msg::MoveItErrorCodes code;
    const bool is_solved = is_ready && plugin->getPositionFK({setting.tip}, seed, poses) &&
      plugin->searchPositionIK(poses[0], seed, TIMEOUT, solution, code);
    std::cout << name << ' ' << is_ready << ' ' << is_solved << '\n';
  }
}

/// Return whether a state's tip is where it is meant to be, within the limits.
bool is_right(const Setting & setting, RobotState & state, const Eigen::Isometry3d & goal)
{
  state.updateLinkTransforms();
  const Eigen::Isometry3d & reached = state.getGlobalLinkTransform(setting.tip);
  const double angle =
    Eigen::Quaterniond(reached.linear()).angularDistance(Eigen::Quaterniond(goal.linear()));
  return (reached.translation() - goal.translation()).norm() <= TOLERANCE && angle <= TOLERANCE &&
         state.satisfiesBounds(setting.group, LIMIT_MARGIN);
}

/// Solve `count` random poses with a callback that works for a while under a lock; return how many solutions were right.
std::int64_t solve_many(const Setting & setting, unsigned int seed, std::mutex & lock)
{
  RobotState state(setting.loader->getModel());
  state.setToDefaultValues();
  random_numbers::RandomNumberGenerator random(seed);
  const auto check = [&](RobotState *, const JointModelGroup *, const double *) {
      const std::lock_guard<std::mutex> held(lock);
      const auto begun = Clock::now();
      while (since(begun) < setting.pause) {
      }
      return true;
    };
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < setting.count && rclcpp::ok(); ++i) {
    state.setToRandomPositions(setting.group, random);
    state.updateLinkTransforms();
    const Eigen::Isometry3d goal = state.getGlobalLinkTransform(setting.tip);
    state.setToRandomPositions(setting.group, random);
    if (state.setFromIK(setting.group, goal, TIMEOUT, check)) {
      right += is_right(setting, state, goal);
    }
  }
  return right;
}

/// Print threads, right solutions of how many, and solutions per second.
void run_threads(const Setting & setting, std::int64_t count)
{
  std::mutex lock;
  std::atomic<std::int64_t> right{0};
  std::vector<std::thread> threads;
  const auto begun = Clock::now();
  for (std::int64_t i = 0; i < count; ++i) {
    threads.emplace_back(
      [&, i] {right += solve_many(setting, static_cast<unsigned int>(i + 1), lock);});
  }
  for (std::thread & thread : threads) {
    thread.join();
  }
  const std::int64_t all = count * setting.count;
  std::cout << "threads " << count << ' ' << right << ' ' << all << ' ' <<
    static_cast<double>(all) / since(begun) << '\n';
}

/// Print for each of `count` requests whether it was solved rightly, and how long that took [ms].
void run_one_by_one(const Setting & setting)
{
  RobotState state(setting.loader->getModel());
  state.setToDefaultValues();
  for (std::int64_t i = 0; i < setting.count && rclcpp::ok(); ++i) {
    state.setToRandomPositions(setting.group);
    state.updateLinkTransforms();
    const Eigen::Isometry3d goal = state.getGlobalLinkTransform(setting.tip);
    state.setToRandomPositions(setting.group);
    const auto begun = Clock::now();
    const bool is_solved = state.setFromIK(setting.group, goal, TIMEOUT);
    const double taken = 1e3 * since(begun);
    std::cout << (is_solved && is_right(setting, state, goal)) << ' ' << taken << std::endl;
    std::this_thread::sleep_for(std::chrono::duration<double>(setting.pause));
  }
}

/// Serve until a signal ends the process.
void run_until_interrupted(const Setting & setting)
{
  RobotState state(setting.loader->getModel());
  state.setToDefaultValues();
  std::int64_t solved = 0;
  std::cout << "begun" << std::endl;
  while (rclcpp::ok()) {
    const Eigen::Isometry3d goal = state.getGlobalLinkTransform(setting.tip);
    solved += state.setFromIK(setting.group, goal, TIMEOUT);
    state.setToRandomPositions(setting.group);
    state.updateLinkTransforms();
  }
  std::cout << "ended " << (solved > 0) << std::endl;
}

void run(const std::string & scenario, const Setting & setting)
{
  if (scenario == "names") {
    load_every_name(setting);
  } else if (scenario == "threads") {
    run_threads(setting, 1);
    run_threads(setting, setting.threads);
  } else if (scenario == "one_by_one") {
    run_one_by_one(setting);
  } else if (scenario == "until_interrupted") {
    run_until_interrupted(setting);
  } else {
    throw std::runtime_error("There is no scenario '" + scenario + "'.");
  }
}

template <typename Value>
Value read(rclcpp::Node & node, const std::string & name, const Value & usual)
{
  Value value = usual;
  node.get_parameter_or(name, value, usual);
  return value;
}

Setting read_setting(const rclcpp::Node::SharedPtr & node)
{
  Setting setting;
  setting.node = node;
  setting.loader = std::make_unique<robot_model_loader::RobotModelLoader>(node, "robot_description");
  setting.group = setting.loader->getModel()->getJointModelGroup(read<std::string>(*node, "group", ""));
  if (setting.group == nullptr) {
    throw std::runtime_error("The parameter group names no group.");
  }
  setting.tip = setting.group->getLinkModelNames().back();
  setting.count = read<std::int64_t>(*node, "count", 1000);
  setting.threads = read<std::int64_t>(*node, "threads", 8);
  setting.pause = read(*node, "pause", 20e-6);
  return setting;
}

}  // namespace

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  int status = 0;
  try {
    rclcpp::NodeOptions options;
    options.automatically_declare_parameters_from_overrides(true);
    const auto node = std::make_shared<rclcpp::Node>("moveit_scenarios", options);
    const Setting setting = read_setting(node);
    run(read<std::string>(*node, "scenario", ""), setting);
  } catch (const std::exception & error) {
    std::fprintf(stderr, "%s\n", error.what());
    status = 2;
  }
  rclcpp::shutdown();
  return status;
}
