"""The program that uses chains and solvers of ssik_control without ROS: built once, asked by lines of text."""

from pathlib import Path
import shutil
import subprocess
import sys

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
ARMS = {
    'panda': ('panda_link0', 'panda_link8'),
    'fanuc': ('base_link', 'tool0'),
    'ur5e': ('base_link', 'tool0'),
}
COMPILING = 900.0
"""A build that takes longer than this hangs, whatever else the machine does [s]."""
PATIENCE = 120.0
"""A run that takes longer than this hangs [s]."""
COMMAND = '#!/bin/sh\nexec "{python}" -c "import sys; from ssik_ros.cli.command import main; sys.exit(main())" "$@"\n'


def urdf_of(name):
    """Return the URDF of one of the arms."""
    return ROOT / f'config/robots/{name}_moveit_config/config/{name}.urdf'


def missing_tool():
    """Return the reason why the program cannot be built; empty if it can."""
    for tool in ('cmake', 'c++', 'cc', 'objcopy', 'ar'):
        if shutil.which(tool) is None:
            return f'{tool} is not installed'
    return ''


def prefixes():
    """Return folders in which cmake finds tinyxml2, such as pinocchio's wheel."""
    return [str(path) for place in sys.path for path in Path(place).glob('cmeel.prefix')]


def build(folder, flags='-Werror'):
    """Build the program below a folder; return its path, or the reason why it cannot be built."""
    command = folder / 'ssik'
    command.write_text(COMMAND.format(python=sys.executable))
    command.chmod(0o755)
    arguments = [
        *('cmake', '-S', str(ROOT / 'control_plugin'), '-B', str(folder / 'build')),
        *('-DSSIK_CONTROL_CORE_ONLY=ON', '-DSSIK_CONTROL_PROGRAMS=ON'),
        *(f'-DCMAKE_CXX_FLAGS={flags}', f'-DSSIK_COMMAND={command}'),
        f'-DCMAKE_PREFIX_PATH={";".join(prefixes())}',
    ]
    for words in (arguments, ['cmake', '--build', str(folder / 'build')]):
        done = subprocess.run(words, capture_output=True, text=True, timeout=COMPILING)
        if done.returncode and 'tinyxml2' in done.stderr:
            return 'tinyxml2 has no files for cmake here'
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder / 'build' / 'chain_program'


class ChainProgram:
    """One chain of a URDF."""

    def __init__(self, program, urdf, base, tip, solver=(), environment=None):
        """Load a chain; ``solver`` is a file with blocks or a command, and the longest time of the command."""
        self.process = subprocess.Popen(
            [str(program), str(urdf), base, tip, *map(str, solver)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        first = self.process.stdout.readline().rstrip('\n')
        self.error = first.removeprefix('error: ') if first.startswith('error: ') else ''
        self.links = first.split()

    def __enter__(self):
        """Return the chain."""
        return self

    def __exit__(self, *_):
        """End the process."""
        self.process.communicate(timeout=PATIENCE)

    def ask(self, verb, *parts):
        """Write a request and return the next line as numbers."""
        words = [verb]
        for part in parts:
            words += [part] if isinstance(part, str) else [repr(float(x)) for x in np.ravel(part)]
        self.process.stdin.write(' '.join(words) + '\n')
        self.process.stdin.flush()
        return self.read()

    def read(self):
        """Return the next line as numbers."""
        return np.array([float(word) for word in self.process.stdout.readline().split()])

    def link(self, name, q):
        """Return the pose (4, 4) of a link and its Jacobian (6, n)."""
        frame = self.ask('link', name, q)
        return to_matrix(frame), self.read().reshape(6, -1)

    def limits(self):
        """Return lower, upper and velocity limits (3, n) of the joints."""
        return np.array([self.ask('limits'), self.read(), self.read()])

    def nearest(self, pose, seed):
        """Return the solution nearest to the seed, or an empty array."""
        return self.ask('nearest', to_frame(pose), seed)

    def within(self, pose, ranges):
        """Return a solution within ranges (n, 2), or an empty array."""
        return self.ask('within', to_frame(pose), ranges)

    def all(self, pose):
        """Return all solutions."""
        rows = [self.ask('all', to_frame(pose))]
        while rows[-1].size:
            rows.append(self.read())
        return rows[:-1]


class Loop:
    """Cycles of a chain with a solver; checks in each of them that no limit is broken."""

    def __init__(self, chain, limits, period, velocity, acceleration, q):
        """Start at rest; ``limits`` are the lower and upper ones of the joints."""
        self.chain, self.limits, self.period = chain, limits, period
        self.velocity, self.acceleration = np.array(velocity), np.array(acceleration)
        self.q, self.speeds = np.array(q), np.zeros(len(q))
        assert chain.ask('begin', [period], velocity, acceleration, q) == [1.0]

    def cycle(self, verb, numbers=()):
        """Take a cycle; return whether it reached its target, the cause, the scale and the condition number."""
        response = self.chain.ask(verb, numbers)
        n, before, last = len(self.q), self.q, self.speeds
        self.q, self.speeds = response[:n], response[n : 2 * n]
        np.testing.assert_allclose(self.speeds, (self.q - before) / self.period, atol=1e-9)
        assert (np.abs(self.speeds) <= self.velocity + 1e-9).all()
        assert (np.abs(self.speeds - last) <= self.period * self.acceleration + 1e-9).all()
        assert (self.limits[0] <= self.q).all() and (self.q <= self.limits[1]).all()
        return response[2 * n :]


def to_matrix(frame):
    """Return a pose (4, 4) of a rotation by rows and a translation."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = frame[:9].reshape(3, 3), frame[9:]
    return pose


def to_frame(pose):
    """Return the rotation by rows, and the translation of a pose (4, 4)."""
    return np.concatenate([pose[:3, :3].ravel(), pose[:3, 3]])
