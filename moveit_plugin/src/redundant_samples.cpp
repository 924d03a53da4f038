#include "redundant_samples.hpp"

#include <algorithm>
#include <random>
#include <utility>

namespace ssik_moveit
{
namespace
{

constexpr int RANDOM_SAMPLES = 16;  ///< Random values of a redundant joint.

}  // namespace

RedundantSamples::RedundantSamples(const Request & request, const CSolver & solver)
: request_(request)
{
  const bool is_random = request.discretization == Discretization::ALL_RANDOM ||
    request.discretization == Discretization::SOME_RANDOM;
  const bool is_one = request.discretization == Discretization::SOME_DISCRETIZED ||
    request.discretization == Discretization::SOME_RANDOM;
  const std::size_t count = request.discretization == Discretization::NONE ? 0 :
    is_one ? std::min<std::size_t>(1, request.redundant.size()) : request.redundant.size();
  std::mt19937_64 random(0);
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned int joint = request.redundant[i];
    const auto [low, high] = solver.sampling_range(joint);
    std::vector<double> values{std::clamp(request.seed[joint], low, high)};
    if (is_random) {
      std::uniform_real_distribution<double> draw(low, high);
      for (int k = 0; k < RANDOM_SAMPLES; ++k) {
        values.push_back(draw(random));
      }
    } else {
      for (std::size_t k = 0; low + static_cast<double>(k) * request.steps[i] < high; ++k) {
        values.push_back(low + static_cast<double>(k) * request.steps[i]);
      }
    }
    values_.push_back(std::move(values));
  }
  places_.resize(count);
}

void RedundantSamples::hold(Conditions & conditions) const
{
  for (std::size_t i = 0; i < values_.size(); ++i) {
    conditions.hold(request_.redundant[i]);
  }
}

void RedundantSamples::write(std::vector<double> & seed) const
{
  for (std::size_t i = 0; i < values_.size(); ++i) {
    seed[request_.redundant[i]] = values_[i][places_[i]];
  }
}

bool RedundantSamples::advance()
{
  for (std::size_t i = values_.size(); i-- > 0; ) {
    if (++places_[i] < values_[i].size()) {
      return true;
    }
    places_[i] = 0;
  }
  return false;
}

}  // namespace ssik_moveit
