"""
Measure self-motions: ``python bench/self_motions.py --help``.

Prints the processor time of ``Manipulator.self_motions`` on one core, for curves within the limits and for postures
along all of them. It also measures ``self_motion`` of ssik if it is installed and has charts of the arm. The time of
``solve_q`` for a UR5e is a measure of the machine. Whether the curves are complete is judged by ``make campaign``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import functools
from pathlib import Path
import sys
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bench import pinning, program
from bench.arms import FloatArray
from bench.tables import table_of
from ssik_ros import Manipulator
from ssik_ros.benchmark.harness import timed_call

PEERS = {'panda': 'franka_panda', 'fr3': 'fr3', 'iiwa14': 'iiwa14'}
"""Names of ssik for arms that its charts know."""
ARMS = ('panda', 'iiwa14', 'fr3', 'gen3', 'xarm7', 'rizon4')
SPACING = 0.1
"""Distance of two postures of a curve [rad], and of the parameter of ssik."""
REPETITIONS = 5
COLUMNS = {
    'arm': '{arm}',
    'solver': '{solver}',
    'curves us': '{curves:.1f}',
    'all read us': '{read:.1f}',
    'with the proof us': '{proved:.1f}',
    'a posture along them us': '{posture:.2f}',
    'postures of a pose': '{postures:.0f}',
    'solve_q of a UR5e us': '{unit:.2f}',
}


@dataclass(frozen=True, slots=True)
class Row:
    """The times of one solver on one arm; medians of the processor time of a pose [us]."""

    arm: str
    solver: str
    unit: float
    curves: float
    posture: float
    """For each posture along the curves, the curves included."""
    postures: float
    read: float | None = None
    proved: float | None = None


def times(call: Callable[[Any], Any], items: Sequence[Any]) -> FloatArray:
    """Return the least processor time of each call [us]."""
    spent = [[timed_call(call, item)[2] for item in items] for _ in range(REPETITIONS)]
    best: FloatArray = np.min(spent, axis=0) / 1e3
    return best


def make_peer(name: str) -> Any:
    """Return an arm of ssik; None if ssik is not installed or has no charts of the arm."""
    try:
        import ssik
    except ImportError:
        return None
    return ssik.Manipulator.from_prebuilt(PEERS[name]) if name in PEERS else None


def peer_pieces(arm: Any, target: FloatArray) -> list[tuple[Any, tuple[float, float]]]:
    """Return charts of ssik and their pieces within the limits."""
    return [
        (chart, piece) for chart in arm.self_motion(target).charts for piece in chart.in_limits()
    ]


def peer_postures(arm: Any, target: FloatArray) -> FloatArray:
    """Return postures (m, 7) along all charts within the limits."""
    rows = [np.empty((0, 7))]
    for chart, (low, high) in peer_pieces(arm, target):
        rows.append(chart.q(np.linspace(low, high, int(np.ceil((high - low) / SPACING)) + 1)))
    return np.vstack(rows)


def random_poses(arm: Manipulator, count: int, seed: int) -> list[FloatArray]:
    """Return poses of random postures within the limits and a turn."""
    low, high = np.clip([arm.group.lower, arm.group.upper], -np.pi, np.pi)
    generator = np.random.default_rng(seed)
    return [arm.fk(q) for q in low + (high - low) * generator.random((count, len(low)))]


def measure(
    names: tuple[str, str],
    poses: Sequence[FloatArray],
    unit: float,
    find: Callable[[FloatArray], Any],
    sample: Callable[[FloatArray], FloatArray],
    **more: float,
) -> Row:
    """
    Return the times of a solver.

    :param names: of arm and solver.
    :param poses: of the arm.
    :param unit: time of ``solve_q`` of a UR5e [us].
    :param find: returns the curves of a pose; sample: postures along them.
    :param more: other times of the row.
    """
    curves, sampled = float(np.median(times(find, poses))), times(sample, poses).sum()
    count = sum(len(sample(pose)) for pose in poses)
    return Row(*names, unit, curves, sampled / count, count / len(poses), **more)


def measure_arm(name: str, count: int, reference: Manipulator) -> list[Row]:
    """
    Return the rows of an arm.

    :param name: in the catalogue.
    :param count: number of poses.
    :param reference: a UR5e.
    """
    arm, peer, partial = Manipulator.from_prebuilt(name), make_peer(name), functools.partial
    poses = random_poses(arm, count, 2)
    unit = float(np.median(times(reference.solve_q, random_poses(reference, count, 1))))
    find = arm.self_motions
    read = float(np.median(times(lambda pose: len(find(pose)), poses)))
    proved = float(np.median(times(lambda pose: find(pose).is_complete, poses)))

    def sample(pose: FloatArray) -> FloatArray:
        return find(pose).sample(SPACING)

    rows = [measure((name, 'ssik_ros'), poses, unit, find, sample, read=read, proved=proved)]
    if peer is not None:
        pieces, postures = partial(peer_pieces, peer), partial(peer_postures, peer)
        rows.append(measure((name, 'ssik'), poses, unit, pieces, postures))
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = program.make_parser(__doc__, ARMS, poses=200).parse_args(arguments)
    run = program.Run('self_motions', options)
    reference = Manipulator.from_prebuilt('ur5e')
    rows = [row for name in options.arms for row in measure_arm(name, options.poses, reference)]
    run.show(table_of(COLUMNS, rows))
    run.finish(rows=rows)


if __name__ == '__main__':
    pinning.limit_threads()
    main()
