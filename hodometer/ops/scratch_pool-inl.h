#pragma once

// Private: working memory of tasks. Not installed.

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace hodometer::internal {

/// Buffers that tasks take and give back: as many as ever ran at once.
class ScratchPool {
 public:
  /// At least `size` floats, with nothing of use in them.
  std::vector<float> take(int64_t size) {
    std::vector<float> buffer;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        buffer = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (buffer.size() < static_cast<size_t>(size)) {
      // One that grows would keep the old numbers meanwhile, and take twice their room.
      buffer = std::vector<float>();
      buffer.resize(static_cast<size_t>(size));
    }
    return buffer;
  }
  void give_back(std::vector<float> buffer) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<float>> free_;
};

}  // namespace hodometer::internal
