// The suite that kinematics_interface has for its plugins.
#include <kinematics_interface_tests/kinematics_interface_common_tests.hpp>

struct SsikPlugin {
  static std::string Name() { return "ssik_control/Kinematics"; }
  static void set_custom_node_parameters(rclcpp_lifecycle::LifecycleNode::SharedPtr node) { node->declare_parameter("alpha", 0.005); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Ssik, TestPlugin, ::testing::Types<SsikPlugin>);
