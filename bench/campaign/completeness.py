"""
Completeness: branches against Newton from many starts, and self-motions against planted postures.

Newton comes from :mod:`bench.self_motion_oracle`, which needs numba and shares no code with the kernels.
"""

from collections.abc import Iterator
import functools
from importlib.util import find_spec
import math

import numpy as np

from bench.arms import FloatArray
from bench.campaign.judging import Fault, ISOLATED, Judged, LOCATED, NEAREST, Tally
from bench.campaign.postures import scaled_jacobians
from bench.campaign.robots import rotation_about, screws_of
from ssik_ros.errors import SolverError, TopologyMismatch
from ssik_ros.kernels.closed_form.self_motions import segments
from ssik_ros.solvers.self_motions.curve import SelfMotion

NEWTON_ROWS, STARTS = 2, 400
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
    if judged.robot.dof != 6 or not judged.is_complete or find_spec('numba') is None:
        return
    from bench.self_motion_oracle import find_solutions

    robot, screws = judged.robot, screws_of(judged.robot)
    lower, upper = robot.bounds()
    unit = robot.unit
    home = screws.home.copy()
    home[:3, 3] /= robot.size
    chain = screws.axes, screws.points / robot.size, home, ~robot.turns
    for row in judged.rows(NEWTON_ROWS):
        target = judged.poses[row].copy()
        target[:3, 3] /= robot.size
        values = np.linspace(lower[-1], upper[-1], 7) / unit[-1]
        rows = find_solutions(
            chain,
            lower / unit,
            upper / unit,
            target,
            -1,
            values,
            STARTS // len(values),
            int(judged.group.numbers[row]),
        )
        known = judged.manipulator.solve_q(judged.poses[row])
        for q in rows * unit:
            sigma = _sigma(judged, q)
            unsure = max(NEAREST, LOCATED / max(sigma, 1e-300))
            if sigma < ISOLATED or judged.margin(q) < unsure:
                continue
            away = judged.distances(known, q).min(initial=math.inf)
            if away > unsure:
                detail = f'Newton finds {q.tolist()} with sigma {sigma:.1e}, nearest {away:.2g}'
                yield judged.fault('missing', 'branches', row, detail)
                break


def _sigma(judged: Judged, q: FloatArray) -> float:
    """Return the smallest singular value at a posture (n,)."""
    jacobian = scaled_jacobians(judged.robot, q[None])[0]
    return float(np.linalg.svd(jacobian, compute_uv=False)[-1])


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
        away = min((_distance(_dense(curve), traced.q) for curve in motions), default=math.inf)
        if away > OFF_CURVE and motions.is_complete and traced.leads_on(motions.resolution):
            words = ', '.join(f'{value:.3g}' for value in traced.extent)
            detail = (
                f'free axis {axis}, {len(motions)} curves, nearest {away:.2g}, resolution '
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
    away = np.abs(rows[:, : len(q)] - q)
    away = np.minimum(away, np.abs(away - 2.0 * math.pi))
    return float(away.max(axis=1).min(initial=math.inf))


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
        arm, size = self._judged.robot.arm, self._judged.robot.size
        pose, jacobian = (
            part[0] for part in arm.fk_and_jacobian(q[None, : self._judged.robot.dof])
        )
        if self._axis is not None:
            axis = pose[:3, :3] @ self._axis
            jacobian = np.column_stack([jacobian, np.concatenate([np.zeros(3), axis])])
            pose = pose.copy()
            pose[:3, :3] = rotation_about(axis, float(q[-1])) @ pose[:3, :3]
        jacobian = jacobian.copy()
        jacobian[:3] /= size
        jacobian[:, : self._judged.robot.dof][:, ~self._judged.robot.turns] *= size
        turned = self._pose[:3, :3] @ pose[:3, :3].T
        skew = 0.5 * (turned - turned.T)
        error = np.concatenate(
            [(self._pose[:3, 3] - pose[:3, 3]) / size, [skew[2, 1], skew[0, 2], skew[1, 0]]]
        )
        return error, jacobian

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
