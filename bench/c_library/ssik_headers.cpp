// Time of all branches by ssik's C++ headers, one winding for each branch: ssik_headers REQUESTS CALLS SOLVER_DATA.
//
// Compiled once for each family of arms, with the header of its solver: -DFAMILY=three_parallel.
#include "speed.h"

#include <fstream>
#include <map>
#include <string>
#include <vector>

#define TEXT_(a) #a
#define HEADER_(a) TEXT_(ssik_cpp/solvers/a.hpp)
#define HEADER(a) HEADER_(a)
#include HEADER(FAMILY)

using Arrays = std::map<std::string, std::vector<double>>;

// Read the file of ssik_headers.py: for each array its name, size and numbers.
static Arrays read_arrays(const char *path) {
  std::ifstream file(path);
  Arrays arrays;
  std::string name;
  std::size_t size;
  while (file >> name >> size) {
    arrays[name].resize(size);
    for (double &value : arrays[name]) file >> value;
  }
  return arrays;
}

template <int N>
struct Arm {
  ssik::JointConsts<N> chain;
  ssik::JointLimits<N> limits;
  ssik::ArtifactParams<N> parameters;

  explicit Arm(Arrays &arrays) {
    for (int i = 0; i < N; ++i) {
      chain.axis[i] = Eigen::Vector3d(&arrays["axis"][3 * i]);
      for (int k = 0; k < 16; ++k) {
        chain.t_left[i](k / 4, k % 4) = arrays["t_left"][16 * i + k];
        chain.t_right[i](k / 4, k % 4) = arrays["t_right"][16 * i + k];
      }
      chain.type[i] = ssik::JointType::Revolute;
      limits.lo[i] = arrays["lo"][i], limits.hi[i] = arrays["hi"][i], limits.present[i] = arrays["present"][i] != 0.0;
    }
    parameters.enumerate_windings = false;
  }
};

static std::vector<ssik::Pose> poses;
static const ssik::Pose &target(int k) { return poses[static_cast<std::size_t>(k)]; }

#if defined(SHOULDER)
struct Own : Arm<7> {
  ssik::SphericalShoulderConsts constants;
  explicit Own(Arrays &arrays) : Arm(arrays) {
    for (int k = 0; k < 144; ++k) constants.coef(k / 48, k % 48) = arrays["coef"][k];
  }
  auto solve(int k) { return ssik::spherical_shoulder_artifact_solve(chain, constants, limits, target(k), parameters, false); }
};
#elif defined(SRS)
struct Own : Arm<7> {
  ssik::SrsConsts constants;
  explicit Own(Arrays &arrays) : Arm(arrays) {
    constants.l_se = arrays["l_se"][0];
    constants.l_ew = arrays["l_ew"][0];
    constants.ee_offset_local = Eigen::Vector3d(arrays["ee_offset_local"].data());
    constants.shoulder_pivot = Eigen::Vector3d(arrays["shoulder_pivot"].data());
    constants.upper_home = Eigen::Vector3d(arrays["upper_home"].data());
    constants.forearm_home = Eigen::Vector3d(arrays["forearm_home"].data());
    constants.r_post_wrist = Eigen::Matrix3d(arrays["r_post_wrist"].data()).transpose();
    constants.elbow_index = static_cast<int>(arrays["elbow_index"][0]);
    constants.general_path = arrays["general_path"][0] != 0.0;
  }
  auto solve(int k) { return ssik::srs_artifact_solve(chain, constants, limits, target(k), parameters); }
};
#else
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
struct Own : Arm<6> {
  using Arm::Arm;
  auto solve(int k) { return ssik::PASTE(FAMILY, _artifact_solve)(chain, limits, target(k), parameters); }
};
#endif

static Own *own;

static int all_branches(int k) { return static_cast<int>(own->solve(k).size()); }

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  read_requests(argv[1]);
  Arrays arrays = read_arrays(argv[3]);
  Own arm(arrays);
  own = &arm;
  for (int k = 0; k < asked.count; ++k) {
    ssik::Pose pose;
    for (int i = 0; i < 16; ++i) pose(i / 4, i % 4) = pose_of(k)[i];
    poses.push_back(pose);
  }
  measure("all_branches", all_branches, atol(argv[2]));
}
