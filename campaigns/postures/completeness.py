"""
Completeness: branches against Newton from many starts, and self-motions against planted postures.

Newton moves by the judges' own kinematics.
"""

from collections.abc import Iterator
import functools
import math

import numpy as np

from bench.arms import FloatArray
from campaigns.postures.judging import branch_distance, Fault, ISOLATED, Judged, NEAREST, Tally
from campaigns.postures.planter import rescaled, smallest_singular_values
from campaigns.postures.robots import Robot, rotation_about
from ssik_ros.errors import SolverError, TopologyMismatch
from ssik_ros.kernels.closed_form.self_motions import segments
from ssik_ros.solvers.self_motions.curve import SelfMotion

NEWTON_ROWS, STARTS = 2, 400
NEWTON_STEPS, LONGEST = 40, 0.7
"""Steps of Newton, and the longest change of a joint in one of them [rad, and lengths of the arm]."""
EXACT = 1e-12
"""Error of the pose at which Newton has arrived [rad, and lengths of the arm]."""
DAMPING = 1e-14
CURVE_ROWS = 3
AXES = ('x', 'y', 'z', None)
"""Free axes of the tool, None for an exact pose."""
TRACED, STEP = 200, 0.01
"""Steps of a trace of a curve, and their length [rad]."""
SPACING = 0.02
"""Distance between two postures of a curve that are compared with a planted one [rad]."""
OFF_CURVE = 0.05
"""A posture at this distance or more from every curve lies on no curve [rad]."""
CLEAR = 1e-3
"""If the second smallest singular value is at least this, only one curve passes through a posture."""


def judge_branches(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Compare all branches with the solutions that Newton finds from many starts."""
    del tally
    if judged.robot.dof != 6 or not judged.is_complete:
        return
    for row in judged.rows(NEWTON_ROWS):
        branches = judged.manipulator.solve_q(judged.poses[row])
        generator = np.random.default_rng(int(judged.group.numbers[row]))
        for q in find_solutions(judged.robot, judged.poses[row], generator):
            distance = judged.distances(branches, q).min(initial=math.inf)
            if distance <= NEAREST:
                continue
            sigma = float(smallest_singular_values(judged.robot, q[None])[0])
            unsure = branch_distance(sigma)
            if sigma >= ISOLATED and judged.margin(q) >= unsure and distance > unsure:
                detail = (
                    f'Newton finds {q.tolist()} with sigma {sigma:.1e}, nearest {distance:.2g}'
                )
                yield judged.fault('missing', 'branches', row, detail)
                break


def find_solutions(robot: Robot, pose: FloatArray, generator: np.random.Generator) -> FloatArray:
    """
    Return the postures (k, n) within the limits at which Newton arrives from random starts, some of them repeatedly.

    :param robot: of six joints.
    :param pose: (4, 4).
    :param generator: draws the starts.
    """
    lower, upper = robot.bounds()
    q = generator.uniform(lower, upper, (STARTS, robot.dof))
    moving, size = np.arange(STARTS), np.full(STARTS, np.inf)
    for _ in range(NEWTON_STEPS):
        actual, jacobian = robot.arm.fk_and_jacobian(q[moving])
        error = scaled_errors(robot, actual, pose)
        # At a turn by pi the errors vanish as well.
        is_turned = np.trace(actual[:, :3, :3] @ pose[:3, :3].T, axis1=1, axis2=2) < 0.0
        size[moving] = np.where(is_turned, np.inf, np.linalg.norm(error, axis=1))
        is_moving = ~(size[moving] < 0.01 * EXACT)
        moving, error, jacobian = moving[is_moving], error[is_moving], jacobian[is_moving]
        if not len(moving):
            break
        q[moving] += robot.unit * _newton_step(robot, jacobian, error)
    q = q[size < EXACT]
    turns = np.round((q - 0.5 * (lower + upper)) / (2.0 * math.pi))
    q -= 2.0 * math.pi * np.where(robot.turns, turns, 0.0)
    return q[((q >= robot.arm.lower) & (q <= robot.arm.upper)).all(axis=1)]


def _newton_step(robot: Robot, jacobian: FloatArray, error: FloatArray) -> FloatArray:
    """Return the shortest steps (k, n) that remove errors (k, 6), shortened to :data:`LONGEST`."""
    scaled = rescaled(robot, jacobian)
    transposed = np.swapaxes(scaled, 1, 2)
    normal = scaled @ transposed + DAMPING * np.eye(6)
    step: FloatArray = (transposed @ np.linalg.solve(normal, error[:, :, None]))[:, :, 0]
    longest = np.abs(step).max(axis=1, keepdims=True)
    return step * np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300))


def scaled_errors(robot: Robot, actual: FloatArray, pose: FloatArray) -> FloatArray:
    """
    Return the errors (k, 6) of poses: translation in lengths of the arm, then the sine of the angle times the axis.

    :param robot: any.
    :param actual: (k, 4, 4).
    :param pose: (4, 4) wanted.
    """
    turned = pose[:3, :3] @ np.swapaxes(actual[:, :3, :3], 1, 2)
    skew = 0.5 * (turned - np.swapaxes(turned, 1, 2))
    rotation = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    return np.hstack([(pose[:3, 3] - actual[:, :3, 3]) / robot.size, rotation])


def judge_self_motions(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Look for planted postures on the self-motions of their poses; six joints have a free axis of the tool, or are singular."""
    del tally
    if judged.robot.dof not in (6, 7):
        return
    for row in judged.rows(CURVE_ROWS):
        axis = AXES[int(judged.group.numbers[row]) % len(AXES)]
        if judged.robot.dof == 7:
            axis = None
        traced = _Curve(judged, row, axis)
        try:
            motions = judged.manipulator.self_motions(judged.poses[row], free_axis=axis)
        except TopologyMismatch:
            # Of six joints without a free axis only poses with curves are taken.
            if axis is None and judged.robot.dof == 6 and traced.leads_on(STEP):
                yield judged.fault('unfound', 'self_motions', row, 'no curve of a singular pose')
            continue
        except SolverError as error:
            yield judged.fault('error', 'self_motions', row, str(error))
            continue
        distance = min((_distance(_dense(curve), traced.q) for curve in motions), default=math.inf)
        if distance > OFF_CURVE and motions.is_complete and traced.leads_on(motions.resolution):
            words = ', '.join(f'{value:.3g}' for value in traced.extent)
            detail = (
                f'free axis {axis}, {len(motions)} curves, nearest {distance:.2g}, resolution '
                f'{motions.resolution:.3g}, the curve of the posture moves the joints by {words}'
            )
            yield judged.fault('false proof', 'self_motions', row, detail)


def _dense(curve: SelfMotion) -> FloatArray:
    """Return postures along a curve, by straight lines between its knots where it cannot be sampled."""
    try:
        return curve.sample(SPACING)
    except SolverError:
        # Next to a singular posture a curve has postures that cannot be verified.
        knots = curve.knots
        arc = knots[:, segments.ARC]
        at = np.linspace(arc[0], arc[-1], 2 + int((arc[-1] - arc[0]) / SPACING))
        columns = range(segments.ARC // 2)
        return np.column_stack([np.interp(at, arc, knots[:, column]) for column in columns])


def _distance(rows: FloatArray, q: FloatArray) -> float:
    """Return the least of the largest joint differences of postures (m, n) from one, full turns left out."""
    differences = np.abs(rows[:, : len(q)] - q)
    differences = np.minimum(differences, np.abs(differences - 2.0 * math.pi))
    return float(differences.max(axis=1).min(initial=math.inf))


class _Curve:
    """The curve of postures of one pose through a planted posture, traced by the judges' own Jacobian."""

    def __init__(self, judged: Judged, row: int, axis: str | None) -> None:
        """Take a planted posture and the free axis of the tool, None for an exact pose."""
        self._judged, self._pose = judged, judged.poses[row]
        self.q = judged.group.q[row]
        """(n,) the planted posture."""
        self._axis = None if axis is None else np.eye(3)['xyz'.index(axis)]

    def _rows(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return error (6,) and Jacobian (6, 7) at joint values and spin (7,)."""
        robot = self._judged.robot
        poses, jacobians = robot.arm.fk_and_jacobian(q[None, : robot.dof])
        pose, jacobian = poses[0], rescaled(robot, jacobians)[0]
        if self._axis is not None:
            axis = pose[:3, :3] @ self._axis
            jacobian = np.column_stack([jacobian, np.concatenate([np.zeros(3), axis])])
            pose = pose.copy()
            pose[:3, :3] = rotation_about(axis, float(q[-1])) @ pose[:3, :3]
        return scaled_errors(robot, pose[None], self._pose)[0], jacobian

    @property
    def _start(self) -> FloatArray:
        """Return the planted posture, with a spin of zero where the tool has a free axis."""
        return self.q if self._axis is None else np.append(self.q, 0.0)

    def leads_on(self, resolution: float) -> bool:
        """Return whether exactly one curve passes the posture, and moves a joint by more than twice a resolution."""
        values = np.linalg.svd(self._rows(self._start)[1], compute_uv=False)
        if values[len(self._start) - 2] < CLEAR:
            return False
        return bool((self.extent > 2.0 * resolution).any())

    @functools.cached_property
    def extent(self) -> FloatArray:
        """Return how far each joint moves along the curve within the limits, as far as it is traced (n,)."""
        lower, upper = self._judged.robot.arm.lower, self._judged.robot.arm.upper
        unit = self._judged.robot.unit
        scale = unit if self._axis is None else np.append(unit, 1.0)
        low, high = self._start.copy(), self._start.copy()
        for sign in (1.0, -1.0):
            q, before = self._start.copy(), None
            for _ in range(TRACED):
                tangent = np.linalg.svd(self._rows(q)[1])[2][-1]
                if before is None:
                    tangent = sign * tangent
                elif tangent @ before < 0.0:
                    tangent = -tangent
                step = q + STEP * tangent * scale
                for _ in range(3):
                    error, jacobian = self._rows(step)
                    step = step + scale * np.linalg.lstsq(jacobian, error, rcond=None)[0]
                joints = step[: len(lower)]
                if (joints < lower).any() or (joints > upper).any():
                    break
                if np.abs(self._rows(step)[0]).max() > 1e-9:
                    break
                q, before = step, tangent
                low, high = np.minimum(low, q), np.maximum(high, q)
        return high - low
