#include "ssik_control/pose_solver.hpp"

#include <ssik.h>
#include <ssik_blocks.hpp>

#include <algorithm>
#include <cmath>

namespace ssik_control {
namespace {

constexpr std::int64_t MOST_WINDINGS = 4096;
constexpr double SAME = 1e-9;      // largest difference between chain and blocks: poses and limits [m, rad]
constexpr double ROUNDING = 1e-9;  // a solution may be outside its ranges by this [rad or m]

using Matrix = std::array<double, 16>;

Matrix matrix_of(const Frame &f) noexcept {
  return {f[0], f[1], f[2], f[9], f[3], f[4], f[5], f[10], f[6], f[7], f[8], f[11], 0, 0, 0, 1};
}

double distance(const double *a, const double *b, std::size_t n) noexcept {
  double square = 0.0;
  for (std::size_t k = 0; k < n; ++k) square += (a[k] - b[k]) * (a[k] - b[k]);
  return square;
}

// A value between two limits that may be infinite.
double between(double low, double high, double share) noexcept {
  if (!std::isfinite(low) || !std::isfinite(high)) return (2.0 * share - 1.0) * 3.0;
  return low + share * (high - low);
}

const double *or_null(const std::vector<double> &values) noexcept { return values.empty() ? nullptr : values.data(); }

}  // namespace

PoseSolver::PoseSolver(const Chain &chain, const SolverSource &source) : size_(chain.size()) {
  ssik::BlocksSource blocks;
  blocks.texts = {{"--urdf", "robot.urdf", source.urdf}};
  blocks.words = {"--base", source.base, "--ee", source.tip};
  blocks.file = source.file;
  blocks.command = source.command;
  blocks.patience = source.patience;
  blocks.is_over = source.is_over;
  ssik::load_blocks(blocks, [&](ssik::Blocks words) -> std::string {
    if (!start(std::move(words))) return ssik::NOT_BLOCKS;
    return is_of(chain) ? "" : "has the blocks of another chain";
  });
}

bool PoseSolver::start(std::vector<std::int64_t> blocks) {
  blocks_ = std::move(blocks);
  const std::int64_t bytes = ssik_memory_size(blocks_.data(), 8 * blocks_.size(), MOST_WINDINGS);
  if (bytes < 0) return false;
  memory_.assign(static_cast<std::size_t>(bytes) / 8, 0);
  if (ssik_init(&solver_, blocks_.data(), 8 * blocks_.size(), MOST_WINDINGS, memory_.data(), 8 * memory_.size())) return false;
  if (static_cast<std::size_t>(ssik_joints(solver_)) != size_) return false;
  rows_.resize(size_ * static_cast<std::size_t>(MOST_WINDINGS));
  seed_.resize(size_);
  other_.resize(size_);
  lower_.resize(size_);
  upper_.resize(size_);
  return ssik_limits(solver_, lower_.data(), upper_.data()) == 0;
}

bool PoseSolver::is_of(const Chain &chain) const {
  std::vector<double> q(size_);
  const int tip = static_cast<int>(chain.links().size()) - 1;
  for (int k = 0; k < 4; ++k) {
    for (std::size_t joint = 0; joint < size_; ++joint) {
      // The blocks may have narrower limits, for example the limits of a planner, but never wider ones.
      if (lower_[joint] < chain.lower()[joint] - SAME || upper_[joint] > chain.upper()[joint] + SAME) return false;
      q[joint] = between(lower_[joint], upper_[joint], std::fmod(0.37 + 0.61803 * (k * static_cast<double>(size_) + static_cast<double>(joint)), 1.0));
    }
    Matrix pose;
    ssik_fk(solver_, q.data(), pose.data());
    const Matrix expected = matrix_of(chain.pose(q.data(), tip));
    for (std::size_t i = 0; i < pose.size(); ++i)
      if (!(std::fabs(pose[i] - expected[i]) <= SAME)) return false;
  }
  return true;
}

bool PoseSolver::search(const double *matrix, const double *seed, double *q) noexcept {
  ssik_report report;
  return ssik_solve(solver_, matrix, seed, nullptr, q, &report) > 0;
}

bool PoseSolver::nearest(const Frame &pose, const double *seed, double *q) noexcept {
  const Matrix matrix = matrix_of(pose);
  std::copy(seed, seed + size_, seed_.begin());
  const bool has_branch = ssik_solve_nearest(solver_, matrix.data(), seed_.data(), q, nullptr) > 0;
  // A closed form of a redundant arm knows samples; a search from the seed may end nearer to it.
  if (has_branch && size_ <= 6) return true;
  const bool has_other = search(matrix.data(), seed_.data(), other_.data());
  if (has_other && (!has_branch || distance(other_.data(), seed_.data(), size_) < distance(q, seed_.data(), size_)))
    std::copy(other_.begin(), other_.end(), q);
  return has_branch || has_other;
}

std::vector<std::vector<double>> PoseSolver::all(const Frame &pose) {
  const Matrix matrix = matrix_of(pose);
  std::int64_t count = ssik_solve_all(solver_, matrix.data(), nullptr, SSIK_WITHIN_LIMITS, MOST_WINDINGS, rows_.data(), nullptr, nullptr);
  if (count <= 0) {
    for (std::size_t k = 0; k < size_; ++k) seed_[k] = between(lower_[k], upper_[k], 0.5);
    count = search(matrix.data(), seed_.data(), rows_.data()) ? 1 : 0;
  }
  std::vector<std::vector<double>> found;
  for (auto at = rows_.begin(); count > 0; --count, at += static_cast<std::ptrdiff_t>(size_))
    found.emplace_back(at, at + static_cast<std::ptrdiff_t>(size_));
  return found;
}

bool PoseSolver::within(const Frame &pose, const std::vector<std::pair<double, double>> &ranges, std::vector<double> &q) {
  const auto is_inside = [&](const double *values) {
    // Comparisons with NaN are false, so such a range excludes nothing.
    for (std::size_t k = 0; k < size_; ++k)
      if (values[k] < ranges[k].first - ROUNDING || values[k] > ranges[k].second + ROUNDING) return false;
    return true;
  };
  for (std::size_t k = 0; k < size_; ++k) {
    const double low = std::fmax(lower_[k], ranges[k].first), high = std::fmin(upper_[k], ranges[k].second);
    seed_[k] = between(low, high, 0.5);
  }
  const Matrix matrix = matrix_of(pose);
  const std::int64_t count = ssik_solve_windings(solver_, matrix.data(), seed_.data(), MOST_WINDINGS, rows_.data(), nullptr);
  for (std::int64_t k = 0; k < count; ++k) {
    const double *row = rows_.data() + static_cast<std::size_t>(k) * size_;
    if (is_inside(row)) return q.assign(row, row + size_), true;
  }
  if (!search(matrix.data(), seed_.data(), other_.data()) || !is_inside(other_.data())) return false;
  q = other_;
  return true;
}

StepReport PoseSolver::step(const Frame &pose, const Frame *previous, const StepLimits &limits, double *q, double *speeds,
                            std::int32_t *stopped_by) noexcept {
  const Matrix matrix = matrix_of(pose), before = previous ? matrix_of(*previous) : matrix;
  StepReport result;
  ssik_report report{};
  ssik_cycle cycle{};
  cycle.period = limits.period;
  cycle.velocity = or_null(limits.velocity);
  cycle.acceleration = or_null(limits.acceleration);
  cycle.posture = or_null(limits.posture);
  cycle.previous = previous ? before.data() : nullptr;
  cycle.speeds = speeds;
  cycle.stopped_by = stopped_by;
  cycle.condition = &result.condition;
  result.is_reached = ssik_step(solver_, matrix.data(), &cycle, q, &report) > 0;
  result.cause = report.cause;
  result.scale = cycle.scale;
  result.position_error = report.position_error;
  result.rotation_error = report.rotation_error;
  return result;
}

}  // namespace ssik_control
