// Uses of the transport by a host, one scenario for each run; the tests read the output.
//
// Arguments: SCENARIO URDF SRDF GROUP REQUESTS COUNT [KEY=VALUE ...]. REQUESTS is a file with one request in a line:
// a pose (position, quaternion xyzw) and a seed. Responses are printed as "code value value ...". Keys that begin with
// a colon are for the transport: :command, :blocks, :patience, :base, :tips, :joints, :velocity.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <condition_variable>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "scenarios.hpp"
#include "ssik_moveit/host_parameters.hpp"
#include "ssik_moveit/in_process.hpp"
#include "ssik_moveit/robot_text.hpp"

// Of scenario_host.
extern "C" long count_allocations();

namespace
{

using ssik_moveit::Response;
using ssik_moveit::GroupDescription;
using ssik_moveit::Kinematics;
using ssik_moveit::Pose;
using ssik_moveit::Request;

constexpr int THREADS = 8;
constexpr double TIMEOUT = 0.5;
constexpr int REFUSED = -1;

struct Asked
{
  std::vector<Pose> poses;
  std::vector<double> seed;
};

struct Setting
{
  GroupDescription description;
  std::vector<Asked> requests;
  int count = 1;
};

std::string read_file(const std::string & path)
{
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Asked> read_requests(const std::string & path)
{
  std::vector<Asked> requests;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line); ) {
    std::istringstream numbers(line);
    Asked asked;
    asked.poses.resize(1);
    for (double & value : asked.poses[0].position) {
      numbers >> value;
    }
    for (double & value : asked.poses[0].orientation) {
      numbers >> value;
    }
    for (double value; numbers >> value; ) {
      asked.seed.push_back(value);
    }
    requests.push_back(asked);
  }
  return requests;
}

Request to_request(const Asked & asked)
{
  Request request;
  request.poses = asked.poses;
  request.seed = asked.seed;
  request.timeout = TIMEOUT;
  return request;
}

void print_values(int code, const std::vector<double> & values)
{
  std::printf("%d", code);
  for (const double value : values) {
    std::printf(" %.17g", value);
  }
  std::printf("\n");
}

std::unique_ptr<Kinematics> open(const Setting & setting)
{
  return ssik_moveit::open_in_process(setting.description);
}

/// Solve every request, once alone and then by all threads; all responses must be the same.
int run_threads(const Setting & setting)
{
  const auto kinematics = open(setting);
  const std::size_t size = setting.requests.size();
  std::vector<std::vector<double>> alone(size);
  std::vector<int> codes(size);
  for (std::size_t i = 0; i < size; ++i) {
    codes[i] = kinematics->search(to_request(setting.requests[i]), alone[i]).code;
    print_values(codes[i], alone[i]);
  }
  std::atomic<int> different{0};
  const auto ask = [&](std::size_t first) {
      std::vector<double> solution;
      for (int round = 0; round < setting.count; ++round) {
        for (std::size_t i = 0; i < size; ++i) {
          const std::size_t own = (i + first) % size;
          solution.clear();
          const Response response = kinematics->search(to_request(setting.requests[own]), solution);
          different += response.code != codes[own] || solution != alone[own];
        }
      }
    };
  std::vector<std::thread> threads;
  for (int t = 0; t < THREADS; ++t) {
    threads.emplace_back(ask, static_cast<std::size_t>(t) * size / THREADS);
  }
  for (auto & thread : threads) {
    thread.join();
  }
  std::printf("different %d\n", different.load());
  return 0;
}

/// Print the responses to wrong requests.
int run_faults(const Setting & setting)
{
  const auto kinematics = open(setting);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Asked good = setting.requests[0];
  const auto tell = [&](const char * name, const Asked & asked, std::vector<double> limits = {}) {
      Request request = to_request(asked);
      request.consistency_limits = limits;
      std::vector<double> solution{7.0};
      const Response one = kinematics->search(request, solution);
      const Response near = kinematics->nearest(request, solution);
      const auto several = kinematics->several(request);
      std::printf(
        "%s %d %d %d %zu|%s\n", name, one.code, near.code, static_cast<int>(several.error),
        solution.size(), one.text.c_str());
    };
  tell("good", good);
  Asked asked = good;
  asked.seed.pop_back();
  tell("short_seed", asked);
  asked = good;
  asked.seed[1] = nan;
  tell("nan_seed", asked);
  asked = good;
  asked.seed.assign(asked.seed.size(), 50.0);
  tell("far_seed", asked);
  asked = good;
  asked.poses[0].position[0] = nan;
  tell("nan_pose", asked);
  asked = good;
  asked.poses[0].orientation = {0.0, 0.0, 0.0, 0.0};
  tell("no_quaternion", asked);
  asked = good;
  for (double & part : asked.poses[0].orientation) {
    part *= 2.0;
  }
  tell("long_quaternion", asked);
  asked = good;
  asked.poses.clear();
  tell("no_pose", asked);
  asked = good;
  asked.poses.push_back(asked.poses[0]);
  tell("two_poses", asked);
  asked = good;
  asked.poses[0].position[0] = 50.0;
  tell("too_far", asked);
  tell("short_limits", good, {0.1});
  tell("nan_limits", good, std::vector<double>(good.seed.size(), nan));
  return 0;
}

/// Refuse, ask from inside, throw, and choose by cost.
int run_callbacks(const Setting & setting)
{
  const auto kinematics = open(setting);
  Request request = to_request(setting.requests[0]);
  std::vector<double> solution;
  std::vector<std::vector<double>> seen;
  const ssik_moveit::SolutionCallback third = [&](const std::vector<double> & candidate) {
      seen.push_back(candidate);
      std::vector<double> inner;
      const Response response = kinematics->search(to_request(setting.requests[1]), inner);
      return seen.size() == 3 && response.solved() ? ssik_moveit::code::SUCCESS : REFUSED;
    };
  request.accepts = &third;
  Response response = kinematics->search(request, solution);
  std::printf("third %d %zu %d\n", response.code, seen.size(), solution == seen.back());
  print_values(response.code, solution);

  std::set<std::vector<double>> offered;
  std::size_t calls = 0;
  const ssik_moveit::SolutionCallback never = [&](const std::vector<double> & candidate) {
      ++calls;
      // The plugin remembers some of the refused candidates.
      if (calls <= 1000) {
        offered.insert(candidate);
      }
      return REFUSED;
    };
  request.accepts = &never;
  request.timeout = 0.05;
  response = kinematics->search(request, solution);
  std::printf("never %d %d\n", response.code, offered.size() == std::min<std::size_t>(calls, 1000));
  request.timeout = TIMEOUT;

  const ssik_moveit::SolutionCallback throws = [](const std::vector<double> &) -> int {
      throw std::domain_error("of the host");
    };
  request.accepts = &throws;
  try {
    kinematics->search(request, solution);
    std::printf("thrown nothing\n");
  } catch (const std::domain_error & error) {
    std::printf("thrown %s\n", error.what());
  }
  request.accepts = nullptr;
  std::printf("afterwards %d\n", kinematics->search(request, solution).code);

  double smallest = std::numeric_limits<double>::infinity();
  int costs = 0;
  const ssik_moveit::CostFunction cost = [&](const std::vector<double> & candidate) {
      const double value = candidate[0] * candidate[0];
      smallest = std::min(smallest, value);
      ++costs;
      return value;
    };
  request.cost = &cost;
  response = kinematics->search(request, solution);
  std::printf("cost %d %d %d\n", response.code, costs > 1, solution[0] * solution[0] == smallest);
  return 0;
}

/// Eight threads whose callback waits for a lock that others hold during a request.
int run_locks(const Setting & setting)
{
  const auto kinematics = open(setting);
  std::mutex scene;
  std::atomic<int> solved{0}, held{0};
  const ssik_moveit::SolutionCallback slow = [&](const std::vector<double> &) {
      std::lock_guard<std::mutex> lock(scene);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      return ssik_moveit::code::SUCCESS;
    };
  const auto ask = [&](std::size_t first) {
      std::vector<double> solution;
      for (int i = 0; i < setting.count; ++i) {
        const Asked & asked = setting.requests[(first + static_cast<std::size_t>(i)) % setting.requests.size()];
        Request request = to_request(asked);
        request.accepts = &slow;
        solved += kinematics->search(request, solution).solved();
        std::lock_guard<std::mutex> lock(scene);
        request.accepts = nullptr;
        held += kinematics->search(request, solution).solved();
      }
    };
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < THREADS; ++t) {
    threads.emplace_back(ask, t);
  }
  for (auto & thread : threads) {
    thread.join();
  }
  std::printf("solved %d held %d\n", solved.load(), held.load());
  return 0;
}

/// Print names and all kinds of responses to the first request.
int run_everything(const Setting & setting)
{
  const auto kinematics = open(setting);
  const auto & names = kinematics->names();
  std::printf("solver %s\nbase %s\n", names.solver.c_str(), names.base_frame.c_str());
  for (const auto & tip : names.tip_frames) {
    std::printf("tip %s\n", tip.c_str());
  }
  for (const auto & joint : names.joints) {
    std::printf("joint %s\n", joint.c_str());
  }
  const Asked & asked = setting.requests[0];
  Request request = to_request(asked);
  std::vector<double> solution;
  const int code = kinematics->nearest(request, solution).code;
  std::printf("nearest ");
  print_values(code, solution);
  const std::vector<double> limits(asked.seed.size(), 0.4);
  request.consistency_limits = limits;
  const int limited = kinematics->search(request, solution).code;
  std::printf("limited ");
  print_values(limited, limited == ssik_moveit::code::SUCCESS ? solution : std::vector<double>{});
  request.consistency_limits = {};
  const std::vector<unsigned int> redundant{2};
  const std::vector<double> steps{0.3};
  request.redundant = redundant;
  request.steps = steps;
  request.discretization = ssik_moveit::Discretization::ALL_DISCRETIZED;
  const auto several = kinematics->several(request);
  std::printf("several %d %g\n", static_cast<int>(several.error), several.percentage);
  for (const auto & values : several.solutions) {
    print_values(1, values);
  }
  request.lock_redundant = true;
  const int locked = kinematics->search(request, solution).code;
  std::printf("locked ");
  print_values(locked, locked == ssik_moveit::code::SUCCESS ? solution : std::vector<double>{});
  Asked far = asked;
  far.poses[0].position[2] += 9.0;
  request = to_request(far);
  request.approximate = true;
  request.timeout = 0.05;
  const Response near = kinematics->search(request, solution);
  std::printf("approximate %d %d|%s\n", near.code, near.is_approximate, near.text.c_str());
  return 0;
}

/// A callback waits until another thread has solved all other requests.
int run_overlap(const Setting & setting)
{
  const auto kinematics = open(setting);
  std::mutex mutex;
  std::condition_variable changed;
  bool is_waiting = false, is_done = false;
  const ssik_moveit::SolutionCallback waits = [&](const std::vector<double> &) {
      std::unique_lock<std::mutex> lock(mutex);
      is_waiting = true;
      changed.notify_all();
      return changed.wait_for(lock, std::chrono::seconds(30), [&]() {return is_done;}) ?
             ssik_moveit::code::SUCCESS : REFUSED;
    };
  std::thread other([&]() {
      {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&]() {return is_waiting;});
      }
      std::vector<double> solution;
      for (const Asked & asked : setting.requests) {
        kinematics->search(to_request(asked), solution);
      }
      const std::lock_guard<std::mutex> lock(mutex);
      is_done = true;
      changed.notify_all();
    });
  Request request = to_request(setting.requests[0]);
  request.accepts = &waits;
  request.timeout = 60.0;
  std::vector<double> solution;
  const Response response = kinematics->search(request, solution);
  other.join();
  std::printf("overlap %d\n", response.code);
  return 0;
}

/// Print how often memory is allocated while every request is solved once more.
int run_allocations(const Setting & setting)
{
  const auto kinematics = open(setting);
  std::vector<double> solution;
  std::vector<Request> requests;
  for (const Asked & asked : setting.requests) {
    requests.push_back(to_request(asked));
    kinematics->search(requests.back(), solution);
  }
  const long before = count_allocations();
  int solved = 0;
  for (const Request & request : requests) {
    solved += kinematics->search(request, solution).solved();
  }
  std::printf("allocations %ld solved %d\n", count_allocations() - before, solved);
  return 0;
}

/// Send each request as Servo does: a budget of half a cycle, and any step towards the pose is welcome.
int run_steps(const Setting & setting)
{
  const auto kinematics = open(setting);
  for (const Asked & asked : setting.requests) {
    Request request = to_request(asked);
    request.approximate = true;
    request.timeout = 0.005;
    std::vector<double> solution;
    const Response response = kinematics->search(request, solution);
    std::printf("%d|%s|", response.is_approximate, response.text.c_str());
    print_values(response.code, solution);
  }
  return 0;
}

/// Print the nearest solution and all solutions of each request, for a comparison with the package.
int run_solutions(const Setting & setting)
{
  const auto kinematics = open(setting);
  for (const Asked & asked : setting.requests) {
    const Request request = to_request(asked);
    std::vector<double> solution;
    const int code = kinematics->search(request, solution).code;
    std::printf("search ");
    print_values(code, solution);
    solution.clear();
    const int nearest = kinematics->nearest(request, solution).code;
    std::printf("nearest ");
    print_values(nearest, solution);
    const auto several = kinematics->several(request);
    std::printf("several %zu\n", several.solutions.size());
    for (const auto & values : several.solutions) {
      print_values(static_cast<int>(several.error), values);
    }
  }
  return 0;
}

volatile std::sig_atomic_t interrupted = 0;

/// Load a group until the process is told to end.
int run_interrupted_loading(const Setting & setting)
{
  std::signal(SIGINT, [](int) {interrupted = 1;});
  ssik_moveit::open_in_process(setting.description, []() {return interrupted != 0;});
  return 0;
}

/// Serve until the process is told to end.
int run_until_interrupted(const Setting & setting)
{
  const bool has_handler = setting.count > 1;
  // Who started this process may have told it to ignore the signal.
  std::signal(SIGINT, has_handler ? [](int) {interrupted = 1;} : SIG_DFL);
  const auto kinematics = open(setting);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back(
      [&]() {
        std::vector<double> solution;
        for (std::size_t i = 0; interrupted == 0; ++i) {
          kinematics->search(to_request(setting.requests[i % setting.requests.size()]), solution);
        }
      });
  }
  std::printf("ready\n");
  std::fflush(stdout);
  for (auto & thread : threads) {
    thread.join();
  }
  std::printf("stopped\n");
  return 0;
}

/// Print how long a call takes, in nanoseconds, median and mean over the requests.
int run_times(const Setting & setting)
{
  const auto kinematics = open(setting);
  std::vector<double> solution, spent;
  for (int round = 0; round < setting.count; ++round) {
    for (const Asked & asked : setting.requests) {
      const auto begun = std::chrono::steady_clock::now();
      kinematics->search(to_request(asked), solution);
      const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begun;
      spent.push_back(time.count());
    }
  }
  for (const double time : spent) {
    std::printf("%.0f\n", time);
  }
  return 0;
}

/// Write a robot with every kind of joint, and print both files.
int run_robot_text(const Setting & setting)
{
  ssik_moveit::RobotText robot;
  robot.name = "odd <\"&\"> robot";
  robot.root_link = "base";
  robot.virtual_joint = "floor";
  robot.virtual_type = "planar";
  robot.parent_frame = "hall";
  robot.group = setting.description.group;
  robot.group_joints = {"turn", "lift & reach", "roll"};
  ssik_moveit::JointText joint;
  joint.name = "turn";
  joint.type = "revolute";
  joint.parent = "base";
  joint.child = "trunk";
  joint.translation = {0.1, -0.2, 0.3};
  joint.lower = -1.25;
  joint.upper = 0.1;
  joint.velocity = 2.0;
  robot.joints.push_back(joint);
  joint.name = "lift & reach";
  joint.type = "prismatic";
  joint.parent = "trunk";
  joint.child = "slide";
  joint.rotation = {0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0};  // Pitch of a quarter turn.
  joint.axis = {0.6, 0.0, 0.8};
  robot.joints.push_back(joint);
  joint.name = "roll";
  joint.type = "continuous";
  joint.parent = "slide";
  joint.child = "tip";
  joint.rotation = {0.36, 0.48, -0.8, -0.8, 0.6, 0.0, 0.48, 0.64, 0.6};
  robot.joints.push_back(joint);
  joint.name = "follower";
  joint.type = "revolute";
  joint.parent = "base";
  joint.child = "aside";
  joint.leader = "turn";
  joint.factor = 0.5;
  joint.offset = 0.01;
  robot.joints.push_back(joint);
  joint = ssik_moveit::JointText();
  joint.type = "prismatic";
  joint.parent = "tip";
  for (const char * side : {"left", "right"}) {
    joint.name = std::string(side) + " finger";
    joint.child = side;
    robot.joints.push_back(joint);
  }
  robot.end_effectors = {{"gripper", "tip", "fingers", {"left finger", "right finger"}}};
  std::printf("%s\n%s\n", write_urdf(robot).c_str(), write_srdf(robot).c_str());
  return 0;
}

/// Read the parameters as a plugin does, and print the keys that are left for the solver.
int run_host_parameters(const Setting & setting)
{
  auto parameters = setting.description.parameters;
  const auto host = ssik_moveit::take_host_parameters(parameters, "here");
  std::printf(
    "%d %s %g %s\n", static_cast<int>(host.transport), host.service.c_str(), host.service_wait,
    host.blocks.c_str());
  for (const auto & [key, value] : parameters) {
    std::printf("%s: %s\n", key.c_str(), value.c_str());
  }
  using ssik_moveit::to_yaml;
  const double infinity = std::numeric_limits<double>::infinity();
  std::printf(
    "[%s, %s, %s, %s, %s]\n", to_yaml(std::string("a \"b\" \\ # c: \n")).c_str(),
    to_yaml(1.0).c_str(), to_yaml(0.1).c_str(), to_yaml(true).c_str(), to_yaml(-infinity).c_str());
  return 0;
}

/// Open a group as the plugin class of a name does, and print the solver.
int run_plugin_class(const Setting & setting)
{
  GroupDescription description = setting.description;
  const std::string exported = description.parameters.extract("class").mapped();
  const std::string warning = ssik_moveit::set_solver(description.parameters, exported, "here");
  std::printf("warning %s\n", warning.c_str());
  const auto kinematics = ssik_moveit::open_in_process(description);
  std::printf("solver %s\n", kinematics->names().solver.c_str());
  return 0;
}

std::vector<std::string> split(const std::string & text)
{
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ','); ) {
    words.push_back(word);
  }
  return words;
}

/// Write a key of the command line into a description.
void set_key(GroupDescription & description, const std::string & key, const std::string & value)
{
  constexpr double ANY = std::numeric_limits<double>::infinity();
  if (key == ":command") {
    description.command = value;
  } else if (key == ":blocks") {
    description.blocks = value;
  } else if (key == ":patience") {
    description.patience = std::atof(value.c_str());
  } else if (key == ":base") {
    description.base_frame = value;
  } else if (key == ":tips") {
    description.tip_frames = split(value);
    description.is_chain = true;
  } else if (key == ":joints") {
    for (const std::string & name : split(value)) {
      description.joints.push_back({name, -ANY, ANY, ANY});
    }
  } else if (key == ":velocity") {
    for (auto & joint : description.joints) {
      joint.velocity = std::atof(value.c_str());
    }
  } else {
    description.parameters[key] = value;
  }
}

int run(int argc, char ** argv)
{
  const std::map<std::string, int (*)(const Setting &)> scenarios{
    {"threads", run_threads}, {"faults", run_faults}, {"callbacks", run_callbacks},
    {"locks", run_locks}, {"everything", run_everything}, {"overlap", run_overlap},
    {"allocations", run_allocations}, {"steps", run_steps}, {"solutions", run_solutions},
    {"interrupted_loading", run_interrupted_loading},
    {"until_interrupted", run_until_interrupted}, {"times", run_times},
    {"robot_text", run_robot_text}, {"host_parameters", run_host_parameters},
    {"plugin_class", run_plugin_class},
    {"service", [](const Setting &) {return scenarios::run_service();}}};
  const auto found = argc < 6 ? scenarios.end() : scenarios.find(argv[0]);
  if (found == scenarios.end()) {
    std::fprintf(stderr, "There is no scenario of this name.\n");
    return 2;
  }
  Setting setting;
  setting.description.urdf = read_file(argv[1]);
  setting.description.srdf = read_file(argv[2]);
  setting.description.group = argv[3];
  setting.requests = read_requests(argv[4]);
  setting.count = std::atoi(argv[5]);
  setting.description.warn = [](const std::string & line) {std::printf("log %s\n", line.c_str());};
  for (int i = 6; i < argc; ++i) {
    const std::string pair = argv[i];
    const auto place = pair.find('=');
    set_key(setting.description, pair.substr(0, place), pair.substr(place + 1));
  }
  try {
    return found->second(setting);
  } catch (const ssik_moveit::LoadError & error) {
    std::printf("refused %s\n", error.what());
    return 3;
  }
}

}  // namespace

extern "C" int run_scenario(int argc, char ** argv)
{
  const int status = run(argc, argv);
  std::fflush(stdout);
  return status;
}
