// Blocks of a chain: from the package's command, in a process of its own, and from a cache.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "files.hpp"
#include "ssik_control/pose_solver.hpp"

extern char **environ;

namespace ssik_control {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t MOST_BYTES = std::size_t{64} << 20;
constexpr std::size_t LAST_WORDS = 500;

// A folder that goes away with its files.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char *parent = std::getenv("TMPDIR");
    path_ = std::string(parent && *parent ? parent : "/tmp") + "/ssik_control_XXXXXX";
    if (!mkdtemp(path_.data())) throw std::runtime_error("no temporary folder: " + std::string(std::strerror(errno)));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  std::string file(const char *name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// FNV-1a: names a file by its content. The content is checked against the chain after reading, so that a collision of
// names costs time, and nothing else.
std::uint64_t digest(const std::string &text, std::uint64_t start) {
  for (const unsigned char c : text) start = (start ^ c) * UINT64_C(1099511628211);
  return start;
}

// Wait for a process; end it after the time, or when it is no longer wanted.
bool has_succeeded(pid_t process, const SolverSource &source) {
  const auto last = Clock::now() + std::chrono::duration<double>(source.patience);
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (Clock::now() > last || (source.is_over && source.is_over())) {
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string last_words(const std::string &file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  std::string words = text.str();
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return words.size() > LAST_WORDS ? words.substr(words.size() - LAST_WORDS) : words;
}

}  // namespace

std::vector<std::int64_t> read_blocks(const std::string &file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
  if (size <= 0 || size % 8 || static_cast<std::size_t>(size) > MOST_BYTES) return {};
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(size) / 8);
  stream.seekg(0);
  if (!stream.read(reinterpret_cast<char *>(blocks.data()), size)) return {};
  return blocks;
}

void write_blocks(const std::string &file, const std::vector<std::int64_t> &blocks) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  std::string draft = file + ".XXXXXX";
  const int handle = mkstemp(draft.data());
  if (handle < 0) return;
  const std::size_t size = 8 * blocks.size();
  const bool is_written = write(handle, blocks.data(), size) == static_cast<ssize_t>(size);
  close(handle);
  if (!is_written || std::rename(draft.c_str(), file.c_str())) std::remove(draft.c_str());
}

std::string cache_file(const SolverSource &source) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::string folder = cache && *cache == '/' ? cache : home && *home == '/' ? std::string(home) + "/.cache" : "";
  if (folder.empty()) return "";
  const std::string content = source.base + '\0' + source.tip + '\0' + source.urdf;
  char name[64];
  std::snprintf(name, sizeof name, "/%016llx%016llx.blocks",
                static_cast<unsigned long long>(digest(content, UINT64_C(14695981039346656037))),
                static_cast<unsigned long long>(digest(content, UINT64_C(88172645463325252))));
  return folder + "/ssik_ros/blocks" + name;
}

std::vector<std::int64_t> make_blocks(const SolverSource &source) {
  const TemporaryFolder folder;
  const std::string urdf = folder.file("robot.urdf"), blocks = folder.file("robot.blocks");
  const std::string messages = folder.file("messages");
  std::ofstream(urdf) << source.urdf;

  const std::vector<std::string> words = {source.command, "build",     urdf, "--base", source.base, "--ee",
                                          source.tip,     "--blocks", "-o", blocks};
  std::vector<char *> arguments;
  for (const std::string &word : words) arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t process = 0;
  const int code = posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code) throw std::runtime_error("'" + source.command + "' does not start: " + std::strerror(code));
  if (!has_succeeded(process, source)) {
    const std::string said = last_words(messages);
    throw std::runtime_error("'" + source.command + " build --blocks' has made no solver" + (said.empty() ? "" : ": " + said));
  }
  std::vector<std::int64_t> found = read_blocks(blocks);
  if (found.empty()) throw std::runtime_error("'" + source.command + " build --blocks' has written nothing");
  return found;
}

}  // namespace ssik_control
