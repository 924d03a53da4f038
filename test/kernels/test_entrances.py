"""Kernels that only kernels call have no entrance from Python, and get one when Python calls them after all."""

from kernel_package import make_package
from kernel_package import run
import pytest

from ssik_ros.kernels import _jit

pytestmark = pytest.mark.skipif(_jit.JIT_DISABLED, reason='NUMBA_DISABLE_JIT is set')

SHOW = """
import numpy as np
from ssik_ros.kernels import bottom, middle, top
def is_open(kernel):
    from ssik_ros.kernels._entrances import has_entrance
    return all(has_entrance(result) for result in kernel.overloads.values())
"""
CALLED_BY_A_KERNEL = SHOW + 'print(top.top(0.5), is_open(top.top), is_open(middle.middle))'
CALLED_BY_PYTHON = (
    SHOW
    + """
top.top(0.5)
print(middle.middle(0.5), middle.middle(x=0.5), middle.middle(2), bottom.bottom(0.5))
print(sum(middle.middle.stats.cache_misses.values()))
"""
)
FROM_PYTHON_FIRST = SHOW + 'print(middle.middle(0.5), top.top(0.5), is_open(middle.middle))'
CALLER_OF_TWO = """
from ssik_ros.kernels._jit import kernel

@kernel
def inner(a, b, out):
    for i in range(a.size):
        out[i] = a[i] + b
    return out[0], a.size

@kernel
def outer(a, out):
    inner(a, 1.0, out)
    return inner(a, 2.0, out)
"""
ARRAYS = """
import numpy as np
from ssik_ros.kernels import pair
a, out = np.array([1.0, 2.0]), np.empty(2)
print(pair.outer(a, out), pair.inner(a, 5.0, out), out)
try:
    pair.inner(a, 5.0)
except TypeError as error:
    print('TypeError')
"""


@pytest.fixture
def package(tmp_path):
    """Return a copy of the package with three kernels that call one another."""
    return make_package(tmp_path / 'copy')


@pytest.mark.parametrize('process', ['compiles', 'loads'])
def test_a_kernel_that_a_kernel_calls_has_no_entrance(package, process):
    if process == 'loads':
        run(CALLED_BY_A_KERNEL, package)
    # A small one has been merged: from disk its caller comes without it.
    expected = {'compiles': '6.0 True False', 'loads': '6.0 True True'}[process]
    assert run(CALLED_BY_A_KERNEL, package) == expected


def test_python_may_call_it_after_all(package):
    answers = '3.0 3.0 6.0 1.5'
    first, misses = run(CALLED_BY_PYTHON, package).splitlines()
    assert first == answers
    # Numbers of two types: two versions.
    assert misses == '2'
    # Nothing is compiled again, neither the kernel nor its entrance.
    assert run(CALLED_BY_PYTHON, package).splitlines() == [answers, '0']
    assert list(package.glob('cache/middle-*/*__from_python*.nbi'))


def test_a_kernel_that_python_calls_first_has_an_entrance_of_its_own(package):
    assert run(FROM_PYTHON_FIRST, package) == '3.0 6.0 True'
    assert not list(package.glob('cache/middle-*/*__from_python*.nbi'))


@pytest.mark.parametrize('process', ['compiles', 'loads'])
def test_arrays_and_several_results_come_through(package, process):
    (package / 'ssik_ros' / 'kernels' / 'pair.py').write_text(CALLER_OF_TWO)
    if process == 'loads':
        run(ARRAYS, package)
    assert run(ARRAYS, package) == '(3.0, 2) (6.0, 2) [6. 7.]\nTypeError'


def test_a_numba_that_keeps_libraries_otherwise_gives_each_an_entrance(package):
    otherwise = (
        'from ssik_ros.kernels import _called_kernels\n_called_kernels._IS_POSSIBLE = False\n'
    )
    assert run(otherwise + CALLED_BY_A_KERNEL, package) == '6.0 True True'
