"""
Time from a cancellation to its result: ``python -m bench.path_cancel [-n COUNT] [--cold]``.

Plans are cancelled at moments spread evenly over all of their duration, every phase included. ``--cold`` starts a process for each plan,
so that the imports of SciPy and of the collision library are among the phases. ``--processor`` measures processor time, for machines that are
busy.
"""

import argparse
from collections.abc import Callable, Sequence
import json
from pathlib import Path
import subprocess
import sys
import time
from typing import Any

import numpy as np

from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.paths.planner import plan_tool_path
from ssik_ros.paths.requests import PathTolerance

Clock = Callable[[], float]
ROOT = Path(__file__).resolve().parents[1]
DOWN = np.diag([1.0, -1.0, -1.0])
ARMS = {'panda': 'panda_arm', 'ur5e': 'ur_manipulator'}
CASES: dict[str, tuple[str, int, dict[str, Any]]] = {
    'panda, 100 poses, post': ('panda', 100, {'post': True}),
    'ur5e, 1,000 poses, spin': ('ur5e', 1000, {'spin_axis': (0, 0, 1)}),
    'ur5e, 1,000 poses, spin, post': ('ur5e', 1000, {'spin_axis': (0, 0, 1), 'post': True}),
    'ur5e, 300 poses, cone': ('ur5e', 300, {'tolerance': PathTolerance(cone=0.2)}),
}


def load(name: str) -> RobotModel:
    """Return a robot that comes along."""
    files = find_moveit_config(name)
    return load_robot(files.urdf_path, files.srdf_path, files.joint_limits_path)


def settings_of(case: str) -> tuple[str, Any, dict[str, Any]]:
    """Return robot, waypoints and settings of a case."""
    name, count, given = CASES[case]
    settings = dict(given)
    if settings.pop('post', False):
        shape = ObjectShape(SolidKind.BOX, (0.08, 0.08, 0.5), np.eye(4))
        post = WorldObject('post', pose_matrix(np.array([0.7, 0.02, 0.3]), np.eye(3)), (shape,))
        settings['obstacles'] = [post]
    places = [(0.4, y, 0.4) for y in np.linspace(-0.25, 0.25, count)]
    return name, np.array([pose_matrix(np.array(own), DOWN) for own in places]), settings


def cancel_once(
    robot: RobotModel, case: str, moment: float, clock: Clock = time.perf_counter
) -> tuple[float, float]:
    """
    Return the duration of a plan that is cancelled at a moment, and the time from that moment to its result [s].

    The second time is 0 if the result came sooner.
    """
    name, waypoints, settings = settings_of(case)
    start = clock()
    asked = start + moment
    plan_tool_path(
        robot,
        ARMS[name],
        waypoints,
        is_cancelled=lambda: clock() >= asked,
        **settings,
    )
    end = clock()
    return end - start, max(0.0, end - asked)


def cancel_cold(case: str, moment: float, clock: Clock) -> float:
    """Return the same time of a plan in a process of its own."""
    words = [sys.executable, '-m', 'bench.path_cancel', '--one', case, str(moment)]
    words += ['--processor'] if clock is time.process_time else []
    shown = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(json.loads(shown.stdout))


def report(case: str, count: int, is_cold: bool, clock: Clock) -> None:
    """Measure one case, and print it."""
    robot = load(CASES[case][0])
    cancel_once(robot, case, np.inf, clock)
    duration, _ = cancel_once(robot, case, np.inf, clock)
    # A cold plan lasts longer by its imports.
    moments = (np.arange(count) + 0.5) / count * (duration + (0.4 if is_cold else 0.0))
    times = [
        cancel_cold(case, moment, clock) if is_cold else cancel_once(robot, case, moment, clock)[1]
        for moment in moments.tolist()
    ]
    late = 1e3 * np.array([own for own in times if own > 0.0])
    p50, p99, most = np.quantile(late, [0.5, 0.99, 1.0])
    kind = 'cold' if is_cold else 'warm'
    print(
        f'{case} ({kind}): plan {duration:.2f} s, {len(late)} cancelled; '
        f'p50 {p50:.1f} ms, p99 {p99:.1f} ms, most {most:.1f} ms',
        flush=True,
    )


def main(words: Sequence[str] | None = None) -> int:
    """
    Print a line for each case.

    :param words: of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition('\n\n')[0].strip())
    parser.add_argument('-n', type=int, default=100, help='plans of each case')
    parser.add_argument('--cold', action='store_true', help='a process for each plan')
    parser.add_argument('--case', help='one of: ' + '; '.join(CASES))
    parser.add_argument('--one', nargs=2, metavar=('CASE', 'MOMENT'), help=argparse.SUPPRESS)
    text = 'measure processor time instead of wall-clock time'
    parser.add_argument('--processor', action='store_true', help=text)
    arguments = parser.parse_args(words)
    clock = time.process_time if arguments.processor else time.perf_counter
    if arguments.one:
        case, moment = arguments.one
        print(cancel_once(load(CASES[case][0]), case, float(moment), clock)[1])
        return 0
    for case in [arguments.case] if arguments.case else CASES:
        report(case, arguments.n, arguments.cold, clock)
    return 0


if __name__ == '__main__':
    sys.exit(main())
