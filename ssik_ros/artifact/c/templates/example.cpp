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
  @NAME@::Vector other = q;
  const double first = q[0];
  const bool is_other = solver.solve_accepted(pose, other, [first](const double *values) { return values[0] != first; });
  std::printf("another one: %d\n", is_other);
  std::printf("\n");
  const @NAME@::Vector bounds = {@BOUNDS@};
  std::printf("there: %d\n", solver.track(pose, q, bounds));
}
