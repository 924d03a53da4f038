// Python inside a C++ process: one interpreter that is never finalised, its lock, and its objects.
#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace ssik_moveit::python
{

/// Start the interpreter when none runs in this process. @throws LoadError when it does not start.
void start();

/// Return whether the interpreter runs; not once a host in Python ends it.
bool is_running();

/**
 * Holds the interpreter's lock.
 *
 * A thread keeps its Python state from its first hold until it ends: making one for each call would cost as much as an
 * response. A thread that holds the lock already, such as a Python program that calls MoveIt, keeps it.
 */
class Hold
{
public:
  Hold();
  ~Hold();
  Hold(const Hold &) = delete;
  Hold & operator=(const Hold &) = delete;

private:
  bool is_taken_;
};

/// Gives the lock away for as long as it lives.
class Release
{
public:
  Release() : state_(PyEval_SaveThread()) {}
  ~Release() { PyEval_RestoreThread(state_); }
  Release(const Release &) = delete;
  Release & operator=(const Release &) = delete;

private:
  PyThreadState * state_;
};

/**
 * Raises KeyboardInterrupt in the Python code of this thread while a check returns true.
 *
 * A thread of its own calls the check, again and again, because an extension module or a destructor may swallow one
 * exception. Construction and destruction need the lock.
 */
class Interrupter
{
public:
  /// @param is_interrupted the check; empty if nothing interrupts.
  explicit Interrupter(const std::function<bool()> & is_interrupted);
  ~Interrupter();
  Interrupter(const Interrupter &) = delete;
  Interrupter & operator=(const Interrupter &) = delete;

private:
  void watch();

  const std::function<bool()> & is_interrupted_;
  const unsigned long thread_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::thread watcher_;
};

/// Owns a reference; needs the lock wherever it is made, moved to or destroyed with an object in it.
class Object
{
public:
  Object() = default;
  explicit Object(PyObject * owned) : pointer_(owned) {}
  Object(Object && other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  Object & operator=(Object && other) noexcept
  {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~Object() { Py_XDECREF(pointer_); }

  PyObject * get() const { return pointer_; }
  PyObject * release() { return std::exchange(pointer_, nullptr); }
  explicit operator bool() const { return pointer_ != nullptr; }

private:
  PyObject * pointer_ = nullptr;
};

/// Return a sentence about PYTHONHOME if it is set, else an empty text: it may lead Python to foreign modules.
std::string suspect_home();

/// Return the pending exception as text, and clear it: a sentence for errors of the package, a traceback for others.
std::string take_error();

/// Return an attribute. @throws LoadError when there is none.
Object attribute(PyObject * object, const char * name);

/// Return a str or a sequence of str as text. @throws LoadError for anything else.
std::string to_text(PyObject * object);

/// Return a str. @throws LoadError when the text is not UTF-8.
Object from_text(const std::string & text);

/// Throw the pending exception as LoadError where an object is missing, else return it.
Object require(PyObject * owned);

}  // namespace ssik_moveit::python
