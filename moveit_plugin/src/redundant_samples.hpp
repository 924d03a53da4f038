// Values of redundant joints that a request for several solutions tries one after the other.
#pragma once

#include <cstddef>
#include <vector>

#include "c_solver.hpp"

namespace ssik_moveit
{

/// All combinations of the values of the sampled joints; the values of the seed come first.
class RedundantSamples
{
public:
  /// @param request names the joints, their steps and the method; it must live as long as this.
  RedundantSamples(const Request & request, const CSolver & solver);

  /// Hold the sampled joints.
  void hold(Conditions & conditions) const;

  /// Write the current values into a seed.
  void write(std::vector<double> & seed) const;

  /// Go on to the next values; return false after the last.
  bool advance();

private:
  const Request & request_;
  std::vector<std::vector<double>> values_;
  std::vector<std::size_t> places_;
};

}  // namespace ssik_moveit
