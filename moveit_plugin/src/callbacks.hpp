// Functions of the host as callables of Python; they run without Python's lock.
#pragma once

#include <exception>
#include <vector>

#include "python.hpp"
#include "ssik_moveit/in_process.hpp"
#include "ssik_moveit/kinematics.hpp"

namespace ssik_moveit
{

/// A callback of one request. Python may keep the callable; after the request it refuses to be called.
class HostFunction
{
public:
  explicit HostFunction(const SolutionCallback * function) : HostFunction(function, nullptr) {}
  explicit HostFunction(const CostFunction * function) : HostFunction(nullptr, function) {}
  ~HostFunction();
  HostFunction(const HostFunction &) = delete;
  HostFunction & operator=(const HostFunction &) = delete;

  /// Return the callable; None without a function.
  PyObject * callable() const { return callable_ ? callable_.get() : Py_None; }

  /// Throw what the function has thrown.
  void rethrow() const;

private:
  HostFunction(const SolutionCallback * accepts, const CostFunction * cost);

  struct Shared;
  friend PyObject * call_host(PyObject * capsule, PyObject * values);

  Shared * shared_ = nullptr;
  python::Object callable_;
};

/// Return a callable that takes a level and a text. The lock is needed.
python::Object make_log_function();

/// Return the lowest level that is wanted; zero or less where nobody takes logs.
int lowest_log_level();

}  // namespace ssik_moveit
