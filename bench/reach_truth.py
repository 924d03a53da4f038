"""
Check the statuses of cells of reach maps: ``python bench/reach_truth.py --help``.

Half of the poses of an arm are random, half lie within a centimetre and a degree of the edge of its reach. A pose
called REACHABLE needs a posture whose forward kinematics, by the judge, is the pose. For a pose called OUT_OF_REACH the
judge's descents must find no posture. The same poses are looked up in a map of forward samples. Each finished block of
poses is written, so that the same command continues after a stop.
"""

import argparse
from collections.abc import Sequence
import json
from pathlib import Path
import sys
import tempfile
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bench.arms import Arm, chain_from_file, FloatArray
from bench.reach_judge import chain_of, find, FOUND, SampledMap
from ssik_ros.model.catalogue import arm_data, load_arm, make_urdf
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.cells import ReachArm, ReachSettings
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.solvers.closed_form.arm import AnalyticArm

ARMS = ('ur5e', 'irb6700', 'panda', 'iiwa14', 'crx10ial')
BLOCK = 1000
HALVINGS = 14
BESIDE = (0.01, np.radians(1.0))
"""How far poses of the second half are from the edge of reach, at most [m, rad]."""
HALVES = ('random', 'edge')
CELL = 0.05
"""Edge of a cell of the sampled map, over the reach of the arm."""
KNOWN = 200
"""Reachable poses of a block that the judge searches too; the share that it finds is the power of its descents."""


class Judged:
    """One arm with its deciders."""

    def __init__(self, name: str, starts: int, samples: int) -> None:
        """
        Prepare.

        :param name: in the catalogue.
        :param starts: descents of the judge for a pose.
        :param samples: of the sampled map.
        """
        data = arm_data(name)
        self.chain = SerialChain.from_robot(load_arm(name), data.base_link, data.tip_link)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f'{name}.urdf'
            path.write_text(make_urdf(data), encoding='utf-8')
            self.arm: Arm = chain_from_file(path, name, data.base_link, data.tip_link)
        self.own, self.judge = ReachArm(self.chain, ReachSettings()), chain_of(self.arm)
        self.solver, self.starts = AnalyticArm(self.chain), starts
        low, high = self.arm.sampling_bounds()
        places = self.arm.fk(np.random.default_rng(1).uniform(low, high, (4000, len(low))))
        self.reach = 1.05 * float(np.linalg.norm(places[:, :3, 3], axis=1).max())
        self.sampled = SampledMap(self.judge, samples, CELL * self.reach, reach=self.reach)

    def draw(self, half: str, rng: np.random.Generator) -> FloatArray:
        """
        Return poses (BLOCK, 4, 4) of a half.

        :param half: one of :data:`HALVES`.
        """
        low, high = self.arm.sampling_bounds()
        if half == 'random':
            places = rng.uniform(-self.reach, self.reach, (4 * BLOCK, 3))
            places = places[np.linalg.norm(places, axis=1) <= self.reach][:BLOCK]
            return _poses(places, _turns(rng, BLOCK))
        inside = self.arm.fk(rng.uniform(low, high, (BLOCK, len(low))))
        places, turns = inside[:, :3, 3].copy(), inside[:, :3, :3].copy()
        axes = rng.standard_normal((BLOCK, 3))
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        ways = rng.standard_normal((BLOCK, 3)) * self.reach / 2.0
        angles = rng.uniform(0.0, np.pi, BLOCK)
        known, lost = np.zeros(BLOCK), np.ones(BLOCK)
        for _ in range(HALVINGS):
            # A place between a pose that is reached and one that is farther away.
            share = 0.5 * (known + lost)
            poses = _poses(places + share[:, None] * ways, _turned(axes, share * angles) @ turns)
            is_in = self.own.decide(poses).status == CellStatus.REACHABLE
            known, lost = np.where(is_in, share, known), np.where(is_in, lost, share)
        beside = rng.uniform(-1.0, 1.0, (BLOCK, 3)) * BESIDE[0] / np.sqrt(3.0)
        edge = _turned(axes, known * angles) @ turns
        more = rng.standard_normal((BLOCK, 3))
        more /= np.linalg.norm(more, axis=1)[:, None]
        edge = _turned(more, rng.uniform(0.0, BESIDE[1], BLOCK)) @ edge
        return _poses(places + known[:, None] * ways + beside, edge)

    def judge_block(self, half: str, block: int) -> dict[str, Any]:
        """
        Return the counts of one block of poses.

        :param half: one of :data:`HALVES`.
        :param block: its number, which seeds it.
        """
        rng = np.random.default_rng([HALVES.index(half), block])
        poses = np.ascontiguousarray(self.draw(half, rng))
        status = self.own.decide(poses).status
        is_in, is_out = status == CellStatus.REACHABLE, status == CellStatus.OUT_OF_REACH
        without = [pose for pose in poses[is_in] if not self._has_witness(pose)]
        met = find(self.judge, np.ascontiguousarray(poses[is_out]), self.starts, block)
        power = find(self.judge, np.ascontiguousarray(poses[is_in][:KNOWN]), self.starts, block)
        marked = self.sampled.reaches(poses)
        return {
            'poses': len(poses),
            'reachable': int(is_in.sum()),
            'out_of_reach': int(is_out.sum()),
            'unknown': int((status == CellStatus.UNKNOWN).sum()),
            'without_witness': [pose.tolist() for pose in without],
            'wrongly_out': [pose.tolist() for pose in poses[is_out][met]],
            'judged': len(power),
            'judge_found': int(power.sum()),
            'sampled_out_of_reachable': int((is_in & ~marked).sum()),
            'sampled_in_of_out': int((is_out & marked).sum()),
        }

    def _has_witness(self, pose: FloatArray) -> bool:
        """Return whether the solver has a posture within limits whose pose, by the judge, is this one."""
        found = self.solver.branches_refined(np.ascontiguousarray(pose))
        if found is None or not len(found.q):
            return False
        inside = (found.q >= self.arm.lower - 1e-9) & (found.q <= self.arm.upper + 1e-9)
        misses = np.abs(self.arm.fk(found.q) - pose).max(axis=(1, 2))
        return bool((inside.all(axis=1) & (misses < FOUND)).any())


def _turns(rng: np.random.Generator, count: int) -> FloatArray:
    """Return random rotations (count, 3, 3)."""
    w, x, y, z = (lambda q: q / np.linalg.norm(q, axis=0))(rng.standard_normal((4, count)))
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def _turned(axes: FloatArray, angles: FloatArray) -> FloatArray:
    """Return rotations (m, 3, 3) about axes (m, 3) by angles (m,)."""
    cross = np.zeros((len(axes), 3, 3))
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -axes[:, 2], axes[:, 1], -axes[:, 0]
    cross -= np.swapaxes(cross, 1, 2)
    sine, cosine = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    turned: FloatArray = np.eye(3) + sine * cross + (1.0 - cosine) * (cross @ cross)
    return turned


def _poses(places: FloatArray, turns: FloatArray) -> FloatArray:
    """Return poses (m, 4, 4)."""
    poses = np.tile(np.eye(4), (len(places), 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = turns, places
    return poses


def _read(path: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Return the blocks that are done."""
    lines = path.read_text(encoding='utf-8').splitlines() if path.exists() else []
    records = [json.loads(line) for line in lines]
    return {(r['arm'], r['half'], r['block']): r for r in records}


def _row(arm: str, half: str, blocks: list[dict[str, Any]]) -> str:
    """Return a row of the table."""

    def total(name: str) -> int:
        return sum(len(b[name]) if isinstance(b[name], list) else b[name] for b in blocks)

    inside, outside = max(1, total('reachable')), max(1, total('out_of_reach'))
    power = 100.0 * total('judge_found') / max(1, total('judged'))
    lost, added = total('sampled_out_of_reachable'), total('sampled_in_of_out')
    return (
        f'| {arm} | {half} | {total("poses"):,} | {total("reachable"):,} | {total("out_of_reach"):,} '
        f'| {total("unknown")} | {total("wrongly_out")} | {total("without_witness")} | {power:.2f} % '
        f'| {100.0 * lost / inside:.2f} % | {100.0 * added / outside:.2f} % '
        f'| {100.0 * (lost + added) / max(1, total("poses")):.2f} % |'
    )


def _table(path: Path) -> str:
    """Return the table of all that is done."""
    done = _read(path)
    rows = [
        '| arm | poses | number | REACHABLE | OUT_OF_REACH | UNKNOWN | wrongly out of reach | without a posture '
        '| found by the judge | sampled map: missed | wrongly reached | wrong in all |',
        '|---|---|---|---|---|---|---|---|---|---|---|---|',
    ]
    for arm in dict.fromkeys(key[0] for key in done):
        for half in HALVES:
            blocks = [record for key, record in done.items() if key[:2] == (arm, half)]
            if blocks:
                rows.append(_row(arm, half, blocks))
    return '\n'.join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Judge the blocks that are left and print the table.

    :param arguments: of the command line.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--arms', default=','.join(ARMS), help='names in the catalogue, joined by commas'
    )
    parser.add_argument('--poses', type=int, default=100_000, help='of each arm (default: 100000)')
    parser.add_argument('--starts', type=int, default=64, help='descents of the judge for a pose')
    parser.add_argument('--samples', type=int, default=10_000_000, help='of the sampled map')
    parser.add_argument('--output', type=Path, default=Path('bench_output/reach_truth.jsonl'))
    parser.add_argument(
        '--table', action='store_true', help='print the table of what is done, and end'
    )
    given = parser.parse_args(arguments)
    if not given.table:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        _judge_all(given)
    print(_table(given.output))
    return 0


def _judge_all(given: argparse.Namespace) -> None:
    """Judge the blocks that are left, of all arms in turn."""
    done, arms = _read(given.output), {}
    for block in range(-(-given.poses // (2 * BLOCK))):
        for name in given.arms.split(','):
            for half in HALVES:
                if (name, half, block) in done:
                    continue
                if name not in arms:
                    arms[name] = Judged(name, given.starts, given.samples)
                record = {'arm': name, 'half': half, 'block': block}
                record |= arms[name].judge_block(half, block)
                with given.output.open('a', encoding='utf-8') as file:
                    file.write(json.dumps(record) + '\n')
                errors = len(record['wrongly_out']) + len(record['without_witness'])
                print(f'{name} {half} {block}: {errors} errors', file=sys.stderr, flush=True)


if __name__ == '__main__':
    sys.exit(main())
