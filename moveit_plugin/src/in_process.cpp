#include "ssik_moveit/in_process.hpp"

#include <dlfcn.h>

#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "callbacks.hpp"
#include "channel.hpp"
#include "python.hpp"

namespace ssik_moveit
{
namespace
{

constexpr const char * MODULE = "ssik_ros.moveit.in_process";
constexpr long PROTOCOL = 1;

std::vector<std::string> to_texts(PyObject * sequence)
{
  const python::Object fast = python::require(PySequence_Fast(sequence, "names are wanted"));
  std::vector<std::string> texts;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    texts.push_back(python::to_text(PySequence_Fast_GET_ITEM(fast.get(), i)));
  }
  return texts;
}

python::Object from_texts(const std::vector<std::string> & texts)
{
  python::Object list = python::require(PyList_New(0));
  for (const std::string & text : texts) {
    if (PyList_Append(list.get(), python::from_text(text).get()) != 0) {
      throw LoadError(python::take_error());
    }
  }
  return list;
}

/// Restores the flags with which Python opens extension modules.
class ExtensionFlags
{
public:
  explicit ExtensionFlags(int flags)
  : sys_(python::require(PyImport_ImportModule("sys"))),
    usual_(python::require(PyObject_CallMethod(sys_.get(), "getdlopenflags", nullptr)))
  {
    python::require(PyObject_CallMethod(sys_.get(), "setdlopenflags", "i", flags));
  }
  ~ExtensionFlags()
  {
    const python::Object done(PyObject_CallMethod(sys_.get(), "setdlopenflags", "O", usual_.get()));
    PyErr_Clear();
  }
  ExtensionFlags(const ExtensionFlags &) = delete;
  ExtensionFlags & operator=(const ExtensionFlags &) = delete;

private:
  python::Object sys_, usual_;
};

/**
 * Import pinocchio with libraries of its own.
 *
 * Its wheel brings urdfdom, octomap and assimp, of which a host with MoveIt has others of the same names: bound to each
 * other's, static objects are made twice, and destroyed twice when the process ends.
 */
void import_model_library()
{
  // A sanitizer refuses the flag.
  if (dlsym(RTLD_DEFAULT, "__asan_init") != nullptr) {
    return;
  }
  python::require(PyImport_ImportModule("numpy"));
  const ExtensionFlags own(RTLD_NOW | RTLD_DEEPBIND);
  python::require(PyImport_ImportModule("pinocchio"));
}

/// Return why an import failed: where Python looked, what a user can do, and Python's own error.
std::string explain_import(const std::string & error)
{
  PyObject * path = PySys_GetObject("path");
  const python::Object shown(path == nullptr ? nullptr : PyObject_Repr(path));
  return "The Python package ssik_ros cannot be imported by Python " + std::string(PY_VERSION) +
         ", which looks in " + (shown ? python::to_text(shown.get()) : "no place") +
         ". Install it, or source the workspace that holds it (SSIK_ROS_PYTHON or VIRTUAL_ENV name another "
         "interpreter's packages)." + python::suspect_home() + "\n" + error;
}

/// Return the module of the package. @throws LoadError that says where it was looked for.
python::Object import_module()
{
  python::Object owned;
  try {
    // The first import that fails tells the cause: numpy cannot be imported a second time in one process.
    import_model_library();
    owned = python::require(PyImport_ImportModule(MODULE));
  } catch (const LoadError & error) {
    throw LoadError(explain_import(error.what()));
  }
  const python::Object number = python::attribute(owned.get(), "PROTOCOL");
  if (PyLong_AsLong(number.get()) != PROTOCOL) {
    throw LoadError(
      "The Python package ssik_ros that was found is of another version than this library; build both from the "
      "same sources.");
  }
  return owned;
}

/// Hand the package's log to the host, where somebody takes it.
void connect_log(PyObject * module)
{
  const int level = lowest_log_level();
  if (level > 0) {
    const python::Object emit = make_log_function();
    python::require(PyObject_CallMethod(module, "send_log", "Oi", emit.get(), level));
  }
}

python::Object open(PyObject * module, const GroupDescription & description)
{
  const python::Object parameters = python::require(PyDict_New());
  for (const auto & [key, value] : description.parameters) {
    const python::Object own_key = python::from_text(key), own_value = python::from_text(value);
    if (PyDict_SetItem(parameters.get(), own_key.get(), own_value.get()) != 0) {
      throw LoadError(python::take_error());
    }
  }
  const python::Object open_group = python::attribute(module, "open_group");
  const python::Object tips = from_texts(description.tip_frames);
  return python::require(
    PyObject_CallFunction(
      open_group.get(), "ssssOdOs", description.urdf.c_str(), description.srdf.c_str(),
      description.group.c_str(), description.base_frame.c_str(), tips.get(),
      description.search_discretization, parameters.get(), description.where.c_str()));
}

GroupNames read_names(PyObject * group)
{
  const auto text = [group](const char * name) {
      return python::to_text(python::attribute(group, name).get());
    };
  const auto texts = [group](const char * name) {
      return to_texts(python::attribute(group, name).get());
    };
  GroupNames names;
  names.solver = text("solver_name");
  names.base_frame = text("base_frame");
  names.tip_frames = texts("tip_frames");
  names.joints = texts("joint_names");
  names.variables = texts("variable_names");
  names.links = texts("link_names");
  names.state = texts("state_names");
  names.needs_state = PyObject_IsTrue(python::attribute(group, "needs_state").get()) == 1;
  return names;
}

/// Return the pose of a matrix of 4 by 4, by the largest of the four ways to its quaternion.
Pose to_pose(const double * m)
{
  Pose pose;
  pose.position = {m[3], m[7], m[11]};
  const double trace = m[0] + m[5] + m[10];
  auto & q = pose.orientation;
  if (trace > 0.0) {
    const double s = 2.0 * std::sqrt(1.0 + trace);
    q = {(m[9] - m[6]) / s, (m[2] - m[8]) / s, (m[4] - m[1]) / s, 0.25 * s};
    return pose;
  }
  const std::size_t i = m[0] >= m[5] && m[0] >= m[10] ? 0 : (m[5] >= m[10] ? 1 : 2);
  const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
  const double s = 2.0 * std::sqrt(1.0 + m[5 * i] - m[5 * j] - m[5 * k]);
  q[i] = 0.25 * s;
  q[j] = (m[4 * j + i] + m[4 * i + j]) / s;
  q[k] = (m[4 * k + i] + m[4 * i + k]) / s;
  q[3] = (m[4 * k + j] - m[4 * j + k]) / s;
  return pose;
}

class InProcess : public Kinematics
{
public:
  explicit InProcess(const GroupDescription & description)
  {
    const python::Object module = import_module();
    connect_log(module.get());
    group_ = open(module.get(), description);
    names_ = read_names(group_.get());
    timeout_ = PyFloat_AsDouble(python::attribute(group_.get(), "timeout").get());
    free_.push_back(std::make_unique<Channel>(group_.get()));
  }

  ~InProcess() override
  {
    if (python::is_running()) {
      python::Hold hold;
      free_.clear();
      group_ = python::Object();
      return;
    }
    // A host in Python has ended it: what it held is gone, and must not be touched.
    group_.release();
    for (auto & channel : free_) {
      channel.release();
    }
  }

  const GroupNames & names() const override { return names_; }

  Response nearest(const Request & request, std::vector<double> & solution) const override
  {
    return ask(request, solution, [&](const Channel & channel) {return channel.nearest(request);});
  }

  Response search(const Request & request, std::vector<double> & solution) const override
  {
    const double timeout = request.timeout > 0.0 ? request.timeout : timeout_;
    const bool is_plain = request.consistency_limits.empty() && request.state.empty() &&
      (request.accepts == nullptr || !*request.accepts) &&
      (request.cost == nullptr || !*request.cost) && !request.lock_redundant &&
      !request.approximate;
    return ask(
      request, solution, [&](const Channel & channel) {
        return is_plain ? channel.search(timeout) : channel.search_by(request, timeout);
      });
  }

  Responses several(const Request & request) const override
  {
    Responses refused;
    refused.text = find_fault(names_, request);
    if (!refused.text.empty()) {
      const bool is_count = request.poses.size() != names_.tip_frames.size();
      refused.error = request.poses.empty() ? KinematicError::EMPTY_TIP_POSES :
        is_count ? KinematicError::MULTIPLE_TIPS_NOT_SUPPORTED : KinematicError::NO_SOLUTION;
      return refused;
    }
    const Lease channel(*this);
    channel->write(request);
    try {
      python::Hold hold;
      return channel->several(request);
    } catch (const LoadError & error) {
      refused.text = error.what();
      return refused;
    }
  }

  std::string forward(
    const std::vector<std::string> & links, View<double> values,
    std::vector<Pose> & poses) const override
  {
    if (values.size() != names_.variables.size()) {
      return "There have to be " + std::to_string(names_.variables.size()) + " values, not " +
             std::to_string(values.size()) + ".";
    }
    const Lease channel(*this);
    channel->seed().write(values);
    python::Hold hold;
    try {
      const python::Object own_links = from_texts(links);
      const python::Object found = python::require(
        PyObject_CallMethod(
          group_.get(), "forward", "OO", own_links.get(), channel->seed().array()));
      read_poses(found.get(), poses);
    } catch (const LoadError & error) {
      return error.what();
    }
    return "";
  }

private:
  /// A channel that nobody else has for as long as this lives; needs no lock of Python unless one has to be opened.
  class Lease
  {
  public:
    explicit Lease(const InProcess & owner) : owner_(owner)
    {
      {
        std::lock_guard<std::mutex> lock(owner.mutex_);
        if (!owner.free_.empty()) {
          channel_ = std::move(owner.free_.back());
          owner.free_.pop_back();
          return;
        }
      }
      python::Hold hold;
      channel_ = std::make_unique<Channel>(owner.group_.get());
    }
    ~Lease()
    {
      std::lock_guard<std::mutex> lock(owner_.mutex_);
      owner_.free_.push_back(std::move(channel_));
    }
    Lease(const Lease &) = delete;
    Lease & operator=(const Lease &) = delete;
    const Channel * operator->() const { return channel_.get(); }
    const Channel & operator*() const { return *channel_; }

  private:
    const InProcess & owner_;
    std::unique_ptr<Channel> channel_;
  };

  template <typename Call>
  Response ask(const Request & request, std::vector<double> & solution, Call && call) const
  {
    Response response;
    response.text = find_fault(names_, request);
    if (!response.text.empty()) {
      return response;
    }
    const Lease channel(*this);
    channel->write(request);
    {
      python::Hold hold;
      try {
        response.code = call(*channel);
        if (!response.solved() || request.approximate) {
          response.text = channel->reason();
          response.is_approximate = response.solved() && channel->is_approximate();
        }
      } catch (const LoadError & error) {
        response.code = code::FAILURE;
        response.text = error.what();
      }
    }
    if (response.solved()) {
      const View<double> found = channel->solution();
      solution.assign(found.begin(), found.end());
    }
    return response;
  }

  static void read_poses(PyObject * matrices, std::vector<Pose> & poses)
  {
    Py_buffer view;
    if (PyObject_GetBuffer(matrices, &view, PyBUF_C_CONTIGUOUS) != 0) {
      throw LoadError(python::take_error());
    }
    const double * matrix = static_cast<const double *>(view.buf);
    poses.clear();
    for (Py_ssize_t i = 0; i < view.shape[0]; ++i) {
      poses.push_back(to_pose(matrix + 16 * i));
    }
    PyBuffer_Release(&view);
  }

  python::Object group_;
  GroupNames names_;
  double timeout_ = 0.05;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Channel>> free_;
};

}  // namespace

std::unique_ptr<Kinematics> open_in_process(
  const GroupDescription & description, const InterruptionCheck & is_interrupted)
{
  const auto throw_if_interrupted = [&is_interrupted]() {
      if (is_interrupted && is_interrupted()) {
        throw LoadError("Loading was interrupted before the group was ready.");
      }
    };
  throw_if_interrupted();
  python::start();
  python::Hold hold;
  try {
    const python::Interrupter interrupter(is_interrupted);
    return std::make_unique<InProcess>(description);
  } catch (const LoadError &) {
    // What Python reports is a consequence of the interruption.
    throw_if_interrupted();
    throw;
  }
}

}  // namespace ssik_moveit
