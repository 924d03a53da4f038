"""Reach maps, placements and waypoints with tolerance, asked about poses that planted postures reach."""

from collections.abc import Iterator
import math

import numpy as np

from bench.arms import FloatArray
from campaigns.postures.judging import Fault, Judged, Tally
from campaigns.postures.robots import direction, rotation_about
from ssik_ros.errors import InvalidOption, TopologyMismatch
from ssik_ros.paths.planner import plan_tool_path
from ssik_ros.paths.requests import PathTolerance
from ssik_ros.reach.cells import ReachArm, ReachSettings
from ssik_ros.reach.place import find_places, PlaceSettings
from ssik_ros.reach.placement import BaseSpace, PlacedArm, PlaceTasks
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.results import Cause

TASKS = 4
"""Planted postures of a group that placements and tool paths are asked about."""
WIDTHS = (1e-3, 1e-2, 5e-2)
"""Half widths of boxes, in lengths of the arm."""
CONES = (0.01, 0.1, 0.5)
"""Half angles of cones [rad]."""


def judge_reach(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Ask whether the poses are reachable, as reach maps do."""
    del tally
    decided = ReachArm(judged.chain, ReachSettings()).decide(judged.poses)
    for row in np.flatnonzero(decided.status == CellStatus.OUT_OF_REACH):
        yield judged.fault('false proof', 'reach', int(row), 'OUT_OF_REACH')
    for row in np.flatnonzero(decided.status == CellStatus.UNKNOWN):
        yield judged.fault('unfound', 'reach', int(row), 'UNKNOWN')


def judge_places(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Search the place of a base that may not move from its pose; some tasks let the tool spin."""
    del tally
    rows = judged.rows(TASKS)
    draws = [judged.group.generator(row) for row in rows]
    poses = judged.poses[rows].copy()
    spins = np.array([rng.random() < 0.5 for rng in draws])
    # A task whose tool may spin has its pose in another spin than the planted one.
    for index in np.flatnonzero(spins):
        poses[index] = poses[index] @ _turn(
            np.array([0.0, 0.0, 1.0]), draws[index].uniform(-3.0, 3.0)
        )
    zeros = np.zeros(len(rows))
    tasks = PlaceTasks(poses, np.ones(len(rows)), zeros, zeros, spins)
    try:
        arm = PlacedArm(
            judged.manipulator.robot, judged.manipulator.group, BaseSpace.box([0.0] * 6, [0.0] * 6)
        )
    except (InvalidOption, TopologyMismatch):
        return
    result = find_places([arm], tasks, PlaceSettings(places=1))
    for row, task, spin in zip(rows, result.placements[0].tasks, spins, strict=True):
        if task.reached or 'collide' in task.reason:
            continue
        is_proof = 'out of reach' in task.reason or 'limits' in task.reason
        claim = 'false proof' if is_proof else 'unfound'
        yield judged.fault(claim, 'place', row, f'{"spin, " if spin else ""}{task.reason}')


def judge_waypoints(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Ask for a tool path whose waypoints miss a planted posture's pose by less than their tolerance."""
    del tally
    for row in judged.rows(TASKS):
        tolerance, nominal, words = _tolerance(judged, row)
        robot, group = judged.manipulator.robot, judged.manipulator.group
        try:
            path = plan_tool_path(robot, group, np.array([nominal] * 2), tolerance=tolerance)
        except (InvalidOption, TopologyMismatch):
            return
        if not path.valid:
            is_proof = path.cause == Cause.UNREACHABLE or 'out of reach' in path.reason
            claim = 'false proof' if is_proof else 'unfound'
            yield judged.fault(claim, 'waypoints', row, f'{words}: {path.reason}')


def _tolerance(judged: Judged, row: int) -> tuple[PathTolerance, FloatArray, str]:
    """Return a tolerance that the planted pose satisfies, its waypoint, and its name."""
    rng = judged.group.generator(row)
    pose, kind = judged.poses[row], str(rng.choice(['box', 'cone', 'spin']))
    if kind == 'spin':
        spin = _turn(np.array([0.0, 0.0, 1.0]), rng.uniform(-3.0, 3.0))
        return PathTolerance(spin=(-math.pi, math.pi)), pose @ spin, kind
    if kind == 'cone':
        angle = float(rng.choice(CONES))
        across = direction(rng) * [1.0, 1.0, 0.0]
        tilt = _turn(across / np.linalg.norm(across), 0.98 * angle * rng.random())
        return PathTolerance(cone=angle), pose @ tilt, f'{kind} of {angle:g} rad'
    width = judged.robot.size * float(rng.choice(WIDTHS))
    # Away from the base, along an axis of the box or not: the waypoint itself is often out of reach.
    heading = pose[:3, :3].T @ (pose[:3, 3] / max(1e-9, float(np.linalg.norm(pose[:3, 3]))))
    heading = direction(rng) if rng.random() < 0.3 else heading
    shift = np.eye(4)
    shift[:3, 3] = 0.98 * width * rng.random() * heading / np.abs(heading).max()
    corner = [width] * 3
    box = PathTolerance(position=([-width] * 3, corner))
    return box, pose @ shift, f'{kind} of {width:g} m'


def _turn(axis: FloatArray, angle: float) -> FloatArray:
    """Return the pose (4, 4) of a turn about an axis."""
    pose = np.eye(4)
    pose[:3, :3] = rotation_about(axis, angle)
    return pose
