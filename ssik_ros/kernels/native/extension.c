/*
 * The kernels' way into Python: one callable for each row of the table that the build writes (kernel_table.h).
 *
 * A call checks every argument against the row's signature, hands the kernel numbers and addresses without copying an
 * array, releases the GIL while the kernel runs, and makes Python numbers of its results. Nothing but Python's
 * limited API is used: numpy's arrays are read by the layout that numpy 1.x and 2.x share (PyArrayObject_fields).
 *
 * A signature is a text: the code of the result, a colon, then one code for each argument.
 *   numbers    i int64, n uint64, w int32, d float64, b boolean; v (results only) none
 *   tuples     (codes)
 *   arrays     A<mode><number><dimensions><layout>: mode m (written) or c (const, may be read-only),
 *              layout C (contiguous) or A (any strides); arguments only
 */
#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

/* A kernel's trampoline; it takes the place of the result, and one word for each machine argument. */
typedef int32_t (*trampoline)(void *result, const int64_t *words);

struct row {
  const char *name;       /* module.function below ssik_ros.kernels */
  const char *signature;
  trampoline call;
};

#include "kernel_table.h" /* ROWS, sorted by name; ROW_COUNT; MOST_WORDS; RESULT_WORDS; TARGET; CHECKED or nothing */
#ifdef CHECKED
#include "checked.h"
#endif

/* numpy's array and the beginning of its element type, as every numpy since 1.7 lays them out. */
struct array {
  PyObject_HEAD
  char *data;
  int dimensions;
  Py_ssize_t *shape;
  Py_ssize_t *strides;
  PyObject *base;
  struct element *element;
  int flags;
};

struct element {
  PyObject_HEAD
  PyTypeObject *scalar;
  char kind, type, byteorder, flags;
  int number;
};

enum { CONTIGUOUS = 0x1, ALIGNED = 0x100, WRITEABLE = 0x400 };

/* numpy's numbers of element types; NPY_LONG is 64 bits on every platform that is built for. */
enum {
  NUMPY_BOOL = 0,
  NUMPY_INT32 = 5,
  NUMPY_LONG = 7,
  NUMPY_UNSIGNED_LONG = 8,
  NUMPY_LONGLONG = 9,
  NUMPY_UNSIGNED_LONGLONG = 10,
  NUMPY_FLOAT64 = 12
};

static PyTypeObject *array_type;

struct kernel {
  PyObject_HEAD
  const struct row *row;
  const char *arguments; /* their part of the signature */
  PyObject *python; /* the function that the machine code was made from */
  PyMethodDef method;
};

static const char *type_name(char code) {
  switch (code) {
    case 'd': return "float64";
    case 'i': return "int64";
    case 'w': return "int32";
    case 'n': return "uint64";
    default: return "bool";
  }
}

static int has_type(const struct element *element, char code) {
  if (element->byteorder == '>') return 0;
  switch (code) {
    case 'd': return element->number == NUMPY_FLOAT64;
    case 'i': return element->number == NUMPY_LONG || element->number == NUMPY_LONGLONG;
    case 'n': return element->number == NUMPY_UNSIGNED_LONG || element->number == NUMPY_UNSIGNED_LONGLONG;
    case 'w': return element->number == NUMPY_INT32;
    default: return element->number == NUMPY_BOOL;
  }
}

static Py_ssize_t item_size(char code) {
  return code == 'w' ? 4 : code == 'b' ? 1 : 8;
}

/* Name the argument that does not fit, and the kind that would. */
static void refuse(const struct kernel *self, Py_ssize_t place, const char *wanted, PyObject *given) {
  PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(given), "__name__");
  if (type != NULL) {
    PyErr_Format(PyExc_TypeError, "kernel %s: argument %zd is %U, not %s", self->row->name, place + 1, type, wanted);
    Py_DECREF(type);
  }
}

static void refuse_array(const struct kernel *self, Py_ssize_t place, const char *code, PyObject *given) {
  char wanted[96];
  PyOS_snprintf(wanted, sizeof wanted, "%s %saligned array of %s, %c-dimensional",
                code[0] == 'c' ? "an" : "a writeable,", code[3] == 'C' ? "contiguous, " : "", type_name(code[1]),
                code[2]);
  refuse(self, place, wanted, given);
}

/* Write an array as numba's calling convention takes it apart; return the next word, NULL if it does not fit. */
static int64_t *put_array(const struct kernel *self, Py_ssize_t place, const char *code, PyObject *given,
                          int64_t *word) {
  const struct array *array = (const struct array *)given;
  const int dimensions = code[2] - '0';
  int needed = ALIGNED;
  if (code[0] == 'm') needed |= WRITEABLE;
  if (code[3] == 'C') needed |= CONTIGUOUS;
  if ((Py_TYPE(given) != array_type && !PyType_IsSubtype(Py_TYPE(given), array_type)) ||
      array->dimensions != dimensions || (array->flags & needed) != needed || !has_type(array->element, code[1])) {
    refuse_array(self, place, code, given);
    return NULL;
  }
  int64_t count = 1;
  for (int k = 0; k < dimensions; ++k) count *= array->shape[k];
  *word++ = 0; /* numba's reference count: nobody counts */
  *word++ = 0; /* the Python object: kernels do not need it */
  *word++ = count;
  *word++ = item_size(code[1]);
  *word++ = (int64_t)(intptr_t)array->data;
  for (int k = 0; k < dimensions; ++k) *word++ = array->shape[k];
  for (int k = 0; k < dimensions; ++k) *word++ = array->strides[k];
  return word;
}

static int put_integer(const struct kernel *self, Py_ssize_t place, char code, PyObject *given, int64_t *word) {
  PyObject *number = PyLong_Check(given) ? given : PyNumber_Index(given);
  if (number == NULL) {
    PyErr_Clear();
    refuse(self, place, "an integer", given);
    return -1;
  }
  *word = code == 'n' ? (int64_t)PyLong_AsUnsignedLongLong(number) : PyLong_AsLongLong(number);
  if (number != given) Py_DECREF(number);
  return *word == -1 && PyErr_Occurred() ? -1 : 0;
}

static int put_float(const struct kernel *self, Py_ssize_t place, PyObject *given, int64_t *word) {
  const double number = PyFloat_AsDouble(given);
  if (number == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    refuse(self, place, "a number", given);
    return -1;
  }
  memcpy(word, &number, sizeof number);
  return 0;
}

/* Write one argument and move past its code; return the next word, NULL if the argument does not fit. */
static int64_t *put(const struct kernel *self, Py_ssize_t place, const char **code, PyObject *given, int64_t *word) {
  const char kind = *(*code)++;
  switch (kind) {
    case 'A':
      word = put_array(self, place, *code, given, word);
      *code += 4;
      return word;
    case '(': {
      Py_ssize_t item = 0;
      for (; **code != ')'; ++item) {
        PyObject *part = PyTuple_Check(given) && item < PyTuple_Size(given) ? PyTuple_GetItem(given, item) : NULL;
        word = part == NULL ? NULL : put(self, place, code, part, word);
        if (word == NULL) break;
      }
      if (word == NULL || item < PyTuple_Size(given)) {
        if (!PyErr_Occurred()) refuse(self, place, "a tuple of the length that it takes", given);
        return NULL;
      }
      ++*code;
      return word;
    }
    case 'd': return put_float(self, place, given, word) < 0 ? NULL : word + 1;
    case 'b': {
      const int truth = PyObject_IsTrue(given);
      *word = truth;
      return truth < 0 ? NULL : word + 1;
    }
    default: return put_integer(self, place, kind, given, word) < 0 ? NULL : word + 1;
  }
}

static PyObject *take_tuple(const char **code, const char **at);

/* Return one Python object from the result, and move past it and its code. */
static PyObject *take(const char **code, const char **at) {
  const char kind = *(*code)++;
  if (kind == '(') return take_tuple(code, at);
  if (kind == 'v') Py_RETURN_NONE;
  const uintptr_t size = (uintptr_t)item_size(kind);
  const char *place = (const char *)(((uintptr_t)*at + size - 1) & ~(size - 1));
  *at = place + size;
  int64_t whole;
  switch (kind) {
    case 'd': {
      double number;
      memcpy(&number, place, sizeof number);
      return PyFloat_FromDouble(number);
    }
    case 'w': {
      int32_t number;
      memcpy(&number, place, sizeof number);
      return PyLong_FromLong(number);
    }
    case 'b': return PyBool_FromLong(*place & 1);
    default:
      memcpy(&whole, place, sizeof whole);
      return kind == 'n' ? PyLong_FromUnsignedLongLong((uint64_t)whole) : PyLong_FromLongLong(whole);
  }
}

static PyObject *take_tuple(const char **code, const char **at) {
  Py_ssize_t count = 0, depth = 0;
  for (const char *next = *code; depth > 0 || *next != ')'; ++next) {
    count += depth == 0;
    depth += (*next == '(') - (*next == ')');
  }
  PyObject *tuple = PyTuple_New(count);
  if (tuple == NULL) return NULL;
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject *part = take(code, at);
    if (part == NULL) {
      Py_DECREF(tuple);
      return NULL;
    }
    PyTuple_SetItem(tuple, k, part);
  }
  ++*code;
  return tuple;
}

static PyObject *call_kernel(PyObject *object, PyObject *const *arguments, Py_ssize_t given) {
  const struct kernel *self = (const struct kernel *)object;
  int64_t words[MOST_WORDS], *word = words;
  int64_t result[RESULT_WORDS];
  const char *code = self->arguments;
  Py_ssize_t place = 0;
  for (; *code != '\0' && place < given; ++place) {
    word = put(self, place, &code, arguments[place], word);
    if (word == NULL) return NULL;
  }
  if (*code != '\0' || place < given)
    return PyErr_Format(PyExc_TypeError, "kernel %s: %zd arguments do not fit its signature (%s)", self->row->name,
                        given, self->row->signature);
#ifdef CHECKED
  begin_call();
#endif
  PyThreadState *state = PyEval_SaveThread();
  const int32_t failed = self->row->call(result, words);
  PyEval_RestoreThread(state);
#ifdef CHECKED
  if (failed != 0) return raise_failure(self->row->name);
#endif
  if (failed != 0)
    return PyErr_Format(PyExc_RuntimeError, "kernel %s: failed with numba's code %d", self->row->name, failed);
  const char *at = (const char *)result;
  code = self->row->signature;
  return take(&code, &at);
}

static void kernel_dealloc(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  Py_XDECREF(((struct kernel *)object)->python);
  PyObject_Free(object);
  Py_DECREF(type);
}

static PyMemberDef kernel_members[] = {
    {"python", T_OBJECT, offsetof(struct kernel, python), READONLY, "The function as Python."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_members, kernel_members},
    {Py_tp_doc, "What a callable kernel is bound to."},
    {0, NULL},
};

static PyType_Spec kernel_spec = {"ssik_ros.kernels.native._kernels.Kernel", sizeof(struct kernel), 0,
                                  Py_TPFLAGS_DEFAULT, kernel_slots};
static PyTypeObject *kernel_type;

static const struct row *find(const char *name) {
  size_t low = 0, high = ROW_COUNT;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const int order = strcmp(name, ROWS[middle].name);
    if (order == 0) return &ROWS[middle];
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return NULL;
}

/* bind(name, function, doc): the callable of a kernel, None if the library does not have it. */
static PyObject *bind(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
  (void)module;
  if (given != 3) return PyErr_Format(PyExc_TypeError, "bind takes a name, a function and a text");
  const char *name = PyUnicode_AsUTF8AndSize(arguments[0], NULL);
  if (name == NULL) return NULL;
  const struct row *row = find(name);
  if (row == NULL) Py_RETURN_NONE;
  const char *doc = arguments[2] == Py_None ? NULL : PyUnicode_AsUTF8AndSize(arguments[2], NULL);
  if (doc == NULL && PyErr_Occurred()) return NULL;
  struct kernel *kernel = PyObject_New(struct kernel, kernel_type);
  if (kernel == NULL) return NULL;
  kernel->row = row;
  kernel->arguments = strchr(row->signature, ':') + 1;
  kernel->python = arguments[1];
  Py_INCREF(kernel->python);
  /* The text lives as long as the function whose it is. */
  kernel->method.ml_name = strrchr(row->name, '.') + 1;
  kernel->method.ml_meth = (PyCFunction)(void (*)(void))call_kernel;
  kernel->method.ml_flags = METH_FASTCALL;
  kernel->method.ml_doc = doc;
  PyObject *home = PyObject_GetAttrString(kernel->python, "__module__");
  PyObject *callable = home == NULL ? NULL : PyCFunction_NewEx(&kernel->method, (PyObject *)kernel, home);
  Py_XDECREF(home);
  Py_DECREF(kernel);
  return callable;
}

static PyObject *signatures(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *all = PyDict_New();
  for (size_t k = 0; all != NULL && k < ROW_COUNT; ++k) {
    PyObject *text = PyUnicode_FromString(ROWS[k].signature);
    if (text == NULL || PyDict_SetItemString(all, ROWS[k].name, text) < 0) Py_CLEAR(all);
    Py_XDECREF(text);
  }
  return all;
}

static PyMethodDef functions[] = {
    {"bind", (PyCFunction)(void (*)(void))bind, METH_FASTCALL,
     "bind(name, function, doc): return the callable of a kernel, None if the library does not have it."},
    {"signatures", signatures, METH_NOARGS, "signatures(): return the signature of each kernel by its name."},
#ifdef CHECKED
    CHECKED_FUNCTIONS,
#endif
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_kernels", "The compiled kernels of ssik_ros.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernels(void) {
  PyObject *numpy = PyImport_ImportModule("numpy");
  if (numpy == NULL) return NULL;
  array_type = (PyTypeObject *)PyObject_GetAttrString(numpy, "ndarray");
  Py_DECREF(numpy);
  kernel_type = (PyTypeObject *)PyType_FromSpec(&kernel_spec);
  PyObject *module = PyModule_Create(&definition);
  if (array_type == NULL || kernel_type == NULL || module == NULL ||
      PyModule_AddStringConstant(module, "TARGET", TARGET) < 0) {
    Py_XDECREF(module);
    return NULL;
  }
  return module;
}
