#!/usr/bin/env python3
"""
Install the distributions of dist/ into clean environments and use them: ``tools/try_distributions.py [PYTHON ...]``.

"make wheels" writes the distributions. Each Python gets a new environment for each numpy of ``NUMPY``. The wheel of this
machine and the source distribution are installed there in turn. Both have to pass ``ssik doctor``, solve a pose, and print
the outputs of the first pages of the documentation. Only modules of Python's standard library are needed.
"""

import argparse
import os
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tools'))
import make_wheels  # noqa: E402

NEWEST = 'newest'
"""Any numpy that setup.py allows: pip takes the newest one that has a wheel."""
NUMPY = {
    '3.10': ('1.24.2', NEWEST),
    '3.11': ('1.24.2', '1.26.4', NEWEST),
    '3.12': ('1.26.4', '2.2.4', NEWEST),
    '3.13': ('2.2.4', NEWEST),
    '3.14': ('2.3.5', NEWEST),
}
"""The numpy versions to install, by the version of Python. The apt packages of supported systems are among them."""
PAGES = ('docs/start/python.md', 'docs/tutorials/my_robot.md')
"""The first pages that a new user runs."""
POSE = ('ur5e', '--xyz', '0.4', '0.2', '0.3', '--rpy', '3.14', '0', '0')
LONGEST = 900.0
"""Time that a command may take [s]."""


class Failure(Exception):
    """A command failed; the message is its output."""


class Row(NamedTuple):
    """The outcome for one distribution in one environment."""

    python: str
    numpy: str
    distribution: str
    seconds: float
    fault: str
    """Empty if everything worked."""


def run(folder: Path, *words: object) -> str:
    """
    Return the output of a command that sees no package of this repository.

    :param folder: where it runs.
    :param words: the command.
    :raises Failure: if it ends with another exit code than 0, or takes too long.
    """
    kept = make_wheels.own_environment()
    command = [str(word) for word in words]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**kept, 'NO_COLOR': '1', 'COLUMNS': '100', 'MPLBACKEND': 'Agg'},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(str(error)) from error
    if done.returncode:
        raise Failure(f'"{" ".join(command)}" ended with {done.returncode}:\n{done.stdout}')
    return done.stdout


def distributions(folder: Path) -> tuple[Path, Path]:
    """
    Return the wheel of this machine and the source distribution.

    :param folder: of the distributions.
    :raises SystemExit: if one is missing.
    """
    wheels = sorted(folder.glob(f'ssik_ros-*_{os.uname().machine}.whl'))
    sources = sorted(path for path in folder.glob('ssik_ros-*.tar.gz') if '-ros.' not in path.name)
    if len(wheels) != 1 or len(sources) != 1:
        raise SystemExit(
            f'{folder} has no wheel and source distribution. Run "make wheels" first.'
        )
    return wheels[0], sources[0]


def make_environment(folder: Path, python: str, numpy: str) -> Path:
    """
    Return the interpreter of a new environment, which has all dependencies of the package.

    :param folder: where it is made.
    :param python: the interpreter that makes it.
    :param numpy: the version to install.
    """
    run(folder, python, '-m', 'venv', folder / 'venv')
    interpreter = folder / 'venv' / 'bin' / 'python'
    install = interpreter, '-m', 'pip', 'install', '--quiet', '--only-binary', ':all:'
    packages = (ROOT / 'requirements' / 'core.txt').read_text(encoding='utf-8').splitlines()
    packages = [line for line in packages if not line.startswith('#')]
    if numpy.startswith('1.'):
        # A dependency of PyPI's pinocchio asks for numpy 2, and runs with numpy 1.
        run(folder, *install, '--no-deps', '-r', ROOT / 'requirements' / 'pinocchio.txt')
        packages = [line for line in packages if not line.startswith('pin>')]
    pinned = [] if numpy == NEWEST else [f'numpy=={numpy}']
    run(folder, *install, *packages, *pinned)
    return interpreter


def use(folder: Path, python: Path, distribution: Path) -> None:
    """
    Install a distribution and use it as a new user does.

    :param folder: where the commands run.
    :param python: of the environment.
    :param distribution: a wheel or a source distribution.
    :raises Failure: if something does not work.
    """
    run(
        folder,
        python,
        '-m',
        'pip',
        'install',
        '--quiet',
        '--no-deps',
        '--force-reinstall',
        distribution,
    )
    ssik = python.with_name('ssik')
    run(folder, ssik, 'doctor')
    shown = run(folder, ssik, 'solve', *POSE)
    if 'solution; the first is off by' not in shown:
        raise Failure(f'"ssik solve" finds no solution:\n{shown}')
    # The runner puts the parent of its folder first, where the repository has the package.
    kit = folder / 'kit'
    shutil.rmtree(kit, ignore_errors=True)
    (kit / 'tools').mkdir(parents=True)
    shutil.copy2(ROOT / 'tools' / 'run_pages.py', kit / 'tools')
    pages = [shutil.copy2(ROOT / page, kit) for page in PAGES]
    run(kit, python, kit / 'tools' / 'run_pages.py', *pages)


def version_of(folder: Path, python: str | Path, package: str | None = None) -> str:
    """
    Return the version of a package, or without one the version of Python: its first two numbers.

    :param folder: where the interpreter runs.
    :param python: the interpreter.
    :param package: a module that has a version.
    """
    code = f'import {package}; print({package}.__version__)'
    if package is None:
        code = 'import sys; print("{}.{}".format(*sys.version_info))'
    return run(folder, python, '-c', code).strip()


def rows_of(python: str, files: tuple[Path, Path]) -> list[Row]:
    """
    Try both distributions with each numpy of a Python; return the outcomes.

    :param python: the interpreter.
    :param files: the wheel and the source distribution.
    """
    rows = []
    for wanted in NUMPY[version_of(ROOT.parent, python)]:
        with tempfile.TemporaryDirectory() as name:
            folder, numpy = Path(name), wanted
            version = version_of(folder, python)
            start = time.monotonic()
            try:
                interpreter = make_environment(folder, python, wanted)
                numpy = version_of(folder, interpreter, 'numpy')
            except Failure as failure:
                rows.append(Row(version, numpy, 'none', time.monotonic() - start, str(failure)))
                show(rows[-1])
                continue
            for distribution in files:
                start, fault = time.monotonic(), ''
                try:
                    use(folder, interpreter, distribution)
                except Failure as failure:
                    fault = str(failure)
                seconds = time.monotonic() - start
                rows.append(Row(version, numpy, distribution.name, seconds, fault))
                show(rows[-1])
    return rows


def show(row: Row) -> None:
    """Print an outcome."""
    outcome = 'failed' if row.fault else 'works'
    print(
        f'Python {row.python}, numpy {row.numpy}, {row.distribution}: {outcome}, {row.seconds:.0f} s',
        flush=True,
    )
    if row.fault:
        print(row.fault, flush=True)


def main() -> int:
    """Try all combinations; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.strip().partition('\n\n')[0])
    parser.add_argument(
        'pythons', nargs='*', metavar='PYTHON', default=[sys.executable], help='default: this one'
    )
    parser.add_argument(
        '--dist', type=Path, default=make_wheels.DIST, help='folder of the distributions'
    )
    chosen = parser.parse_args()
    files = distributions(chosen.dist.resolve())
    rows = [row for python in chosen.pythons for row in rows_of(python, files)]
    failed = sum(bool(row.fault) for row in rows)
    print(f'{len(rows) - failed} passed, {failed} failed')
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main())
