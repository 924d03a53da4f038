#include "c_solver.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "matrices.hpp"

namespace ssik_moveit
{
namespace
{

constexpr double LONGEST = 1e9;    ///< Timeouts are cut to this [s].
constexpr std::size_t MOST_REFUSED = 1024;  ///< Refused candidates that are remembered.

std::int64_t read_clock(void *)
{
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

Conditions::Conditions(const Request & request, bool asks_host)
: request_(request),
  callback_(asks_host && request.accepts != nullptr && *request.accepts ? request.accepts : nullptr),
  bounds_(bounds_of(request)) {}

void Conditions::hold(std::size_t joint)
{
  bounds_.resize(request_.seed.size(), std::numeric_limits<double>::infinity());
  bounds_.at(joint) = 0.0;
}

bool Conditions::accepts(View<double> q)
{
  if (!is_within(q, request_.seed, bounds_)) {
    return false;
  }
  candidate_.assign(q.begin(), q.end());
  return callback_ == nullptr || (*callback_)(candidate_) == code::SUCCESS;
}

int Conditions::ask(void * context, const double * q)
{
  auto & self = *static_cast<Conditions *>(context);
  try {
    self.candidate_.assign(q, q + self.request_.seed.size());
    // A search that goes on with more starts meets its first candidates again.
    const auto is_same = [&self](const std::vector<double> & other) {return other == self.candidate_;};
    if (std::any_of(self.refused_.begin(), self.refused_.end(), is_same)) {
      return 0;
    }
    if ((*self.callback_)(self.candidate_) == code::SUCCESS) {
      return 1;
    }
    if (self.refused_.size() < MOST_REFUSED) {
      self.refused_.push_back(self.candidate_);
    }
    return 0;
  } catch (...) {
    // No exception may pass through the C library.
    self.thrown_ = std::current_exception();
    self.cancel_ = 1;
    return 0;
  }
}

const ssik_conditions * Conditions::for_library()
{
  if (!has_bounds() && !has_callback() && !request_.approximate) {
    return nullptr;
  }
  conditions_.consistency = has_bounds() ? bounds_.data() : nullptr;
  conditions_.accept = has_callback() ? &Conditions::ask : nullptr;
  conditions_.context = this;
  conditions_.wants_nearest = request_.approximate;
  return &conditions_;
}

void Conditions::rethrow() const
{
  if (thrown_) {
    std::rethrow_exception(thrown_);
  }
}

CSolver::CSolver(const ssik::Blocks & blocks)
{
  const std::size_t bytes = 8 * blocks.size();
  const std::int64_t memory = ssik_memory_size(blocks.data(), bytes, MOST_SOLUTIONS);
  if (memory < 0) {
    throw std::runtime_error(ssik::NOT_BLOCKS);
  }
  memory_.resize(static_cast<std::size_t>(memory) / 8);
  if (ssik_init(&solver_, blocks.data(), bytes, MOST_SOLUTIONS, memory_.data(), 8 * memory_.size()) != 0) {
    throw std::runtime_error("has damaged blocks; 'ssik build --blocks' writes them anew");
  }
  const auto size = static_cast<std::size_t>(ssik_joints(solver_));
  poses.resize(16 * static_cast<std::size_t>(ssik_tips(solver_)));
  seed.resize(size);
  lower.resize(size);
  upper.resize(size);
  rows_.resize(size * static_cast<std::size_t>(MOST_SOLUTIONS));
  ssik_limits(solver_, lower.data(), upper.data());
}

SolverNames CSolver::names() const
{
  SolverNames names;
  std::istringstream lines(ssik_names(solver_));
  std::string robot;
  std::getline(lines, robot);
  std::getline(lines, names.solver);
  std::getline(lines, names.base);
  names.tips.resize(poses.size() / 16);
  names.joints.resize(seed.size());
  for (auto * list : {&names.tips, &names.joints}) {
    for (std::string & name : *list) {
      std::getline(lines, name);
    }
  }
  return names;
}

std::pair<double, double> CSolver::sampling_range(std::size_t joint) const
{
  constexpr double HALF_TURN = 3.14159265358979323846;
  const bool is_bounded = std::isfinite(lower[joint]) && std::isfinite(upper[joint]);
  return is_bounded ? std::make_pair(lower[joint], upper[joint]) : std::make_pair(-HALF_TURN, HALF_TURN);
}

void CSolver::take(const Request & request)
{
  double * matrix = poses.data();
  for (const Pose & pose : request.poses) {
    write_matrix(pose, matrix);
    matrix += 16;
  }
  std::copy(request.seed.begin(), request.seed.end(), seed.begin());
}

std::size_t CSolver::solve(
  Conditions & conditions, double timeout, std::int64_t starts, std::int64_t capacity)
{
  ssik_budget budget{};
  budget.max_searches = starts;
  budget.cancel = conditions.cancel();
  if (std::isfinite(timeout)) {
    budget.timeout_ns = std::max<std::int64_t>(1, static_cast<std::int64_t>(1e9 * std::min(timeout, LONGEST)));
    budget.clock_ns = &read_clock;
  }
  std::fill_n(rows_.begin(), size(), std::numeric_limits<double>::quiet_NaN());
  const ssik_conditions * wishes = conditions.for_library();
  const std::int64_t count = wishes == nullptr && capacity == 1 ?
    ssik_solve(solver_, poses.data(), seed.data(), &budget, rows_.data(), &report) :
    ssik_solve_several(
    solver_, poses.data(), seed.data(), wishes, &budget, capacity, rows_.data(), &report);
  conditions.rethrow();
  if (count < 0) {
    throw std::runtime_error("The C library refused the call with code " + std::to_string(count) + ".");
  }
  return static_cast<std::size_t>(count);
}

std::string explain(const ssik_report & report)
{
  const auto count = [](std::int64_t number, const char * noun, const char * plural) {
      return std::to_string(number) + (number == 1 ? noun : plural);
    };
  return std::string("No solution: ") + ssik_cause_text(report.cause) + " (" +
         count(report.searches, " search, ", " searches, ") +
         count(report.iterations, " iteration).", " iterations).");
}

int code_of(const ssik_report & report)
{
  return report.cause == SSIK_CAUSE_DEADLINE ? code::TIMED_OUT : code::NO_IK_SOLUTION;
}

}  // namespace ssik_moveit
