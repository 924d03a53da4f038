"""
Measure self-motions: ``python bench/self_motions.py speed`` and ``python bench/self_motions.py oracle --help``.

``speed`` prints the processor time of ``Manipulator.self_motions`` on one core, for curves within the limits and for
postures along all of them. It also measures ``self_motion`` of ssik if it is installed and has charts of the arm. The
time of ``solve_q`` for a UR5e is a measure of the machine. ``oracle`` runs Newton from many starts, with one joint
held at 200 values, and counts the solutions that lie on no curve.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
import functools
import json
from pathlib import Path
import sys
import time
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bench import pinning
from bench.self_motion_cases import draw_postures, KINDS, least_singular, make_case, ranges_of
from ssik_ros.errors import SolverError
from ssik_ros.solvers.self_motions.motions import SelfMotions

PEERS = {'panda': 'franka_panda', 'fr3': 'fr3', 'iiwa14': 'iiwa14'}
"""Names of ssik for arms that its charts know."""
ARMS = ('panda', 'iiwa14', 'fr3', 'gen3', 'xarm7', 'rizon4')
SPACING = 0.1
"""Distance of two postures of a curve [rad], and of the parameter of ssik."""
REPETITIONS = 5
HELD_VALUES, STARTS, FREE_STARTS = 200, 12, 2
"""Values of the joint, starts of Newton at each, and starts for each where no joint is held."""
CHUNK = 20
"""Number of poses of an arm before the next arm takes its turn."""
ON_CURVE = 1e-9
"""Distance of a solution from its curve [rad]."""
ROUNDING = 1e-13
"""Error of the pose that Newton leaves."""


class Run(NamedTuple):
    """The settings that poses of one run of the oracle share."""

    arm: str
    """See :func:`make_case`."""
    kind: str
    """Of the postures that are drawn."""
    held: int
    """Index of the joint that the oracle holds."""
    seed: int


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
    """Return an arm of ssik; None if ssik is not installed or has no charts of the arm."""
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
    reference, _, chain = make_case('ur5e')
    goals = [reference.fk(q) for q in draw_postures(chain, 'random', arguments.poses, 1)]
    for name in arguments.arms:
        arm, _, chain = make_case(name)
        peer = make_peer(name)
        poses = [arm.fk(q) for q in draw_postures(chain, 'random', arguments.poses, 2)]
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
    """Compare poses of all arms in chunks; print the solutions off the curves and the number of solutions."""
    known = read_poses(arguments.file)
    end = time.monotonic() + arguments.seconds
    for first in range(0, arguments.poses, CHUNK):
        for name in arguments.arms:
            run = Run(name, arguments.kind, arguments.held, arguments.seed)
            wanted = range(first, min(first + CHUNK, arguments.poses))
            left = [index for index in wanted if (run, index) not in known]
            for row in compare_poses(run, arguments.poses, left) if left else ():
                known[run, row['pose']] = row
                if arguments.file is not None:
                    with arguments.file.open('a') as file:
                        file.write(json.dumps(row) + '\n')
                if time.monotonic() > end:
                    return print_oracle(known)
    return print_oracle(known)


def read_poses(path: Path | None) -> dict[tuple[Run, int], dict[str, Any]]:
    """Return the stored comparisons, by run and pose."""
    lines = path.read_text().splitlines() if path is not None and path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {(Run(*(row[key] for key in Run._fields)), row['pose']): row for row in rows}


def print_oracle(known: dict[tuple[Run, int], dict[str, Any]]) -> None:
    """Print the sums for each arm and kind of poses."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in known.values():
        groups.setdefault((row['arm'], row['kind']), []).append(row)
    for (name, kind), rows in groups.items():
        off = sum(len(row['missing']) for row in rows)
        print(
            f'{name}, {kind}: {len(rows)} poses, {sum(row["solutions"] for row in rows)} solutions, {off} missing, worst '
            f'distance {max(row["worst"] for row in rows):.1e}, {sum(row["complete"] for row in rows)} poses complete'
        )


def compare_poses(run: Run, poses: int, indices: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Return, for some poses of an arm, how many solutions there are and which ones are off the curves."""
    from bench.self_motion_oracle import solutions

    arm, axis, chain = make_case(run.arm)
    low, high = ranges_of(chain)[:, run.held]
    held = low + (high - low) * (np.arange(HELD_VALUES) + 0.5) / HELD_VALUES
    starts = STARTS if run.held >= 0 else FREE_STARTS
    postures = draw_postures(chain, run.kind, poses, run.seed)
    for index in indices:
        target = chain.pose(postures[index])
        motions = arm.self_motions(target, free_axis=axis)
        rows = solutions(chain, target, run.held, held, starts, index)
        away = np.array([distance_from(motions, row) for row in rows])
        # Newton leaves that much across the curve.
        is_off = away >= np.maximum(ON_CURVE, ROUNDING / least_singular(chain, rows))
        for row in rows[is_off]:
            print(f'{run}, pose {index}: off the curves: {row.tolist()}', flush=True)
        yield run._asdict() | {
            'pose': index,
            'solutions': len(rows),
            'worst': float(away.max(initial=0.0)),
            'missing': rows[is_off].tolist(),
            'complete': motions.is_complete,
        }


def distance_from(motions: SelfMotions, row: np.ndarray) -> float:
    """Return the distance of a posture from the curves; those with near knots are asked first."""
    near, joints = [], row[: len(motions.joint_names)]
    for curve in motions:
        away = curve.knots[:, :7] - row
        away -= 2.0 * np.pi * np.round(away / (2.0 * np.pi))
        near.append(np.square(away).sum(axis=1).min())
    least = np.inf
    for index in np.argsort(near):
        try:
            least = min(least, motions[int(index)].nearest(joints).value)
        except SolverError:
            # Next to a singular posture a curve may have none that is exact enough.
            continue
        if least < ON_CURVE:
            break
    return least


def main() -> int:
    """Run the mode that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n\n')[0])
    modes = parser.add_subparsers(dest='mode', required=True)
    for name, poses in (('speed', 200), ('oracle', 1000)):
        mode = modes.add_parser(name)
        mode.add_argument('--arms', nargs='+', default=ARMS, help='see bench/self_motion_cases.py')
        mode.add_argument('--poses', type=int, default=poses)
        mode.add_argument('--seed', type=int, default=42)
        if name == 'oracle':
            mode.add_argument('--kind', choices=KINDS, default='random', help='of the poses')
            mode.add_argument(
                '--held', type=int, default=6, help='joint that is held, from 0; -1: none'
            )
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
