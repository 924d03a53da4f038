"""
Measure C libraries and their peers on the same requests, with the same compiler and flags.

``python bench/c_library/run.py [ROBOT ...] [--peers PYTHON] [--calls N]`` builds its programs in a temporary folder
and prints tables in Markdown. Programs alternate, so that a busy machine disturbs all of them alike. Times are
processor time. The headers of ssik come from the package of the peers' Python; KDL and Eigen are located with
pkg-config.
"""

from collections.abc import Sequence
from pathlib import Path
import resource
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from bench import program, ROOT
from bench.arms import FloatArray
from bench.cases import draw_cases
from bench.catalogue_arms import make_arm
from bench.tables import table, table_of
from ssik_ros.cli.command import main as ssik
from ssik_ros.manipulator.manipulator import Manipulator

ROBOTS = ('ur5e', 'irb6700', 'panda', 'iiwa14')
FOLDER = Path(__file__).parent
PEERS = ROOT / '.venv-bench' / 'bin' / 'python'
ROUNDS = 5
REQUESTS = 400
ARM = 'ssik_arm'
"""Name of the library of each arm."""

Figures = dict[str, float]


class Program(NamedTuple):
    """A program that prints figures."""

    name: str
    words: list[str]
    """The program and its arguments, without the file of requests and the number of calls."""

    def run(self, requests: Path, calls: int = 0) -> Figures:
        """Return the figures that it prints."""
        words = [self.words[0], str(requests), str(calls), *self.words[1:]]
        output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        pairs = (line.split() for line in output.splitlines())
        return {f'{self.name} {key}': float(value) for key, value in pairs}


class Arm:
    """An arm with its requests."""

    def __init__(self, robot: str, folder: Path) -> None:
        """Write the requests of a robot of the catalogue: joint values and seeds within limits, and their poses."""
        arm = make_arm(robot, folder)
        self.robot, self.requests = robot, folder / f'{robot}.requests'
        self.manipulator = Manipulator.from_urdf(arm.urdf_path, base=arm.base, ee=arm.tip)
        cases, (axes, points, home) = draw_cases(arm, REQUESTS), arm.lines()
        self.poses = cases.targets
        steps = np.diff(np.vstack([np.zeros(3), points, home[:3, 3]]), axis=0)
        parts = *arm.sampling_bounds(), axes, steps, home[:3, :3]
        rows = np.hstack([cases.q, cases.seeds, cases.targets.reshape(REQUESTS, 16)])
        numbers: list[FloatArray] = [np.array([len(arm.joints), REQUESTS]), *parts, rows]
        np.concatenate([part.ravel() for part in numbers]).astype(float).tofile(self.requests)

    def time_python(self) -> Figures:
        """Return the time of ``solve_q`` from Python [us]."""
        self.manipulator.solve_q(self.poses[0])  # keeps the set-up out of the times
        start = time.thread_time()
        for pose in self.poses:
            self.manipulator.solve_q(pose)
        return {'python all_branches': 1e6 * (time.thread_time() - start) / REQUESTS}


class Compiler:
    """Compiles programs with the same flags."""

    def __init__(self, folder: Path) -> None:
        """Put programs into a folder."""
        self.folder, self.flags = folder, ['-O3', '-DNDEBUG']
        self.seconds: dict[str, float] = {}
        """Processor time of each compilation."""

    def make(self, name: str, source: str, *options: object) -> list[str]:
        """Compile and link a source of this folder, and return the program."""
        program = str(self.folder / name)
        compiler = ['gcc', '-std=c99'] if source.endswith('.c') else ['g++', '-std=c++17']
        words = [*compiler, *self.flags, FOLDER / source, *options, '-lm', '-o', program]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([str(word) for word in words], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds[name] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return [program]


def packages(*names: str) -> list[str] | None:
    """Return the flags of packages that pkg-config knows; None where one is missing."""
    command = ['pkg-config', '--cflags', '--libs', *names]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if result.returncode else result.stdout.split()


def write(*words: object) -> None:
    """Call ``ssik build``, or end."""
    if ssik(['build', *map(str, words)]):
        raise SystemExit(f'ssik build {words}: nothing was written')


def build_own(robot: str, folder: Path, compiler: Compiler) -> list[Program]:
    """Return the programs of the library of an arm, and of libssik with the blocks of this arm."""
    product, generic, blocks = folder / robot, folder / 'libssik', folder / f'{robot}.blocks'
    write('--robot', robot, '--target', 'c', '--name', ARM, '-o', product)
    write('--robot', robot, '--blocks', '-o', blocks)
    if not generic.exists():
        write('--target', 'libssik', '-o', generic)
    made = []
    for name, library, place, define in (
        (f'{robot}_own', ARM, product, '-DARM'),
        (f'{robot}_libssik', 'ssik', generic, '-DBLOCKS'),
    ):
        archive = place / 'lib' / f'lib{library}.a'
        options = f'-I{place / "include"}', f'-DNAME={library}', define, archive
        made.append(compiler.make(name, 'speed.c', *options))
    return [Program('own', made[0]), Program('libssik', [*made[1], str(blocks)])]


def build_ssik(arm: Arm, peers: Path, compiler: Compiler, eigen: list[str]) -> Program:
    """Return the program of ssik's header for the family of an arm."""
    data = arm.requests.with_suffix('.ssik')
    command = [peers, FOLDER / 'ssik_headers.py', arm.requests, data]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    headers, family = said.split()
    kind = {'srs': '-DSRS', 'spherical_shoulder': '-DSHOULDER'}.get(family, '-DSIX')
    options = f'-I{headers}', f'-DFAMILY={family}', kind, *eigen
    program = compiler.make(f'ssik_{family}', 'ssik_headers.cpp', *options)
    return Program('ssik', [*program, str(data)])


def build_peers(arm: Arm, peers: Path, compiler: Compiler) -> list[Program]:
    """Return the programs of those peers that are installed."""
    made, eigen, kdl = [], packages('eigen3'), packages('orocos-kdl', 'eigen3')
    if eigen is not None:
        made.append(Program('eigen', compiler.make('eigen_loop', 'eigen_loop.cpp', *eigen)))
    if kdl is not None:
        made.append(Program('kdl', compiler.make('kdl', 'kdl.cpp', *kdl)))
    if eigen is not None and peers.exists():
        made.append(build_ssik(arm, peers, compiler, eigen))
    return made


def measure(arm: Arm, programs: list[Program], calls: int) -> Figures:
    """Return the least of each figure over the rounds, and the slowest of so many calls."""
    best: Figures = {}
    for _ in range(ROUNDS):
        for figures in (*(each.run(arm.requests) for each in programs), arm.time_python()):
            for key, value in figures.items():
                best[key] = min(value, best.get(key, np.inf))
    slowest = programs[0].run(arm.requests, calls)
    best |= {key: value for key, value in slowest.items() if key.endswith('slowest')}
    for name in ('own', 'libssik'):
        best[f'{name} one_cycle'] -= best[f'{name} kinematics']
    return best


ARM_COLUMN = {'arm': '{robot}'}
TABLES = {
    'All branches of a pose [us]': {
        **ARM_COLUMN,
        "the arm's library": '{own all_branches:.2f}',
        'libssik': '{libssik all_branches:.2f}',
        '`solve_q` from Python': '{python all_branches:.2f}',
        "ssik's headers": '{ssik all_branches:.2f}',
        'branches': '{own all_branches_result:.2f}',
        "branches of ssik's headers": '{ssik all_branches_result:.2f}',
    },
    'First solution from a random seed, solved requests, and one cycle of a control loop [us]': {
        **ARM_COLUMN,
        "the arm's library": '{own first_found:.2f}, {own first_found_result:.1%}',
        'KDL, LMA': '{kdl lma:.0f}, {kdl lma_result:.1%}',
        'KDL, NR_JL': '{kdl nr_jl:.0f}, {kdl nr_jl_result:.1%}',
        'loop with Eigen': '{eigen first_found:.2f}, {eigen first_found_result:.1%}',
        'one cycle': '{own one_cycle:.2f}',
        'one cycle of libssik': '{libssik one_cycle:.2f}',
    },
    'Slowest call [us]': {
        **ARM_COLUMN,
        'all branches': '{own all_branches_slowest:.1f}',
        'first solution': '{own first_found_slowest:.1f}',
        'one cycle': '{own one_cycle_slowest:.1f}',
    },
}


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = program.make_parser(__doc__, calls=1_000_000)
    parser.add_argument('robots', nargs='*', default=ROBOTS)
    parser.add_argument('--peers', type=Path, default=PEERS, help="the peers' Python")
    options = parser.parse_args(arguments)
    run, rows = program.Run('c_library', options), []
    with tempfile.TemporaryDirectory() as name:
        compiler = Compiler(Path(name))
        for robot in options.robots:
            arm = Arm(robot, compiler.folder)
            programs = build_own(robot, compiler.folder, compiler)
            programs += build_peers(arm, options.peers, compiler)
            rows.append({'robot': robot, **measure(arm, programs, options.calls)})
    for title, columns in TABLES.items():
        run.show(title, table_of(columns, rows))
    seconds = [[name, f'{value:.2f}'] for name, value in compiler.seconds.items()]
    run.show(table(('program', 'compiled in s of processor time'), seconds))
    run.finish(rows=rows)


if __name__ == '__main__':
    main()
