"""Large kernels are compiled once: callers hold their symbol, and bring them along from disk."""

from kernel_package import ANSWER
from kernel_package import make_package
from kernel_package import run
import pytest

from ssik_ros.kernels import _jit

pytestmark = pytest.mark.skipif(_jit.JIT_DISABLED, reason='NUMBA_DISABLE_JIT is set')

ALL_ARE_LARGE = """
from ssik_ros.kernels import _called_kernels
_called_kernels.LARGEST_MERGED = 0
"""
ASK = """
from ssik_ros.kernels import bottom, middle, top
answer = top.top(0.5)
for kernel in (top.top, middle.middle, bottom.bottom):
    stats = kernel.stats
    print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), end=' ')
print(answer)
"""
FROM_DISK, COMPILED, NOT_ASKED_FOR = ['1', '0'], ['0', '1'], ['0', '0']


@pytest.fixture
def package(tmp_path):
    """Return a copy of the package with three kernels that call one another."""
    return make_package(tmp_path / 'copy')


def ask(package, before=ALL_ARE_LARGE):
    """Return where top, middle and bottom came from; the answer is checked."""
    words = run(before + ASK, package).split()
    assert float(words.pop()) == ANSWER
    return words[:2], words[2:4], words[4:]


def test_a_caller_holds_no_copy_of_a_large_kernel(package):
    code = """
from ssik_ros.kernels import top
top.top(0.5)
(text,) = top.top.inspect_llvm().values()
print(any('define' in line and 'bottom' in line for line in text.splitlines()))
"""
    assert run(ALL_ARE_LARGE + code, package) == 'False'


def test_a_caller_merges_small_kernels(package):
    ask(package, before='')
    # Its own code is all that it needs.
    assert ask(package, before='') == (FROM_DISK, NOT_ASKED_FOR, NOT_ASKED_FOR)


def test_a_caller_from_disk_brings_its_callees(package):
    assert ask(package) == (COMPILED, COMPILED, COMPILED)
    assert ask(package) == (FROM_DISK, FROM_DISK, FROM_DISK)


def test_a_caller_of_another_callee_is_compiled_again(package):
    ask(package)
    (old,) = package.glob('cache/bottom-*/*.nbc')
    old.unlink()
    # The symbol of a kernel counts what its process has decorated before.
    count_on = """
from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels import clock, so3, se3
"""
    run(
        ALL_ARE_LARGE + count_on + 'from ssik_ros.kernels import bottom; bottom.bottom(0.5)',
        package,
    )
    top, middle, bottom = ask(package)
    assert (middle, bottom) == (COMPILED, FROM_DISK)
    assert top == COMPILED
    assert ask(package) == (FROM_DISK, FROM_DISK, FROM_DISK)


def test_a_callee_that_is_gone_is_compiled_again(package):
    ask(package)
    for path in package.glob('cache/bottom-*/*'):
        path.unlink()
    assert ask(package)[2] == COMPILED
    assert ask(package) == (FROM_DISK, FROM_DISK, FROM_DISK)


def test_a_numba_that_keeps_libraries_otherwise_merges_everything(package):
    otherwise = ALL_ARE_LARGE + '_called_kernels._IS_POSSIBLE = False\n'
    assert ask(package, otherwise) == (COMPILED, COMPILED, COMPILED)
    assert ask(package, otherwise) == (FROM_DISK, NOT_ASKED_FOR, NOT_ASKED_FOR)


def test_a_symbol_that_is_nowhere_does_not_end_the_process(package):
    ask(package)
    bring_nothing = '_called_kernels._Callee.__call__ = lambda self: None\n'
    assert ask(package, ALL_ARE_LARGE + bring_nothing)[0] == COMPILED
