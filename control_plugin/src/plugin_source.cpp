#include "ssik_control/plugin_source.hpp"

#include <ament_index_cpp/get_package_prefix.hpp>
#include <ament_index_cpp/get_package_share_directory.hpp>
#include <rclcpp/utilities.hpp>

#include <algorithm>
#include <filesystem>

namespace ssik_control {
namespace {

// Path of a file that may be given as package://NAME/PATH.
std::string resolve(const std::string &file) {
  const std::string scheme = "package://";
  if (file.rfind(scheme, 0) != 0) return file;
  const std::size_t slash = std::min(file.find('/', scheme.size()), file.size());
  return ament_index_cpp::get_package_share_directory(file.substr(scheme.size(), slash - scheme.size())) + file.substr(slash);
}

}  // namespace

SolverSource make_source(const std::string &urdf, const std::string &base, const std::string &tip, const std::string &blocks) {
  SolverSource source;
  source.urdf = urdf;
  source.base = base;
  source.tip = tip;
  source.file = resolve(blocks);
  source.is_over = [] { return !rclcpp::ok(); };
  try {
    const std::string command = ament_index_cpp::get_package_prefix("ssik_ros") + "/lib/ssik_ros/ssik";
    if (std::filesystem::exists(command)) source.command = command;
  } catch (const ament_index_cpp::PackageNotFoundError &) {
    // The command on the path, then.
  }
  return source;
}

}  // namespace ssik_control
