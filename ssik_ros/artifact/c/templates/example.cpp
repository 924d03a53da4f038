// The same as example.c in C++.
#include <cstdio>

#include "@NAME@.hpp"

int main() {
  @NAME@::Solver solver;
  @NAME@::Vector q = {@SEED@};
  @NAME@::Vector pose = solver.fk(q);
@if form@
  std::printf("%d branches\n", static_cast<int>(solver.solve_all(pose, q).size()));
@end@
  pose[11] += 0.001;  // 1 mm up
  if (!solver.solve(pose, q)) return 1;
  for (double value : q) std::printf("%.6f ", value);
  std::printf("\n");
}
