#include "ssik_moveit/in_process.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <random>
#include <stdexcept>
#include <utility>

#include "c_solver.hpp"
#include "ssik_moveit/host_parameters.hpp"

namespace ssik_moveit
{
namespace
{

using Values = std::vector<double>;

constexpr double NO_LIMIT = std::numeric_limits<double>::infinity();
constexpr double PI = 3.14159265358979323846;
constexpr std::int64_t USUAL = 0;              ///< Starts: the default of the solver.
constexpr std::int64_t STARTS = 1000;          ///< Starts of a search for several solutions.
constexpr std::int64_t MOST_STARTS = 1 << 30;  ///< Starts of a search that only its timeout ends.
constexpr std::int64_t COMPARED = 16;          ///< Solutions among which a cost function chooses.
constexpr int RANDOM_SAMPLES = 16;             ///< Random values of a redundant joint.
constexpr double SAME_SOLUTION = 1e-6;         ///< [rad or m]
constexpr double SAME_ROBOT = 1e-6;            ///< Largest difference between blocks and host [m, rad].

// Of the nearest step of one cycle, see nearest_steps.py.
constexpr double LONGEST_BUDGET = 0.05;   ///< Longest budget of a request for one cycle [s].
constexpr double CYCLES = 2.0;            ///< Length of a cycle, as a multiple of the budget.
constexpr double EXACT = 1e-6;            ///< Largest error of a step that reaches the pose [m, rad].
constexpr double USUAL_VELOCITY = 1.0;    ///< Of joints without a velocity limit [rad/s or m/s].

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begun)
{
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

std::string join(const std::vector<std::string> & words)
{
  std::string text;
  for (const std::string & word : words) {
    text += (text.empty() ? "" : ",") + word;
  }
  return text;
}

std::string without_slash(const std::string & frame)
{
  return frame.rfind('/', 0) == 0 ? frame.substr(1) : frame;
}

/// Return the parameters as the content of a kinematics.yaml.
std::string write_yaml(const GroupDescription & description)
{
  std::string text = to_yaml(description.group) + ":\n";
  for (const auto & [key, value] : description.parameters) {
    text += "  " + to_yaml(key) + ": " + value + "\n";
  }
  return description.parameters.empty() ? "" : text;
}

ssik::BlocksSource to_source(const GroupDescription & description, const InterruptionCheck & is_interrupted)
{
  ssik::BlocksSource source;
  source.texts = {
    {"--urdf", "robot.urdf", description.urdf}, {"--srdf", "robot.srdf", description.srdf},
    {"--kinematics", "kinematics.yaml", write_yaml(description)}};
  source.words = {"--group", description.group};
  std::vector<std::string> tips;
  for (const std::string & tip : description.tip_frames) {
    tips.push_back(without_slash(tip));
  }
  if (!tips.empty()) {
    source.words.insert(source.words.end(), {"--tips", join(tips)});
  }
  source.file = description.blocks;
  source.command = description.command;
  source.patience = description.patience;
  source.is_over = is_interrupted;
  source.warn = description.warn;
  return source;
}

/// Return the text of a parameter; empty if it is not given.
std::string read_parameter(const GroupDescription & description, const std::string & key)
{
  const auto found = description.parameters.find(key);
  std::string text = found == description.parameters.end() ? "" : found->second;
  text.erase(std::remove(text.begin(), text.end(), '"'), text.end());
  return text;
}

/// Return the angle between two rotations, the upper left parts of matrices of 4 by 4 [rad].
double angle_between(const double * a, const double * b)
{
  double r[3][3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k) {
        r[i][j] += a[4 * k + i] * b[4 * k + j];
      }
    }
  }
  const double sine = std::hypot(r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]);
  return std::atan2(sine, r[0][0] + r[1][1] + r[2][2] - 1.0);
}

double length_between(const double * a, const double * b)
{
  return std::hypot(a[3] - b[3], a[7] - b[7], a[11] - b[11]);
}

/// Return whether more starts may find a solution. A closed form without a search has offered every branch.
bool may_go_on(const ssik_report & report)
{
  return report.cause == SSIK_CAUSE_BUDGET || (report.cause == SSIK_CAUSE_VALIDATION && report.searches > 0);
}

/// Return why a step does not reach its pose.
const char * reason_of(std::int32_t cause)
{
  switch (cause) {
    case SSIK_CAUSE_CONSISTENCY: return "joints move at their velocity limits";
    case SSIK_CAUSE_LIMITS: return "joints are on their limits";
    case SSIK_CAUSE_SINGULAR: return "the posture is singular, and no motion of the joints comes nearer";
    case SSIK_CAUSE_UNREACHABLE: return "the pose is out of reach";
    default: return "no step comes nearer";
  }
}

/// Values of redundant joints that are tried one after the other, the seed's first.
class Samples
{
public:
  Samples(const Request & request, const CSolver & solver) : request_(request)
  {
    const bool is_random = request.discretization == Discretization::ALL_RANDOM ||
      request.discretization == Discretization::SOME_RANDOM;
    const bool is_one = request.discretization == Discretization::SOME_DISCRETIZED ||
      request.discretization == Discretization::SOME_RANDOM;
    const std::size_t count = request.discretization == Discretization::NONE ? 0 :
      is_one ? std::min<std::size_t>(1, request.redundant.size()) : request.redundant.size();
    std::mt19937_64 random(0);
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned int joint = request.redundant[i];
      const bool is_bounded = std::isfinite(solver.lower[joint]) && std::isfinite(solver.upper[joint]);
      const double low = is_bounded ? solver.lower[joint] : -PI, high = is_bounded ? solver.upper[joint] : PI;
      Values values{std::clamp(request.seed[joint], low, high)};
      if (is_random) {
        std::uniform_real_distribution<double> draw(low, high);
        for (int k = 0; k < RANDOM_SAMPLES; ++k) {
          values.push_back(draw(random));
        }
      } else {
        for (std::size_t k = 0; low + static_cast<double>(k) * request.steps[i] < high; ++k) {
          values.push_back(low + static_cast<double>(k) * request.steps[i]);
        }
      }
      values_.push_back(std::move(values));
    }
    places_.resize(count);
  }

  /// Hold the sampled joints.
  void hold(Conditions & conditions) const
  {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      conditions.hold(request_.redundant[i]);
    }
  }

  /// Write the current values into a seed.
  void write(Values & seed) const
  {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      seed[request_.redundant[i]] = values_[i][places_[i]];
    }
  }

  /// Go on to the next values; return false after the last.
  bool advance()
  {
    for (std::size_t i = values_.size(); i-- > 0; ) {
      if (++places_[i] < values_[i].size()) {
        return true;
      }
      places_[i] = 0;
    }
    return false;
  }

private:
  const Request & request_;
  std::vector<Values> values_;
  std::vector<std::size_t> places_;
};

class InProcess : public Kinematics
{
public:
  explicit InProcess(const GroupDescription & description)
  : description_(description), is_position_only_(read_parameter(description, "position_only_ik") == "true")
  {
    const double timeout = std::strtod(read_parameter(description, "kinematics_solver_timeout").c_str(), nullptr);
    timeout_ = timeout > 0.0 ? timeout : timeout_;
  }

  /// Take blocks into use; return why they cannot be used, or an empty text.
  std::string open(ssik::Blocks blocks)
  {
    free_.clear();
    blocks_ = std::move(blocks);
    try {
      free_.push_back(std::make_unique<CSolver>(blocks_));
    } catch (const std::runtime_error & error) {
      return error.what();
    }
    CSolver & solver = *free_.front();
    SolverNames own = solver.names();
    names_ = {own.solver, own.base, own.tips, own.joints, own.joints, description_.links};
    std::string reason = find_other_name();
    if (reason.empty()) {
      reason = find_other_robot(solver);
    }
    has_branches_ = ssik_solve_all(
      solver.get(), solver.poses.data(), nullptr, SSIK_WITHIN_LIMITS, 0, solver.seed.data(), nullptr, nullptr) !=
      SSIK_NO_CLOSED_FORM;
    velocity_.assign(solver.size(), USUAL_VELOCITY);
    for (const HostJoint & joint : description_.joints) {
      const auto place = std::find(own.joints.begin(), own.joints.end(), joint.name) - own.joints.begin();
      if (static_cast<std::size_t>(place) < velocity_.size() && std::isfinite(joint.velocity)) {
        velocity_[static_cast<std::size_t>(place)] = joint.velocity;
      }
    }
    return reason;
  }

  const GroupNames & names() const override { return names_; }

  Response nearest(const Request & request, Values & solution) const override
  {
    Response response;
    response.text = find_fault(names_, request);
    if (!response.text.empty()) {
      return response;
    }
    const Lease solver(*this);
    solver->take(request);
    Conditions conditions(request, false);
    const bool is_solved = solver->solve(conditions, NO_LIMIT, 1, 1) > 0;
    const ssik_report report = solver->report;
    const Values own(solver->row(0), solver->row(0) + solver->size());
    const double * best = is_solved ? own.data() : nullptr;
    if (has_branches_) {
      const std::size_t count = solver->solve(conditions, NO_LIMIT, STARTS, MOST_SOLUTIONS);
      for (std::size_t i = 0; i < count; ++i) {
        const double * row = solver->row(i);
        best = best == nullptr || distance(row, request.seed) < distance(best, request.seed) ? row : best;
      }
    }
    if (best != nullptr) {
      solution.assign(best, best + own.size());
      response.code = code::SUCCESS;
      return response;
    }
    end_without_solution(request, conditions, report, own.data(), response, solution);
    return response;
  }

  Response search(const Request & request, Values & solution) const override
  {
    Response response;
    response.text = find_fault(names_, request);
    if (!response.text.empty()) {
      return response;
    }
    const Lease solver(*this);
    solver->take(request);
    Conditions conditions(request, true);
    const double timeout = request.timeout > 0.0 ? request.timeout : timeout_;
    const bool has_cost = request.cost != nullptr && *request.cost;
    if (request.approximate && !has_cost && !conditions.has_bounds() &&
      take_step(*solver, timeout, conditions, response, solution))
    {
      return response;
    }
    const auto begun = Clock::now();
    const std::int64_t capacity = has_cost ? COMPARED : 1;
    std::size_t count = solver->solve(conditions, timeout, has_cost ? STARTS : USUAL, capacity);
    const double left = timeout - seconds_since(begun);
    if (count == 0 && left > 0.0 && may_go_on(solver->report)) {
      count = solver->solve(conditions, left, MOST_STARTS, capacity);
    }
    if (count == 0) {
      end_without_solution(request, conditions, solver->report, solver->row(0), response, solution);
      return response;
    }
    const double * best = has_cost ? find_cheapest(*solver, count, *request.cost) : solver->row(0);
    solution.assign(best, best + solver->size());
    response.code = code::SUCCESS;
    return response;
  }

  Responses several(const Request & request) const override
  {
    Responses responses;
    responses.text = find_fault(names_, request);
    if (!responses.text.empty()) {
      const bool is_count = request.poses.size() != names_.tip_frames.size();
      responses.error = request.poses.empty() ? KinematicError::EMPTY_TIP_POSES :
        is_count ? KinematicError::MULTIPLE_TIPS_NOT_SUPPORTED : KinematicError::NO_SOLUTION;
      return responses;
    }
    const auto has_no_step = [](double step) {return !(step > 0.0);};
    if (request.discretization != Discretization::NONE &&
      (request.redundant.empty() || std::any_of(request.steps.begin(), request.steps.end(), has_no_step)))
    {
      responses.error = KinematicError::DISCRETIZATION_NOT_INITIALIZED;
      responses.text = "Redundant joints and their steps are needed for a discretization.";
      return responses;
    }
    const Lease solver(*this);
    solver->take(request);
    std::size_t hits = 0, tried = 0;
    Samples samples(request, *solver);
    Conditions conditions(request, false);
    samples.hold(conditions);
    do {
      samples.write(solver->seed);
      hits += collect(*solver, conditions, responses.solutions);
      ++tried;
    } while (samples.advance());
    if (responses.solutions.empty()) {
      responses.text = explain(solver->report);
      return responses;
    }
    std::stable_sort(
      responses.solutions.begin(), responses.solutions.end(), [&request](const Values & a, const Values & b) {
        return distance(a.data(), request.seed) < distance(b.data(), request.seed);
      });
    responses.error = KinematicError::OK;
    responses.percentage = static_cast<double>(hits) / static_cast<double>(tried);
    return responses;
  }

  std::string forward(
    const std::vector<std::string> & links, View<double> values, std::vector<Pose> & poses) const override
  {
    if (!description_.forward) {
      return "This host has no forward kinematics.";
    }
    return description_.forward(links, values, poses);
  }

private:
  /// A solver that serves one call. The lock is held only while solvers change hands.
  class Lease
  {
public:
    explicit Lease(const InProcess & owner) : owner_(owner)
    {
      {
        const std::lock_guard<std::mutex> lock(owner.mutex_);
        if (!owner.free_.empty()) {
          solver_ = std::move(owner.free_.back());
          owner.free_.pop_back();
          return;
        }
      }
      solver_ = std::make_unique<CSolver>(owner.blocks_);
    }
    ~Lease()
    {
      const std::lock_guard<std::mutex> lock(owner_.mutex_);
      owner_.free_.push_back(std::move(solver_));
    }
    Lease(const Lease &) = delete;
    Lease & operator=(const Lease &) = delete;
    CSolver * operator->() const { return solver_.get(); }
    CSolver & operator*() const { return *solver_; }

private:
    const InProcess & owner_;
    std::unique_ptr<CSolver> solver_;
  };

  /// Return which name of the blocks differs from the host's; empty if none does.
  std::string find_other_name() const
  {
    const std::string solver = read_parameter(description_, "kinematics_solver");
    if (!solver.empty() && solver != names_.solver) {
      return "is for the solver " + names_.solver + ", not for " + solver;
    }
    const std::string base = without_slash(description_.base_frame);
    if (!base.empty() && base != names_.base_frame) {
      return "has poses in '" + names_.base_frame + "'; the host gives them in '" + base + "'";
    }
    std::vector<std::string> tips, joints, own = names_.joints;
    for (const std::string & tip : description_.tip_frames) {
      tips.push_back(without_slash(tip));
    }
    if (description_.is_chain && tips != names_.tip_frames) {
      return "takes poses of " + join(names_.tip_frames) + "; the host gives poses of " + join(tips);
    }
    for (const HostJoint & joint : description_.joints) {
      joints.push_back(joint.name);
    }
    std::sort(joints.begin(), joints.end());
    std::sort(own.begin(), own.end());
    if (!joints.empty() && joints != own) {
      return "moves the joints " + join(own) + "; the group '" + description_.group + "' has " + join(joints);
    }
    return "";
  }

  /// Return how the blocks differ from the host's robot; empty if they do not.
  std::string find_other_robot(CSolver & solver) const
  {
    for (const HostJoint & joint : description_.joints) {
      const auto place = static_cast<std::size_t>(
        std::find(names_.joints.begin(), names_.joints.end(), joint.name) - names_.joints.begin());
      // Limits of a file may be narrower, but never wider.
      if (solver.lower[place] < joint.lower - SAME_ROBOT || solver.upper[place] > joint.upper + SAME_ROBOT) {
        return "has wider limits for the joint '" + joint.name + "' than the host";
      }
    }
    if (!description_.forward || names_.tip_frames.size() != 1) {
      return "";
    }
    std::mt19937_64 random(0);
    std::array<double, 16> pose;
    for (int k = 0; k < 4; ++k) {
      for (std::size_t i = 0; i < solver.size(); ++i) {
        std::uniform_real_distribution<double> draw(std::max(solver.lower[i], -PI), std::min(solver.upper[i], PI));
        solver.seed[i] = draw(random);
      }
      ssik_fk(solver.get(), solver.seed.data(), pose.data());
      std::vector<Pose> poses;
      const std::string reason = description_.forward(names_.tip_frames, solver.seed, poses);
      if (!reason.empty()) {
        return "has a tip that the host does not know: " + reason;
      }
      Request request;
      request.poses = poses;
      request.seed = solver.seed;
      const Values seed = solver.seed;
      solver.take(request);
      if (length_between(pose.data(), solver.poses.data()) > SAME_ROBOT ||
        angle_between(pose.data(), solver.poses.data()) > SAME_ROBOT)
      {
        return "has the blocks of another robot: it places '" + names_.tip_frames[0] + "' elsewhere";
      }
    }
    return "";
  }

  /**
   * Take the nearest step of one cycle, if a request asks for one, see nearest_steps.py.
   *
   * @return false if the request asks for something else, or if the callback refuses the step.
   */
  bool take_step(
    CSolver & solver, double timeout, Conditions & conditions, Response & response, Values & solution) const
  {
    if (names_.tip_frames.size() != 1 || timeout > LONGEST_BUDGET) {
      return false;
    }
    const std::size_t size = solver.size();
    Values room(size);
    for (std::size_t i = 0; i < size; ++i) {
      room[i] = CYCLES * timeout * velocity_[i];
      if (!(room[i] > 0.0) || solver.seed[i] < solver.lower[i] || solver.seed[i] > solver.upper[i]) {
        return false;
      }
    }
    if (!is_near(solver, room)) {
      return false;
    }
    Values q = solver.seed;
    ssik_report report{};
    if (ssik_track(solver.get(), solver.poses.data(), room.data(), q.data(), &report) < 0) {
      return false;
    }
    if (!conditions.accepts(q.data())) {
      return false;
    }
    response.code = code::SUCCESS;
    response.is_approximate = !(std::max(report.position_error, report.rotation_error) <= EXACT);
    response.text = "Solved by one step from the seed.";
    if (response.is_approximate) {
      char text[96];
      std::snprintf(
        text, sizeof(text), "The nearest step is off by %.3g m and %.3g rad: ", report.position_error,
        report.rotation_error);
      response.text = std::string(text) + reason_of(report.cause) + ".";
    }
    solution = std::move(q);
    return true;
  }

  /// Return whether the joints could move the tip to the pose, if each moved as far as it has room.
  bool is_near(CSolver & solver, const Values & room) const
  {
    std::array<double, 16> pose;
    Values jacobian(6 * solver.size());
    ssik_fk(solver.get(), solver.seed.data(), pose.data());
    ssik_jacobian(solver.get(), solver.seed.data(), jacobian.data());
    std::array<double, 6> most{};
    for (std::size_t row = 0; row < most.size(); ++row) {
      for (std::size_t i = 0; i < room.size(); ++i) {
        most[row] += std::abs(jacobian[row * room.size() + i]) * room[i];
      }
    }
    const double * goal = solver.poses.data();
    return length_between(pose.data(), goal) <= std::hypot(most[0], most[1], most[2]) &&
           (is_position_only_ || angle_between(pose.data(), goal) <= std::hypot(most[3], most[4], most[5]));
  }

  /// Write down why there is no solution, or take the nearest joint vector for a request that allows it.
  void end_without_solution(
    const Request & request, Conditions & conditions, const ssik_report & report, const double * nearest,
    Response & response, Values & solution) const
  {
    response.code = code_of(report);
    response.text = explain(report);
    const auto is_finite = [](double value) {return std::isfinite(value);};
    if (!request.approximate || !std::all_of(nearest, nearest + names_.joints.size(), is_finite) ||
      !conditions.accepts(nearest))
    {
      return;
    }
    char text[96];
    std::snprintf(
      text, sizeof(text), "Approximate, off by %.3g (norm over m and rad). ",
      std::hypot(report.position_error, report.rotation_error));
    response.text.insert(0, text);
    response.code = code::SUCCESS;
    response.is_approximate = true;
    solution.assign(nearest, nearest + names_.joints.size());
  }

  static const double * find_cheapest(const CSolver & solver, std::size_t count, const CostFunction & cost)
  {
    const double * best = nullptr;
    double least = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      const double * row = solver.row(i);
      const double own = cost(Values(row, row + solver.size()));
      if (best == nullptr || own < least) {
        best = row;
        least = own;
      }
    }
    return best;
  }

  /// Add the solutions for the seed in the arrays of a solver; return whether there are any.
  bool collect(CSolver & solver, Conditions & conditions, std::vector<Values> & solutions) const
  {
    const std::size_t first = solutions.size();
    const auto add = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          solutions.emplace_back(solver.row(i), solver.row(i) + solver.size());
        }
      };
    add(solver.solve(conditions, NO_LIMIT, STARTS, MOST_SOLUTIONS));
    const bool is_solved = solutions.size() > first;
    // A closed form of a redundant arm knows samples. The solution that the seed leads to may be missing.
    if (has_branches_ && solver.solve(conditions, NO_LIMIT, 1, 1) > 0) {
      const double * own = solver.row(0);
      const auto is_same = [&](const Values & other) {
          return std::equal(
            other.begin(), other.end(), own, [](double a, double b) {return std::abs(a - b) <= SAME_SOLUTION;});
        };
      if (std::none_of(solutions.begin() + static_cast<std::ptrdiff_t>(first), solutions.end(), is_same)) {
        add(1);
      }
    }
    return is_solved || solutions.size() > first;
  }

  GroupDescription description_;
  GroupNames names_;
  double timeout_ = 0.05;  ///< Of requests that name none [s].
  bool is_position_only_;
  bool has_branches_ = false;  ///< Whether a closed form knows the branches of a pose.
  Values velocity_;
  ssik::Blocks blocks_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<CSolver>> free_;
};

}  // namespace

std::unique_ptr<Kinematics> open_in_process(
  const GroupDescription & description, const InterruptionCheck & is_interrupted)
{
  const auto throw_if_interrupted = [&is_interrupted]() {
      if (is_interrupted && is_interrupted()) {
        throw LoadError("Loading was interrupted before the group was ready.");
      }
    };
  throw_if_interrupted();
  auto kinematics = std::make_unique<InProcess>(description);
  try {
    ssik::load_blocks(
      to_source(description, is_interrupted),
      [&kinematics](ssik::Blocks blocks) {return kinematics->open(std::move(blocks));});
  } catch (const ssik::NotServed & error) {
    throw LoadError(
      description.where + ": " + error.what() + "\nA node serves this group: kinematics_solver_transport: service.");
  } catch (const std::runtime_error & error) {
    throw_if_interrupted();
    throw LoadError(description.where + ": " + error.what());
  }
  return kinematics;
}

}  // namespace ssik_moveit
