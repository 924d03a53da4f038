"""Runs a page of documentation in a new process that has the package loaded already: half of the time of a new Python."""

from collections.abc import Sequence
import multiprocessing
from multiprocessing.pool import Pool
import os
from pathlib import Path
import sys
import traceback

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / 'tools'))
import run_pages  # noqa: E402

from ssik_ros.cli.command import main  # noqa: E402

LOADED = (
    __name__,
    'rich.table',
    'scipy.spatial.transform',
    'ssik_ros.cli.verb.solve',
    'ssik_ros.manipulator.manipulator',
)
"""Modules that each process has when it begins."""


def make_pool() -> Pool:
    """Return a pool whose process is a new one for each page."""
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(list(LOADED))
    return context.Pool(1, maxtasksperchild=1)


def run(page: Path) -> str:
    """Return the outputs of a page that differ, or its exception; empty if all outputs agree with the page."""
    run_pages.run_command = _run_command
    try:
        return '\n'.join(
            f'{page.name} shows:\n{difference.shown}but this is printed:\n{difference.printed}'
            for difference in run_pages.run_in_new_folder(page)
        )
    except BaseException:
        return traceback.format_exc()


_in_new_python = run_pages.run_command


def _run_command(words: Sequence[str]) -> str:
    """Return the output of a command; ``ssik`` runs in a copy of this process."""
    if words[0] != 'ssik':
        return _in_new_python(words)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _become_ssik(words[1:], writing)
    os.close(writing)
    with os.fdopen(reading, encoding='utf-8') as said:
        lines = said.read().splitlines()
    os.waitpid(child, 0)
    return '\n'.join(line.rstrip() for line in lines) + '\n'


def _become_ssik(words: Sequence[str], output: int) -> None:
    """Run the command, write to a pipe, and end the process."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.update(COLUMNS='100', NO_COLOR='1')
    try:
        with os.fdopen(1, 'w', encoding='utf-8') as out, os.fdopen(2, 'w', buffering=1) as errors:
            sys.stdout, sys.stderr = out, errors
            try:
                main(list(words))
            except SystemExit:
                pass
            except BaseException:
                traceback.print_exc()
    finally:
        os._exit(0)
