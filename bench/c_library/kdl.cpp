// Time of KDL's two solvers to a first solution within limits and 1e-3 from a seed: kdl REQUESTS CALLS.
#include "speed.h"

#include <cmath>
#include <functional>
#include <random>

#include <kdl/chainfksolverpos_recursive.hpp>
#include <kdl/chainiksolverpos_lma.hpp>
#include <kdl/chainiksolverpos_nr_jl.hpp>
#include <kdl/chainiksolvervel_pinv.hpp>

static const double TOLERANCE = 1e-3;
static const int RESTARTS = 100;

static KDL::Chain read_chain() {
  KDL::Chain chain;
  KDL::Frame tip;
  for (int i = 0; i <= asked.n; ++i) {
    const double *offset = asked.offsets + 3 * i;
    const KDL::Vector place(offset[0], offset[1], offset[2]);
    // A joint moves the segments after it; the frame before it is only the offset.
    chain.addSegment(KDL::Segment(KDL::Joint(KDL::Joint::None), KDL::Frame(place)));
    if (i == asked.n) break;
    const double *axis = asked.axes + 3 * i;
    const KDL::Vector direction(axis[0], axis[1], axis[2]);
    chain.addSegment(KDL::Segment(KDL::Joint(KDL::Vector::Zero(), direction, KDL::Joint::RotAxis)));
  }
  for (int i = 0; i < 9; ++i) tip.M.data[i] = asked.home[i];
  chain.addSegment(KDL::Segment(KDL::Joint(KDL::Joint::None), tip));
  return chain;
}

static KDL::Frame frame_of(int k) {
  KDL::Frame frame;
  const double *pose = pose_of(k);
  for (int i = 0; i < 9; ++i) frame.M.data[i] = pose[4 * (i / 3) + i % 3];
  frame.p = KDL::Vector(pose[3], pose[7], pose[11]);
  return frame;
}

// Turn joints into their limits; false where no turn does.
static bool fit(KDL::JntArray &q) {
  const double turn = 2.0 * std::acos(-1.0);
  for (int i = 0; i < asked.n; ++i) {
    const unsigned joint = static_cast<unsigned>(i);
    q(joint) -= turn * std::ceil((q(joint) - asked.upper[i]) / turn);
    if (q(joint) < asked.lower[i]) return false;
  }
  return true;
}

struct Arm {
  KDL::Chain chain = read_chain();
  KDL::JntArray lower, upper;
  KDL::ChainFkSolverPos_recursive fk{chain};
  KDL::ChainIkSolverVel_pinv velocities{chain};
  KDL::ChainIkSolverPos_LMA marquardt{chain, Eigen::Matrix<double, 6, 1>::Ones(), TOLERANCE, 100};
  KDL::ChainIkSolverPos_NR_JL newton;
  std::mt19937 random{1};

  static KDL::JntArray array_of(const double *values) {
    KDL::JntArray array(static_cast<unsigned>(asked.n));
    for (int i = 0; i < asked.n; ++i) array(static_cast<unsigned>(i)) = values[i];
    return array;
  }

  Arm()
      : lower(array_of(asked.lower)),
        upper(array_of(asked.upper)),
        newton(chain, lower, upper, fk, velocities, 100, TOLERANCE / std::sqrt(6.0)) {}

  // From the seed, then from random joint values.
  int solve(KDL::ChainIkSolverPos &solver, int k) {
    const KDL::Frame target = frame_of(k);
    KDL::JntArray start = array_of(seed_of(k)), found(static_cast<unsigned>(asked.n));
    for (int attempt = 0; attempt < RESTARTS; ++attempt) {
      if (solver.CartToJnt(start, target, found) >= 0 && fit(found)) return 1;
      for (int i = 0; i < asked.n; ++i)
        start(static_cast<unsigned>(i)) = std::uniform_real_distribution<double>(asked.lower[i], asked.upper[i])(random);
    }
    return 0;
  }
};

static Arm *arm;

static int marquardt(int k) { return arm->solve(arm->marquardt, k); }
static int newton(int k) { return arm->solve(arm->newton, k); }

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  read_requests(argv[1]);
  Arm own;
  arm = &own;
  // The requests are for this chain.
  for (int k = 0; k < asked.count; ++k) {
    KDL::Frame reached;
    own.fk.JntToCart(Arm::array_of(joints_of(k)), reached);
    if (!KDL::Equal(reached, frame_of(k), 1e-9)) return 3;
  }
  measure("lma", marquardt, atol(argv[2]));
  measure("nr_jl", newton, atol(argv[2]));
}
