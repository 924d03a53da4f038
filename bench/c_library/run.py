"""
Time of C libraries: frozen and shared kernels, and the package from Python, on the same kind of poses.

``python bench/c_library/run.py [ROBOT ...]`` builds what it measures in a temporary folder and prints a table in Markdown. Programs
alternate, so that a busy machine disturbs all of them alike.
"""

from pathlib import Path
import subprocess
import sys
import tempfile
import time

import numpy as np

from ssik_ros.cli.command import main as ssik
from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.model.catalogue import arm_data, load_arm

ROBOTS = ('ur5e', 'irb6700', 'panda', 'iiwa14')
SOURCE = Path(__file__).with_name('speed.c')
ROUNDS = 5
POSES = 400


def build(robot: str, folder: Path, *options: str) -> Path:
    """Return the benchmark's program for a library."""
    name = 'ssik_arm'
    if ssik(
        ['build', '--robot', robot, '--target', 'c', '--name', name, '-o', str(folder), *options]
    ):
        raise SystemExit(f'{robot}: no library')
    program = folder / 'speed'
    defines = f'-DNAME={name}', f'-DUPPER={name.upper()}', f'-I{folder / "include"}'
    library = folder / 'lib' / f'lib{name}.a'
    command = ['cc', '-std=c99', '-O2', *defines, SOURCE, library, '-lm', '-o', program]
    subprocess.run([str(word) for word in command], check=True)
    return program


def run(program: Path, *arguments: object) -> dict[str, float]:
    """Return the figures that a program prints."""
    words = [str(program), str(POSES), *map(str, arguments)]
    output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: float(line.split()[1]) for line in output.splitlines()}


def time_python(robot: str) -> float:
    """Return the time of ``solve_q`` from Python [us]."""
    data, model = arm_data(robot), load_arm(robot)
    arm = Manipulator(model, model.group_from_links(data.base_link, data.tip_link))
    rng = np.random.default_rng(1)
    limits = arm.group.lower, arm.group.upper
    poses = [arm.fk(rng.uniform(*np.clip(limits, -np.pi, np.pi))) for _ in range(POSES)]
    arm.solve_q(poses[0])  # prepares what later calls share
    start = time.thread_time()
    for pose in poses:
        arm.solve_q(pose)
    return 1e6 * (time.thread_time() - start) / POSES


def measure(robot: str, folder: Path) -> list[str]:
    """Return the row of a robot."""
    frozen = build(robot, folder / 'frozen')
    shared = build(robot, folder / 'shared', '--shared-kernels')
    figures: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for what, program in (('frozen', frozen), ('shared', shared)):
            for key, value in run(program).items():
                figures.setdefault(f'{what} {key}', []).append(value)
        figures.setdefault('python', []).append(time_python(robot))
    best = {key: min(values) for key, values in figures.items()}
    slowest = run(frozen, 100_000)
    shown = [best[f'{what} all_branches'] for what in ('frozen', 'shared')] + [best['python']]
    shown += [best['frozen first_found'], best['frozen track']]
    shown += [slowest['slowest_all_branches'], slowest['slowest_track']]
    return [robot, *(f'{value:.2f}' if value < 100 else f'{value:.0f}' for value in shown)]


def main() -> None:
    """Measure the robots of the command line."""
    titles = (
        *(
            'arm',
            'all branches',
            'shared kernels',
            '`solve_q` from Python',
            'first found',
            'one cycle',
        ),
        *('slowest of 100,000: all branches', 'one cycle'),
    )
    rows = [list(titles), ['---'] * len(titles)]
    for robot in sys.argv[1:] or ROBOTS:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(robot, Path(folder)))
    print('\n'.join(f'| {" | ".join(row)} |' for row in rows))


if __name__ == '__main__':
    main()
