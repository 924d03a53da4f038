#include "python.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>

#include "ssik_moveit/kinematics.hpp"

namespace ssik_moveit::python
{
namespace
{

constexpr std::chrono::milliseconds CHECK_PERIOD{50};

bool exists(const std::string & path)
{
  struct stat found;
  return stat(path.c_str(), &found) == 0;
}

/// Return the interpreter whose packages are meant; empty for the system's.
std::string find_program()
{
  if (const char * named = std::getenv("SSIK_ROS_PYTHON")) {
    if (!exists(named)) {
      throw LoadError(
        std::string("SSIK_ROS_PYTHON is '") + named + "', and that file does not exist. Set it to the bin/python of the "
        "environment that holds ssik_ros, or unset it.");
    }
    return named;
  }
  const char * environment = std::getenv("VIRTUAL_ENV");
  if (environment == nullptr) {
    return "";
  }
  // One of another version would bring packages that were compiled for it.
  const std::string root = environment;
  const std::string version = std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);
  const std::string program = root + "/bin/python";
  return exists(program) && exists(root + "/lib/python" + version) ? program : "";
}

/// Extension modules look for Python's symbols among the global ones; a plugin's libraries are opened locally.
void make_symbols_global()
{
  Dl_info library;
  if (dladdr(reinterpret_cast<void *>(&Py_IsInitialized), &library) != 0) {
    dlopen(library.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

void throw_if_failed(const PyStatus & status)
{
  if (PyStatus_Exception(status)) {
    const char * text = status.err_msg == nullptr ? "no reason given" : status.err_msg;
    throw LoadError(std::string("Python ") + PY_VERSION + " does not start: " + text + "." + suspect_home());
  }
}

/// The host's configuration: its signal handlers, locale and output streams stay as they are.
void configure(PyConfig & config)
{
  config.install_signal_handlers = 0;
  config.configure_c_stdio = 0;
  config.parse_argv = 0;
  const std::string program = find_program();
  if (!program.empty()) {
    throw_if_failed(PyConfig_SetBytesString(&config, &config.program_name, program.c_str()));
  }
}

/// Keeps what the host does when it is interrupted.
class Interruption
{
public:
  Interruption() { sigaction(SIGINT, nullptr, &action_); }
  ~Interruption() { sigaction(SIGINT, &action_, nullptr); }

private:
  struct sigaction action_;
};

void initialise()
{
  const Interruption kept;
  make_symbols_global();
  PyPreConfig before;
  PyPreConfig_InitPythonConfig(&before);
  before.configure_locale = 0;
  before.coerce_c_locale = 0;
  before.utf8_mode = 1;
  throw_if_failed(Py_PreInitialize(&before));
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  try {
    configure(config);
    throw_if_failed(Py_InitializeFromConfig(&config));
  } catch (...) {
    PyConfig_Clear(&config);
    throw;
  }
  PyConfig_Clear(&config);
  // Whoever imports this module first has the signal taken over, whatever the configuration says.
  const bool has_signals = Object(PyImport_ImportModule("_signal")).get() != nullptr;
  if (!has_signals) {
    PyErr_Clear();
  }
  PyEval_SaveThread();
}

bool is_ending()
{
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

/// The Python state of a thread of the host, until the thread ends.
class ThreadState
{
public:
  void take()
  {
    ensured_ = PyGILState_Ensure();
    state_ = PyThreadState_Get();
  }
  ~ThreadState()
  {
    if (state_ != nullptr && is_running()) {
      PyEval_RestoreThread(state_);
      PyGILState_Release(ensured_);
    }
  }

private:
  PyThreadState * state_ = nullptr;
  PyGILState_STATE ensured_ = PyGILState_UNLOCKED;
};

thread_local ThreadState thread_state;

/// Return the formatted traceback of an exception; empty where that fails.
std::string format(PyObject * type, PyObject * value, PyObject * traceback)
{
  Object module(PyImport_ImportModule("traceback"));
  Object lines;
  if (module) {
    lines = Object(PyObject_CallMethod(
        module.get(), "format_exception", "OOO", type, value ? value : Py_None,
        traceback ? traceback : Py_None));
  }
  Object empty(PyUnicode_FromString(""));
  Object text(lines && empty ? PyUnicode_Join(empty.get(), lines.get()) : nullptr);
  const char * found = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  std::string result = found ? found : "";
  PyErr_Clear();
  return result;
}

/// Return whether an exception is one of the package's own, whose text is meant for users.
bool is_own(PyObject * type)
{
  Object module(PyObject_GetAttrString(type, "__module__"));
  const char * name = module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : nullptr;
  PyErr_Clear();
  return name != nullptr && std::string(name) == "ssik_ros.errors";
}

}  // namespace

void start()
{
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (!Py_IsInitialized()) {
    initialise();
  }
}

bool is_running()
{
  return Py_IsInitialized() != 0 && !is_ending();
}

Hold::Hold()
{
  PyThreadState * own = PyGILState_GetThisThreadState();
  is_taken_ = own == nullptr || PyGILState_Check() == 0;
  if (own == nullptr) {
    thread_state.take();
  } else if (is_taken_) {
    PyEval_RestoreThread(own);
  }
}

Hold::~Hold()
{
  if (is_taken_) {
    PyEval_SaveThread();
  }
}

Interrupter::Interrupter(const std::function<bool()> & is_interrupted)
: is_interrupted_(is_interrupted), thread_(PyThread_get_thread_ident())
{
  if (is_interrupted_) {
    watcher_ = std::thread([this]() {watch();});
  }
}

Interrupter::~Interrupter()
{
  if (!watcher_.joinable()) {
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_one();
  {
    const Release release;
    watcher_.join();
  }
  // An exception that has not been raised yet would hit the host's next request.
  PyThreadState_SetAsyncExc(thread_, nullptr);
}

void Interrupter::watch()
{
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ended_.wait_for(lock, CHECK_PERIOD, [this]() {return has_ended_;})) {
    if (is_interrupted_()) {
      lock.unlock();
      {
        const Hold hold;
        PyThreadState_SetAsyncExc(thread_, PyExc_KeyboardInterrupt);
      }
      lock.lock();
    }
  }
}

std::string suspect_home()
{
  const char * home = std::getenv("PYTHONHOME");
  if (home == nullptr || *home == '\0') {
    return "";
  }
  return std::string(" PYTHONHOME is '") + home + "': Python takes its own modules from there, which may belong to another "
         "build of Python. Unset PYTHONHOME and try again.";
}

std::string take_error()
{
  PyObject * type = nullptr;
  PyObject * value = nullptr;
  PyObject * traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) {
    return "no reason given";
  }
  PyErr_NormalizeException(&type, &value, &traceback);
  Object own_type(type), own_value(value), own_traceback(traceback);
  if (!is_own(type)) {
    return format(type, value, traceback);
  }
  Object text(PyObject_Str(value));
  const char * found = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  std::string result = found ? found : "";
  PyErr_Clear();
  return result;
}

Object require(PyObject * owned)
{
  if (owned == nullptr) {
    throw LoadError(take_error());
  }
  return Object(owned);
}

Object attribute(PyObject * object, const char * name)
{
  return require(PyObject_GetAttrString(object, name));
}

std::string to_text(PyObject * object)
{
  Py_ssize_t size = 0;
  const char * text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) {
    throw LoadError(take_error());
  }
  return {text, static_cast<std::size_t>(size)};
}

Object from_text(const std::string & text)
{
  return require(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict"));
}

}  // namespace ssik_moveit::python
