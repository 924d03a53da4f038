"""
Make full states of a robot from joint names and values: :class:`StateReader`.

:meth:`StateReader.merge` reads a request and refuses whatever is wrong. :meth:`StateReader.update` reads a joint state
message and ignores whatever is unknown or invalid.
"""

from collections.abc import Mapping, Sequence
import logging
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import (
    are_within_reason,
    FloatArray,
    freeze,
    is_within_reason,
    LARGEST_REQUEST_VALUE,
    TOO_FAR,
)
from ssik_ros.errors import counted, describe_choices, list_names, quote
from ssik_ros.model.forward_kinematics import joint_motion
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.robot_model import QUATERNION_START, RobotModel
from ssik_ros.server.requests.ik_requests import AT_MODEL_FRAME, FullState, StateGiven
from ssik_ros.server.requests.index_ranges import index_range, Places
from ssik_ros.server.requests.poses import numbers_of_pose
from ssik_ros.server.requests.refusals import Refusal, RequestRefused
from ssik_ros.value_class import NEW_TUPLE

_LOGGER = logging.getLogger('ssik_ros.joint_states')

CACHED_NAME_LISTS = 64
"""Different name lists that are remembered; a robot's clients use two or three."""
CACHED_CHARACTERS = 200_000
"""Of all names of a list that is remembered."""
FOLLOWING = 1e-6
"""A follower given so near to the value from its leader does not contradict it [rad or m]."""
QUATERNION_LENGTHS = (1e-150, 1e150)
"""Quaternions outside are taken for none: their squared length leaves the range of numbers."""


class _Places(NamedTuple):
    """
    Which variables of a full state a list of joint names sets.

    Followers are mimic joints; a follower in the list sets the variable of its leader if the list lacks the leader.
    """

    given: Places
    """Indices into the list; followers and unknown names left out."""
    targets: Places
    """Position variable of each of ``given``."""
    has_given: bool
    """Whether ``given`` has any index."""
    driven: tuple[tuple[int, int, float, float], ...]
    """(index into the list, leader's variable, multiplier, offset) of followers that set their leader."""
    following: tuple[tuple[int, int], ...]
    """(index into the list, follower's variable) of other followers: the leader is given, or the multiplier is 0."""
    unknown: tuple[str, ...]
    """Names that are not variables of the robot."""
    moves_leaders: bool
    """Whether a leader moves, so that all followers have to be set."""


class StateReader:
    """Makes full states of one robot from joint names and values; several threads may call it at once."""

    def __init__(self, robot: RobotModel, initial: Mapping[str, float] | None = None) -> None:
        """
        Index the robot's variables by name.

        :param robot: the robot.
        :param initial: values of variables that are not reported, instead of their default values.
        :raises RequestRefused: for a name in ``initial`` that is not a variable of the robot.
        """
        self.robot = robot
        tree = robot.tree
        self._variables = {name: i for i, name in enumerate(robot.variable_names)}
        self._followers = {
            tree.joint_names[j]: j for j in np.flatnonzero(tree.leaders >= 0).tolist()
        }
        self._virtual = {joint.name: joint.type for joint in robot.virtual_joints}
        self._quaternions = [
            (tree.joint_names[j], int(tree.idx_q[j]) + QUATERNION_START[JointKind(kind)])
            for j, kind in enumerate(tree.kinds)
            if kind in QUATERNION_START
        ]
        self._places: dict[tuple[str, ...], _Places] = {}
        start = initial or {}
        at_default = FullState(robot.default_positions(), AT_MODEL_FRAME)
        freeze(at_default.positions)
        self.untold = at_default.positions
        """
        Default positions (nq), read-only.

        Without ``initial``, the current state has this very array until a joint is reported. Requests then begin at the
        default seed.
        """
        self._start = self.merge(at_default, StateGiven(list(start), list(start.values())))

    def default(self) -> FullState:
        """Return the initial full state, with the root link at the model frame."""
        return self._start

    def merge(self, current: FullState, given: StateGiven) -> FullState:
        """
        Return the current state with the values that a request gives; if it gives none, the current state itself.

        If only a follower (mimic joint) is given, its leader moves with it. If both are given, the leader counts, and a
        value of the follower that differs by more than 1e-6 is noted in ``contradicted``. If a name is given twice, its
        last value counts.

        :param current: the values of everything that is not named.
        :param given: values and poses of a request by name.
        :raises RequestRefused: for an unknown or fixed joint, missing values, a value that is not finite or is too
            large, and a quaternion without length. Also for poses of joints that are invalid, or in a frame other than
            the model frame.
        """
        state = current
        if len(given.names) or len(given.positions):
            names, positions = tuple(given.names), given.positions
            places = self._places.get(names) or self._find(names)
            if (
                len(names) != len(positions)
                or places.unknown
                # The first half of the check is written here, because calls are a good part of the time of a request.
                or not (
                    math.hypot(*positions) <= LARGEST_REQUEST_VALUE or are_within_reason(positions)
                )
            ):
                raise self._wrong_joints(given, places)
            values = np.asarray(positions, dtype=np.float64)
            written = current.positions.copy()
            written[places.targets] = values[places.given]
            if places.driven or places.moves_leaders:
                self._set_mimic(written, places, values)
            if self._quaternions and (lost := self._no_rotation(written)):
                raise Refusal.BAD_STATE.error(
                    f'robot_state rotates joint {quote(lost)} by a quaternion of no length.',
                )
            wrong: tuple[str, ...] = ()
            if places.following:
                wrong = _contradictions(given, places, written)
            state = NEW_TUPLE(FullState, (written, current.root_pose, wrong))
        if len(given.multi_dof_names) or len(given.multi_dof_poses):
            state = self._merge_multi_dof(state, given)
        return state

    def unnamed(self, given: StateGiven) -> list[str]:
        """
        Return the names of joints for which a request gives no value; followers (mimic joints) are left out.

        The value of a follower counts for its leader. A joint with several variables is left out if at least one of
        them is given.

        :param given: values of a request by name.
        """
        tree = self.robot.tree
        named = {*given.names, *given.multi_dof_names}
        for name in given.names:
            if name in self._followers:
                named.add(tree.joint_names[int(tree.leaders[self._followers[name]])])
            elif '/' in name:
                named.add(name.rpartition('/')[0])
        return [
            name for name in tree.joint_names if name not in named and name not in self._followers
        ]

    def reads(self, name: str) -> bool:
        """
        Return whether a name is one of the robot's position variables.

        :param name: of a joint, or of a variable as ``joint/x``.
        """
        return name in self._variables

    def update(
        self, current: FullState, names: Sequence[str], positions: Sequence[float]
    ) -> FullState:
        """
        Return the current state with the values of a joint state message; names of other robots are ignored.

        :param current: the state so far.
        :param names, positions: a joint state message. Values that are not finite or too large are ignored. The whole
            message is ignored if lengths differ, or if a quaternion would have no length; the log tells the latter.
        """
        if len(names) != len(positions):
            return current
        values = np.asarray(positions, dtype=np.float64)
        finite = np.abs(values) <= LARGEST_REQUEST_VALUE
        if not finite.all():
            names = [name for name, good in zip(names, finite.tolist(), strict=True) if good]
            values = values[finite]
        places = self._find(tuple(names))
        if not places.has_given and not places.driven:
            return current
        written = current.positions.copy()
        written[places.targets] = values[places.given]
        self._set_mimic(written, places, values)
        wrong = self._no_rotation(written) if self._quaternions else ''
        if wrong:
            _LOGGER.warning(
                'joint_states rotate joint %s by a quaternion of no length, so the message is ignored.',
                quote(wrong),
            )
            return current
        return current._replace(positions=written)

    def _wrong_joints(self, given: StateGiven, places: _Places) -> RequestRefused:
        """
        Return the error for a request whose joint values are wrong.

        It names unequal numbers of names and values, or unknown names, or values that are not finite or too large: the
        first fault of these.
        """
        if len(given.names) != len(given.positions):
            return Refusal.BAD_STATE.error(
                f'robot_state names {counted(len(given.names), "joint")} and gives '
                f'{counted(len(given.positions), "position")}.'
            )
        if places.unknown:
            return self._unknown(places.unknown)
        pairs = zip(given.names, given.positions, strict=True)
        bad = [name for name, value in pairs if not abs(value) <= LARGEST_REQUEST_VALUE]
        return Refusal.BAD_STATE.error(
            f'robot_state is not finite, or beyond {LARGEST_REQUEST_VALUE:g}, at {list_names(bad)}.',
        )

    def _no_rotation(self, positions: FloatArray) -> str:
        """Return the name of the first joint whose quaternion cannot be normalised; empty if all can."""
        for name, start in self._quaternions:
            length = math.hypot(*positions[start : start + 4])
            if not QUATERNION_LENGTHS[0] < length < QUATERNION_LENGTHS[1]:
                return name
        return ''

    def _unknown(self, names: Sequence[str]) -> RequestRefused:
        """Return the error for names that are not position variables."""
        several = [name for name in names if name in self.robot.tree.joint_index]
        if several:
            return Refusal.BAD_STATE.error(
                f'robot_state gives one position to joint {quote(several[0])}, which has several '
                'variables.'
            )
        fixed = [
            n for n in names if n in self.robot.urdf.joints or self._virtual.get(n) == 'fixed'
        ]
        if fixed:
            return Refusal.BAD_STATE.error(
                f'robot_state moves joint {quote(fixed[0])}, which is fixed.'
            )
        return Refusal.BAD_STATE.error(
            f'robot_state names the joint {quote(names[0])}, which robot {quote(self.robot.name)} does not '
            f'have. {describe_choices(names[0], self._variables)}'
        )

    def _set_mimic(self, positions: FloatArray, places: _Places, values: FloatArray) -> None:
        """
        Write the leaders and followers (mimic joints) into full positions (nq,), in place.

        A leader that is not given gets the value that its given follower needs. Then all followers are set from their
        leaders. ``values`` are the given values, in the order of the list of names.
        """
        for index, leader, multiplier, offset in places.driven:
            positions[leader] = (values[index] - offset) / multiplier
        if places.moves_leaders:
            self.robot.set_followers(positions)

    def _find(self, names: tuple[str, ...]) -> _Places:
        """
        Return which position variables a list of joint names sets, from a cache of earlier lists.

        A very long list is not cached. When ``CACHED_NAME_LISTS`` lists are cached, the next new list empties the cache
        first.
        """
        places = self._places.get(names)
        if places is None:
            places = self._compute_places(names)
            if sum(map(len, names)) <= CACHED_CHARACTERS:
                if len(self._places) >= CACHED_NAME_LISTS:
                    self._places.clear()
                self._places[names] = places
        return places

    def _compute_places(self, names: tuple[str, ...]) -> _Places:
        last = {name: index for index, name in enumerate(names)}
        given: list[int] = []
        targets: list[int] = []
        driven: list[tuple[int, int, float, float]] = []
        unknown: list[str] = []
        following: list[tuple[int, int]] = []
        for name, index in last.items():
            if name in self._followers:
                moved = self._drive(name, index, last)
                driven += moved
                if not moved:
                    following.append((index, self._variables[name]))
            elif name in self._variables:
                given.append(index)
                targets.append(self._variables[name])
            else:
                unknown.append(name)
        leaders = {int(self.robot.tree.leaders[joint]) for joint in self._followers.values()}
        led = {int(self.robot.tree.idx_q[joint]) for joint in leaders}
        return _Places(
            index_range(np.array(given, dtype=np.int64)),
            index_range(np.array(targets, dtype=np.int64)),
            bool(given),
            tuple(driven),
            tuple(following),
            tuple(unknown),
            bool(driven) or not led.isdisjoint(targets),
        )

    def _drive(
        self, name: str, index: int, given: dict[str, int]
    ) -> list[tuple[int, int, float, float]]:
        """
        Return how a follower's given value sets its leader: a list of one entry for ``_Places.driven``.

        The list is empty if the leader is given too, or if the multiplier is zero. ``index`` is the index of the
        follower ``name`` in the list of names, and ``given`` has the index of each name.
        """
        tree = self.robot.tree
        joint = self._followers[name]
        leader = int(tree.leaders[joint])
        multiplier = float(tree.multipliers[joint])
        if tree.joint_names[leader] in given or multiplier == 0.0:
            return []
        return [(index, int(tree.idx_q[leader]), multiplier, float(tree.offsets[joint]))]

    def _merge_multi_dof(self, state: FullState, given: StateGiven) -> FullState:
        """
        Return the state with the given poses of joints with several variables and of the virtual joint.

        Raise RequestRefused for other numbers of names and poses, a frame other than the model frame, and invalid
        poses. Names of unknown, fixed or one-variable joints are refused too.
        """
        if len(given.multi_dof_names) != len(given.multi_dof_poses):
            raise Refusal.BAD_STATE.error(
                f'robot_state names {len(given.multi_dof_names)} multi-DOF joints and gives '
                f'{len(given.multi_dof_poses)} transforms.'
            )
        if given.multi_dof_frame not in ('', self.robot.model_frame):
            raise Refusal.BAD_STATE.error(
                f'robot_state gives multi-DOF joints in the frame {quote(given.multi_dof_frame)}; only the '
                f'model frame {quote(self.robot.model_frame)} is understood.'
            )
        tree = self.robot.tree
        positions, root_pose = state.positions.copy(), state.root_pose
        for name, pose in zip(given.multi_dof_names, given.multi_dof_poses, strict=True):
            if not (np.isfinite(pose).all() and is_within_reason(pose[:3, 3])):
                raise Refusal.BAD_STATE.error(
                    f'robot_state is not finite, or {TOO_FAR}, at joint {quote(name)}.',
                )
            joint = tree.joint_index.get(name)
            if joint is not None:
                values = _joint_values(JointKind(tree.kinds[joint]), name, pose)
                start = int(tree.idx_q[joint])
                positions[start : start + len(values)] = values
            elif self._virtual.get(name, 'fixed') != 'fixed':
                root_pose = _flat(pose) if self._virtual[name] == 'planar' else pose
            else:
                raise self._unknown((name,))
        return FullState(self.robot.with_mimic(positions), root_pose, state.contradicted)


def _contradictions(given: StateGiven, places: _Places, positions: FloatArray) -> tuple[str, ...]:
    """
    Return the names of followers whose given values differ from those that follow from their leaders.

    :param given: the joint values of the request.
    :param places: where the followers are in the request and in a full state.
    :param positions: (nq) positions, in which followers already follow; differences up to FOLLOWING are allowed [rad or
        m].
    """
    return tuple(
        given.names[index]
        for index, place in places.following
        if abs(given.positions[index] - positions[place]) > FOLLOWING
    )


def _flat(pose: FloatArray) -> FloatArray:
    """Return the part of a pose (4, 4) that a planar joint can have, as a pose: x, y and the rotation about z."""
    values = _joint_values(JointKind.PLANAR, '', pose)
    return joint_motion(JointKind.PLANAR, np.array([0.0, 0.0, 1.0]), np.array(values))


def _joint_values(kind: JointKind, name: str, pose: FloatArray) -> list[float]:
    """
    Return the position variables of a planar, floating or spherical joint from its pose (4, 4).

    They are x, y and angle; x, y, z and quaternion; or the quaternion (x, y, z, w). Raise RequestRefused for any other
    kind; ``name`` is the joint in the error.
    """
    x, y, z, *quaternion = numbers_of_pose(pose)
    if kind == JointKind.FLOATING:
        return [x, y, z, *quaternion]
    if kind == JointKind.SPHERICAL:
        return quaternion
    if kind == JointKind.PLANAR:
        return [x, y, math.atan2(pose[1, 0], pose[0, 0])]
    raise Refusal.BAD_STATE.error(
        f'robot_state gives joint {quote(name)}, which has one variable, a transform.',
    )
