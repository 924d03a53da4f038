#include "matrices.hpp"

#include <algorithm>
#include <cmath>

namespace ssik_moveit
{

void write_matrix(const Pose & pose, double * m)
{
  auto [x, y, z, w] = pose.orientation;
  const double length = std::sqrt(x * x + y * y + z * z + w * w);
  x /= length;
  y /= length;
  z /= length;
  w /= length;
  const double rows[3][3] = {
    {1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)},
    {2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)},
    {2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)}};
  for (std::size_t i = 0; i < 3; ++i) {
    std::copy(rows[i], rows[i] + 3, m + 4 * i);
    m[4 * i + 3] = pose.position[i];
  }
  m[12] = m[13] = m[14] = 0.0;
  m[15] = 1.0;
}

double length_between(const double * a, const double * b)
{
  return std::hypot(a[3] - b[3], a[7] - b[7], a[11] - b[11]);
}

double angle_between(const double * a, const double * b)
{
  double r[3][3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k) {
        r[i][j] += a[4 * k + i] * b[4 * k + j];
      }
    }
  }
  const double sine = std::hypot(r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]);
  return std::atan2(sine, r[0][0] + r[1][1] + r[2][2] - 1.0);
}

}  // namespace ssik_moveit
