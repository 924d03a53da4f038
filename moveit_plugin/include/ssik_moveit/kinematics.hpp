// Request and response of a kinematics plugin: the same for every transport, and without MoveIt.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace ssik_moveit
{

/// MoveIt's codes, as far as kinematics has a use for them (moveit_msgs/MoveItErrorCodes).
namespace code
{
constexpr int SUCCESS = 1;
constexpr int FAILURE = 99999;  ///< Something broke that is not the caller's fault.
constexpr int TIMED_OUT = -6;
constexpr int NO_IK_SOLUTION = -31;
}  // namespace code

/// MoveIt's KinematicError, by its numbers.
enum class KinematicError : int
{
  OK = 1,
  UNSUPPORTED_DISCRETIZATION = 2,
  DISCRETIZATION_NOT_INITIALIZED = 3,
  MULTIPLE_TIPS_NOT_SUPPORTED = 4,
  EMPTY_TIP_POSES = 5,
  SEED_OUTSIDE_LIMITS = 6,
  SOLVER_NOT_ACTIVE = 7,
  NO_SOLUTION = 8
};

/// MoveIt's DiscretizationMethod, by its numbers.
enum class Discretization : int
{
  NONE = 1,
  ALL_DISCRETIZED = 2,
  SOME_DISCRETIZED = 3,
  ALL_RANDOM = 4,
  SOME_RANDOM = 5
};

/// A group cannot be served; the message says why, and names what would be right.
class LoadError : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/// A pose in the base frame: position [m], quaternion xyzw of any length but zero.
struct Pose
{
  std::array<double, 3> position{};
  std::array<double, 4> orientation{0.0, 0.0, 0.0, 1.0};
};

/// Values that somebody else owns.
template <typename T>
class View
{
public:
  View() = default;
  View(const T * data, std::size_t size) : data_(data), size_(size) {}
  View(const std::vector<T> & values) : data_(values.data()), size_(values.size()) {}  // NOLINT

  const T * begin() const { return data_; }
  const T * end() const { return data_ + size_; }
  const T & operator[](std::size_t index) const { return data_[index]; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

private:
  const T * data_ = nullptr;
  std::size_t size_ = 0;
};

/// Called with a candidate; SUCCESS takes it, any other code goes on searching. May lock what it likes.
using SolutionCallback = std::function<int(const std::vector<double> &)>;

/// Called with a solution; the smallest value wins.
using CostFunction = std::function<double(const std::vector<double> &)>;

/// One request; everything in it outlives the call.
struct Request
{
  View<Pose> poses;                ///< One for each tip, in the order of the tips.
  View<double> seed;               ///< One for each variable of the group.
  double timeout = 0.0;            ///< [s]; zero or less: the group's own.
  View<double> consistency_limits; ///< Largest distance of each variable from the seed; empty: none.
  const SolutionCallback * accepts = nullptr;
  const CostFunction * cost = nullptr;
  bool lock_redundant = false;
  bool approximate = false;        ///< Take the nearest posture where none is within tolerance.
  Discretization discretization = Discretization::NONE;
  View<unsigned int> redundant;    ///< Redundant variables, by index.
  View<double> steps;              ///< The step of each of them.
};

/// What became of a request for one solution.
struct Response
{
  int code = code::NO_IK_SOLUTION;
  bool is_approximate = false;
  std::string text;                ///< Why there is no solution, or how far off an approximate one is.

  bool solved() const { return code == code::SUCCESS; }
};

/// What became of a request for several solutions.
struct Responses
{
  std::vector<std::vector<double>> solutions;  ///< Nearest to the seed first.
  KinematicError error = KinematicError::NO_SOLUTION;
  double percentage = 0.0;         ///< Part of the values of redundant joints that have a solution.
  std::string text;
};

/// The names of a group that is served.
struct GroupNames
{
  std::string solver;
  std::string base_frame;
  std::vector<std::string> tip_frames;
  std::vector<std::string> joints;     ///< Joints of the seed, in its order.
  std::vector<std::string> variables;  ///< Variables of the seed: a joint may have several.
  std::vector<std::string> links;
};

/// Computes poses of links in the base frame as the host can; returns nothing, or why it cannot.
using Forward =
  std::function<std::string(const std::vector<std::string> &, View<double>, std::vector<Pose> &)>;

/// The solver of a group; every method may be called by several threads at once.
class Kinematics
{
public:
  virtual ~Kinematics() = default;

  virtual const GroupNames & names() const = 0;

  /// Look for the solution next to the seed, without other starts.
  virtual Response nearest(const Request & request, std::vector<double> & solution) const = 0;

  /// Search until the timeout. What a callback throws, this throws.
  virtual Response search(const Request & request, std::vector<double> & solution) const = 0;

  /// Return several solutions of one pose for each tip.
  virtual Responses several(const Request & request) const = 0;

  /// Write the poses of links in the base frame; return nothing, or why they are not known.
  virtual std::string forward(
    const std::vector<std::string> & links, View<double> values, std::vector<Pose> & poses) const = 0;
};

/// Return why a request cannot be asked at all; nothing where it can.
std::string find_fault(const GroupNames & names, const Request & request);

/// Return the same about a request for several solutions: the text is empty where it can be asked.
Responses find_fault_of_several(const GroupNames & names, const Request & request);

/// Return the largest distance of each variable from the seed, 0 for locked ones; empty if none is limited.
std::vector<double> bounds_of(const Request & request);

/// Return whether each variable is as near to the seed as the bounds ask, but for rounding.
bool is_within(View<double> q, View<double> seed, View<double> bounds);

/// Return how far two joint vectors are apart, as MoveIt measures it: the sum over the variables [rad or m].
double distance(View<double> q, View<double> seed);

}  // namespace ssik_moveit
