/*
 * Additions of the checked flavour of the library: the place of a failed check, and the memory at an address.
 *
 * Its kernels compare every index with the bounds of its array and every view with the array that it is taken from. Where one
 * does not fit, the kernel and each of its callers hand a text to ssik_ros_failed_at and return with a code.
 */
enum { MOST_PLACES = 12, MOST_BLOCKS = 1 << 16 };

/* The texts of the failure in this thread, from the inside out. */
static _Thread_local struct {
  int count;
  const char *text[MOST_PLACES];
} places __attribute__((tls_model("initial-exec")));

void ssik_ros_failed_at(const char *text) {
  if (places.count < MOST_PLACES) places.text[places.count++] = text;
}

static void begin_call(void) { places.count = 0; }

/* The texts of all failures in this process, a list: a test fails by them even where its exception was caught. */
static PyObject *failures;

static PyObject *list_failures(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  if (failures == NULL) failures = PyList_New(0);
  Py_XINCREF(failures);
  return failures;
}

static PyObject *raise_failure(const char *kernel) {
  PyObject *list = list_failures(NULL, NULL), *text = PyUnicode_FromFormat("kernel %s: ", kernel);
  for (int k = 0; k < places.count && text != NULL; ++k) {
    PyObject *longer = PyUnicode_FromFormat("%U%s", text, places.text[k]);
    Py_DECREF(text);
    text = longer;
  }
  if (text != NULL && list != NULL && PyList_Append(list, text) == 0) PyErr_SetObject(PyExc_RuntimeError, text);
  Py_XDECREF(text);
  Py_XDECREF(list);
  return NULL;
}

/* The arrays that kernels get as addresses: begin and end of each, in no order. Python changes the list, kernels read it. */
static struct {
  uintptr_t begin, end;
} blocks[MOST_BLOCKS];
static int block_count;
static char is_locked;

static void lock(void) {
  while (__atomic_test_and_set(&is_locked, __ATOMIC_ACQUIRE)) {
  }
}

static void unlock(void) { __atomic_clear(&is_locked, __ATOMIC_RELEASE); }

/* Whether so many numbers of eight bytes lie inside one array. */
int32_t ssik_ros_is_inside(int64_t address, int64_t size) {
  const uintptr_t begin = (uintptr_t)address;
  int32_t is_inside = 0;
  lock();
  for (int k = 0; k < block_count && !is_inside; ++k)
    is_inside = begin >= blocks[k].begin && begin <= blocks[k].end && size >= 0 &&
                (uint64_t)size <= (blocks[k].end - begin) / 8;
  unlock();
  return is_inside;
}

/* remember(address, bytes): an array of so many bytes may be taken apart by its address. */
static PyObject *remember(PyObject *module, PyObject *arguments) {
  (void)module;
  Py_ssize_t address, size;
  if (!PyArg_ParseTuple(arguments, "nn", &address, &size)) return NULL;
  lock();
  const int has_room = block_count < MOST_BLOCKS;
  if (has_room) {
    blocks[block_count].begin = (uintptr_t)address;
    blocks[block_count++].end = (uintptr_t)(address + size);
  }
  unlock();
  if (!has_room) return PyErr_Format(PyExc_RuntimeError, "more than %d arrays behind addresses", MOST_BLOCKS);
  Py_RETURN_NONE;
}

/* forget(address): the array is no more. */
static PyObject *forget(PyObject *module, PyObject *address) {
  (void)module;
  const Py_ssize_t begin = PyLong_AsSsize_t(address);
  if (begin == -1 && PyErr_Occurred()) return NULL;
  lock();
  int k = 0;
  while (k < block_count && blocks[k].begin != (uintptr_t)begin) ++k;
  if (k < block_count) blocks[k] = blocks[--block_count];
  unlock();
  Py_RETURN_NONE;
}

#define CHECKED_FUNCTIONS                                                                                       \
  {"failures", list_failures, METH_NOARGS, "failures(): return the list of the texts of all failed checks."},   \
      {"remember", remember, METH_VARARGS, "remember(address, bytes): an array may be taken apart there."},     \
      {"forget", forget, METH_O, "forget(address): the array there is no more."}
