// The same as example.c in C++.
#include "@NAME@.hpp"

#include <cstdio>

int main() {
  @NAME@::Solver solver(100);  // room for 100 windings
  @NAME@::Vector q = {@SEED@};
  @NAME@::Vector pose = solver.fk(q);
@if form@
  std::printf("%d branches\n", static_cast<int>(solver.solve_all(pose, q).size()));
  std::printf("%d windings\n", static_cast<int>(solver.solve_windings(pose, q, 100).size()));
@end@
  pose[11] += 0.001;  // 1 mm up
  if (!solver.solve(pose, q)) return 1;
  for (double value : q) std::printf("%.6f ", value);
  std::printf("\n");
  @NAME@_conditions conditions = {};
  conditions.accept = [](void *context, const double *values) { return static_cast<int>(values[0] != *static_cast<double *>(context)); };
  conditions.context = q.data();
  std::printf("others: %d\n", static_cast<int>(solver.solve_several(pose, q, conditions, 10).size()));
  const @NAME@::Vector bounds = {@BOUNDS@};
  std::printf("there: %d\n", solver.track(pose, q, bounds));
}
