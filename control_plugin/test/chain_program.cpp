// Chains and solvers without ROS, for the tests: reads requests from standard input, writes numbers to standard output.
//
// usage: chain_program URDF BASE TIP [BLOCKS | COMMAND...]
//   link NAME q...       pose of a link (12 numbers) and its Jacobian (6 rows)
//   limits               lower, upper and velocity limits of the joints, a line each
//   nearest pose(12) q...  joint vector, or nothing
//   all pose(12)         one line for each joint vector, then an empty line
//   within pose(12) low high ...  joint vector, or nothing
//   begin period velocity(n) acceleration(n) q(n)  start a loop
//   pose pose(12), twist twist(6), hold            one cycle: q, speeds, reached, cause, scale, condition
//   latency seconds pose(12)   1 kHz with targets at 137 Hz on a circle around a pose: median, 99th and 99.9th percentile
//                              and longest time from the scheduled start of a cycle to its command [us], late cycles
// Errors are one line that begins with "error: ", and end the program with 1.
#include <ssik_control/cartesian_loop.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <thread>

using ssik_control::CartesianLoop;
using ssik_control::Chain;
using ssik_control::Frame;
using ssik_control::PoseSolver;
using ssik_control::SolverSource;

namespace {

double number(std::istream &line) {
  // Streams do not read "nan" and "inf".
  std::string word;
  line >> word;
  return std::stod(word);
}

std::vector<double> numbers(std::istream &line, std::size_t count) {
  std::vector<double> found(count);
  for (double &value : found) value = number(line);
  return found;
}

Frame frame(std::istream &line) {
  Frame found;
  for (double &value : found) value = number(line);
  return found;
}

template <typename Values>
void write(const Values &values) {
  for (const double value : values) std::printf("%.17g ", value);
  std::printf("\n");
}

void write_cycle(const CartesianLoop &loop, const ssik_control::StepReport &report) {
  std::vector<double> values = loop.positions();
  values.insert(values.end(), loop.speeds().begin(), loop.speeds().end());
  values.insert(values.end(), {static_cast<double>(report.is_reached), static_cast<double>(report.cause), report.scale, report.condition});
  write(values);
}

// Protocol of published benchmarks: cycles of 1 ms, targets at 137 Hz.
void measure(CartesianLoop &loop, double seconds, const Frame &centre) {
  using Clock = std::chrono::steady_clock;
  constexpr double RADIUS = 0.05, TURNS = 0.25, RATE = 137.0;
  constexpr auto PERIOD = std::chrono::milliseconds(1);
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(1000 * seconds));
  long late = 0;
  Frame target = centre;
  auto planned = Clock::now() + PERIOD;
  const auto begin = planned;
  while (times.size() < times.capacity()) {
    std::this_thread::sleep_until(planned);
    const double now = std::chrono::duration<double>(planned - begin).count();
    const double angle = 6.283185307179586 * TURNS * std::floor(now * RATE) / RATE;
    target[9] = centre[9] + RADIUS * (std::cos(angle) - 1.0);
    target[10] = centre[10] + RADIUS * std::sin(angle);
    loop.to_pose(target);
    const auto end = Clock::now();
    times.push_back(std::chrono::duration<double, std::micro>(end - planned).count());
    late += end > planned + PERIOD;
    planned += PERIOD;
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) { return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))]; };
  write(std::vector<double>{at(0.5), at(0.99), at(0.999), at(1.0), static_cast<double>(late)});
}

void serve(const Chain &chain, PoseSolver *solver) {
  std::unique_ptr<CartesianLoop> loop;
  std::string text, verb, name;
  while (std::getline(std::cin, text)) {
    std::istringstream line(text);
    line >> verb;
    if (verb == "link") {
      line >> name;
      const std::vector<double> q = numbers(line, chain.size());
      const int link = chain.find(name);
      write(chain.pose(q.data(), link));
      std::vector<double> jacobian(6 * chain.size());
      chain.jacobian(q.data(), link, jacobian.data(), 1, static_cast<std::ptrdiff_t>(chain.size()));
      write(jacobian);
    } else if (verb == "limits") {
      for (const auto *limits : {&chain.lower(), &chain.upper(), &chain.velocity()}) write(*limits);
    } else if (verb == "nearest") {
      const Frame pose = frame(line);
      std::vector<double> q = numbers(line, chain.size()), found(chain.size());
      write(solver->nearest(pose, q.data(), found.data()) ? found : std::vector<double>());
    } else if (verb == "all") {
      for (const auto &q : solver->all(frame(line))) write(q);
      std::printf("\n");
    } else if (verb == "within") {
      const Frame pose = frame(line);
      std::vector<std::pair<double, double>> ranges(chain.size());
      for (auto &range : ranges) range.first = number(line), range.second = number(line);
      std::vector<double> q;
      solver->within(pose, ranges, q);
      write(q);
    } else if (verb == "begin") {
      ssik_control::StepLimits limits;
      limits.period = number(line);
      limits.velocity = numbers(line, chain.size());
      limits.acceleration = numbers(line, chain.size());
      const std::vector<double> q = numbers(line, chain.size()), rest(chain.size());
      loop = std::make_unique<CartesianLoop>(chain, *solver, limits);
      write(std::vector<double>{static_cast<double>(loop->start(q.data(), rest.data(), 1e-3))});
    } else if (verb == "pose") {
      write_cycle(*loop, loop->to_pose(frame(line)));
    } else if (verb == "twist") {
      ssik_control::Twist twist;
      for (double &value : twist) value = number(line);
      write_cycle(*loop, loop->by_twist(twist));
    } else if (verb == "hold") {
      write_cycle(*loop, loop->hold());
    } else if (verb == "latency") {
      const double seconds = number(line);
      measure(*loop, seconds, frame(line));
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char **arguments) {
  if (count < 4) return 2;
  try {
    std::ifstream file(arguments[1]);
    std::stringstream urdf;
    urdf << file.rdbuf();
    const Chain chain(urdf.str(), arguments[2], arguments[3]);
    std::unique_ptr<PoseSolver> solver;
    if (count > 4) {
      SolverSource source;
      source.urdf = urdf.str();
      source.base = chain.links().front();
      source.tip = chain.links().back();
      (std::string(arguments[4]).rfind(".blocks") != std::string::npos ? source.file : source.command) = arguments[4];
      if (count > 5) source.patience = std::stod(arguments[5]);
      solver = std::make_unique<PoseSolver>(chain, source);
    }
    for (const std::string &link : chain.links()) std::printf("%s ", link.c_str());
    std::printf("\n");
    serve(chain, solver.get());
  } catch (const std::exception &error) {
    std::printf("error: %s\n", error.what());
    return 1;
  }
  return 0;
}
