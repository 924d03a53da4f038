#include "callbacks.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace ssik_moveit
{
namespace
{

constexpr const char * SHARED = "ssik_moveit.host_function";

struct Log
{
  std::mutex mutex;
  LogSink sink;
  int lowest_level = 0;
};

/// Never destroyed: threads may log while the process ends.
Log & log()
{
  static Log * only = new Log;
  return *only;
}

/// Copy the values of a one-dimensional array of float64; return whether it was one.
bool read_values(PyObject * array, std::vector<double> & values)
{
  Py_buffer view;
  if (PyObject_GetBuffer(array, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
    return false;
  }
  const bool is_right = view.ndim == 1 && view.itemsize == sizeof(double) &&
    view.format != nullptr && std::string(view.format) == "d";
  if (is_right) {
    values.resize(static_cast<std::size_t>(view.shape[0]));
    const char * start = static_cast<const char *>(view.buf);
    for (Py_ssize_t index = 0; index < view.shape[0]; ++index) {
      values[static_cast<std::size_t>(index)] =
        *reinterpret_cast<const double *>(start + index * view.strides[0]);
    }
  } else {
    PyErr_SetString(PyExc_TypeError, "a vector of float64 is wanted");
  }
  PyBuffer_Release(&view);
  return is_right;
}

PyObject * call_log(PyObject *, PyObject * const * arguments, Py_ssize_t count)
{
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "a level and a text are wanted");
    return nullptr;
  }
  const long level = PyLong_AsLong(arguments[0]);
  Py_ssize_t size = 0;
  const char * text = PyUnicode_AsUTF8AndSize(arguments[1], &size);
  if (text == nullptr || PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  const std::string copy(text, static_cast<std::size_t>(size));
  LogSink sink;
  {
    std::lock_guard<std::mutex> lock(log().mutex);
    sink = log().sink;
  }
  if (sink) {
    python::Release release;
    try {
      sink(static_cast<int>(level), copy);
    } catch (...) {
      // A request does not fail because nobody can be told about it.
    }
  }
  Py_RETURN_NONE;
}

PyMethodDef log_definition = {
  "emit", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_log)), METH_FASTCALL,
  "Hand a level and a text to the host."};

}  // namespace

struct HostFunction::Shared
{
  const SolutionCallback * accepts;
  const CostFunction * cost;
  std::vector<double> values;
  std::exception_ptr thrown;
};

PyObject * call_host(PyObject * capsule, PyObject * values)
{
  auto * shared = static_cast<HostFunction::Shared *>(PyCapsule_GetPointer(capsule, SHARED));
  if (shared == nullptr) {
    return nullptr;
  }
  if (shared->accepts == nullptr && shared->cost == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "the request of this callback has ended");
    return nullptr;
  }
  if (!read_values(values, shared->values)) {
    return nullptr;
  }
  int code = 0;
  double cost = 0.0;
  {
    python::Release release;
    try {
      if (shared->accepts != nullptr) {
        code = (*shared->accepts)(shared->values);
      } else {
        cost = (*shared->cost)(shared->values);
      }
    } catch (...) {
      shared->thrown = std::current_exception();
    }
  }
  if (shared->thrown) {
    PyErr_SetString(PyExc_RuntimeError, "a callback of the host has thrown");
    return nullptr;
  }
  return shared->accepts != nullptr ? PyLong_FromLong(code) : PyFloat_FromDouble(cost);
}

namespace
{

PyMethodDef host_definition = {"host", &call_host, METH_O, "Ask the host about a vector."};

}  // namespace

HostFunction::HostFunction(const SolutionCallback * accepts, const CostFunction * cost)
{
  if ((accepts == nullptr || !*accepts) && (cost == nullptr || !*cost)) {
    return;
  }
  auto shared = std::make_unique<Shared>(Shared{accepts, cost, {}, nullptr});
  const auto destroy = [](PyObject * capsule) {
      delete static_cast<Shared *>(PyCapsule_GetPointer(capsule, SHARED));
    };
  python::Object capsule = python::require(PyCapsule_New(shared.get(), SHARED, destroy));
  shared_ = shared.release();
  callable_ = python::require(PyCFunction_New(&host_definition, capsule.get()));
}

HostFunction::~HostFunction()
{
  if (shared_ != nullptr) {
    shared_->accepts = nullptr;
    shared_->cost = nullptr;
  }
}

void HostFunction::rethrow() const
{
  if (shared_ != nullptr && shared_->thrown) {
    std::rethrow_exception(shared_->thrown);
  }
}

python::Object make_log_function()
{
  return python::require(PyCFunction_New(&log_definition, nullptr));
}

int lowest_log_level()
{
  std::lock_guard<std::mutex> lock(log().mutex);
  return log().sink ? log().lowest_level : 0;
}

void send_log_to(LogSink sink, int lowest_level)
{
  std::lock_guard<std::mutex> lock(log().mutex);
  log().sink = std::move(sink);
  log().lowest_level = lowest_level;
}

}  // namespace ssik_moveit
