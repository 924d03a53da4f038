"""
Constraints on a posture, as MoveIt means them: joints near values, points in volumes, links near orientations.

**Problem.** Check for a full state whether it satisfies each constraint, and how far it is from the middle of each.

**Derivation.** A joint constraint bounds d = q - q0. For a continuous joint and the angle of a planar joint, d is
wrapped to [-pi, pi]. A position constraint requires that the point p = T_frame_link o of a link lies in a region of the
frame. An orientation constraint takes E = R_desired^T R_link and bounds three numbers of it. These are the angles (a,
b, c) of E = Rx(a) Ry(b) Rz(c), or the components of its rotation vector.

**Degenerate cases.** If cos b = 0, a and c rotate about one axis, and only their sum or difference is known. The
constraint then holds if b is within its tolerance, and the whole other rotation within the tolerance of a or of c. A
frame that is a link moves with the posture.

**References.** moveit_msgs/Constraints; see docs/reference/ros2.md.
"""

from collections.abc import Callable
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, is_within_reason, TOO_FAR, whole_turns, wrap_angle
from ssik_ros.errors import describe_choices, list_names, quote
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.server.requests.constraints import (
    ConstraintsGiven,
    JointConstraintGiven,
    OrientationConstraintGiven,
    PositionConstraintGiven,
)
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.requests.poses import NO_POSE, numbers_of_pose
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.requests.regions import Region
from ssik_ros.server.scene.frames import FrameReader

CONSTRAINT_SLACK = 1e-9
"""Distance by which rounding may put a value outside the tolerance of its constraint [rad or m]."""
GIMBAL = 1e-7
"""Below this cosine of the middle angle the outer two cannot be told apart."""


class ConstraintVerdict(NamedTuple):
    """Whether one constraint holds in one state."""

    holds: bool
    distance: float
    """
    Weight of the constraint times the distance from its middle, also if it holds.

    The distance is from the value of a joint [rad or m], from the middle of the first solid of a region [m], or the sum
    of the three angles of a rotation [rad].
    """
    text: str
    """How the constraint is violated, and by how much; empty if it holds."""


_Test = Callable[[FullState], ConstraintVerdict]


class ConstraintCheck:
    """The constraints of one request about one robot, with all names looked up; its methods test full states."""

    def __init__(
        self,
        frames: FrameReader,
        wishes: ConstraintsGiven,
        place_frame: Callable[[str], FloatArray | None],
    ) -> None:
        """
        Look up every name, and make a test of each constraint.

        :param frames: the robot's frames.
        :param wishes: the constraints.
        :param place_frame: called with a frame that is not a link, with the model frame even if it is a link, and with
            an empty name. It returns the pose (4, 4) of the frame in the model frame; None if the frame is the model
            frame. It raises :class:`RequestRefused` for an unknown name.
        :raises RequestRefused: for unknown names, invalid numbers and unknown kinds of constraints.
        """
        if wishes.others:
            raise Refusal.CONSTRAINTS.error(
                f'Constraints are not honoured here: {list_names(wishes.others)}. Rather than leave them out '
                'in silence, the request is refused.'
            )
        self._frames, self._robot = frames, frames.robot
        self._variables = {name: i for i, name in enumerate(self._robot.variable_names)}
        self._place_frame = place_frame
        self._wishes = wishes
        self._tests: list[_Test] = [
            *(self._joint_test(wish) for wish in wishes.joints),
            *(self._position_test(wish) for wish in wishes.positions),
            *(self._orientation_test(wish) for wish in wishes.orientations),
        ]

    def judge(self, state: FullState) -> list[ConstraintVerdict]:
        """
        Return a verdict on each constraint, joints first, then positions, then orientations.

        :param state: the full state.
        """
        return [test(state) for test in self._tests]

    def complaint(self, state: FullState) -> str:
        """
        Return how the first violated constraint is violated; empty if all hold.

        :param state: the full state.
        """
        for test in self._tests:
            verdict = test(state)
            if not verdict.holds:
                return verdict.text
        return ''

    def narrow(self, group: JointGroup, state: FullState) -> tuple[FloatArray, FloatArray] | str:
        """
        Return the limits (n,), (n,) of a group narrowed by its joint constraints; a text if they exclude all values.

        For a continuous joint or the angle of a planar joint, the constraint is moved by whole turns as near to the
        seed as possible. A joint outside the group must satisfy its constraint in the given state, else the result is a
        text. Constraints of mimic joints outside the group are not checked here.

        :param group: the group.
        :param state: seed, and joints outside the group.
        """
        tree = self._robot.tree
        lower, upper = group.lower.copy(), group.upper.copy()
        places = {name: i for i, name in enumerate(group.variable_names)}
        for wish, test in zip(self._wishes.joints, self._tests, strict=False):
            place = places.get(wish.joint)
            if place is None:
                joint = tree.joint_index.get(wish.joint)
                follows = joint is not None and tree.leaders[joint] >= 0
                verdict = test(state)
                if not follows and not verdict.holds:
                    return f'{verdict.text}, and nothing in the group moves it'
                continue
            middle = wish.position
            if self._is_continuous(wish.joint):
                seed = float(state.positions[group.idx_q[place]])
                middle += float(whole_turns(seed - middle))
            lower[place] = max(lower[place], middle - wish.below)
            upper[place] = min(upper[place], middle + wish.above)
        for name, low, high, begin, end in zip(
            group.variable_names, lower, upper, group.lower, group.upper
        ):
            if not low <= high:
                return (
                    f'joint {quote(name)} is to be from {low:.6g} to {high:.6g}, within its limits from '
                    f'{begin:.6g} to {end:.6g}'
                )
        return lower, upper

    def _is_continuous(self, variable: str) -> bool:
        tree = self._robot.tree
        joint = tree.joint_index.get(variable)
        if joint is None:
            return variable.endswith('/theta')
        return JointKind(tree.kinds[joint]) == JointKind.CONTINUOUS

    def _joint_test(self, wish: JointConstraintGiven) -> _Test:
        place = self._variables.get(wish.joint)
        if place is None:
            raise Refusal.CONSTRAINTS.error(
                f'joint_constraints name the joint {quote(wish.joint)}, which robot {quote(self._robot.name)} does not '
                f'have. {describe_choices(wish.joint, self._variables)}'
            )
        if not (is_within_reason(wish.position) and wish.above >= 0.0 and wish.below >= 0.0):
            raise Refusal.CONSTRAINTS.error(
                f'The joint constraint on {quote(wish.joint)} has a position that is not finite or too large, or a tolerance '
                'that is no number of at least zero.'
            )
        wraps = self._is_continuous(wish.joint)
        weight = _weight(wish.weight)

        def test(state: FullState) -> ConstraintVerdict:
            off = float(state.positions[place]) - wish.position
            if wraps:
                off = wrap_angle(off)
            holds = -wish.below - CONSTRAINT_SLACK <= off <= wish.above + CONSTRAINT_SLACK
            text = (
                '' if holds else f'joint {quote(wish.joint)} is {off:+.4g} from {wish.position:g}'
            )
            return ConstraintVerdict(holds, weight * abs(off), text)

        return test

    def _position_test(self, wish: PositionConstraintGiven) -> _Test:
        self._require_link(wish.link, 'position_constraints')
        what = f'The position constraint on {quote(wish.link)}'
        if not is_within_reason(wish.point):
            raise Refusal.CONSTRAINTS.error(
                f'{what} has a target_point_offset that is not finite or {TOO_FAR}.'
            )
        region, weight = Region(wish.parts, what), _weight(wish.weight)
        pose_in_frame = self._link_in_frame(wish.link, wish.frame)

        def test(state: FullState) -> ConstraintVerdict:
            pose = pose_in_frame(state)
            point = pose[:3, :3] @ wish.point + pose[:3, 3]
            distance = float(np.linalg.norm(point - region.centre))
            holds = region.contains(point)
            text = f'link {quote(wish.link)} is {distance:.4g} m from the middle of its region'
            return ConstraintVerdict(holds, weight * distance, '' if holds else text)

        return test

    def _orientation_test(self, wish: OrientationConstraintGiven) -> _Test:
        self._require_link(wish.link, 'orientation_constraints')
        what = f'The orientation constraint on {quote(wish.link)}'
        if not np.isfinite(wish.pose).all():
            raise Refusal.CONSTRAINTS.error(f'{what} has no orientation: {NO_POSE}.')
        if not all(tolerance >= 0.0 for tolerance in wish.tolerances):
            raise Refusal.CONSTRAINTS.error(
                f'{what} has a tolerance that is no number of at least zero.'
            )
        if wish.kind not in (0, 1):
            raise Refusal.CONSTRAINTS.error(
                f'{what} has the parameterization {wish.kind}; 0 (XYZ_EULER_ANGLES) and 1 '
                '(ROTATION_VECTOR) exist.'
            )
        weight = _weight(wish.weight)
        pose_in_frame = self._link_in_frame(wish.link, wish.frame)
        angles = _rotation_vector if wish.is_vector else _angles_of

        def test(state: FullState) -> ConstraintVerdict:
            difference = np.eye(4)
            difference[:3, :3] = wish.pose[:3, :3].T @ pose_in_frame(state)[:3, :3]
            choices = [[abs(angle) for angle in choice] for choice in angles(difference)]
            holds = any(
                all(
                    a <= t + CONSTRAINT_SLACK for a, t in zip(choice, wish.tolerances, strict=True)
                )
                for choice in choices
            )
            off = ', '.join(f'{angle:.4g}' for angle in choices[0])
            text = (
                '' if holds else f'link {quote(wish.link)} is rotated by {off} rad about x, y, z'
            )
            return ConstraintVerdict(holds, weight * sum(choices[0]), text)

        return test

    def _link_in_frame(self, link: str, frame: str) -> Callable[[FullState], FloatArray]:
        """Return a function that computes the pose (4, 4) of a link in a frame, which may be a link, from a state."""
        reader = self._frames
        if frame in self._robot.tree.link_index and frame != self._robot.model_frame:
            return lambda state: (
                invert_pose(reader.link_in_root(frame, state)) @ reader.link_in_root(link, state)
            )
        placed = self._place_frame(frame)
        if placed is None:
            return lambda state: state.root_pose @ reader.link_in_root(link, state)
        inverse = invert_pose(placed)
        return lambda state: inverse @ state.root_pose @ reader.link_in_root(link, state)

    def _require_link(self, link: str, kind: str) -> None:
        if link not in self._robot.tree.link_index:
            choices = describe_choices(link, self._robot.tree.link_names)
            raise Refusal.CONSTRAINTS.error(
                f'{kind} name the link {quote(link)}, which robot {quote(self._robot.name)} does not have. {choices}'
            )


def _weight(weight: float) -> float:
    """Return a weight; 1 if it is not positive and finite, as in MoveIt."""
    return weight if 0.0 < weight < math.inf else 1.0


def _rotation_vector(pose: FloatArray) -> list[tuple[float, float, float]]:
    """
    Return the rotation vector (x, y, z) of a pose (4, 4) [rad], as a list of one.

    The list has the same form as the result of :func:`_angles_of`.
    """
    *_, x, y, z, w = numbers_of_pose(pose)
    length = math.hypot(x, y, z)
    if length == 0.0:
        return [(0.0, 0.0, 0.0)]
    factor = 2.0 * math.atan2(length, abs(w)) / length
    return [(factor * x, factor * y, factor * z)]


def _angles_of(pose: FloatArray) -> list[tuple[float, float, float]]:
    """
    Return the angles (a, b, c) of Rx(a) Ry(b) Rz(c), which is the rotation of a pose (4, 4) [rad], in a list.

    If cos b = 0, only the sum or difference of a and c is defined. The list then has two choices: c = 0, and a = 0.
    """
    r = pose[:3, :3]
    cosine = math.hypot(r[0, 0], r[0, 1])
    b = math.atan2(r[0, 2], cosine)
    if cosine > GIMBAL:
        return [(math.atan2(-r[1, 2], r[2, 2]), b, math.atan2(-r[0, 1], r[0, 0]))]
    both = math.atan2(r[1, 0], r[1, 1])
    return [(both if r[0, 2] > 0.0 else -both, b, 0.0), (0.0, b, both)]
