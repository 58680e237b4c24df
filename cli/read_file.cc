#include "cli/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace hodometer::cli {
namespace {

class File {
 public:
  explicit File(const std::string& path)
      : descriptor_(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (descriptor_ > STDIN_FILENO) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

Error io_error(const std::string& path) {
  return {ErrorKind::io, fmt::format("{}: {}", input_name(path), std::strerror(errno))};
}

Error too_large(const std::string& path, int64_t max_bytes) {
  return {ErrorKind::bad_input,
          fmt::format("{}: more than {} MiB, which is more than such a file has", input_name(path),
                      max_bytes >> 20)};
}

}  // namespace

Result<std::string> read_file(const std::string& path, int64_t max_bytes) {
  const File file(path);
  struct stat facts {};
  if (file.descriptor() < 0 || fstat(file.descriptor(), &facts) != 0) return io_error(path);
  if (S_ISREG(facts.st_mode) && facts.st_size > max_bytes) return too_large(path, max_bytes);
  std::string bytes;
  char block[1 << 16];
  for (;;) {
    const ssize_t got = read(file.descriptor(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(path);
    if (got == 0) return bytes;
    bytes.append(block, static_cast<size_t>(got));
    // Pipes and devices do not say their size.
    if (static_cast<int64_t>(bytes.size()) > max_bytes) return too_large(path, max_bytes);
  }
}

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

std::string config_path(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  return (std::filesystem::path(path) / "config.json").string();
}

}  // namespace hodometer::cli
