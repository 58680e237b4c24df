#include <fcntl.h>
#include <unistd.h>

#include <exception>
#include <new>

#include "cli/program.h"

namespace {

// A file opened later must not become standard output because that was closed: reading makes every
// write to it fail, which is then reported.
void keep_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (open("/dev/null", O_RDONLY) != stream) {
      _exit(static_cast<int>(hodometer::cli::ExitCode::io));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams();
  try {
    return static_cast<int>(hodometer::cli::run_program(argc, argv));
  } catch (const std::bad_alloc&) {
    hodometer::cli::Console(false, false, 0).complain("hodo: out of memory");
  } catch (const std::exception& error) {
    hodometer::cli::Console(false, false, 0).complain(error.what());
  }
  return static_cast<int>(hodometer::cli::ExitCode::io);
}
