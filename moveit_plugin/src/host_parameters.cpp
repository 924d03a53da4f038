#include "ssik_moveit/host_parameters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "ssik_moveit/kinematics.hpp"

namespace ssik_moveit
{
namespace
{

constexpr std::string_view COMMON = "kinematics_solver";
constexpr const char * BLOCKS = "kinematics_solver_blocks";
constexpr const char * TRANSPORT = "kinematics_solver_transport";
constexpr const char * SERVICE = "kinematics_solver_service_name";
constexpr const char * SERVICE_WAIT = "kinematics_solver_service_wait";

/// Every key that begins as MoveIt's own do.
constexpr std::array<std::string_view, 8> KNOWN{
  COMMON, "kinematics_solver_timeout", "kinematics_solver_search_resolution",
  "kinematics_solver_attempts", BLOCKS, TRANSPORT, SERVICE, SERVICE_WAIT};

/// Return how many letters have to be changed, added or left out.
std::size_t distance(std::string_view a, std::string_view b)
{
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t before = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t other = std::min(row[j], row[j + 1]) + 1;
      before = std::exchange(row[j + 1], std::min(other, before + (a[i] == b[j] ? 0 : 1)));
    }
  }
  return row.back();
}

void refuse_misspelt(const std::string & key, const std::string & where)
{
  if (key.compare(0, COMMON.size(), COMMON) != 0 ||
    std::find(KNOWN.begin(), KNOWN.end(), key) != KNOWN.end())
  {
    return;
  }
  const auto nearest = std::min_element(
    KNOWN.begin(), KNOWN.end(), [&key](std::string_view a, std::string_view b) {
      return distance(a, key) < distance(b, key);
    });
  throw LoadError(
    where + ": unknown key '" + key + "'. Did you mean '" + std::string(*nearest) + "'?");
}

/// Return the text of a plain or quoted scalar.
std::string plain(const std::string & yaml)
{
  const bool is_quoted = yaml.size() >= 2 && (yaml.front() == '"' || yaml.front() == '\'');
  return is_quoted ? yaml.substr(1, yaml.size() - 2) : yaml;
}

}  // namespace

HostParameters take_host_parameters(
  std::map<std::string, std::string> & parameters, const std::string & where)
{
  for (const auto & [key, value] : parameters) {
    refuse_misspelt(key, where);
  }
  HostParameters host;
  const auto take = [&parameters](const char * key) {
      const auto node = parameters.extract(key);
      return node.empty() ? std::string() : plain(node.mapped());
    };
  host.blocks = take(BLOCKS);
  const std::string transport = take(TRANSPORT), service = take(SERVICE), wait = take(SERVICE_WAIT);
  if (transport == "service") {
    host.transport = Transport::SERVICE;
  } else if (!transport.empty() && transport != "in_process") {
    throw LoadError(
      where + "." + TRANSPORT + ": there is no transport '" + transport +
      "'. Known: in_process, service.");
  }
  if (!service.empty()) {
    host.service = service;
  }
  if (!wait.empty()) {
    char * end = nullptr;
    host.service_wait = std::strtod(wait.c_str(), &end);
    if (*end != '\0' || !(host.service_wait > 0.0) || !std::isfinite(host.service_wait)) {
      throw LoadError(where + "." + SERVICE_WAIT + ": '" + wait + "' is no time above zero.");
    }
  }
  return host;
}

std::string set_solver(
  std::map<std::string, std::string> & parameters, const std::string & solver, const std::string & where)
{
  const std::string key(COMMON);
  const auto given = parameters.find(key);
  const std::string other = given == parameters.end() ? solver : plain(given->second);
  parameters[key] = to_yaml(solver);
  if (other.empty() || other == solver) {
    return "";
  }
  return where + "." + key + " is '" + other + "', but the plugin class '" + solver +
         "' was loaded: " + solver + " solves. Load the class '" + other + "' to use that solver.";
}

std::string to_yaml(const std::string & text)
{
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      quoted += '\\';
    }
    if (static_cast<unsigned char>(letter) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\x%02x", letter);
      quoted += code;
    } else {
      quoted += letter;
    }
  }
  return quoted + "\"";
}

std::string to_yaml(double value)
{
  if (std::isnan(value)) {
    return ".nan";
  }
  if (std::isinf(value)) {
    return value > 0.0 ? ".inf" : "-.inf";
  }
  char text[40];
  std::snprintf(text, sizeof(text), "%.17e", value);
  std::replace(text, text + sizeof(text), ',', '.');
  return text;
}

std::string to_yaml(bool value)
{
  return value ? "true" : "false";
}

}  // namespace ssik_moveit
