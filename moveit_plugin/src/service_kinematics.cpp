#include "ssik_moveit/service_kinematics.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

namespace ssik_moveit
{
namespace
{

using Values = std::vector<double>;
using Clock = std::chrono::steady_clock;

constexpr const char * SILENCE = "The server did not respond in time.";

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

/// The candidates of one request: each is offered once.
class Candidates
{
public:
  Candidates(const Request & request, const Values & limits)
  : request_(request), limits_(limits) {}

  /// Return whether this candidate solves the request; a cost is only noted.
  bool offer(const Values & q)
  {
    if (q.size() != request_.seed.size() || !is_within(q, request_.seed, limits_) ||
      std::find(offered_.begin(), offered_.end(), q) != offered_.end())
    {
      return false;
    }
    offered_.push_back(q);
    if (has(request_.accepts) && (*request_.accepts)(q) != code::SUCCESS) {
      return false;
    }
    const double cost = has(request_.cost) ? (*request_.cost)(q) : 0.0;
    if (best_.empty() || cost < cost_) {
      best_ = q;
      cost_ = cost;
    }
    return !has(request_.cost);
  }

  const Values & best() const { return best_; }

private:
  template <typename Function>
  static bool has(const Function * function) { return function != nullptr && *function; }

  const Request & request_;
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

  Response nearest(const Request & request, Values & solution) const override
  {
    Response response;
    response.text = find_fault(group_.names, request);
    if (!response.text.empty()) {
      return response;
    }
    const Responses found = ask_several(request);
    response.text = found.text;
    if (!found.solutions.empty()) {
      response.code = code::SUCCESS;
      solution = found.solutions.front();
    }
    return response;
  }

  Response search(const Request & request, Values & solution) const override
  {
    Response response;
    response.text = find_fault(group_.names, request);
    if (!response.text.empty()) {
      return response;
    }
    const Values limits = bounds_of(request);
    const Deadline deadline(request.timeout > 0.0 ? request.timeout : group_.timeout);
    Candidates candidates(request, limits);
    response = try_all_ways(request, limits, deadline, candidates);
    if (!candidates.best().empty()) {
      solution = candidates.best();
      response.code = code::SUCCESS;
      response.text.clear();
    }
    return response;
  }

  Responses several(const Request & request) const override
  {
    Responses refused = find_fault_of_several(group_.names, request);
    if (!refused.text.empty()) {
      return refused;
    }
    if (request.discretization != Discretization::NONE) {
      refused.error = KinematicError::UNSUPPORTED_DISCRETIZATION;
      refused.text = "A service samples no redundant joints; it returns every branch without.";
      return refused;
    }
    return ask_several(request);
  }

  std::string forward(
    const std::vector<std::string> & links, View<double> values,
    std::vector<Pose> & poses) const override
  {
    return group_.forward(links, values, poses);
  }

private:
  ServiceRequest to_service_request(
    const Request & request, const Values & limits, View<double> seed, double timeout) const
  {
    ServiceRequest sent;
    sent.poses = request.poses;
    sent.seed = seed;
    sent.limits = limits;
    sent.reference = request.seed;
    sent.timeout = std::max(timeout, 0.0);
    return sent;
  }

  /// The seed's own search first, then every branch, then searches from elsewhere.
  Response try_all_ways(
    const Request & request, const Values & limits, const Deadline & deadline,
    Candidates & candidates) const
  {
    Response response;
    const double budget = deadline.left();
    const auto first =
      caller_->ask_one(to_service_request(request, limits, request.seed, budget), budget + group_.wait);
    if (!first) {
      response.code = code::TIMED_OUT;
      response.text = SILENCE;
      return response;
    }
    response.code = first->solutions.empty() ? first->code : code::NO_IK_SOLUTION;
    response.text = first->text;
    // Without any wish of the host there are no others where the server has found none.
    if (first->solutions.empty() || candidates.offer(first->solutions.front())) {
      return response;
    }
    response.text = "The host has refused every candidate.";
    const auto all = caller_->ask_all(
      to_service_request(request, limits, request.seed, deadline.left()), std::max(deadline.left(), 0.0));
    for (const Values & q : all ? all->solutions : std::vector<Values>{}) {
      if (deadline.left() <= 0.0 || candidates.offer(q)) {
        break;
      }
    }
    if (candidates.best().empty()) {
      try_other_seeds(request, limits, deadline, candidates);
      response.code = deadline.left() <= 0.0 ? code::TIMED_OUT : code::NO_IK_SOLUTION;
    }
    return response;
  }

  void try_other_seeds(
    const Request & request, const Values & limits, const Deadline & deadline,
    Candidates & candidates) const
  {
    std::mt19937 generator(1);
    Values seed(request.seed.size());
    while (deadline.left() > 0.0 && candidates.best().empty()) {
      for (std::size_t i = 0; i < seed.size(); ++i) {
        seed[i] = std::uniform_real_distribution<double>(group_.lower[i], group_.upper[i])(generator);
      }
      for (std::size_t i = 0; i < limits.size(); ++i) {
        const double near = request.seed[i];
        seed[i] = std::clamp(seed[i], near - limits[i], near + limits[i]);
      }
      const double budget = deadline.left();
      const auto found = caller_->ask_one(to_service_request(request, limits, seed, budget), budget);
      if (!found) {
        return;
      }
      if (!found->solutions.empty()) {
        candidates.offer(found->solutions.front());
      }
    }
  }

  Responses ask_several(const Request & request) const
  {
    const Values limits = bounds_of(request);
    const double budget = request.timeout > 0.0 ? request.timeout : group_.timeout;
    const ServiceRequest sent = to_service_request(request, limits, request.seed, budget);
    auto found = caller_->ask_all(sent, budget + group_.wait);
    if (!found) {
      found = caller_->ask_one(sent, budget + group_.wait);
    }
    Responses responses;
    responses.text = found ? found->text : SILENCE;
    if (!found) {
      return responses;
    }
    Candidates candidates(request, limits);
    for (const Values & q : found->solutions) {
      if (candidates.offer(q)) {
        responses.solutions.push_back(q);
      }
    }
    const auto is_nearer = [&request](const Values & a, const Values & b) {
        return distance(a, request.seed) < distance(b, request.seed);
      };
    std::stable_sort(responses.solutions.begin(), responses.solutions.end(), is_nearer);
    if (!responses.solutions.empty()) {
      responses.error = KinematicError::OK;
      responses.percentage = 1.0;
    }
    return responses;
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
