// Time of all branches by ssik's C++ headers, one turn for each branch, on random poses within limits.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>
#include <vector>

#define TEXT_(a) #a
#define HEADER_(a) TEXT_(ssik_cpp/solvers/a.hpp)
#define HEADER(a) HEADER_(a)
#include HEADER(SOLVER)
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

#include "arm.h"

static double now_us() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

int main() {
  ssik::JointConsts<6> chain;
  ssik::JointLimits<6> limits;
  for (int i = 0; i < 6; ++i) {
    chain.axis[i] = Eigen::Vector3d(axis_[3 * i], axis_[3 * i + 1], axis_[3 * i + 2]);
    for (int k = 0; k < 16; ++k) {
      chain.t_left[i](k / 4, k % 4) = t_left_[16 * i + k];
      chain.t_right[i](k / 4, k % 4) = t_right_[16 * i + k];
    }
    chain.type[i] = ssik::JointType::Revolute;
    limits.lo[i] = lo_[i], limits.hi[i] = hi_[i], limits.present[i] = present_[i] != 0.0;
  }
  std::mt19937 random(1);
  std::vector<ssik::Pose> poses;
  for (int k = 0; k < 2000; ++k) {
    std::array<double, 6> q;
    for (int i = 0; i < 6; ++i) q[i] = std::uniform_real_distribution<double>(limits.lo[i], limits.hi[i])(random);
    poses.push_back(ssik::fk<6>(chain, q));
  }
  ssik::ArtifactParams<6> parameters;
  parameters.enumerate_windings = false;
  double best = 1e9, count = 0.0;
  for (int round = 0; round < 9; ++round) {
    const double start = now_us();
    count = 0.0;
    for (const auto &pose : poses) count += PASTE(SOLVER, _artifact_solve)(chain, limits, pose, parameters).size();
    best = std::min(best, (now_us() - start) / poses.size());
  }
  std::printf("all_branches %.3f\nsolutions %.2f\n", best, count / poses.size());
}
