#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "scenarios.hpp"
#include "ssik_moveit/service_kinematics.hpp"

namespace
{

using namespace ssik_moveit;  // NOLINT: this file is about nothing else
using Values = std::vector<double>;

constexpr double LOW = -1.5, HIGH = 2.5;

/// Answers as a scenario says, and remembers what it was asked.
class Server : public ServiceCaller
{
public:
  using Reply = std::optional<ServiceReply>;

  std::function<Reply(const ServiceRequest &)> one = [](const ServiceRequest &) {return Reply();};
  std::function<Reply(const ServiceRequest &)> all = [](const ServiceRequest &) {return Reply();};
  std::atomic<int> count{0};
  Values limits;
  double timeout = 0.0, wait = 0.0;

  Reply ask_one(const ServiceRequest & request, double longest) override
  {
    ++count;
    limits.assign(request.limits.begin(), request.limits.end());
    timeout = request.timeout;
    wait = longest;
    return one(request);
  }

  Reply ask_all(const ServiceRequest & request, double) override { return all(request); }
};

ServiceReply solved(std::vector<Values> solutions)
{
  return {code::SUCCESS, "", std::move(solutions)};
}

ServiceGroup make_group()
{
  ServiceGroup group;
  group.names.base_frame = "base";
  group.names.tip_frames = {"tip"};
  group.names.joints = group.names.variables = {"a", "b"};
  group.lower = {LOW, LOW};
  group.upper = {HIGH, HIGH};
  group.forward = [](const std::vector<std::string> &, View<double>, std::vector<Pose> &) {
      return std::string("nowhere");
    };
  return group;
}

struct Trial
{
  std::shared_ptr<Server> server = std::make_shared<Server>();
  std::unique_ptr<Kinematics> kinematics = open_by_service(make_group(), server);
  std::vector<Pose> poses = std::vector<Pose>(1);
  Values seed{0.0, 0.0};
  Values solution;
  Question question;

  Trial()
  {
    question.poses = poses;
    question.seed = seed;
    question.timeout = 0.05;
  }
};

void silence()
{
  Trial trial;
  const Answer answer = trial.kinematics->search(trial.question, trial.solution);
  std::printf(
    "silence %d %d %d|%s\n", answer.code, trial.server->count.load(),
    trial.server->wait > 1.0 && trial.server->timeout <= 0.05, answer.text.c_str());
  trial.server->one = [](const ServiceRequest &) {return solved({{1.0, 2.0}});};
  const Answer later = trial.kinematics->search(trial.question, trial.solution);
  std::printf("restarted %d %g %g\n", later.code, trial.solution[0], trial.solution[1]);
}

void refusal_by_server()
{
  Trial trial;
  trial.server->one = [](const ServiceRequest &) {
      return ServiceReply{code::NO_IK_SOLUTION, "out of reach", {}};
    };
  const SolutionCallback any = [](const Values &) {return code::SUCCESS;};
  trial.question.accepts = &any;
  const Answer answer = trial.kinematics->search(trial.question, trial.solution);
  std::printf("refused %d %d|%s\n", answer.code, trial.server->count.load(), answer.text.c_str());
}

void branches()
{
  Trial trial;
  trial.server->one = [](const ServiceRequest &) {return solved({{1.0, 2.0}});};
  trial.server->all = [](const ServiceRequest &) {
      return solved({{1.0, 2.0}, {0.5, 0.0}, {0.1, 0.2}, {0.3, 0.3}});
    };
  std::vector<Values> seen;
  const SolutionCallback third = [&seen](const Values & q) {
      seen.push_back(q);
      return seen.size() == 3 ? code::SUCCESS : -1;
    };
  trial.question.accepts = &third;
  const Answer answer = trial.kinematics->search(trial.question, trial.solution);
  std::printf("third %d %g %zu\n", answer.code, trial.solution[0], seen.size());
  const CostFunction cost = [](const Values & q) {return std::abs(q[1] - 0.25);};
  trial.question.accepts = nullptr;
  trial.question.cost = &cost;
  const Answer cheapest = trial.kinematics->search(trial.question, trial.solution);
  std::printf("cheapest %d %g\n", cheapest.code, trial.solution[1]);
  trial.question.cost = nullptr;
  const Values limits{0.4, 0.35};
  trial.question.consistency_limits = limits;
  const auto several = trial.kinematics->several(trial.question);
  std::printf("several %d", static_cast<int>(several.error));
  for (const Values & q : several.solutions) {
    std::printf(" %g", q[0]);
  }
  std::printf("\n");
  const Answer nearest = trial.kinematics->nearest(trial.question, trial.solution);
  std::printf("nearest %d %g\n", nearest.code, trial.solution[0]);
  trial.question.discretization = Discretization::ALL_DISCRETIZED;
  std::printf("sampled %d\n", static_cast<int>(trial.kinematics->several(trial.question).error));
}

void other_seeds()
{
  Trial trial;
  bool is_inside = true;
  trial.server->one = [&is_inside](const ServiceRequest & request) {
      for (const double value : request.seed) {
        is_inside = is_inside && value >= LOW && value <= HIGH;
      }
      return solved({Values(request.seed.begin(), request.seed.end())});
    };
  int calls = 0;
  const SolutionCallback fifth = [&calls](const Values &) {return ++calls == 5 ? code::SUCCESS : -1;};
  trial.question.accepts = &fifth;
  trial.question.timeout = 30.0;
  const Answer answer = trial.kinematics->search(trial.question, trial.solution);
  std::printf("fifth %d %d %d\n", answer.code, calls, is_inside);
  const SolutionCallback never = [](const Values &) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return -1;
    };
  trial.question.accepts = &never;
  trial.question.timeout = 0.05;
  std::printf("never %d\n", trial.kinematics->search(trial.question, trial.solution).code);
}

void wishes()
{
  Trial trial;
  trial.server->one = [](const ServiceRequest & request) {
      return solved({{1.0, request.reference[1]}});
    };
  const std::vector<unsigned int> redundant{1};
  const Values steps{0.1};
  trial.question.redundant = redundant;
  trial.question.steps = steps;
  trial.question.lock_redundant = true;
  const Answer answer = trial.kinematics->search(trial.question, trial.solution);
  std::printf(
    "locked %d %d %g\n", answer.code, std::isinf(trial.server->limits[0]), trial.server->limits[1]);
  trial.server->one = [](const ServiceRequest &) {return solved({{1.0, 2.0}});};
  std::printf("unlocked %d\n", trial.kinematics->search(trial.question, trial.solution).code);
  const int before = trial.server->count;
  trial.seed[0] = std::numeric_limits<double>::quiet_NaN();
  const Answer wrong = trial.kinematics->search(trial.question, trial.solution);
  std::printf("wrong %d %d\n", wrong.code, trial.server->count - before);
}

}  // namespace

namespace scenarios
{

int run_service()
{
  silence();
  refusal_by_server();
  branches();
  other_seeds();
  wishes();
  return 0;
}

}  // namespace scenarios
