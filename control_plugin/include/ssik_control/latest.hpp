// A value that passes between a control loop and other threads, without a lock that the loop waits for.
#pragma once

#include <mutex>

namespace ssik_control {

template <typename Value>
class Latest {
 public:
  explicit Latest(Value value = Value()) : value_(std::move(value)) {}

  void write(const Value &value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    value_ = value;
  }
  Value read() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return value_;
  }
  // For the loop: return false and do nothing while another thread reads or writes.
  bool try_write(const Value &value) noexcept {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (lock) value_ = value;
    return lock.owns_lock();
  }
  bool try_read(Value &value) const noexcept {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (lock) value = value_;
    return lock.owns_lock();
  }

 private:
  mutable std::mutex mutex_;
  Value value_;
};

}  // namespace ssik_control
