#include "channel.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

#include "callbacks.hpp"

namespace ssik_moveit
{
namespace
{

constexpr int LOCK_REDUNDANT = 1;
constexpr int APPROXIMATE = 2;

int options_of(const Request & request)
{
  return (request.lock_redundant ? LOCK_REDUNDANT : 0) | (request.approximate ? APPROXIMATE : 0);
}

/// Write a pose as a matrix of 4 by 4.
void write_matrix(const Pose & pose, double * m)
{
  auto [x, y, z, w] = pose.orientation;
  const double length = std::sqrt(x * x + y * y + z * z + w * w);
  x /= length;
  y /= length;
  z /= length;
  w /= length;
  const double rows[3][3] = {
    {1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)},
    {2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)},
    {2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)}};
  for (std::size_t i = 0; i < 3; ++i) {
    std::copy(rows[i], rows[i] + 3, m + 4 * i);
    m[4 * i + 3] = pose.position[i];
  }
  m[12] = m[13] = m[14] = 0.0;
  m[15] = 1.0;
}

/// Return the redundant joints and their steps as two tuples; None without.
python::Object redundancy_of(const Request & request)
{
  if (request.redundant.empty()) {
    Py_INCREF(Py_None);
    return python::Object(Py_None);
  }
  const auto size = static_cast<Py_ssize_t>(request.redundant.size());
  python::Object joints = python::require(PyTuple_New(size));
  python::Object steps = python::require(PyTuple_New(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    const auto index = static_cast<std::size_t>(i);
    PyTuple_SET_ITEM(
      joints.get(), i, python::require(PyLong_FromUnsignedLong(request.redundant[index])).release());
    PyTuple_SET_ITEM(
      steps.get(), i, python::require(PyFloat_FromDouble(request.steps[index])).release());
  }
  return python::require(PyTuple_Pack(2, joints.get(), steps.get()));
}

python::Object call(const python::Object & function, std::initializer_list<PyObject *> arguments)
{
  return python::require(
    PyObject_Vectorcall(function.get(), arguments.begin(), arguments.size(), nullptr));
}

int to_code(const python::Object & number)
{
  const long code = PyLong_AsLong(number.get());
  if (code == -1 && PyErr_Occurred() != nullptr) {
    throw LoadError(python::take_error());
  }
  return static_cast<int>(code);
}

PyObject * truth(bool value)
{
  return value ? Py_True : Py_False;
}

/// Copy the rows of a matrix of float64.
std::vector<std::vector<double>> read_rows(PyObject * matrix)
{
  Py_buffer view;
  if (PyObject_GetBuffer(matrix, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
    throw LoadError(python::take_error());
  }
  std::vector<std::vector<double>> rows;
  if (view.ndim == 2 && view.itemsize == sizeof(double)) {
    const double * start = static_cast<const double *>(view.buf);
    for (Py_ssize_t row = 0; row < view.shape[0]; ++row) {
      rows.emplace_back(start + row * view.shape[1], start + (row + 1) * view.shape[1]);
    }
  }
  PyBuffer_Release(&view);
  return rows;
}

}  // namespace

SharedArray::SharedArray(PyObject * owner, const char * name)
: array_(python::attribute(owner, name))
{
  if (PyObject_GetBuffer(array_.get(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) != 0) {
    throw LoadError(python::take_error());
  }
}

void SharedArray::write(View<double> values) const
{
  std::copy(values.begin(), values.end(), data());
}

Channel::Channel(PyObject * group)
: object_(python::require(PyObject_CallMethod(group, "open_channel", nullptr))),
  poses_(object_.get(), "poses"),
  seed_(object_.get(), "seed"),
  limits_(object_.get(), "limits"),
  state_(object_.get(), "state"),
  solution_(object_.get(), "solution"),
  search_(python::attribute(object_.get(), "search")),
  search_by_(python::attribute(object_.get(), "search_by")),
  nearest_(python::attribute(object_.get(), "nearest")),
  several_(python::attribute(object_.get(), "several"))
{
}

void Channel::write(const Request & request) const
{
  double * matrix = poses_.data();
  for (const Pose & pose : request.poses) {
    write_matrix(pose, matrix);
    matrix += 16;
  }
  seed_.write(request.seed);
  limits_.write(request.consistency_limits);
  state_.write(request.state);
}

int Channel::search(double timeout) const
{
  const python::Object budget = python::require(PyFloat_FromDouble(timeout));
  return to_code(call(search_, {budget.get()}));
}

int Channel::search_by(const Request & request, double timeout) const
{
  const python::Object budget = python::require(PyFloat_FromDouble(timeout));
  const python::Object options = python::require(PyLong_FromLong(options_of(request)));
  const python::Object redundancy = redundancy_of(request);
  const HostFunction accepts(request.accepts);
  const HostFunction cost(request.cost);
  PyObject * is_limited = truth(!request.consistency_limits.empty());
  PyObject * has_state = truth(!request.state.empty());
  try {
    return to_code(
      call(
        search_by_, {budget.get(), options.get(), is_limited, has_state, redundancy.get(),
          accepts.callable(), cost.callable()}));
  } catch (const LoadError &) {
    accepts.rethrow();
    cost.rethrow();
    throw;
  }
}

int Channel::nearest(const Request & request) const
{
  const python::Object options = python::require(PyLong_FromLong(options_of(request)));
  const python::Object redundancy = redundancy_of(request);
  return to_code(call(nearest_, {options.get(), redundancy.get()}));
}

Responses Channel::several(const Request & request) const
{
  const python::Object options = python::require(PyLong_FromLong(options_of(request)));
  const python::Object method =
    python::require(PyLong_FromLong(static_cast<long>(request.discretization)));
  const python::Object redundancy = redundancy_of(request);
  const python::Object found = call(several_, {options.get(), method.get(), redundancy.get()});
  PyObject * solutions = nullptr;
  Responses responses;
  int error = 0;
  if (PyArg_ParseTuple(found.get(), "Oid", &solutions, &error, &responses.percentage) == 0) {
    throw LoadError(python::take_error());
  }
  responses.error = static_cast<KinematicError>(error);
  responses.solutions = read_rows(solutions);
  return responses;
}

std::string Channel::reason() const
{
  const python::Object text = python::require(PyObject_CallMethod(object_.get(), "reason", nullptr));
  return python::to_text(text.get());
}

bool Channel::is_approximate() const
{
  const python::Object found =
    python::require(PyObject_CallMethod(object_.get(), "is_approximate", nullptr));
  return PyObject_IsTrue(found.get()) == 1;
}

}  // namespace ssik_moveit
