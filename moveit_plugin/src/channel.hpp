// The arrays over which one call at a time asks the Python side.
#pragma once

#include <cstddef>
#include <vector>

#include "python.hpp"
#include "ssik_moveit/kinematics.hpp"

namespace ssik_moveit
{

/// Memory of an array of Python, held in place for as long as this lives. The lock is needed for life and death.
class SharedArray
{
public:
  SharedArray(PyObject * owner, const char * name);
  ~SharedArray() { PyBuffer_Release(&view_); }
  SharedArray(const SharedArray &) = delete;
  SharedArray & operator=(const SharedArray &) = delete;

  double * data() const { return static_cast<double *>(view_.buf); }
  std::size_t size() const { return static_cast<std::size_t>(view_.len) / sizeof(double); }
  PyObject * array() const { return array_.get(); }
  void write(View<double> values) const;

private:
  python::Object array_;
  Py_buffer view_;
};

/// One channel; used by one call at a time.
class Channel
{
public:
  /// Open a channel of a group. @throws LoadError
  explicit Channel(PyObject * group);

  /// Write poses, seed, limits and state; needs no lock.
  void write(const Request & request) const;

  /// Ask without wishes. @return MoveIt's code. @throws LoadError for an exception of Python.
  int search(double timeout) const;

  /// Ask with everything that a request can hold. @throws what a callback throws.
  int search_by(const Request & request, double timeout) const;

  int nearest(const Request & request) const;
  Responses several(const Request & request) const;
  std::string reason() const;
  bool is_approximate() const;

  View<double> solution() const { return {solution_.data(), solution_.size()}; }
  const SharedArray & seed() const { return seed_; }

private:
  python::Object object_;
  SharedArray poses_, seed_, limits_, state_, solution_;
  python::Object search_, search_by_, nearest_, several_;
};

}  // namespace ssik_moveit
