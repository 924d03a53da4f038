#include "ssik_moveit/in_process.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "c_solver.hpp"
#include "description.hpp"
#include "nearest_step.hpp"
#include "redundant_samples.hpp"

namespace ssik_moveit
{
namespace
{

using Values = std::vector<double>;

constexpr double NO_LIMIT = std::numeric_limits<double>::infinity();
constexpr std::int64_t USUAL = 0;              ///< Starts: the default of the solver.
constexpr std::int64_t STARTS = 1000;          ///< Starts of a search for several solutions.
constexpr std::int64_t MOST_STARTS = 1 << 30;  ///< Starts of a search that only its timeout ends.
constexpr std::int64_t COMPARED = 16;          ///< Solutions among which a cost function chooses.
constexpr double SAME_SOLUTION = 1e-6;         ///< [rad or m]

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begun)
{
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

Values to_values(View<double> row)
{
  return {row.begin(), row.end()};
}

/// Write down a solution. A vector with room for it is not allocated anew.
void succeed(View<double> q, Response & response, Values & solution)
{
  solution.assign(q.begin(), q.end());
  response.code = code::SUCCESS;
}

/// Return whether more starts may find a solution. A closed form without a search has offered every branch.
bool may_go_on(const ssik_report & report)
{
  return report.cause == SSIK_CAUSE_BUDGET || (report.cause == SSIK_CAUSE_VALIDATION && report.searches > 0);
}

class InProcess : public Kinematics
{
public:
  explicit InProcess(const GroupDescription & description) : description_(description)
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
    const SolverNames own = solver.names();
    names_ = {own.solver, own.base, own.tips, own.joints, own.joints, description_.links};
    has_branches_ = ssik_solve_all(
      solver.get(), solver.poses.data(), nullptr, SSIK_WITHIN_LIMITS, 0, solver.seed.data(), nullptr, nullptr) !=
      SSIK_NO_CLOSED_FORM;
    Values velocity(solver.size(), NO_LIMIT);
    for (const HostJoint & joint : description_.joints) {
      const auto place = std::find(own.joints.begin(), own.joints.end(), joint.name);
      if (place != own.joints.end()) {
        velocity[static_cast<std::size_t>(place - own.joints.begin())] = joint.velocity;
      }
    }
    step_ = NearestStep(std::move(velocity), read_parameter(description_, "position_only_ik") == "true");
    return find_difference(description_, names_, solver);
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
    const Values own = to_values(solver->row(0));
    View<double> best = is_solved ? View<double>(own) : View<double>();
    if (has_branches_) {
      const std::size_t count = solver->solve(conditions, NO_LIMIT, STARTS, MOST_SOLUTIONS);
      for (std::size_t i = 0; i < count; ++i) {
        const View<double> row = solver->row(i);
        best = best.empty() || distance(row, request.seed) < distance(best, request.seed) ? row : best;
      }
    }
    if (best.empty()) {
      end_without_solution(request, conditions, report, own, response, solution);
      return response;
    }
    succeed(best, response, solution);
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
      step_.take(*solver, timeout, conditions, response, solution))
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
    succeed(has_cost ? find_cheapest(*solver, count, *request.cost) : solver->row(0), response, solution);
    return response;
  }

  Responses several(const Request & request) const override
  {
    Responses responses = find_fault_of_several(names_, request);
    if (!responses.text.empty()) {
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
    RedundantSamples samples(request, *solver);
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
        return distance(a, request.seed) < distance(b, request.seed);
      });
    responses.error = KinematicError::OK;
    responses.percentage = static_cast<double>(hits) / static_cast<double>(tried);
    return responses;
  }

  std::string forward(
    const std::vector<std::string> & links, View<double> values, std::vector<Pose> & poses) const override
  {
    return forward_by_host(description_, names_, links, values, poses);
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

  /// Write down why there is no solution, or take the nearest joint vector for a request that allows it.
  void end_without_solution(
    const Request & request, Conditions & conditions, const ssik_report & report, View<double> nearest,
    Response & response, Values & solution) const
  {
    response.code = code_of(report);
    response.text = explain(report);
    const auto is_finite = [](double value) {return std::isfinite(value);};
    if (!request.approximate || !std::all_of(nearest.begin(), nearest.end(), is_finite) ||
      !conditions.accepts(nearest))
    {
      return;
    }
    char text[96];
    std::snprintf(
      text, sizeof(text), "Approximate, off by %.3g (norm over m and rad). ",
      std::hypot(report.position_error, report.rotation_error));
    response.text.insert(0, text);
    response.is_approximate = true;
    succeed(nearest, response, solution);
  }

  static View<double> find_cheapest(const CSolver & solver, std::size_t count, const CostFunction & cost)
  {
    View<double> best;
    double least = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      const double own = cost(to_values(solver.row(i)));
      if (best.empty() || own < least) {
        best = solver.row(i);
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
          solutions.push_back(to_values(solver.row(i)));
        }
      };
    add(solver.solve(conditions, NO_LIMIT, STARTS, MOST_SOLUTIONS));
    const bool is_solved = solutions.size() > first;
    // A closed form of a redundant arm knows samples. The solution that the seed leads to may be missing.
    if (has_branches_ && solver.solve(conditions, NO_LIMIT, 1, 1) > 0) {
      const View<double> own = solver.row(0);
      const auto is_close = [](double a, double b) {return std::abs(a - b) <= SAME_SOLUTION;};
      const auto is_same = [&](const Values & other) {
          return std::equal(other.begin(), other.end(), own.begin(), is_close);
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
  bool has_branches_ = false;  ///< Whether a closed form knows the branches of a pose.
  NearestStep step_;
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
