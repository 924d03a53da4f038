// Time of all branches by ssik's C++ headers, one winding for each branch: ssik_headers REQUESTS CALLS SOLVER_DATA.
#include "speed.h"

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "ssik_cpp/solve.hpp"

static std::unique_ptr<ssik::Solver> solver;
static std::vector<ssik::Pose> poses;

// What ssik_headers.py writes: the family; then for each array its name, type, shape and numbers.
static ssik::SolverData read_data(const char *path) {
  std::ifstream file(path);
  ssik::SolverData data;
  std::string name, kind;
  file >> data.family;
  while (file >> name >> kind) {
    ssik::DataArray &array = data.arrays[name];
    std::size_t dimensions = 0, size = 1;
    file >> dimensions;
    array.shape.resize(dimensions);
    for (auto &extent : array.shape) file >> extent, size *= static_cast<std::size_t>(extent);
    array.dtype = kind == "f64" ? ssik::DType::Float64 : ssik::DType::Int32;
    for (std::size_t k = 0; k < size; ++k) {
      double value;
      file >> value;
      if (kind == "f64") array.f64.push_back(value);
      else array.i32.push_back(static_cast<std::int32_t>(value));
    }
  }
  return data;
}

template <int N>
static int all_branches(int k) {
  ssik::ArtifactParams<N> parameters;
  parameters.enumerate_windings = false;
  return static_cast<int>(solver->solve<N>(poses[static_cast<std::size_t>(k)], parameters).size());
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  read_requests(argv[1]);
  solver.reset(new ssik::Solver(read_data(argv[3])));
  for (int k = 0; k < asked.count; ++k) {
    ssik::Pose pose;
    for (int i = 0; i < 16; ++i) pose(i / 4, i % 4) = pose_of(k)[i];
    poses.push_back(pose);
  }
  measure("all_branches", asked.n == 6 ? all_branches<6> : all_branches<7>, atol(argv[2]));
}
