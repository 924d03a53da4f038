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

/// Responds as a scenario says, and keeps the requests.
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
  Request request;

  Trial()
  {
    request.poses = poses;
    request.seed = seed;
    request.timeout = 0.05;
  }
};

void silence()
{
  Trial trial;
  const Response response = trial.kinematics->search(trial.request, trial.solution);
  std::printf(
    "silence %d %d %d|%s\n", response.code, trial.server->count.load(),
    trial.server->wait > 1.0 && trial.server->timeout <= 0.05, response.text.c_str());
  trial.server->one = [](const ServiceRequest &) {return solved({{1.0, 2.0}});};
  const Response later = trial.kinematics->search(trial.request, trial.solution);
  std::printf("restarted %d %g %g\n", later.code, trial.solution[0], trial.solution[1]);
}

void refusal_by_server()
{
  Trial trial;
  trial.server->one = [](const ServiceRequest &) {
      return ServiceReply{code::NO_IK_SOLUTION, "out of reach", {}};
    };
  const SolutionCallback any = [](const Values &) {return code::SUCCESS;};
  trial.request.accepts = &any;
  const Response response = trial.kinematics->search(trial.request, trial.solution);
  std::printf("refused %d %d|%s\n", response.code, trial.server->count.load(), response.text.c_str());
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
  trial.request.accepts = &third;
  const Response response = trial.kinematics->search(trial.request, trial.solution);
  std::printf("third %d %g %zu\n", response.code, trial.solution[0], seen.size());
  const CostFunction cost = [](const Values & q) {return std::abs(q[1] - 0.25);};
  trial.request.accepts = nullptr;
  trial.request.cost = &cost;
  const Response cheapest = trial.kinematics->search(trial.request, trial.solution);
  std::printf("cheapest %d %g\n", cheapest.code, trial.solution[1]);
  trial.request.cost = nullptr;
  const Values limits{0.4, 0.35};
  trial.request.consistency_limits = limits;
  const auto several = trial.kinematics->several(trial.request);
  std::printf("several %d", static_cast<int>(several.error));
  for (const Values & q : several.solutions) {
    std::printf(" %g", q[0]);
  }
  std::printf("\n");
  const Response nearest = trial.kinematics->nearest(trial.request, trial.solution);
  std::printf("nearest %d %g\n", nearest.code, trial.solution[0]);
  trial.request.discretization = Discretization::ALL_DISCRETIZED;
  std::printf("sampled %d\n", static_cast<int>(trial.kinematics->several(trial.request).error));
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
  trial.request.accepts = &fifth;
  trial.request.timeout = 30.0;
  const Response response = trial.kinematics->search(trial.request, trial.solution);
  std::printf("fifth %d %d %d\n", response.code, calls, is_inside);
  const SolutionCallback never = [](const Values &) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return -1;
    };
  trial.request.accepts = &never;
  trial.request.timeout = 0.05;
  std::printf("never %d\n", trial.kinematics->search(trial.request, trial.solution).code);
}

void wishes()
{
  Trial trial;
  trial.server->one = [](const ServiceRequest & request) {
      return solved({{1.0, request.reference[1]}});
    };
  const std::vector<unsigned int> redundant{1};
  const Values steps{0.1};
  trial.request.redundant = redundant;
  trial.request.steps = steps;
  trial.request.lock_redundant = true;
  const Response response = trial.kinematics->search(trial.request, trial.solution);
  std::printf(
    "locked %d %d %g\n", response.code, std::isinf(trial.server->limits[0]), trial.server->limits[1]);
  trial.server->one = [](const ServiceRequest &) {return solved({{1.0, 2.0}});};
  std::printf("unlocked %d\n", trial.kinematics->search(trial.request, trial.solution).code);
  const int before = trial.server->count;
  trial.seed[0] = std::numeric_limits<double>::quiet_NaN();
  const Response wrong = trial.kinematics->search(trial.request, trial.solution);
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
