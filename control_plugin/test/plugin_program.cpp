// Compares the plugin with other plugins of kinematics_interface.
//
// usage: plugin_program URDF COUNT [PEER...]
//
// Chains between random links of a URDF, and random postures: the largest difference of each plugin to ours in transform,
// Jacobian and frame difference; the largest error of its damped inverse; processor time of six calls; allocations of our
// plugin after initialize. Prints one line for each, and ends with 1 if a difference is above 1e-9 or anything was
// allocated.
#include <kinematics_interface/kinematics_interface.hpp>
#include <pluginlib/class_loader.hpp>
#include <rclcpp/rclcpp.hpp>

#include <Eigen/SVD>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <new>
#include <random>
#include <regex>
#include <sstream>

namespace {

std::atomic<long> allocations{0};
thread_local bool is_counting = false;

void *allocate(std::size_t size) {
  if (is_counting) ++allocations;
  if (void *memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Eigen calls malloc; glibc lets a program define it.
extern "C" void *__libc_malloc(std::size_t size);
extern "C" void *malloc(std::size_t size) {
  if (is_counting) ++allocations;
  return __libc_malloc(size);
}
void *operator new(std::size_t size) { return allocate(size); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

namespace {

using kinematics_interface::KinematicsInterface;
using Plugin = std::shared_ptr<KinematicsInterface>;

std::shared_ptr<rclcpp::Node> node_for(const std::string &base, const std::string &tip, int number) {
  rclcpp::NodeOptions options;
  options.parameter_overrides({{"kinematics.base", base}, {"kinematics.tip", tip}, {"kinematics.alpha", 1e-4 /* ALPHA */}, {"kinematics.pose_solver", false}});
  options.automatically_declare_parameters_from_overrides(true);
  return std::make_shared<rclcpp::Node>("chain_" + std::to_string(number), options);
}

double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr double ALPHA = 1e-4;

struct Answers {
  Eigen::Isometry3d transform = Eigen::Isometry3d::Identity();
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian;
  Eigen::Matrix<double, Eigen::Dynamic, 6> inverse;
  Eigen::VectorXd to_joints;
  Eigen::Matrix<double, 6, 1> to_tip = Eigen::Matrix<double, 6, 1>::Zero(), difference = Eigen::Matrix<double, 6, 1>::Zero();

  explicit Answers(Eigen::Index n) : jacobian(6, n), inverse(n, 6), to_joints(n) {
    jacobian.setZero();
    inverse.setZero();
    to_joints.setZero();
  }
  static double relative(const Eigen::MatrixXd &a, const Eigen::MatrixXd &b) {
    return a.size() ? (a - b).cwiseAbs().maxCoeff() / std::max(1.0, b.cwiseAbs().maxCoeff()) : 0.0;
  }
  double distance(const Answers &other) const {
    return std::max({relative(transform.matrix(), other.transform.matrix()), relative(jacobian, other.jacobian),
                     relative(to_tip, other.to_tip), relative(difference, other.difference)});
  }
  // Of the damped inverse to the exact one, by singular values in long numbers.
  double inverse_error() const {
    using Long = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
    Eigen::JacobiSVD<Long> svd(jacobian.cast<long double>(), Eigen::ComputeThinU | Eigen::ComputeThinV);
    Eigen::Matrix<long double, Eigen::Dynamic, 1> factors = svd.singularValues();
    for (Eigen::Index k = 0; k < factors.size(); ++k) factors(k) /= factors(k) * factors(k) + static_cast<long double>(ALPHA);
    const Long exact = svd.matrixV() * factors.asDiagonal() * svd.matrixU().transpose();
    return relative(inverse, exact.cast<double>());
  }
};

bool ask(KinematicsInterface &plugin, const Eigen::VectorXd &q, const Eigen::VectorXd &way, const std::string &link,
         Eigen::Matrix<double, 7, 1> &a, Eigen::Matrix<double, 7, 1> &b, Answers &out) {
  const Eigen::Matrix<double, 6, 1> twist = a.head<6>();
  return plugin.calculate_link_transform(q, link, out.transform) && plugin.calculate_jacobian(q, link, out.jacobian) &&
         plugin.calculate_jacobian_inverse(q, link, out.inverse) &&
         plugin.convert_cartesian_deltas_to_joint_deltas(q, twist, link, out.to_joints) &&
         plugin.convert_joint_deltas_to_cartesian_deltas(q, way, link, out.to_tip) &&
         plugin.calculate_frame_difference(a, b, 0.5, out.difference);
}

Eigen::Matrix<double, 7, 1> random_frame(std::mt19937 &random) {
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  Eigen::Matrix<double, 7, 1> frame;
  for (int k = 0; k < 7; ++k) frame(k) = any(random);
  frame.tail<4>().normalize();
  return frame;
}

}  // namespace

int main(int count, char **arguments) {
  if (count < 3) return 2;
  rclcpp::init(0, nullptr);
  std::ifstream file(arguments[1]);
  std::stringstream text;
  text << file.rdbuf();
  const std::string urdf = text.str();
  std::vector<std::string> links, names = {"ssik_control/Kinematics"};
  const std::regex pattern("<link\\s+name=\"([^\"]+)\"");
  for (std::sregex_iterator at(urdf.begin(), urdf.end(), pattern), end; at != end; ++at) links.push_back((*at)[1]);
  names.insert(names.end(), arguments + 3, arguments + count);

  pluginlib::ClassLoader<KinematicsInterface> loader("kinematics_interface", "kinematics_interface::KinematicsInterface");
  std::mt19937 random(1);
  std::vector<double> worst(names.size()), inverses(names.size()), times(names.size());
  std::vector<long> unanswered(names.size());
  long chains = 0, calls = 0;
  for (int number = 0; number < std::atoi(arguments[2]); ++number) {
    const std::string base = links[random() % links.size()], tip = links[random() % links.size()];
    if (base == tip) continue;
    const auto node = node_for(base, tip, number);
    std::vector<Plugin> plugins;
    bool is_served = true;
    for (const std::string &name : names) {
      plugins.push_back(loader.createSharedInstance(name));
      is_served = is_served && plugins.back()->initialize(urdf, node->get_node_parameters_interface(), "kinematics");
    }
    if (!is_served) {
      std::printf("not served: %s to %s\n", base.c_str(), tip.c_str());
      continue;
    }
    // The number of joints is the one that a plugin takes.
    Eigen::Index n = 0;
    Eigen::Isometry3d transform;
    rcutils_logging_set_default_logger_level(RCUTILS_LOG_SEVERITY_FATAL);
    while (n < 64 && !plugins[0]->calculate_link_transform(Eigen::VectorXd::Zero(n), tip, transform)) ++n;
    rcutils_logging_set_default_logger_level(RCUTILS_LOG_SEVERITY_WARN);
    if (n == 0) continue;
    ++chains;
    std::uniform_real_distribution<double> any(-2.0, 2.0);
    for (int posture = 0; posture < 10; ++posture) {
      const Eigen::VectorXd q = Eigen::VectorXd::NullaryExpr(n, [&] { return any(random); });
      const Eigen::VectorXd way = Eigen::VectorXd::NullaryExpr(n, [&] { return any(random); });
      auto a = random_frame(random), b = random_frame(random);
      std::vector<Answers> answers(plugins.size(), Answers(n));
      for (std::size_t k = 0; k < plugins.size(); ++k) {
        const double begin = seconds();
        is_counting = k == 0;
        const bool is_answered = ask(*plugins[k], q, way, tip, a, b, answers[k]);
        is_counting = false;
        times[k] += seconds() - begin;
        if (!is_answered && k == 0) return std::printf("not answered: %s to %s\n", base.c_str(), tip.c_str()), 1;
        if (!is_answered) {
          ++unanswered[k];
          continue;
        }
        worst[k] = std::max(worst[k], answers[k].distance(answers[0]));
        inverses[k] = std::max(inverses[k], answers[k].inverse_error());
      }
      ++calls;
    }
  }
  bool is_good = chains > 0 && allocations == 0 && inverses[0] <= 1e-9;
  for (std::size_t k = 0; k < names.size(); ++k) {
    std::printf("%s: %ld chains, %.2f us for six calls, largest difference %.1e, error of the inverse %.1e, %ld postures not answered\n", names[k].c_str(), chains,
                1e6 * times[k] / static_cast<double>(calls), worst[k], inverses[k], unanswered[k]);
    is_good = is_good && worst[k] <= 1e-9;
  }
  std::printf("allocations after initialize: %ld\n", allocations.load());
  rclcpp::shutdown();
  return is_good ? 0 : 1;
}
