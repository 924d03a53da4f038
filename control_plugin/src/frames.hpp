// Arithmetic of frames.
#pragma once

#include <array>
#include <cmath>

#include "ssik_control/chain.hpp"

namespace ssik_control {

using Vector = std::array<double, 3>;

inline Frame product(const Frame &a, const Frame &b) noexcept {
  Frame out;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
    out[9 + i] = a[3 * i] * b[9] + a[3 * i + 1] * b[10] + a[3 * i + 2] * b[11] + a[9 + i];
  }
  return out;
}

inline Frame inverse(const Frame &a) noexcept {
  Frame out;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) out[3 * i + j] = a[3 * j + i];
    out[9 + i] = -(a[i] * a[9] + a[3 + i] * a[10] + a[6 + i] * a[11]);
  }
  return out;
}

// Rotation by an angle [rad] about an axis of length one through the origin.
inline Frame rotation(const Vector &axis, double angle) noexcept {
  const auto [x, y, z] = axis;
  const double c = std::cos(angle), s = std::sin(angle), d = 1 - c;
  return {c + x * x * d,     x * y * d - z * s, x * z * d + y * s, x * y * d + z * s, c + y * y * d, y * z * d - x * s,
          x * z * d - y * s, y * z * d + x * s, c + z * z * d,     0,                 0,             0};
}

}  // namespace ssik_control
