// What RobotState::setFromIK takes with each of several kinematics plugins, in one process, for the same poses and seeds.
//
// Parameters: robot_description, robot_description_semantic and robot_description_planning as for move_group; group;
// solvers.<label>.<key> holds what would stand below the group in a kinematics.yaml; samples, ik_timeout [s],
// random_seed, block (calls of one solver in a row), output_dir (for tables as ik_benchmarking writes them).
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <moveit/robot_model_loader/robot_model_loader.hpp>
#include <moveit/robot_state/robot_state.hpp>
#include <random_numbers/random_numbers.h>
#include <rclcpp/rclcpp.hpp>

namespace
{

using Overrides = std::map<std::string, rclcpp::ParameterValue>;

constexpr double TOLERANCE = 1e-3;      ///< What counts as reached: norm of position [m] and angle [rad].
constexpr double LIMIT_MARGIN = 1e-9;   ///< Rounding that a joint limit is granted [rad or m].

struct Trial
{
  std::vector<double> goal;   ///< Joints of which the pose is asked for.
  std::vector<double> seed;   ///< Where the state is before the call.
};

struct Outcome
{
  bool is_found;
  double wall;          ///< [us]
  double processor;     ///< Of all threads [us].
  double position;      ///< Distance from the goal [m].
  double orientation;   ///< Angle from the goal [rad].
  bool is_within_limits;
};

struct Settings
{
  std::string group;
  std::size_t samples;
  std::size_t block;
  double timeout;
  unsigned int random_seed;
  std::string output_dir;
};

double processor_time()
{
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

/// One kinematics plugin in a robot model of its own.
class Contestant
{
public:
  Contestant(const std::string & label, const std::string & group, const Overrides & overrides)
  : label_(label)
  {
    rclcpp::NodeOptions options;
    options.use_global_arguments(false).automatically_declare_parameters_from_overrides(true);
    for (const auto & [name, value] : overrides) {
      options.append_parameter_override(name, value);
    }
    node_ = std::make_shared<rclcpp::Node>("plugin_benchmark_" + label, options);
    loader_ = std::make_unique<robot_model_loader::RobotModelLoader>(node_, "robot_description");
    if (!loader_->getModel() || loader_->getModel()->getJointModelGroup(group) == nullptr) {
      throw std::runtime_error("There is no group '" + group + "'.");
    }
    group_ = loader_->getModel()->getJointModelGroup(group);
    if (!group_->getSolverInstance()) {
      throw std::runtime_error("'" + label + "' has not loaded its kinematics_solver.");
    }
    tip_ = group_->getLinkModelNames().back();
    state_ = std::make_unique<moveit::core::RobotState>(loader_->getModel());
    state_->setToDefaultValues();
  }

  std::vector<Trial> draw_trials(std::size_t count, unsigned int random_seed)
  {
    random_numbers::RandomNumberGenerator random(random_seed);
    std::vector<Trial> trials(count);
    for (Trial & trial : trials) {
      state_->setToRandomPositions(group_, random);
      state_->copyJointGroupPositions(group_, trial.goal);
      state_->setToRandomPositions(group_, random);
      state_->copyJointGroupPositions(group_, trial.seed);
    }
    return trials;
  }

  void solve(const Trial & trial, double timeout)
  {
    state_->setJointGroupPositions(group_, trial.goal);
    state_->updateLinkTransforms();
    const Eigen::Isometry3d goal = state_->getGlobalLinkTransform(tip_);
    state_->setJointGroupPositions(group_, trial.seed);
    state_->updateLinkTransforms();
    Outcome outcome;
    const double processor = processor_time();
    const auto begun = std::chrono::steady_clock::now();
    outcome.is_found = state_->setFromIK(group_, goal, timeout);
    outcome.wall =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
    outcome.processor = processor_time() - processor;
    state_->updateLinkTransforms();
    const Eigen::Isometry3d reached = state_->getGlobalLinkTransform(tip_);
    outcome.position = (reached.translation() - goal.translation()).norm();
    outcome.orientation =
      Eigen::Quaterniond(reached.linear()).angularDistance(Eigen::Quaterniond(goal.linear()));
    outcome.is_within_limits = state_->satisfiesBounds(group_, LIMIT_MARGIN);
    outcomes_.push_back(outcome);
  }

  void forget() { outcomes_.clear(); }
  const std::string & label() const { return label_; }
  const std::vector<Outcome> & outcomes() const { return outcomes_; }

private:
  std::string label_;
  rclcpp::Node::SharedPtr node_;
  std::unique_ptr<robot_model_loader::RobotModelLoader> loader_;
  const moveit::core::JointModelGroup * group_ = nullptr;
  std::string tip_;
  std::unique_ptr<moveit::core::RobotState> state_;
  std::vector<Outcome> outcomes_;
};

/// Return each solver's parameters as a node of its own would be given them.
std::map<std::string, Overrides> divide(const Overrides & given, const std::string & group)
{
  std::map<std::string, Overrides> divided;
  const std::string start = "solvers.";
  for (const auto & [name, value] : given) {
    const std::size_t end = name.find('.', start.size());
    if (name.compare(0, start.size(), start) == 0 && end != std::string::npos) {
      const std::string label = name.substr(start.size(), end - start.size());
      divided[label]["robot_description_kinematics." + group + name.substr(end)] = value;
    }
  }
  for (auto & [label, overrides] : divided) {
    for (const auto & [name, value] : given) {
      if (name.compare(0, 17, "robot_description") == 0) {
        overrides.emplace(name, value);
      }
    }
  }
  return divided;
}

template <typename Value>
Value read(rclcpp::Node & node, const std::string & name, const Value & usual)
{
  Value value = usual;
  node.get_parameter_or(name, value, usual);
  return value;
}

Settings read_settings(rclcpp::Node & node)
{
  Settings settings;
  settings.group = read<std::string>(node, "group", "");
  settings.samples = static_cast<std::size_t>(read<std::int64_t>(node, "samples", 10000));
  settings.block = static_cast<std::size_t>(std::max<std::int64_t>(1, read<std::int64_t>(node, "block", 250)));
  settings.timeout = read(node, "ik_timeout", 0.1);
  settings.random_seed = static_cast<unsigned int>(read<std::int64_t>(node, "random_seed", 12345));
  settings.output_dir = read<std::string>(node, "output_dir", "");
  return settings;
}

double mean_of(const std::vector<double> & values)
{
  double sum = 0.0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

/// @param sorted values in ascending order, at least one.
double quantile(const std::vector<double> & sorted, double part)
{
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

void print_summary(const Contestant & contestant)
{
  std::vector<double> walls, processors;
  std::size_t found = 0, wrong = 0, outside = 0;
  for (const Outcome & outcome : contestant.outcomes()) {
    walls.push_back(outcome.wall);
    processors.push_back(outcome.processor);
    found += outcome.is_found;
    outside += outcome.is_found && !outcome.is_within_limits;
    wrong += outcome.is_found && (outcome.position > TOLERANCE || outcome.orientation > TOLERANCE);
  }
  std::sort(walls.begin(), walls.end());
  std::printf(
    "%-14s %7zu %9.4f %7zu %7zu %10.1f %10.1f %10.1f %10.1f %10.1f\n", contestant.label().c_str(),
    walls.size(), static_cast<double>(found) / static_cast<double>(walls.size()), wrong, outside,
    mean_of(walls), quantile(walls, 0.5), quantile(walls, 0.95), quantile(walls, 0.99),
    mean_of(processors));
}

/// Write a table as ik_benchmarking does, and one column more.
void write_table(const Contestant & contestant, const std::string & folder)
{
  const std::string path = folder + "/" + contestant.label() + "_ik_benchmarking_data.csv";
  std::ofstream file(path);
  file << "trial,found_ik,solve_time,position_error,orientation_error,within_limits\n" << std::boolalpha;
  std::size_t trial = 0;
  for (const Outcome & outcome : contestant.outcomes()) {
    file << ++trial << ',' << outcome.is_found << ',' << static_cast<long>(outcome.wall) << ',' <<
      outcome.position << ',' << outcome.orientation << ',' << outcome.is_within_limits << '\n';
  }
  if (!file) {
    throw std::runtime_error("'" + path + "' cannot be written.");
  }
}

/// Let the solvers take turns, so that what else the machine does meets all of them.
void measure(
  std::vector<std::unique_ptr<Contestant>> & contestants, const std::vector<Trial> & trials,
  const Settings & settings)
{
  for (std::size_t start = 0; start < trials.size() && rclcpp::ok(); start += settings.block) {
    const std::size_t end = std::min(start + settings.block, trials.size());
    for (auto & contestant : contestants) {
      for (std::size_t i = start; i < end; ++i) {
        contestant->solve(trials[i], settings.timeout);
      }
    }
  }
}

void run(rclcpp::Node & node)
{
  const Settings settings = read_settings(node);
  std::vector<std::unique_ptr<Contestant>> contestants;
  const Overrides & given = node.get_node_parameters_interface()->get_parameter_overrides();
  for (const auto & [label, overrides] : divide(given, settings.group)) {
    contestants.push_back(std::make_unique<Contestant>(label, settings.group, overrides));
  }
  if (contestants.empty() || settings.samples == 0) {
    throw std::runtime_error("Parameters solvers.<label>.kinematics_solver name what is measured; samples, how often.");
  }
  const std::vector<Trial> trials = contestants[0]->draw_trials(settings.samples, settings.random_seed);
  for (auto & contestant : contestants) {
    for (std::size_t i = 0; i < std::min<std::size_t>(20, trials.size()); ++i) {
      contestant->solve(trials[i], settings.timeout);
    }
    contestant->forget();
  }
  measure(contestants, trials, settings);
  std::printf(
    "%-14s %7s %9s %7s %7s %10s %10s %10s %10s %10s\n", settings.group.c_str(), "samples",
    "success", "wrong", "outside", "mean us", "median us", "p95 us", "p99 us", "cpu us");
  for (const auto & contestant : contestants) {
    print_summary(*contestant);
    if (!settings.output_dir.empty()) {
      write_table(*contestant, settings.output_dir);
    }
  }
}

}  // namespace

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  int status = 0;
  try {
    rclcpp::NodeOptions options;
    options.automatically_declare_parameters_from_overrides(true);
    rclcpp::Node node("plugin_benchmark", options);
    run(node);
  } catch (const std::exception & error) {
    std::fprintf(stderr, "plugin_benchmark: %s\n", error.what());
    status = 1;
  }
  rclcpp::shutdown();
  return status;
}
