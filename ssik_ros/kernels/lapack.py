"""
Eigenvalues of small matrices by LAPACK, callable from kernels.

The routines are those of the LAPACK that scipy brings, reached by symbol: a kernel that calls them can be cached,
which a ctypes pointer would prevent (ADR 2). LAPACK stores matrices by columns; a matrix stored by rows is read as its
transpose, which has the same eigenvalues.
"""

from collections.abc import Iterator
import contextlib
import importlib.machinery
import importlib.util
from pathlib import Path
import sys
from typing import Any

from llvmlite import binding
from numba.extending import get_cython_function_address

from ssik_ros.kernels._jit import external_function
from ssik_ros.kernels._jit import JIT_DISABLED
from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels._symbols import provide

_LAPACK = 'scipy.linalg.cython_lapack'
INTEGERS = 8
"""Length of the integer scratch of every routine here."""
SCRATCH_ROWS = 16
"""A routine for a matrix of size n needs ``SCRATCH_ROWS * n`` floats of scratch."""

# A character argument is the address of an integer all of whose bytes are that character.
_NO, _YES, _BALANCE = (0x01010101 * ord(letter) for letter in 'NVB')


@contextlib.contextmanager
def _loaded_alone(name: str) -> Iterator[None]:
    """
    Have an extension module of scipy without the package around it, which takes a tenth of a second, for a while.

    Where that is not possible, whoever asks for it loads it with its package. Who imports it later gets the same module
    with its package.

    :param name: such as ``scipy.linalg.cython_lapack``.
    """
    package, *inside = name.split('.')
    found = None if name in sys.modules else importlib.util.find_spec(package)
    folders = [] if found is None else list(found.submodule_search_locations or ())
    files = [
        Path(folder, *inside).with_name(inside[-1] + suffix)
        for folder in folders
        for suffix in importlib.machinery.EXTENSION_SUFFIXES
    ]
    file = next((file for file in files if file.is_file()), None)
    spec = file and importlib.util.spec_from_file_location(name, file)
    if not spec or spec.loader is None:
        yield
        return
    with contextlib.suppress(ImportError):
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    try:
        yield
    finally:
        sys.modules.pop(name, None)


def _external(routine: str, arguments: int) -> Any:
    """
    Return a routine of scipy's LAPACK, all of its arguments addresses, under a name of our own.

    LAPACK is loaded, with memory and threads of its own, when the first kernel comes that calls it.
    """
    name = f'ssik_ros_{routine}'

    def define() -> None:
        with _loaded_alone(_LAPACK):
            binding.add_symbol(name, get_cython_function_address(_LAPACK, routine))

    provide(name, define)
    return external_function(name, f'void({", ".join(["uintp"] * arguments)})')


if JIT_DISABLED:
    from scipy.linalg import lapack

    def eigenvalues(real: Any, imaginary: Any, a: Any, n: Any, scratch: Any, ints: Any) -> Any:
        """Write the eigenvalues of a matrix; see the compiled twin below."""
        wr, wi, _, _, info = lapack.dgeev(
            a[: n * n].reshape(n, n).T, compute_vl=0, compute_vr=0, overwrite_a=0
        )
        real[:n], imaginary[:n] = wr, wi
        return int(info)

    def eigensystem(
        real: Any, imaginary: Any, vectors: Any, a: Any, n: Any, scratch: Any, ints: Any
    ) -> Any:
        """Write eigenvalues and right eigenvectors of a matrix; see the compiled twin below."""
        wr, wi, _, vr, info = lapack.dgeev(a[: n * n].reshape(n, n).T, compute_vl=0, overwrite_a=0)
        real[:n], imaginary[:n] = wr, wi
        vectors[: n * n] = vr.T.ravel()
        return int(info)

    def generalised_eigenvalues(
        real: Any, imaginary: Any, beta: Any, a: Any, b: Any, n: Any, scratch: Any, ints: Any
    ) -> Any:
        """Write the eigenvalues of a pencil; see the compiled twin below."""
        pencil = (part[: n * n].reshape(n, n).T for part in (a, b))
        ar, ai, scale, _, _, _, info = lapack.dggev(*pencil, compute_vl=0, compute_vr=0)
        real[:n], imaginary[:n], beta[:n] = ar, ai, scale
        return int(info)

else:
    _dgeev = _external('dgeev', 14)
    _dggev = _external('dggev', 17)

    @kernel
    def eigenvalues(real, imaginary, a, n, scratch, ints):
        """
        Write the eigenvalues of a matrix and return LAPACK's code, 0 for success.

        :param real, imaginary: (n,) parts; complex ones stand in conjugate pairs.
        :param a: (n n,) matrix, overwritten.
        :param scratch: (SCRATCH_ROWS n,) floats.
        :param ints: (INTEGERS,) int32.
        """
        ints[0], ints[1], ints[2], ints[3] = n, SCRATCH_ROWS * n, 0, _NO
        at = ints.ctypes.data
        size, none = at, at + 12
        _dgeev(
            none,
            none,
            size,
            a.ctypes.data,
            size,
            real.ctypes.data,
            imaginary.ctypes.data,
            a.ctypes.data,
            size,
            a.ctypes.data,
            size,
            scratch.ctypes.data,
            at + 4,
            at + 8,
        )
        return ints[2]

    @kernel
    def eigensystem(real, imaginary, vectors, a, n, scratch, ints):
        """
        Write eigenvalues and right eigenvectors of a matrix stored by columns; return LAPACK's code.

        :param real, imaginary: (n,) parts; complex ones stand in conjugate pairs.
        :param vectors: (n n,) one vector after the other, LAPACK's way of storing complex ones.
        :param a: (n n,) matrix, overwritten.
        :param scratch: (SCRATCH_ROWS n,) floats.
        :param ints: (INTEGERS,) int32.
        """
        ints[0], ints[1], ints[2], ints[3], ints[4] = n, SCRATCH_ROWS * n, 0, _NO, _YES
        at = ints.ctypes.data
        size = at
        _dgeev(
            at + 12,
            at + 16,
            size,
            a.ctypes.data,
            size,
            real.ctypes.data,
            imaginary.ctypes.data,
            a.ctypes.data,
            size,
            vectors.ctypes.data,
            size,
            scratch.ctypes.data,
            at + 4,
            at + 8,
        )
        return ints[2]

    @kernel
    def generalised_eigenvalues(real, imaginary, beta, a, b, n, scratch, ints):
        """
        Write the eigenvalues (real + i imaginary) / beta of A v = x B v and return LAPACK's code, 0 for success.

        :param real, imaginary, beta: (n,); beta >= 0.
        :param a, b: (n n,) matrices, overwritten.
        :param scratch: (SCRATCH_ROWS n,) floats.
        :param ints: (INTEGERS,) int32.
        """
        ints[0], ints[1], ints[2], ints[3] = n, SCRATCH_ROWS * n, 0, _NO
        at = ints.ctypes.data
        size, none = at, at + 12
        _dggev(
            none,
            none,
            size,
            a.ctypes.data,
            size,
            b.ctypes.data,
            size,
            real.ctypes.data,
            imaginary.ctypes.data,
            beta.ctypes.data,
            a.ctypes.data,
            size,
            a.ctypes.data,
            size,
            scratch.ctypes.data,
            at + 4,
            at + 8,
        )
        return ints[2]
