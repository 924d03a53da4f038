/*
 * Blocks of a robot for the library of @NAME@.h: from a file, from a cache, or from the command "ssik build --blocks".
 *
 * C++17 and POSIX, header only; written by ssik_ros @VERSION@. The library itself needs nothing of this file. Functions
 * throw std::runtime_error with a sentence for the user.
 */
#ifndef @UPPER@_BLOCKS_HPP
#define @UPPER@_BLOCKS_HPP

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

extern char **environ;

namespace @NAME@ {

/* Contents of a file of "ssik build --blocks". @NAME@_memory_size decides whether they are blocks. */
using Blocks = std::vector<std::int64_t>;

/* A file that the command reads, such as {"--urdf", "robot.urdf", "<robot name=..."}. */
struct TextFile {
  std::string option, name, text;
};

/* The solver of a robot, and the places where its blocks are looked for. */
struct BlocksSource {
  std::vector<TextFile> texts;
  std::vector<std::string> words;                 /* further words of the command */
  std::string file;                               /* with blocks, as a path or package://NAME/PATH; empty: look further */
  std::string command;                            /* empty: of the ROS package ssik_ros, else of the PATH */
  double patience = 60.0;                         /* longest time of the command [s] */
  std::function<bool()> is_over;                  /* ends the command early, such as after Ctrl-C; may be empty */
  std::function<void(const std::string &)> warn;  /* gets each line that the command wrote; may be empty */
};

/* Thrown if the command has understood everything, and says that the library cannot serve the robot. */
class NotServed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/*
 * Takes words into use that may be blocks; there is at least one. Returns why it cannot, such as NOT_BLOCKS or "has the
 * blocks of another arm", or an empty text.
 */
using BlocksReader = std::function<std::string(Blocks)>;
constexpr const char *NOT_BLOCKS = "has no blocks for this version of ssik_ros; 'ssik build --blocks' writes them";

/* Return the prefix of an installed ROS package, or an empty text. */
inline std::string find_package(const std::string &name) {
  const char *list = std::getenv("AMENT_PREFIX_PATH");
  std::istringstream prefixes(list ? list : "");
  for (std::string prefix; std::getline(prefixes, prefix, ':');) {
    std::error_code ignored;
    if (std::filesystem::exists(prefix + "/share/ament_index/resource_index/packages/" + name, ignored)) return prefix;
  }
  return "";
}

/* Return the path of a file that may be given as package://NAME/PATH. */
inline std::string resolve_path(const std::string &file) {
  const std::string scheme = "package://";
  if (file.rfind(scheme, 0) != 0) return file;
  const std::size_t slash = std::min(file.find('/', scheme.size()), file.size());
  const std::string name = file.substr(scheme.size(), slash - scheme.size());
  const std::string prefix = find_package(name);
  if (prefix.empty()) throw std::runtime_error("'" + file + "': the package '" + name + "' is not in AMENT_PREFIX_PATH");
  return prefix + "/share/" + name + file.substr(slash);
}

/* Return the contents of a file; nothing if it cannot be read. */
inline Blocks read_blocks(const std::string &file) {
  constexpr std::streamoff MOST_BYTES = std::streamoff{64} << 20;
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
  if (size <= 0 || size % 8 || size > MOST_BYTES) return {};
  Blocks blocks(static_cast<std::size_t>(size) / 8);
  stream.seekg(0);
  if (!stream.read(reinterpret_cast<char *>(blocks.data()), size)) return {};
  return blocks;
}

/* Write a file and its folder, as a whole or not at all. A cache that cannot be written is not an error. */
inline void write_blocks(const std::string &file, const Blocks &blocks) {
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

namespace detail {

/* A folder that vanishes with its files. */
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char *parent = std::getenv("TMPDIR");
    path_ = std::string(parent && *parent ? parent : "/tmp") + "/@NAME@_XXXXXX";
    if (!mkdtemp(path_.data())) throw std::runtime_error("no temporary folder: " + std::string(std::strerror(errno)));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  std::string file(const std::string &name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/* FNV-1a, from one of several starts. */
inline unsigned long long digest(const std::string &text, std::uint64_t start) {
  for (const unsigned char c : text) start = (start ^ c) * UINT64_C(1099511628211);
  return start;
}

/*
 * Start a command whose messages go to a file; return its process. It leads a process group, so that the processes that
 * it starts can be ended with it.
 */
inline pid_t start_command(const std::vector<std::string> &words, const std::string &messages) {
  std::vector<char *> arguments;
  for (const std::string &word : words) arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t process = 0;
  const int code = posix_spawnp(&process, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (code) {
    throw std::runtime_error("the command '" + words[0] + "' does not start: " + std::strerror(code) +
                             "; source the workspace of ssik_ros, or give a file of 'ssik build --blocks'");
  }
  return process;
}

/* Why a command has no exit code. */
enum { NO_TIME_LEFT = -1, INTERRUPTED = -2, CRASHED = -3 };

/* Wait for a process, and end it when its time is over; return its exit code, or a number from the list above. */
inline int wait_for(pid_t process, const BlocksSource &source) {
  using Clock = std::chrono::steady_clock;
  const auto last = Clock::now() + std::chrono::duration<double>(source.patience);
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    const bool is_over = source.is_over && source.is_over();
    if (is_over || Clock::now() > last) {
      kill(-process, SIGKILL);
      waitpid(process, &status, 0);
      return is_over ? INTERRUPTED : NO_TIME_LEFT;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : CRASHED;
}

/* Return the end of a file of messages. */
inline std::string read_messages(const std::string &file) {
  constexpr std::size_t MOST = 4000;
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  std::string words = text.str();
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return words.size() > MOST ? words.substr(words.size() - MOST) : words;
}

}  // namespace detail

/* Return the command that writes blocks. */
inline std::string find_command(const BlocksSource &source) {
  if (!source.command.empty()) return source.command;
  const std::string command = find_package("ssik_ros") + "/lib/ssik_ros/ssik";
  std::error_code ignored;
  return std::filesystem::exists(command, ignored) ? command : "ssik";
}

/*
 * Return the file of the cache for a source; empty if neither XDG_CACHE_HOME nor HOME names a folder. The name depends on
 * the content of everything that the command reads.
 */
inline std::string cache_file(const BlocksSource &source) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  const std::string folder = cache && *cache == '/' ? cache : home && *home == '/' ? std::string(home) + "/.cache" : "";
  if (folder.empty()) return "";
  std::string content = "@VERSION@";
  for (const TextFile &each : source.texts) content += '\0' + each.option + '\0' + std::to_string(each.text.size()) + '\0' + each.text;
  for (const std::string &word : source.words) content += '\0' + word;
  char name[64];
  std::snprintf(name, sizeof name, "/%016llx%016llx.blocks", detail::digest(content, UINT64_C(14695981039346656037)),
                detail::digest(content, UINT64_C(88172645463325252)));
  return folder + "/ssik_ros/blocks" + name;
}

/* Return blocks from the command. */
inline Blocks make_blocks(const BlocksSource &source) {
  const detail::TemporaryFolder folder;
  const std::string command = find_command(source), output = folder.file("robot.blocks"), messages = folder.file("messages");
  std::vector<std::string> words{command, "build", "--blocks", "-o", output};
  for (const TextFile &each : source.texts) {
    std::ofstream(folder.file(each.name)) << each.text;
    words.insert(words.end(), {each.option, folder.file(each.name)});
  }
  words.insert(words.end(), source.words.begin(), source.words.end());
  const int code = detail::wait_for(detail::start_command(words, messages), source);
  const std::string said = detail::read_messages(messages);
  if (code != 0) {
    std::ostringstream text;
    text << "'" << command << " build --blocks' has made no solver";
    if (code == detail::NO_TIME_LEFT) text << " within " << source.patience << " s";
    if (code == detail::INTERRUPTED) text << " before it was interrupted";
    if (!said.empty()) text << ": " << said;
    if (code == 1) throw NotServed(text.str());
    throw std::runtime_error(text.str());
  }
  Blocks blocks = read_blocks(output);
  if (blocks.empty()) throw std::runtime_error("'" + command + " build --blocks' has written nothing");
  std::istringstream lines(said);
  for (std::string line; source.warn && std::getline(lines, line);) source.warn(line);
  return blocks;
}

/* Give a reader the blocks of the file of the source, else of the cache, else of the command, which fills the cache. */
inline void load_blocks(const BlocksSource &source, const BlocksReader &reader) {
  if (!source.file.empty()) {
    Blocks kept = read_blocks(resolve_path(source.file));
    const std::string reason = kept.empty() ? NOT_BLOCKS : reader(std::move(kept));
    if (!reason.empty()) throw std::runtime_error("'" + source.file + "' " + reason);
    return;
  }
  const std::string cache = cache_file(source);
  Blocks kept = cache.empty() ? Blocks() : read_blocks(cache);
  if (!kept.empty() && reader(std::move(kept)).empty()) return;
  const Blocks blocks = make_blocks(source);
  const std::string reason = reader(blocks);
  if (!reason.empty()) throw std::runtime_error("the output of '" + find_command(source) + " build --blocks' " + reason);
  if (!cache.empty()) write_blocks(cache, blocks);
}

}  // namespace @NAME@

#endif
