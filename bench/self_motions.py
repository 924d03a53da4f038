"""
Measure self-motions: ``python bench/self_motions.py speed`` and ``python bench/self_motions.py oracle --help``.

``speed`` is the processor time of ``Manipulator.self_motions`` on one core, beside ``self_motion`` of ssik where it is installed
and where its charts know the arm: curves within the limits, and postures along all of them. ``solve_q`` of a UR5e stands
beside it as a measure of the machine. ``oracle`` counts solutions that Newton finds from many starts, with the seventh joint
held at 200 values, and that lie on no curve.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
import functools
import json
from pathlib import Path
import sys
import time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bench import pinning
from ssik_ros import Manipulator
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.self_motions.motions import SelfMotions

PEERS = {'panda': 'franka_panda', 'fr3': 'fr3', 'iiwa14': 'iiwa14'}
"""Names of ssik for arms that its charts know."""
ARMS = ('panda', 'iiwa14', 'fr3', 'gen3', 'xarm7', 'rizon4')
SPACING = 0.1
"""Distance of two postures of a curve [rad], and of the parameter of ssik."""
REPETITIONS = 5
HELD_VALUES, STARTS = 200, 12
CHUNK = 20
"""Poses of one arm before those of the next."""
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
        proved = np.median(times(lambda pose, find=find: find(pose).is_complete, poses))
        print(f'  ssik_ros, with all curves read: {read:.1f} us; with the proof: {proved:.1f} us')
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
    """Compare poses of all arms in chunks, and print what is off the curves and how many solutions there were."""
    known = read_poses(arguments.file)
    end = time.monotonic() + arguments.seconds
    for first in range(0, arguments.poses, CHUNK):
        for name in arguments.arms:
            wanted = range(first, min(first + CHUNK, arguments.poses))
            left = [index for index in wanted if (name, arguments.seed, index) not in known]
            for row in compare_poses(name, arguments, left) if left else ():
                known[name, arguments.seed, row['pose']] = row
                if arguments.file is not None:
                    with arguments.file.open('a') as file:
                        file.write(json.dumps(row) + '\n')
                if time.monotonic() > end:
                    return print_oracle(known)
    return print_oracle(known)


def read_poses(path: Path | None) -> dict[tuple[str, int, int], dict[str, Any]]:
    """Return what was compared before, by arm, seed and pose."""
    lines = path.read_text().splitlines() if path is not None and path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {(row['arm'], row['seed'], row['pose']): row for row in rows}


def print_oracle(known: dict[tuple[str, int, int], dict[str, Any]]) -> None:
    """Print the sums for each arm."""
    for name in ARMS:
        rows = [row for row in known.values() if row['arm'] == name]
        if rows:
            off = sum(len(row['missing']) for row in rows)
            print(
                f'{name}: {len(rows)} poses, {sum(row["solutions"] for row in rows)} solutions, {off} missing, worst '
                f'distance {max(row["worst"] for row in rows):.1e}, {sum(row["complete"] for row in rows)} poses complete'
            )


def compare_poses(
    name: str, arguments: argparse.Namespace, indices: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Return, for some poses of an arm, how many solutions there are and which ones are off the curves."""
    from bench.self_motion_oracle import solutions

    arm = Manipulator.from_prebuilt(name)
    body = SerialChain.from_group(arm.robot, arm.group)
    low, high = _ranges(arm)[:, 6]
    held = low + (high - low) * (np.arange(HELD_VALUES) + 0.5) / HELD_VALUES
    postures = random_postures(arm, arguments.poses, arguments.seed)
    for index in indices:
        target = arm.fk(postures[index])
        motions = arm.self_motions(target)
        rows = solutions(body, target, 6, held, STARTS, index)
        away = [distance_from(motions, row) for row in rows]
        off = [row.tolist() for row, value in zip(rows, away, strict=True) if value >= ON_CURVE]
        for row in off:
            print(f'{name}, pose {index}: off the curves: {row}', flush=True)
        sums = {'solutions': len(rows), 'worst': max(away, default=0.0), 'missing': off}
        yield {'arm': name, 'seed': arguments.seed, 'pose': index, **sums} | {
            'complete': motions.is_complete
        }


def distance_from(motions: SelfMotions, row: np.ndarray) -> float:
    """Return the distance of a posture from the curves; those with near knots are asked first."""
    near = []
    for curve in motions:
        away = curve.knots[:, :7] - row
        away -= 2.0 * np.pi * np.round(away / (2.0 * np.pi))
        near.append(np.square(away).sum(axis=1).min())
    least = np.inf
    for index in np.argsort(near):
        least = min(least, motions[int(index)].nearest(row).value)
        if least < ON_CURVE:
            break
    return least


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n\n')[0])
    modes = parser.add_subparsers(dest='mode', required=True)
    for name, poses in (('speed', 200), ('oracle', 1000)):
        mode = modes.add_parser(name)
        mode.add_argument('--arms', nargs='+', choices=ARMS, default=ARMS)
        mode.add_argument('--poses', type=int, default=poses)
        mode.add_argument('--seed', type=int, default=42)
        if name == 'oracle':
            mode.add_argument('--seconds', type=float, default=np.inf, help='in all')
            mode.add_argument('--file', type=Path, help='of the poses that were compared')
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
