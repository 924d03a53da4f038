"""
The best joint path along a tool path.

Problem
-------
Waypoints are poses of the tip. Choose a posture for each so that limits, largest steps and clearance hold and the objective is
least. Joints beyond six and a free spin leave parameters open at each waypoint.

Method
------
1. Layers of exact postures on a coarse grid of the parameters, the cheapest sequences through them by dynamic programming.
   Several different ones are kept.
2. Around each, grids that get finer. Each keeps the present values, so that the cost never rises.
3. Collisions are checked where the search goes, then along the motions between waypoints. Where a motion collides, its posture is
   forbidden and the search goes on.
4. The whole path is verified by forward kinematics, limits, steps and collisions before it is returned.
"""

from collections.abc import Sequence
import math
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, InvalidTarget, SolverError
from ssik_ros.kernels.paths import layers as kernels
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.paths.bounds import lower_bound
from ssik_ros.paths.control import PlanControl, PlanStopped
from ssik_ros.paths.corridors import Corridor, CorridorSearch
from ssik_ros.paths.layered_search import StepLimits
from ssik_ros.paths.obstacles import Obstacles
from ssik_ros.paths.reasons import PathFailure
from ssik_ros.paths.requests import ToolPath, ToolPathRequest
from ssik_ros.paths.search_space import SearchSpace
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.paths.verification import check_collisions, check_path
from ssik_ros.paths.windings import put_within_limits, unwind
from ssik_ros.results import Cause
from ssik_ros.tolerances import DEFAULT_TOLERANCES

MOST_WAYPOINTS = 100_000
DENSITIES = (1, 3)
"""Values of the first grid, one after the other while there is no path."""
ROUGH, FINEST = 0.15, 4e-3
"""Spacings to which each corridor and the best one are refined, as a part of the first grid's."""
SPARE = 5e-4
"""Distance that waypoints keep beyond the clearance, for the motions between them [m]."""


class ToolPathPlanner:
    """Plans tool paths of one group with the same settings; serves one thread."""

    def __init__(self, robot: RobotModel, group: JointGroup, request: ToolPathRequest) -> None:
        """
        Find the closed form and load the geometry.

        :param robot: the robot.
        :param group: a group with one tip.
        :param request: the settings.
        :raises SsikError: for a chain without closed form, and for settings that make no sense.
        """
        self.request = request
        self.chain = ToolChain(robot, group, request.locked)
        self.space = SearchSpace(self.chain, request.spin_axis)
        self.limits = _step_limits(self.chain, request)
        self.obstacles: tuple[Obstacles, Obstacles] | None = None
        if request.obstacles is not None:
            own = (request.clearance + SPARE, request.clearance)
            near, exact = (Obstacles(self.chain, request.obstacles, each) for each in own)
            self.obstacles = near, exact
        self._count = 0
        self._ends = (self._posture(request.start), self._posture(request.end))

    def _posture(self, q: Sequence[float] | None) -> FloatArray | None:
        """Return a start or end posture as an array."""
        if q is None:
            return None
        posture = np.asarray(q, dtype=np.float64)
        if posture.shape != (self.chain.size,) or not np.isfinite(posture).all():
            raise InvalidOption(
                f'A start or end posture has {self.chain.size} finite joint values, not {q!r}.'
            )
        return posture

    def plan(self, waypoints: FloatArray) -> ToolPath:
        """
        Return the best joint path.

        :param waypoints: (m, 4, 4) poses of the tip in the base frame of the group.
        :raises InvalidTarget: for anything else.
        """
        poses = check_waypoints(waypoints)
        self._count = len(poses)
        control = PlanControl(self.request)
        bound = lower_bound(self.chain, poses, self.limits, self.space.axis)
        best: list[Corridor] = []
        failure, stopped = None, ''
        try:
            for _ in range(self.chain.size):
                failure = self._search(poses, control, best)
                _, outside = self._placed(best)
                if failure is not None or outside < 0:
                    break
                self.chain.tell_windings_apart(outside)
        except PlanStopped as stop:
            is_whole = bool(best) and len(best[0].q) == len(poses)
            failure = (
                None if is_whole else PathFailure(-1, Cause.DEADLINE, f'No path yet: {stop}.')
            )
            stopped = str(stop)
        return self._answer(poses, best, failure, bound, control, stopped)

    def _placed(self, best: Sequence[Corridor]) -> tuple[FloatArray, int]:
        """Return the best path within limits, and the first joint that turns too far for that, -1 for none."""
        if not best or not len(best[0].q):
            return np.zeros((0, self.chain.size)), -1
        turning, is_first = self.limits.turning, best[0].first == 0
        start = self._ends[0] if is_first else None
        q, outside = put_within_limits(
            unwind(best[0].q, turning, start), turning, self.chain.chain, start is not None
        )
        end = self._ends[1]
        if outside < 0 and end is not None and best[0].first + len(q) == self._count:
            missed = np.flatnonzero((turning != 0) & (np.abs(q[-1] - end) > 1e-6))
            bounded = missed[np.isfinite(self.chain.chain.upper[missed])]
            outside = int(bounded[0]) if len(bounded) else -1
        return q, outside

    def _search(
        self, poses: FloatArray, control: PlanControl, best: list[Corridor]
    ) -> PathFailure | None:
        """Put the best path found, or its longest piece, into a list; return why there is none."""
        space = self.space
        search = CorridorSearch(space, self.limits, poses, self.obstacles, control.pause)
        search.ends = self._ends
        stride, failure = space.stride(len(poses)), None
        densities = list(DENSITIES if space.size else DENSITIES[:1])
        while densities:
            control.report(0.1, f'first grid, every {stride}. waypoint')
            corridors, failure = search.first_grid(stride, densities[0])
            if failure is None:
                rough = self._refine_all(search, corridors, stride, control)
                if rough:
                    best[:] = [rough]
                    control.report(0.6, 'refinement')
                    best[:] = [search.refine(rough, FINEST * space.spacing) or rough]
                    return None
                failure = PathFailure(
                    -1, Cause.NOT_FOUND, 'No sequence of the first grid leads on.'
                )
            elif corridors:
                best[:] = corridors
            if stride > 1:
                stride = max(1, stride // 2)
            else:
                densities.pop(0)
        return failure

    def _refine_all(
        self,
        search: CorridorSearch,
        corridors: Sequence[Corridor],
        stride: int,
        control: PlanControl,
    ) -> Corridor | None:
        """Return the cheapest of some corridors after a rough refinement."""
        rough: list[Corridor] = []
        for index, corridor in enumerate(corridors):
            control.report(0.2 + 0.4 * index / len(corridors), f'corridor {index + 1}')
            refined = search.refine(search.between(corridor, stride), ROUGH * self.space.spacing)
            if refined is not None:
                rough.append(refined)
        return min(rough, key=lambda own: own.cost, default=None)

    def _answer(
        self,
        poses: FloatArray,
        best: Sequence[Corridor],
        failure: PathFailure | None,
        bound: float,
        control: PlanControl,
        stopped: str = '',
    ) -> ToolPath:
        """Return the verified result."""
        names = self.chain.chain.joint_names
        common: dict[str, Any] = {'joint_names': names, 'lower_bound': bound}
        notes = self._notes(stopped)
        q, outside = self._placed(best)
        if failure is None and outside >= 0:
            text = f"Joint '{names[outside]}' would turn further than its limits allow."
            failure = PathFailure(-1, Cause.LIMITS, text)
        if failure is not None:
            return ToolPath(
                valid=False,
                positions=q,
                cost=math.inf,
                cause=failure.cause,
                reason=failure.text,
                failed_waypoint=failure.waypoint,
                first_waypoint=best[0].first if best else 0,
                seconds=control.seconds,
                notes=notes,
                **common,
            )
        self._verify(q, poses)
        cost = path_cost(q, self.limits)
        return ToolPath(
            valid=True, positions=q, cost=cost, seconds=control.seconds, notes=notes, **common
        )

    def _notes(self, stopped: str) -> tuple[str, ...]:
        """Return what a user should know."""
        notes = list(self.obstacles[1].warnings) if self.obstacles else []
        if stopped:
            notes.append(f'The search ended early: {stopped}.')
        return tuple(notes)

    def _verify(self, q: FloatArray, poses: FloatArray) -> None:
        """Raise for a path that is not what was asked; the searches never return one."""
        wrong = check_path(self.chain, q, poses, self.limits, self.space.axis)
        if not wrong and self.obstacles is not None:
            wrong = check_collisions(q, self.obstacles[1])
        if wrong:
            raise SolverError(f'The path failed its verification and is withheld: {wrong}.')


def plan_tool_path(
    robot: RobotModel,
    group: JointGroup | str,
    waypoints: FloatArray,
    request: ToolPathRequest | None = None,
    **settings: Any,
) -> ToolPath:
    """
    Return the best joint path along a tool path.

    :param robot: the robot.
    :param group: a group with one tip, or its name.
    :param waypoints: (m, 4, 4) poses of the tip in the base frame of the group.
    :param request: the settings; None for those that follow.
    :param settings: fields of :class:`ToolPathRequest`.
    :raises SsikError: for a chain without closed form, and for waypoints and settings that make no sense.
    """
    if request is None:
        known = ToolPathRequest.__dataclass_fields__
        for name in settings:
            if name not in known:
                raise InvalidOption.unknown(f"There is no setting '{name}'", name, known)
        request = ToolPathRequest(**settings)
    elif settings:
        raise InvalidOption('Give a request or settings, not both.')
    own = robot.group(group) if isinstance(group, str) else group
    return ToolPathPlanner(robot, own, request).plan(waypoints)


def path_cost(q: FloatArray, limits: StepLimits) -> float:
    """
    Return the value of the objective of a path.

    :param q: (m, n) without jumps.
    :param limits: the objective.
    """
    steps = np.abs(np.diff(q, axis=0)) * limits.weights
    if limits.objective == kernels.SUM_OF_SQUARES:
        return float((steps**2).sum())
    if limits.objective == kernels.SUM_OF_STEPS:
        return float(steps.sum())
    slowest = steps.max(axis=1, initial=0.0)
    is_largest = limits.objective == kernels.LARGEST_STEP
    return float(slowest.max(initial=0.0) if is_largest else slowest.sum())


def check_waypoints(waypoints: FloatArray) -> FloatArray:
    """
    Return waypoints as an array.

    :param waypoints: (m, 4, 4), at least two.
    :raises InvalidTarget: for another shape, values that are not finite, matrices that are no poses, too many.
    """
    poses = np.ascontiguousarray(waypoints, dtype=np.float64)
    if poses.ndim != 3 or poses.shape[1:] != (4, 4) or not 2 <= len(poses) <= MOST_WAYPOINTS:
        raise InvalidTarget(
            f'A tool path has 2 to {MOST_WAYPOINTS} waypoints, each a 4x4 matrix, not an array of shape {poses.shape}.'
        )
    wrong = ~np.isfinite(poses).all(axis=(1, 2))
    if not wrong.any():
        turned = np.einsum('mji,mjk->mik', poses[:, :3, :3], poses[:, :3, :3]) - np.eye(3)
        wrong = np.abs(turned).max(axis=(1, 2)) > DEFAULT_TOLERANCES.rigid
        wrong |= np.abs(poses[:, 3] - [0.0, 0.0, 0.0, 1.0]).max(axis=1) > DEFAULT_TOLERANCES.rigid
        wrong |= np.linalg.det(poses[:, :3, :3]) < 0.0
    if wrong.any():
        index = int(np.flatnonzero(wrong)[0])
        raise InvalidTarget(f'Waypoint {index} is not a finite rigid transform.', waypoint=index)
    return poses


def _step_limits(chain: ToolChain, request: ToolPathRequest) -> StepLimits:
    """Return the largest steps and the weights of the objective."""
    for name in ('largest_turn', 'largest_slide'):
        if not 0.0 < getattr(request, name) < math.inf:
            raise InvalidOption(f'{name} is a positive number, not {getattr(request, name)!r}.')
    if not 0.0 <= request.clearance < math.inf:
        raise InvalidOption(f'clearance is a distance [m], not {request.clearance!r}.')
    slides = chain.chain.kinds == JointKind.PRISMATIC
    largest = np.where(slides, request.largest_slide, request.largest_turn)
    weights = np.ones(chain.size)
    if request.objective.value in (kernels.LARGEST_STEP, kernels.SUM_OF_LARGEST):
        velocity = chain.robot.tree.velocity[chain.chain.idx_q]
        if not (np.isfinite(velocity) & (velocity > 0.0)).all():
            raise InvalidOption('This objective needs velocity limits of all joints in the URDF.')
        weights = 1.0 / velocity
    return StepLimits(chain.turning, largest.astype(np.float64), weights, request.objective.value)
