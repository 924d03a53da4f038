// Time of a Levenberg-Marquardt loop as one writes it with Eigen, to 1e-3 and within limits from a seed: eigen_loop REQUESTS CALLS.
#include "speed.h"

#include <cmath>
#include <random>

#include <Eigen/Dense>

static const double TOLERANCE = 1e-3;
static const int RESTARTS = 100, STEPS = 50;

template <int N>
struct Arm {
  using Joints = Eigen::Matrix<double, N, 1>;
  using Twist = Eigen::Matrix<double, 6, 1>;
  Eigen::Matrix<double, 3, N> axes;
  Eigen::Matrix<double, 3, N + 1> offsets;
  Eigen::Matrix3d home;
  Joints lower, upper;
  std::mt19937 random{1};

  Arm()
      : axes(asked.axes), offsets(asked.offsets), home(Eigen::Map<const Eigen::Matrix3d>(asked.home).transpose()),
        lower(asked.lower), upper(asked.upper) {}

  // Write the twist from the tip to the target, and the Jacobian.
  void linearise(const Joints &q, const Eigen::Matrix4d &target, Twist &error, Eigen::Matrix<double, 6, N> &jacobian) const {
    Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
    Eigen::Vector3d place = Eigen::Vector3d::Zero();
    Eigen::Matrix<double, 3, N> places;
    for (int i = 0; i < N; ++i) {
      place += rotation * offsets.col(i);
      places.col(i) = place;
      jacobian.template block<3, 1>(3, i) = rotation * axes.col(i);
      rotation *= Eigen::AngleAxisd(q[i], axes.col(i)).toRotationMatrix();
    }
    place += rotation * offsets.col(N);
    rotation *= home;
    for (int i = 0; i < N; ++i)
      jacobian.template block<3, 1>(0, i) = jacobian.template block<3, 1>(3, i).cross(place - places.col(i));
    const Eigen::AngleAxisd turn(Eigen::Matrix3d(target.topLeftCorner<3, 3>() * rotation.transpose()));
    error << target.topRightCorner<3, 1>() - place, turn.angle() * turn.axis();
  }

  bool descend(const Eigen::Matrix4d &target, Joints &q) const {
    Twist error;
    Eigen::Matrix<double, 6, N> jacobian;
    for (int step = 0; step < STEPS; ++step) {
      linearise(q, target, error, jacobian);
      if (error.norm() < TOLERANCE) return true;
      Eigen::Matrix<double, 6, 6> normal = jacobian * jacobian.transpose();
      normal.diagonal().array() += 0.01 * error.squaredNorm();
      q += jacobian.transpose() * normal.ldlt().solve(error);
      q = q.cwiseMax(lower).cwiseMin(upper);
    }
    return false;
  }

  int solve(int k) {
    const Eigen::Matrix4d target = Eigen::Map<const Eigen::Matrix4d>(pose_of(k)).transpose();
    Joints q(seed_of(k));
    for (int attempt = 0; attempt < RESTARTS; ++attempt) {
      if (descend(target, q)) return 1;
      for (int i = 0; i < N; ++i) q[i] = std::uniform_real_distribution<double>(lower[i], upper[i])(random);
    }
    return 0;
  }
};

template <int N>
static int first_found(int k) {
  static Arm<N> arm;
  return arm.solve(k);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  read_requests(argv[1]);
  measure("first_found", asked.n == 6 ? first_found<6> : first_found<7>, atol(argv[2]));
}
