#include "ssik_control/plugin_source.hpp"

#include <rclcpp/utilities.hpp>

namespace ssik_control {

SolverSource make_source(const std::string &urdf, const std::string &base, const std::string &tip, const std::string &blocks) {
  SolverSource source;
  source.urdf = urdf;
  source.base = base;
  source.tip = tip;
  source.file = blocks;
  source.is_over = [] { return !rclcpp::ok(); };
  return source;
}

}  // namespace ssik_control
