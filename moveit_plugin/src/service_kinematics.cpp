#include "ssik_moveit/service_kinematics.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

namespace ssik_moveit
{
namespace
{

using Values = std::vector<double>;
using Clock = std::chrono::steady_clock;

constexpr double ROUNDING = 1e-9;
constexpr const char * SILENCE = "The server has not answered in time.";

class Deadline
{
public:
  explicit Deadline(double seconds)
  : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(std::min(seconds, LONGEST)))) {}

  double left() const { return std::chrono::duration<double>(end_ - Clock::now()).count(); }

private:
  static constexpr double LONGEST = 1e6;
  Clock::time_point end_;
};

double distance(const Values & q, View<double> seed)
{
  double sum = 0.0;
  for (std::size_t i = 0; i < q.size(); ++i) {
    sum += std::abs(q[i] - seed[i]);
  }
  return sum;
}

/// The candidates of one question: each is offered once.
class Candidates
{
public:
  Candidates(const Question & question, const Values & limits)
  : question_(question), limits_(limits) {}

  /// Return whether the question is answered by this candidate; a cost is only noted.
  bool offer(const Values & q)
  {
    if (!is_near(q) || std::find(offered_.begin(), offered_.end(), q) != offered_.end()) {
      return false;
    }
    offered_.push_back(q);
    if (has(question_.accepts) && (*question_.accepts)(q) != code::SUCCESS) {
      return false;
    }
    const double cost = has(question_.cost) ? (*question_.cost)(q) : 0.0;
    if (best_.empty() || cost < cost_) {
      best_ = q;
      cost_ = cost;
    }
    return !has(question_.cost);
  }

  const Values & best() const { return best_; }

private:
  template <typename Function>
  static bool has(const Function * function) { return function != nullptr && *function; }

  bool is_near(const Values & q) const
  {
    if (q.size() != question_.seed.size()) {
      return false;
    }
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      if (std::abs(q[i] - question_.seed[i]) > limits_[i] + ROUNDING) {
        return false;
      }
    }
    return true;
  }

  const Question & question_;
  const Values & limits_;
  std::vector<Values> offered_;
  Values best_;
  double cost_ = 0.0;
};

class ByService : public Kinematics
{
public:
  ByService(ServiceGroup group, std::shared_ptr<ServiceCaller> caller)
  : group_(std::move(group)), caller_(std::move(caller)) {}

  const GroupNames & names() const override { return group_.names; }

  Answer nearest(const Question & question, Values & solution) const override
  {
    Answer answer;
    answer.text = find_fault(group_.names, question);
    if (!answer.text.empty()) {
      return answer;
    }
    const Answers found = ask_several(question);
    answer.text = found.text;
    if (!found.solutions.empty()) {
      answer.code = code::SUCCESS;
      solution = found.solutions.front();
    }
    return answer;
  }

  Answer search(const Question & question, Values & solution) const override
  {
    Answer answer;
    answer.text = find_fault(group_.names, question);
    if (!answer.text.empty()) {
      return answer;
    }
    const Values limits = limits_of(question);
    const Deadline deadline(question.timeout > 0.0 ? question.timeout : group_.timeout);
    Candidates candidates(question, limits);
    answer = try_all_ways(question, limits, deadline, candidates);
    if (!candidates.best().empty()) {
      solution = candidates.best();
      answer.code = code::SUCCESS;
      answer.text.clear();
    }
    return answer;
  }

  Answers several(const Question & question) const override
  {
    Answers refused;
    refused.text = find_fault(group_.names, question);
    if (!refused.text.empty()) {
      const bool is_count = question.poses.size() != group_.names.tip_frames.size();
      refused.error = question.poses.empty() ? KinematicError::EMPTY_TIP_POSES :
        is_count ? KinematicError::MULTIPLE_TIPS_NOT_SUPPORTED : KinematicError::NO_SOLUTION;
      return refused;
    }
    if (question.discretization != Discretization::NONE) {
      refused.error = KinematicError::UNSUPPORTED_DISCRETIZATION;
      refused.text = "A service samples no redundant joints; it returns every branch without.";
      return refused;
    }
    return ask_several(question);
  }

  std::string forward(
    const std::vector<std::string> & links, View<double> values,
    std::vector<Pose> & poses) const override
  {
    return group_.forward(links, values, poses);
  }

private:
  /// Return the consistency limits, locked joints among them; empty where there are none.
  Values limits_of(const Question & question) const
  {
    Values limits(question.consistency_limits.begin(), question.consistency_limits.end());
    if (question.lock_redundant && !question.redundant.empty()) {
      limits.resize(question.seed.size(), std::numeric_limits<double>::infinity());
      for (const unsigned int joint : question.redundant) {
        limits.at(joint) = 0.0;
      }
    }
    return limits;
  }

  ServiceRequest to_request(
    const Question & question, const Values & limits, View<double> seed, double timeout) const
  {
    ServiceRequest request;
    request.poses = question.poses;
    request.seed = seed;
    request.limits = limits;
    request.reference = question.seed;
    request.state = question.state;
    request.timeout = std::max(timeout, 0.0);
    return request;
  }

  /// The seed's own search first, then every branch, then searches from elsewhere.
  Answer try_all_ways(
    const Question & question, const Values & limits, const Deadline & deadline,
    Candidates & candidates) const
  {
    Answer answer;
    const double budget = deadline.left();
    const auto first =
      caller_->ask_one(to_request(question, limits, question.seed, budget), budget + group_.wait);
    if (!first) {
      answer.code = code::TIMED_OUT;
      answer.text = SILENCE;
      return answer;
    }
    answer.code = first->solutions.empty() ? first->code : code::NO_IK_SOLUTION;
    answer.text = first->text;
    // Without any wish of the host there are no others where the server has found none.
    if (first->solutions.empty() || candidates.offer(first->solutions.front())) {
      return answer;
    }
    answer.text = "The host has refused every candidate.";
    const auto all = caller_->ask_all(
      to_request(question, limits, question.seed, deadline.left()), std::max(deadline.left(), 0.0));
    for (const Values & q : all ? all->solutions : std::vector<Values>{}) {
      if (deadline.left() <= 0.0 || candidates.offer(q)) {
        break;
      }
    }
    if (candidates.best().empty()) {
      try_other_seeds(question, limits, deadline, candidates);
      answer.code = deadline.left() <= 0.0 ? code::TIMED_OUT : code::NO_IK_SOLUTION;
    }
    return answer;
  }

  void try_other_seeds(
    const Question & question, const Values & limits, const Deadline & deadline,
    Candidates & candidates) const
  {
    std::mt19937 generator(1);
    Values seed(question.seed.size());
    while (deadline.left() > 0.0 && candidates.best().empty()) {
      for (std::size_t i = 0; i < seed.size(); ++i) {
        seed[i] = std::uniform_real_distribution<double>(group_.lower[i], group_.upper[i])(generator);
      }
      for (std::size_t i = 0; i < limits.size(); ++i) {
        const double near = question.seed[i];
        seed[i] = std::clamp(seed[i], near - limits[i], near + limits[i]);
      }
      const double budget = deadline.left();
      const auto found = caller_->ask_one(to_request(question, limits, seed, budget), budget);
      if (!found) {
        return;
      }
      if (!found->solutions.empty()) {
        candidates.offer(found->solutions.front());
      }
    }
  }

  Answers ask_several(const Question & question) const
  {
    const Values limits = limits_of(question);
    const double budget = question.timeout > 0.0 ? question.timeout : group_.timeout;
    const ServiceRequest request = to_request(question, limits, question.seed, budget);
    auto found = caller_->ask_all(request, budget + group_.wait);
    if (!found) {
      found = caller_->ask_one(request, budget + group_.wait);
    }
    Answers answers;
    answers.text = found ? found->text : SILENCE;
    if (!found) {
      return answers;
    }
    Candidates candidates(question, limits);
    for (const Values & q : found->solutions) {
      if (candidates.offer(q)) {
        answers.solutions.push_back(q);
      }
    }
    const auto is_nearer = [&question](const Values & a, const Values & b) {
        return distance(a, question.seed) < distance(b, question.seed);
      };
    std::stable_sort(answers.solutions.begin(), answers.solutions.end(), is_nearer);
    if (!answers.solutions.empty()) {
      answers.error = KinematicError::OK;
      answers.percentage = 1.0;
    }
    return answers;
  }

  ServiceGroup group_;
  std::shared_ptr<ServiceCaller> caller_;
};

}  // namespace

std::unique_ptr<Kinematics> open_by_service(
  ServiceGroup group, std::shared_ptr<ServiceCaller> caller)
{
  return std::make_unique<ByService>(std::move(group), std::move(caller));
}

}  // namespace ssik_moveit
