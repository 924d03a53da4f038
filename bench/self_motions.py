"""
Measure self-motions: ``python bench/self_motions.py speed`` and ``python bench/self_motions.py oracle --help``.

``speed`` is the processor time of ``Manipulator.self_motions`` on one core, beside ``self_motion`` of ssik where it is installed
and where its charts know the arm: curves within the limits, and postures along all of them. ``solve_q`` of a UR5e stands
beside it as a measure of the machine. ``oracle`` counts solutions that Newton finds from many starts, with the seventh joint
held at 200 values, and that lie on no curve.
"""

import argparse
from collections.abc import Callable, Sequence
import functools
from pathlib import Path
import sys
import time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'test' / 'self_motions'))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from newton_oracle import solutions
import numpy as np

from bench import pinning
from ssik_ros import Manipulator
from ssik_ros.model.serial_chain import SerialChain

PEERS = {'panda': 'franka_panda', 'fr3': 'fr3', 'iiwa14': 'iiwa14'}
"""Names of ssik for arms that its charts know."""
ARMS = ('panda', 'iiwa14', 'fr3', 'gen3', 'xarm7', 'rizon4')
SPACING = 0.1
"""Distance of two postures of a curve [rad], and of the parameter of ssik."""
REPETITIONS = 5
HELD_VALUES, STARTS = 200, 12
ON_CURVE = 1e-9
"""Distance of a solution from its curve [rad]."""


def random_postures(arm: Manipulator, count: int, seed: int) -> np.ndarray:
    """Return postures (count, dof) within the limits, and within a turn."""
    lower, upper = _ranges(arm)
    return lower + (upper - lower) * np.random.default_rng(seed).random((count, arm.dof))


def _ranges(arm: Manipulator) -> np.ndarray:
    """Return the limits (2, dof) within a turn."""
    limits = [(-np.pi, np.pi) if pair is None else pair for pair in arm.joint_limits]
    return np.clip(np.array(limits).T, -np.pi, np.pi)


def times(call: Callable[[Any], Any], items: Sequence[Any]) -> np.ndarray:
    """Return the least processor time of each call [us]."""
    best = np.full(len(items), np.inf)
    for _ in range(REPETITIONS):
        for k, item in enumerate(items):
            start = time.thread_time_ns()
            call(item)
            best[k] = min(best[k], time.thread_time_ns() - start)
    return best / 1e3


def make_peer(name: str) -> Any:
    """Return an arm of ssik, None where it is not installed or has no charts for it."""
    try:
        import ssik
    except ImportError:
        return None
    return ssik.Manipulator.from_prebuilt(PEERS[name]) if name in PEERS else None


def peer_pieces(arm: Any, target: np.ndarray) -> list[tuple[Any, tuple[float, float]]]:
    """Return charts of ssik and their pieces within the limits."""
    return [
        (chart, piece) for chart in arm.self_motion(target).charts for piece in chart.in_limits()
    ]


def peer_postures(arm: Any, target: np.ndarray) -> np.ndarray:
    """Return postures (m, 7) along all charts within the limits."""
    rows = [np.empty((0, 7))]
    for chart, (low, high) in peer_pieces(arm, target):
        rows.append(chart.q(np.linspace(low, high, int(np.ceil((high - low) / SPACING)) + 1)))
    return np.vstack(rows)


def run_speed(arguments: argparse.Namespace) -> None:
    """Print the processor time for each arm."""
    reference = Manipulator.from_prebuilt('ur5e')
    goals = [reference.fk(q) for q in random_postures(reference, arguments.poses, 1)]
    for name in arguments.arms:
        arm, peer = Manipulator.from_prebuilt(name), make_peer(name)
        poses = [arm.fk(q) for q in random_postures(arm, arguments.poses, 2)]
        unit = np.median(times(reference.solve_q, goals))
        print(f'{name}, beside {unit:.2f} us for solve_q of a UR5e:')
        find = arm.self_motions
        print_speed('ssik_ros', poses, find, lambda pose, find=find: find(pose).sample(SPACING))
        read = np.median(times(lambda pose, find=find: len(find(pose)), poses))
        print(f'  ssik_ros, with all curves read: {read:.1f} us')
        if peer is not None:
            partial = functools.partial
            print_speed('ssik', poses, partial(peer_pieces, peer), partial(peer_postures, peer))


def print_speed(
    who: str,
    poses: Sequence[np.ndarray],
    find: Callable[[np.ndarray], Any],
    sample: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Print the processor time for the curves of a pose, and for each posture along them."""
    found, sampled = np.median(times(find, poses)), times(sample, poses).sum()
    count = sum(len(sample(pose)) for pose in poses)
    print(
        f'  {who}: curves of a pose {found:.1f} us; with postures along them {sampled / count:.2f} us for each, '
        f'{count / len(poses):.0f} for a pose',
        flush=True,
    )


def run_oracle(arguments: argparse.Namespace) -> None:
    """Print what is off the curves, and how many solutions there were."""
    for name in arguments.arms:
        arm = Manipulator.from_prebuilt(name)
        body = SerialChain.from_group(arm.robot, arm.group)
        low, high = _ranges(arm)[:, 6]
        held = low + (high - low) * (np.arange(HELD_VALUES) + 0.5) / HELD_VALUES
        count, missing, start = 0, 0, time.monotonic()
        for index, q in enumerate(random_postures(arm, arguments.poses, arguments.seed)):
            target = arm.fk(q)
            motions = arm.self_motions(target)
            rows = solutions(body, target, 6, held, STARTS, index)
            count += len(rows)
            off = [row for row in rows if not motions.nearest(row).value < ON_CURVE]
            missing += len(off)
            for row in off:
                print(f'{name}, pose {index}: off the curves: {row.tolist()}', flush=True)
            if time.monotonic() - start > arguments.seconds:
                break
        print(f'{name}: {index + 1} poses, {count} solutions, {missing} missing', flush=True)


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n\n')[0])
    modes = parser.add_subparsers(dest='mode', required=True)
    for name, poses in (('speed', 200), ('oracle', 1000)):
        mode = modes.add_parser(name)
        mode.add_argument('--arms', nargs='+', choices=ARMS, default=ARMS)
        mode.add_argument('--poses', type=int, default=poses)
        mode.add_argument('--seed', type=int, default=42)
        mode.add_argument('--seconds', type=float, default=np.inf, help='for each arm')
    arguments = parser.parse_args()
    pinning.limit_threads()
    if arguments.mode == 'speed':
        pinning.pin()
        run_speed(arguments)
    else:
        run_oracle(arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
