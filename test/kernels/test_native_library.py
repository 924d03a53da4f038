"""The native library: built from these sources, with the numbers of plain Python and clear errors for misfits."""

import ast
import functools
import json
import math
import os
from pathlib import Path
import runpy
import subprocess

from test.kernels.fresh_python import run_python

import numpy as np
import pytest

from ssik_ros.errors import NativeLibraryError
from ssik_ros.kernels import python_of
from ssik_ros.kernels._jit import IS_PLAIN, JIT_DISABLED
from ssik_ros.kernels.geometry import polynomials, so3
from ssik_ros.kernels.native import sources, targets
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / 'ssik_ros' / 'kernels' / 'native'

if not JIT_DISABLED or IS_PLAIN:
    pytest.skip('kernels do not come from the native library here', allow_module_level=True)

from ssik_ros.kernels.native import library  # noqa: E402


@pytest.mark.parametrize('change', ['# a comment\n', '\n\n', '"""A text."""\n'])
def test_comments_blank_lines_and_docstrings_do_not_count_as_changes(change):
    code = 'value = 1\n'
    assert sources.digest_of_code(code + change) == sources.digest_of_code(code)


@pytest.mark.parametrize('other', ['value = 2\n', 'value = 1\nother = 1\n', "value = '1'\n"])
def test_code_counts_as_a_change(other):
    assert sources.digest_of_code(other) != sources.digest_of_code('value = 1\n')


def test_the_level_of_a_line_counts_as_a_change():
    inside = 'if a:\n    b = 1\n    c = 1\n'
    outside = 'if a:\n    b = 1\nc = 1\n'
    assert sources.digest_of_code(inside) != sources.digest_of_code(outside)


def test_a_text_that_is_a_value_is_no_docstring():
    assert sources.digest_of_code("a = 'x'\n") != sources.digest_of_code("a = 'y'\n")


def test_the_library_is_the_one_of_these_sources():
    assert sources.changed(json.loads(library.MANIFEST.read_text())) == []


def test_a_changed_a_new_and_a_missing_file_are_named():
    table = sources.manifest()
    del table['geometry/so3.py']
    table['gone.py'] = ['0', '0']
    table['geometry/se3.py'] = ['0', '0']
    assert sorted(sources.changed(table)) == [
        'geometry/se3.py',
        'geometry/so3.py',
        'gone.py',
    ]


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """Return a folder with one kernel module, and its row of the manifest."""
    monkeypatch.setattr(sources, 'KERNELS', tmp_path)
    (tmp_path / 'a.py').write_text('value = 1\n')
    return tmp_path / 'a.py', {'a.py': sources.manifest()['a.py']}


def test_a_file_of_the_known_time_and_size_is_not_read(recorded, monkeypatch):
    _, table = recorded
    monkeypatch.setattr(sources, 'digest_of_bytes', None)
    assert sources.changed(table) == []


def test_a_file_that_was_written_again_with_the_same_code_is_no_change(recorded):
    file, table = recorded
    file.write_text('value = 1  # as before\n')
    assert sources.changed(table) == []


@pytest.mark.parametrize('code', ['value = 2\n', 'value = 10\n'])
def test_a_file_that_was_written_again_with_other_code_is_a_change(recorded, code):
    file, table = recorded
    before = file.stat().st_mtime_ns
    file.write_text(code)
    os.utime(file, ns=(before + 1000, before + 1000))
    assert sources.changed(table) == ['a.py']


def test_a_table_without_times_is_compared_by_its_hashes(recorded):
    file, table = recorded
    file.write_text('value = 2\n')
    assert sources.changed({'a.py': table['a.py'][:2]}) == ['a.py']


def imported_files(file):
    """Return the files of this package that a kernel file imports, read from its syntax tree."""
    files = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{file.name}: relative imports escape the hash'
            names = [node.module, *(f'{node.module}.{alias.name}' for alias in node.names)]
        else:
            names = (
                [alias.name for alias in getattr(node, 'names', [])]
                if isinstance(node, ast.Import)
                else []
            )
        for name in names:
            path = ROOT.joinpath(*name.split('.')).with_suffix('.py')
            if name.startswith('ssik_ros') and path.is_file():
                files.add(path)
    return files


@pytest.mark.sampled
@pytest.mark.parametrize('name', sources.modules())
def test_every_import_of_a_kernel_module_is_seen(name):
    # A constant from outside of kernels would be frozen into the machine code without a trace.
    files = sources.modules()
    file = files[name]
    native = [path for path in imported_files(file) if NATIVE in path.parents]
    seen = {files[other] for other in sources.direct_imports(file, files)}
    assert seen == imported_files(file).difference(native)
    if name not in ('_jit', 'geometry.addresses', 'geometry.lanes', 'search.clock'):
        assert not native


def test_each_module_comes_after_those_that_it_imports():
    imports = sources.imports()
    for name, imported in imports.items():
        for place, other in enumerate(imported):
            assert set(imports[other]) <= set(imported[:place]), (name, other)


OTHER_SOURCES = """
import json
from ssik_ros.kernels.native import sources
sources.changed = lambda table: ['so3.py', 'a.py', 'b.py', 'c.py', 'd.py']
import ssik_ros.kernels.geometry.so3
"""


def test_a_library_of_other_sources_is_refused_with_what_to_do():
    with pytest.raises(
        AssertionError, match=r'so3.py, a.py, b.py and 2 more changed.*make setup.*SSIK_ROS_JIT=1'
    ):
        run_python(OTHER_SOURCES, ROOT)


def test_a_machine_without_a_library_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(targets, 'of_this_machine', list)
    with pytest.raises(NativeLibraryError, match='install numba and set SSIK_ROS_JIT=1'):
        runpy.run_path(library.__file__)


def test_a_library_that_is_not_built_says_how_to_build_it(monkeypatch):
    monkeypatch.setattr(targets, 'of_this_machine', lambda: ['x86_64_v9'])
    with pytest.raises(NativeLibraryError, match=r'x86_64_v9.*make setup'):
        runpy.run_path(library.__file__)


@pytest.mark.parametrize('missing', sorted(targets.X86_64_V3))
def test_a_processor_that_lacks_one_feature_of_v3_gets_v2(monkeypatch, missing):
    monkeypatch.delenv('SSIK_ROS_TARGET', raising=False)
    monkeypatch.setattr(os, 'uname', lambda: os.uname_result(('Linux', 'x', '6', '1', 'x86_64')))
    monkeypatch.setattr(targets, 'processor_flags', lambda: targets.X86_64_V3 - {missing})
    assert targets.of_this_machine() == ['x86_64_v2']
    monkeypatch.setattr(targets, 'processor_flags', lambda: targets.X86_64_V3)
    assert targets.of_this_machine() == ['x86_64_v3', 'x86_64_v2']


def test_an_unlisted_kernel_says_which_line_it_needs():
    def unlisted(out, count, factor, pair, flags):
        pass

    unlisted.__module__ = 'ssik_ros.kernels.made'
    row = np.zeros(3)
    row.setflags(write=False)
    expected = (
        r'made\.unlisted\(out: float64\[:, ::1\], count: int64, factor: float64, pair: \(float64, float64\),'
        r' flags: const float64\[::1\]\)'
    )
    with pytest.raises(NativeLibraryError, match=expected):
        library.kernel(unlisted)(np.zeros((2, 2)), 1, 0.5, (0.1, 0.2), row)


def test_every_line_of_the_list_has_its_kernel_in_the_library():
    lines = sources.SIGNATURES.read_text().splitlines()
    names = sorted(line.partition('(')[0] for line in lines if line and line[0] != '#')
    assert names == sorted(library.LIBRARY.signatures())


TARGET, FLAT = np.eye(4), np.zeros(9)
READ_ONLY = np.zeros(6)
READ_ONLY.setflags(write=False)
WRONG = {
    'too few': (),
    'too many': (np.zeros(6), 1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    'no array': ([0.0] * 6, 1.0, 2.0, 3.0, 4.0, 5.0),
    'other numbers': (np.zeros(6, dtype=np.float32), 1.0, 2.0, 3.0, 4.0, 5.0),
    'other byte order': (np.zeros(6, dtype='>f8'), 1.0, 2.0, 3.0, 4.0, 5.0),
    'other dimensions': (np.zeros((2, 3)), 1.0, 2.0, 3.0, 4.0, 5.0),
    'strides': (np.zeros(12)[::2], 1.0, 2.0, 3.0, 4.0, 5.0),
    'read-only': (READ_ONLY, 1.0, 2.0, 3.0, 4.0, 5.0),
    'no number': (np.zeros(6), 1.0, 'two', 3.0, 4.0, 5.0),
}


@pytest.mark.parametrize('form', WRONG)
def test_arguments_that_do_not_fit_are_refused_by_name_and_place(form):
    with pytest.raises(TypeError, match=r'kernel geometry.polynomials.trigonometric_zeros: '):
        polynomials.trigonometric_zeros(*WRONG[form])


def test_numbers_of_all_kinds_are_taken():
    expected = so3.sine_cosine(1.0)
    for one in (1, True, np.float64(1.0), np.float32(1.0), np.int32(1)):
        assert so3.sine_cosine(one) == expected
    assert expected == pytest.approx((math.sin(1.0), math.cos(1.0)), abs=1e-15)


def test_a_kernel_has_its_name_its_text_and_its_python():
    assert so3.sine_cosine.__name__ == 'sine_cosine' and so3.sine_cosine.__module__ == so3.__name__
    python = python_of(so3.sine_cosine)
    assert python.__doc__ == so3.sine_cosine.__doc__ and python is not so3.sine_cosine


def test_numba_and_the_compiler_are_not_imported():
    code = (
        'import sys\n'
        'from ssik_ros import Manipulator\n'
        "arm = Manipulator.from_prebuilt('ur5e')\n"
        'arm.solve(arm.fk(arm.neutral + 0.3)), arm.ik_LM(arm.fk(arm.neutral + 0.3))\n'
        "print([name for name in ('numba', 'llvmlite', 'scipy.linalg') if name in sys.modules])\n"
    )
    assert run_python(code, ROOT) == '[]'


@functools.cache
def modules_of_a_first_solution(arm):
    """Return the modules that a new process has loaded after its first solution of an arm."""
    folder = ROOT / 'config' / 'robots' / f'{arm}_moveit_config' / 'config'
    base, tip = {'ur5e': ('base_link', 'tool0'), 'panda': ('panda_link0', 'panda_link8')}[arm]
    code = f"""
import sys
from ssik_ros import Manipulator
arm = Manipulator.from_urdf({str(folder / f'{arm}.urdf')!r}, base={base!r}, ee={tip!r})
print(len(arm.solve_q(arm.fk(arm.neutral + 0.1))) > 0, *sys.modules)
"""
    solved, *modules = run_python(code, ROOT).split()
    assert solved == 'True'
    return set(modules)


@functools.cache
def modules_of_numpy():
    """Return the modules that a new process has loaded after it has imported numpy."""
    return set(run_python('import sys, numpy; print(*sys.modules)', ROOT).split())


@pytest.mark.parametrize(
    'unneeded',
    ['hashlib', 'importlib.metadata', 'numpy.random', 'pinocchio', 'rich', 'scipy', 'yaml'],
)
@pytest.mark.parametrize('arm', ['ur5e', 'panda'])
def test_the_first_solution_of_an_arm_waits_for_nothing_that_it_does_not_need(arm, unneeded):
    # numpy before 2 imports numpy.random, and with it hashlib.
    assert unneeded not in modules_of_a_first_solution(arm) - modules_of_numpy()


def symbols(file):
    """Return the symbols that a library wants from elsewhere."""
    output = subprocess.run(
        ['nm', '-D', '-u', str(file)], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1].partition('@')[0] for line in output.splitlines() if line}


LIBM = {
    'acos',
    'asin',
    'atan',
    'atan2',
    'cos',
    'exp',
    'log',
    'pow',
    'sin',
    'sincos',
    'sqrt',
    'tan',
}
LIBC = {
    'clock_gettime',
    'memcpy',
    'memmove',
    'memset',
    'strchr',
    'strcmp',
    'strrchr',
    '__stack_chk_fail',
}
STABLE_ABI_OF_PYTHON_3_10 = {
    *('PyBool_FromLong', 'PyCMethod_New', 'PyDict_New', 'PyDict_SetItemString', 'PyErr_Clear'),
    *('PyErr_Format', 'PyErr_Occurred', 'PyEval_RestoreThread', 'PyEval_SaveThread'),
    *('PyExc_RuntimeError', 'PyExc_TypeError', 'PyFloat_AsDouble', 'PyFloat_FromDouble'),
    *('PyImport_ImportModule', 'PyLong_AsLongLong', 'PyLong_AsUnsignedLongLong'),
    *('PyLong_FromLong', 'PyLong_FromLongLong', 'PyLong_FromUnsignedLongLong'),
    *('PyModule_AddStringConstant', 'PyModule_Create2', 'PyNumber_Index', 'PyOS_snprintf'),
    *('PyObject_Free', 'PyObject_GetAttrString', 'PyObject_IsTrue', 'PyTuple_GetItem'),
    *('PyTuple_New', 'PyTuple_SetItem', 'PyTuple_Size', 'PyType_FromSpec', 'PyType_GetFlags'),
    *('PyType_IsSubtype', 'PyUnicode_AsUTF8AndSize', 'PyUnicode_FromString'),
    *('_PyObject_New', '_Py_Dealloc', '_Py_NoneStruct'),
    # Only in the checked library.
    *('PyErr_SetObject', 'PyList_Append', 'PyList_New', 'PyLong_AsSsize_t'),
    *('PyUnicode_FromFormat', '_PyArg_ParseTuple_SizeT'),
}
OF_THE_LINKER = {
    '__cxa_finalize',
    '__gmon_start__',
    '_ITM_deregisterTMCloneTable',
    '_ITM_registerTMCloneTable',
}


@pytest.mark.parametrize('file', sorted(NATIVE.glob('_kernels.*.so')), ids=lambda file: file.name)
def test_the_library_wants_nothing_but_libm_libc_and_the_limited_api_of_python(file):
    assert symbols(file) - LIBM - LIBC - STABLE_ABI_OF_PYTHON_3_10 - OF_THE_LINKER == set()


@pytest.fixture
def panda(robots):
    """Return a solver, a target that it reaches and a seed."""
    robot = robots['panda']
    group = robot.group('panda_arm')
    solver = PoseIkSolver(robot, group)
    target = np.eye(4)
    target[:3, :3], target[:3, 3] = np.diag([1.0, -1.0, -1.0]), [0.4, 0.1, 0.5]
    return solver, target, np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8])


def read_only(array):
    """Return a read-only copy."""
    copy = array.copy()
    copy.setflags(write=False)
    return copy


FORMS = {
    'plain': lambda target, seed: (target, seed),
    'read-only': lambda target, seed: (read_only(target), read_only(seed)),
    'lists': lambda target, seed: (target.tolist(), seed.tolist()),
    'float32': lambda target, seed: (target.astype(np.float32), seed.astype(np.float32)),
    'transposed': lambda target, seed: (np.asfortranarray(target), seed),
    'strided': lambda target, seed: (target, np.repeat(seed, 2)[::2]),
}


@pytest.mark.parametrize('form', [form for form in FORMS if form != 'float32'])
def test_the_form_of_a_request_does_not_change_the_result(panda, form):
    solver, target, seed = panda
    expected = solver.solve(SolveRequest(targets=target, seed=seed)).solutions
    target, seed = FORMS[form](target, seed)
    actual = solver.solve(SolveRequest(targets=target, seed=seed)).solutions
    np.testing.assert_array_equal(actual, expected)


NUMBERS = """
import json
import warnings
import numpy as np
from ssik_ros.kernels.geometry import se3, so3
from ssik_ros.kernels.rows import steps
from ssik_ros.kernels.search import restarts
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver

# The generator's arithmetic is meant to overflow, which numpy's scalars report.
warnings.filterwarnings('ignore', 'overflow encountered', RuntimeWarning)
rng = np.random.default_rng(1)
numbers, random = [], np.array([5], dtype=np.uint64)
for _ in range(20):
    out, vector = np.empty(12), rng.uniform(-2.0, 2.0, 6)
    so3.exp(out, *vector[:3])
    out[9:] = vector[3:]
    jacobian, quaternion = np.empty(9), np.array([0.1, 0.7, -0.1, 0.7])
    so3.inverse_left_jacobian(jacobian, *vector[:3])
    so3.rotate_quaternion(quaternion, *vector[:3])
    numbers += [*out, *jacobian, *quaternion, *so3.log_of(*out[:9]), *so3.sine_cosine(vector[0])]
    numbers += se3.errors_between(out, np.roll(np.eye(4)[:3].ravel(), 0))
    numbers += [restarts.uniform(random), so3.wrap_to_pi(5.0 * vector[0])]
    numbers += [steps.nearest_winding(9.0 * vector[1], vector[2], -3.0, 4.0)]

robot = load_robot({urdf!r})
group = robot.group_from_links('panda_link0', 'panda_link8')
solver = PoseIkSolver(robot, group)
for x in (0.3, 0.5, 0.7):
    target = np.diag([1.0, -1.0, -1.0, 1.0])
    target[:3, 3] = x, 0.2, 0.4
    result = solver.solve(SolveRequest(targets=target, max_solutions=2, max_searches=20))
    numbers += [*result.solutions.ravel(), *result.errors.ravel(), result.iterations]
print(json.dumps([float(number) for number in numbers]))
"""


@pytest.mark.slow
def test_as_plain_python_the_kernels_give_the_same_numbers():
    urdf = ROOT / 'config' / 'robots' / 'panda_moveit_config' / 'config' / 'panda.urdf'
    code = NUMBERS.format(urdf=str(urdf))
    compiled, plain = (
        json.loads(run_python(code, ROOT, NUMBA_DISABLE_JIT=disabled)) for disabled in '01'
    )
    np.testing.assert_allclose(plain, compiled, rtol=0, atol=1e-12)


@pytest.mark.sampled
@pytest.mark.parametrize('name', ['PoseIK', 'LevenbergMarquardt', 'Auto'])
def test_a_warm_start_does_not_load_linear_algebra_that_it_does_not_need(name):
    code = f"""
import sys
from ssik_ros import create_solver
from ssik_ros import Manipulator
arm = Manipulator.from_prebuilt('ur5e')
create_solver('ssik_ros/{name}', arm.robot, arm.group).warm_up()
print('scipy.linalg' in sys.modules)
"""
    assert run_python(code, ROOT) == 'False'
