"""How kernels are compiled: never stale, one version each, no allocation, the same without numba."""

import ast
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys

import numpy as np
import pytest

from ssik_ros.kernels import _jit
from ssik_ros.kernels import pose_search
from ssik_ros.solvers.base import SolveRequest
from ssik_ros.solvers.pose_ik.solver import PoseIkSolver

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / 'ssik_ros' / 'kernels'
FILES = sorted(KERNELS.rglob('*.py'))

compiled_only = pytest.mark.skipif(_jit.JIT_DISABLED, reason='NUMBA_DISABLE_JIT is set')


def run_python(code, folder, **environment):
    """Return what a new process prints, with one folder first on its path."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(('NUMBA_', 'SSIK_'))}
    # Bytecode is told from newer source by whole seconds and size only.
    inherited.update(PYTHONPATH=str(folder), PYTHONDONTWRITEBYTECODE='1', **environment)
    result = subprocess.run(
        [sys.executable, '-c', code],
        env=inherited,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Return a function that writes a kernel file into a folder that stands for ``kernels``."""
    monkeypatch.setattr(_jit, '_KERNELS', tmp_path)

    def write(name, text):
        path = tmp_path / f'{name}.py'
        path.write_text(text)
        return path

    return write


def fresh_hash(file, monkeypatch):
    """Return the hash that a new process would compute."""
    monkeypatch.setattr(_jit, '_closures', {})
    _jit._digest_and_imports.cache_clear()
    return _jit.closure_hash(file)


IMPORTS = (
    'from ssik_ros.kernels import callee\n',
    'from ssik_ros.kernels.callee import f\n',
    'from ssik_ros.kernels import callee as c\n',
    'import ssik_ros.kernels.callee\n',
    'def f():\n    from ssik_ros.kernels import callee\n',
)


@pytest.mark.parametrize('statement', IMPORTS)
def test_the_hash_changes_with_the_source_of_a_callee(sources, monkeypatch, statement):
    caller = sources('caller', statement)
    sources('callee', 'value = 1\n')
    before = fresh_hash(caller, monkeypatch)
    sources('callee', 'value = 2\n')
    assert fresh_hash(caller, monkeypatch) != before


def test_the_hash_changes_with_a_callee_of_a_callee(sources, monkeypatch):
    caller = sources('caller', 'from ssik_ros.kernels import middle\n')
    sources('middle', 'from ssik_ros.kernels import callee\n')
    sources('callee', 'value = 1\n')
    before = fresh_hash(caller, monkeypatch)
    sources('callee', 'value = 2\n')
    assert fresh_hash(caller, monkeypatch) != before


def test_the_hash_changes_with_its_own_source(sources, monkeypatch):
    before = fresh_hash(sources('caller', 'value = 1\n'), monkeypatch)
    assert fresh_hash(sources('caller', 'value = 2\n'), monkeypatch) != before


def test_the_hash_stays_when_only_strangers_change(sources, monkeypatch):
    caller = sources('caller', 'from ssik_ros.kernels import callee\n')
    sources('callee', 'value = 1\n')
    sources('stranger', 'value = 1\n')
    before = fresh_hash(caller, monkeypatch)
    sources('stranger', 'from ssik_ros.kernels import caller\n')
    assert fresh_hash(caller, monkeypatch) == before


def test_kernels_that_import_each_other_have_a_hash(sources, monkeypatch):
    one = sources('one', 'from ssik_ros.kernels import other\n')
    sources('other', 'from ssik_ros.kernels import one\n')
    assert len(fresh_hash(one, monkeypatch)) == 16


def imported_files(file):
    """Return the files of this package that a kernel file imports, read from its syntax tree."""
    found = set()
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
                found.add(path)
    return found


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.stem)
def test_the_hash_sees_every_import_of_a_kernel_file(file):
    # A constant from outside of kernels would be frozen into the machine code without a trace.
    assert imported_files(file) == set(_jit._direct_imports(file.read_text()))


CALLER = """
from ssik_ros.kernels import {callee}
from ssik_ros.kernels._jit import kernel

@kernel
def {name}(x):
    return 2.0 * {callee}.{callee}(x)
"""
CALLEE = """
from ssik_ros.kernels._jit import {decorator}

@{decorator}
def bottom(x):
    return x + {value}
"""
ASK = """
from ssik_ros.kernels import top
result = top.top(0.5)
print(result, sum(top.top.stats.cache_hits.values()))
"""


@pytest.fixture
def package_copy(tmp_path):
    """Return a copy of the package's kernels with three small ones added: top, middle, bottom."""
    folder = tmp_path / 'copy'
    shutil.copytree(KERNELS, folder / 'ssik_ros' / 'kernels')
    shutil.copy(ROOT / 'ssik_ros' / '__init__.py', folder / 'ssik_ros')
    kernels = folder / 'ssik_ros' / 'kernels'
    (kernels / 'top.py').write_text(CALLER.format(name='top', callee='middle'))
    (kernels / 'middle.py').write_text(CALLER.format(name='middle', callee='bottom'))
    (kernels / 'bottom.py').write_text(CALLEE.format(decorator='kernel', value='1.0'))
    return folder


def ask(folder):
    """Return the answer of ``top`` in a new process, and how often machine code was found on disk."""
    answer, hits = run_python(ASK, folder, SSIK_ROS_CACHE_DIR=str(folder / 'cache')).split()
    return float(answer), int(hits)


@compiled_only
@pytest.mark.parametrize('decorator', ['kernel', 'inline_kernel'])
def test_an_edited_callee_in_another_file_is_never_answered_by_old_machine_code(
    package_copy, decorator
):
    callee = package_copy / 'ssik_ros' / 'kernels' / 'bottom.py'
    callee.write_text(CALLEE.format(decorator=decorator, value='1.0'))
    assert ask(package_copy) == (6.0, 0)
    callee.write_text(CALLEE.format(decorator=decorator, value='100.0'))
    assert ask(package_copy) == (402.0, 0)


@compiled_only
def test_unchanged_kernels_are_found_compiled(package_copy):
    ask(package_copy)
    assert ask(package_copy) == (6.0, 1)


def test_the_cache_is_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv('SSIK_ROS_CACHE_DIR', str(tmp_path))
    assert _jit.cache_root() == tmp_path


def test_the_cache_is_in_the_users_cache_folder(tmp_path, monkeypatch):
    monkeypatch.delenv('SSIK_ROS_CACHE_DIR', raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    assert _jit.cache_root() == tmp_path / 'ssik_ros'


def test_a_cache_folder_that_cannot_be_made_is_replaced(tmp_path, monkeypatch):
    obstacle = tmp_path / 'file'
    obstacle.write_text('')
    monkeypatch.delenv('SSIK_ROS_CACHE_DIR', raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(obstacle))
    assert obstacle not in _jit.cache_root().parents


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
    """Return a copy that nobody may write into."""
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


@compiled_only
@pytest.mark.parametrize('form', FORMS)
def test_the_search_is_compiled_once_whatever_form_the_request_has(panda, form):
    solver, target, seed = panda
    target, seed = FORMS[form](target, seed)
    assert solver.solve(SolveRequest(targets=target, seed=seed)).solved
    assert len(pose_search.search.signatures) == 1


@pytest.mark.parametrize('form', [form for form in FORMS if form != 'float32'])
def test_the_form_of_a_request_does_not_change_the_answer(panda, form):
    solver, target, seed = panda
    expected = solver.solve(SolveRequest(targets=target, seed=seed)).solutions
    target, seed = FORMS[form](target, seed)
    actual = solver.solve(SolveRequest(targets=target, seed=seed)).solutions
    np.testing.assert_array_equal(actual, expected)


LITERALS = """
from ssik_ros.kernels._jit import kernel

@kernel
def add(a, b):
    return a + b

@kernel
def caller(x):
    return add(x, 0) + add(x, 1) + add(x, 2) + add(x, x)

assert caller(3) == 18
print(len(add.signatures))
"""


@compiled_only
def test_literal_arguments_do_not_make_versions_of_their_own(package_copy):
    (package_copy / 'ssik_ros' / 'kernels' / 'literals.py').write_text(LITERALS)
    code = 'import ssik_ros.kernels.literals'
    assert run_python(code, package_copy, SSIK_ROS_CACHE_DIR=str(package_copy / 'cache')) == '1'


ALLOCATIONS = """
import numpy as np
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
# Kernels from disk do not make numba read its settings (ADR 12).
cpu_target.target_context.refresh()
from ssik_ros.model.loader import load_robot
from ssik_ros.solvers.base import SolveRequest
from ssik_ros.solvers.pose_ik import solver as pose_ik
from ssik_ros.solvers.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.pose_ik.solver import PoseIkSolver

# The kernel is meant, not the slices that it is called for.
pose_ik.FIRST_SLICE = 10**9
robot = load_robot({urdf!r})
group = robot.group_from_links('panda_link0', 'panda_link8')
target = np.eye(4)
target[:3, 3] = 0.5, 0.0, 0.84
for mode in ('first_found', 'optimize_distance'):
    options = PoseIkOptions(solve_mode=mode, optimization_timeout=1e6)
    solver = PoseIkSolver(robot, group, options)
    solver.warm_up()
    made = []
    for searches in (1, 10, 100):
        before = rtsys.get_allocation_stats().alloc
        request = SolveRequest(targets=target, max_searches=searches, max_solutions=500)
        result = solver.solve(request)
        made.append(rtsys.get_allocation_stats().alloc - before)
    assert result.iterations > 100, result
    print(*made)
"""


@compiled_only
def test_a_search_allocates_the_same_however_long_it_goes_on():
    urdf = ROOT / 'config' / 'robots' / 'panda_moveit_config' / 'config' / 'panda.urdf'
    output = run_python(ALLOCATIONS.format(urdf=str(urdf)), ROOT, NUMBA_NRT_STATS='1')
    for line in output.splitlines():
        assert len(set(line.split())) == 1, line


NUMBERS = """
import json
import warnings
import numpy as np
from ssik_ros.kernels import restarts, se3, so3, steps
from ssik_ros.model.loader import load_robot
from ssik_ros.solvers.base import SolveRequest
from ssik_ros.solvers.pose_ik.solver import PoseIkSolver

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
    numbers += [steps.nearest_turn(9.0 * vector[1], vector[2], -3.0, 4.0)]

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


def test_without_numba_the_kernels_give_the_same_numbers():
    urdf = ROOT / 'config' / 'robots' / 'panda_moveit_config' / 'config' / 'panda.urdf'
    code = NUMBERS.format(urdf=str(urdf))
    compiled, plain = (
        json.loads(run_python(code, ROOT, NUMBA_DISABLE_JIT=disabled)) for disabled in '01'
    )
    np.testing.assert_allclose(plain, compiled, rtol=0, atol=1e-12)


@compiled_only
def test_a_kernel_without_machine_code_is_known_before_it_is_called(tmp_path):
    code = (
        'from ssik_ros.kernels import clock, compilation; import numpy as np\n'
        'print(compilation.has_machine_code(clock.monotonic_ns))\n'
        'clock.monotonic_ns(np.zeros(2, dtype=np.int64))\n'
        'print(compilation.has_machine_code(clock.monotonic_ns))\n'
    )
    runs = [run_python(code, ROOT, SSIK_ROS_CACHE_DIR=str(tmp_path)).split() for _ in range(2)]
    assert runs == [['False', 'True'], ['True', 'True']]
