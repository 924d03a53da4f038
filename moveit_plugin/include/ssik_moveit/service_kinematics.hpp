// The transport by service: requests to a server, and what is made of its responses. Who carries both is not known here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ssik_moveit/kinematics.hpp"

namespace ssik_moveit
{

/// What a server is asked.
struct ServiceRequest
{
  View<Pose> poses;
  View<double> seed;
  View<double> limits;  ///< Largest distance of each variable from the reference, infinite for any; empty: none.
  View<double> reference;
  double timeout = 0.0; ///< [s]
};

/// Its response.
struct ServiceReply
{
  int code = code::NO_IK_SOLUTION;
  std::string text;
  std::vector<std::vector<double>> solutions;  ///< In the order of the group's variables.
};

/// Carries requests to a server; may be called by several threads at once.
class ServiceCaller
{
public:
  virtual ~ServiceCaller() = default;

  /// Ask for one solution. @return nothing where no response comes within the wait [s].
  virtual std::optional<ServiceReply> ask_one(const ServiceRequest & request, double wait) = 0;

  /// Ask for every solution. @return nothing where no response comes, or the server does not offer it.
  virtual std::optional<ServiceReply> ask_all(const ServiceRequest & request, double wait) = 0;
};

/// A group whose solver is behind a service.
struct ServiceGroup
{
  GroupNames names;
  std::vector<double> lower;  ///< Where other seeds are drawn from, finite [rad or m].
  std::vector<double> upper;
  double timeout = 0.05;      ///< Of requests that name none [s].
  double wait = 1.0;          ///< Longest wait for a response beyond the timeout [s].
  Forward forward;
};

/**
 * Return the kinematics of a group that a server responses for.
 *
 * Every wait is bounded. Candidates that a callback refuses are followed by the other branches, then by searches from
 * other seeds, until the timeout.
 */
std::unique_ptr<Kinematics> open_by_service(
  ServiceGroup group, std::shared_ptr<ServiceCaller> caller);

}  // namespace ssik_moveit
