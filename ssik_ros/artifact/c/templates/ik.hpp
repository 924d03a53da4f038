/*
 * A solver of @NAME@.h as a C++ object, C++11. Header only; it owns its memory. Vectors of a wrong size are thrown as
 * std::invalid_argument, codes below zero as std::runtime_error, on this side of the border: the functions of the
 * library know no exceptions. Vectors are allocated here; a real-time loop calls the functions of @NAME@.h with get().
 */
#ifndef @UPPER@_HPP
#define @UPPER@_HPP

#include "@NAME@.h"

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace @NAME@ {

using Vector = std::vector<double>;

class Solver {
 public:
@if arm@
  explicit Solver(int64_t windings = 0) {
    make(@NAME@_memory_size(windings));
    check(@NAME@_init(&solver_, windings, memory_.data(), 8 * memory_.size()));
  }
@end@
@if library@
  /* The blocks must stay where they are while the solver is used. */
  Solver(const void *blocks, size_t blocks_size, int64_t windings = 0) {
    make(@NAME@_memory_size(blocks, blocks_size, windings));
    check(@NAME@_init(&solver_, blocks, blocks_size, windings, memory_.data(), 8 * memory_.size()));
  }
@end@
  /* The solver lies inside its memory: it moves with it, and a copy would share it. */
  Solver(const Solver &) = delete;
  Solver &operator=(const Solver &) = delete;
  Solver(Solver &&other) noexcept : memory_(std::move(other.memory_)), solver_(other.solver_) { other.solver_ = nullptr; }

  int joints() const { return @NAME@_joints(solver_); }
  /* A pose has 16 numbers for each tip. */
  int tips() const { return @NAME@_tips(solver_); }

  Vector fk(const Vector &q) {
    Vector pose(16);
    expect(q.size() == size());
    check(@NAME@_fk(solver_, q.data(), pose.data()));
    return pose;
  }

  Vector jacobian(const Vector &q) {
    Vector matrix(6 * size());
    expect(q.size() == size());
    check(@NAME@_jacobian(solver_, q.data(), matrix.data()));
    return matrix;
  }

  /* Every branch, the nearest to the seed first; the seed may be empty. */
  std::vector<Vector> solve_all(const Vector &pose, const Vector &seed = Vector(), int64_t most = @UPPER@_MOST_BRANCHES,
                                @NAME@_report *report = nullptr) {
    Vector rows = room_for(most, pose, seed);
    const double *start = seed.empty() ? nullptr : seed.data();
    return split(rows, @NAME@_solve_all(solver_, pose.data(), start, @UPPER@_WITHIN_LIMITS, most, rows.data(), nullptr, report));
  }

  /* Every branch with every winding, at most as many as the constructor was told. */
  std::vector<Vector> solve_windings(const Vector &pose, const Vector &seed, int64_t most, @NAME@_report *report = nullptr) {
    Vector rows = room_for(most, pose, seed);
    const double *start = seed.empty() ? nullptr : seed.data();
    return split(rows, @NAME@_solve_windings(solver_, pose.data(), start, most, rows.data(), report));
  }

  /* The branch nearest to q, which is overwritten; false without one. */
  bool solve_nearest(const Vector &pose, Vector &q, @NAME@_report *report = nullptr) {
    const Vector seed = q;
    expect(pose.size() == pose_size() && q.size() == size());
    return check(@NAME@_solve_nearest(solver_, pose.data(), seed.data(), q.data(), report)) > 0;
  }

  /* The first solution found from q, which is overwritten; false without one. */
  bool solve(const Vector &pose, Vector &q, const @NAME@_budget *budget = nullptr, @NAME@_report *report = nullptr) {
    const Vector seed = q;
    expect(pose.size() == pose_size() && q.size() == size());
    return check(@NAME@_solve(solver_, pose.data(), seed.data(), budget, q.data(), report)) > 0;
  }

  /* Different solutions that keep conditions, the nearest to the seed first. A verdict must not throw. */
  std::vector<Vector> solve_several(const Vector &pose, const Vector &seed, const @NAME@_conditions &conditions, int64_t most,
                                    const @NAME@_budget *budget = nullptr, @NAME@_report *report = nullptr) {
    expect(most > 0 && !seed.empty());
    Vector rows = room_for(most, pose, seed);
    return split(rows, @NAME@_solve_several(solver_, pose.data(), seed.data(), &conditions, budget, most, rows.data(), report));
  }

  /* One cycle of a control loop: q moves towards the pose, each joint by its bound at most; true when it is there. */
  bool track(const Vector &pose, Vector &q, const Vector &bounds = Vector(), @NAME@_report *report = nullptr) {
    expect(pose.size() == pose_size() && q.size() == size() && (bounds.empty() || bounds.size() == size()));
    const double *widths = bounds.empty() ? nullptr : bounds.data();
    return check(@NAME@_track(solver_, pose.data(), widths, q.data(), report)) > 0;
  }

  /* The same with speeds and accelerations; the arrays of the cycle are the caller's, with one number for each joint. */
  bool step(const Vector &pose, @NAME@_cycle &cycle, Vector &q, @NAME@_report *report = nullptr) {
    expect(pose.size() == pose_size() && q.size() == size());
    return check(@NAME@_step(solver_, pose.data(), &cycle, q.data(), report)) > 0;
  }

  @NAME@_solver *get() { return solver_; }

 private:
  size_t size() const { return static_cast<size_t>(joints()); }
  size_t pose_size() const { return 16 * static_cast<size_t>(tips()); }
  static void expect(bool fits) {
    if (!fits) throw std::invalid_argument("@NAME@: a vector has the wrong size");
  }
  static int64_t check(int64_t code) {
    if (code < 0) throw std::runtime_error("@NAME@: code " + std::to_string(code) + ", see the header");
    return code;
  }
  Vector room_for(int64_t rows, const Vector &pose, const Vector &seed) const {
    expect(rows >= 0 && pose.size() == pose_size() && (seed.empty() || seed.size() == size()));
    return Vector(size() * static_cast<size_t>(rows));
  }
  std::vector<Vector> split(const Vector &rows, int64_t count) const {
    std::vector<Vector> found;
    for (auto at = rows.begin(), end = at + check(count) * joints(); at != end; at += joints()) found.emplace_back(at, at + joints());
    return found;
  }
  void make(int64_t bytes) { memory_.resize(static_cast<size_t>(check(bytes)) / 8); }

  std::vector<int64_t> memory_;
  @NAME@_solver *solver_ = nullptr;
};

}  // namespace @NAME@

#endif
