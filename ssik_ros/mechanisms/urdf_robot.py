"""Robots from a URDF as mechanisms: loops are closed, joint states read and written, passive joints computed."""

from collections.abc import Collection, Iterable, Mapping, Sequence
import os
from types import MappingProxyType
from typing import Any

import numpy as np

from ssik_ros.arguments import check_listed, read_count, read_flag, refuse, shown
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidClosure
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms.frame import check_finite
from ssik_ros.mechanisms.joint import Goal
from ssik_ros.mechanisms.joint_states import fit_closure, name_positions
from ssik_ros.mechanisms.loop_closures import (
    closure_of_constraint,
    LoopClosure,
    LoopClosures,
    read_loop_closures,
    unused_parts,
)
from ssik_ros.mechanisms.names import DOF, read_dof, SOLVE_STATUS
from ssik_ros.mechanisms.result import ChainResult
from ssik_ros.mechanisms.solver import Solver
from ssik_ros.mechanisms.urdf_frames import dangling_links, UrdfFrames
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.urdf.source import TextSource
from ssik_ros.value_class import dataclass

ClosureSource = LoopClosure | Sequence[Any]

COMPLETION_TOLERANCE = 1e-9
"""Tolerance of closed loops [m, rad]: a closure error is magnified in some passive joints."""


@dataclass(frozen=True, eq=False)
class CompletedState:
    """Result of :meth:`UrdfRobot.complete_state`: positions of all joints, and whether the loops could be closed."""

    positions: Mapping[str, float]
    """Positions of all variables by name [rad or m], in the order of the model."""
    status: SOLVE_STATUS
    """The status of a chain with the largest number; at least STALLED if a given position is outside its limits."""
    results: tuple[ChainResult, ...]
    """One per chain."""
    clamped: tuple[str, ...]
    """Given variables that are outside their limits, and were set to the limit."""

    @property
    def converged(self) -> bool:
        """Whether the loops are closed and all given joints are at their given positions."""
        return self.status == SOLVE_STATUS.CONVERGED


MOST_STEPS = 1_000_000
"""Largest number of steps in :meth:`UrdfRobot.complete_state`."""


class UrdfRobot:
    """
    A robot as a mechanism: its links, joints and loop closures as frames, and its joint states; see :func:`from_urdf`.

    ``links`` and ``joints`` have the frames by their names in the URDF, ``closures`` by the names of the loops. A
    method raises InvalidOption for an argument of a wrong type.
    """

    def __init__(
        self, frames: UrdfFrames, active_joints: Sequence[str], warnings: Sequence[str]
    ) -> None:
        """
        Store the frames of a robot; :func:`from_urdf` makes them.

        :param frames: all links, joints and closures of the robot.
        :param active_joints: variables whose values determine the others.
        :param warnings: sentences about unused parts of the descriptions.
        :raises JointNotFound: for an active joint that the robot does not have.
        :raises InvalidTarget: if active joints have only a part of an orientation.
        """
        self.model = frames.model
        self.root = frames.root
        """The joint above the root link: the pose of the robot in the world."""
        self.joints = MappingProxyType(frames.joints)
        self.links = MappingProxyType(frames.links)
        self.closures = MappingProxyType(frames.closures)
        self.active_joints = tuple(active_joints)
        self.warnings = tuple(warnings)
        self.completion = Solver(
            self.root,
            translation_converge_threshold=COMPLETION_TOLERANCE,
            rotation_converge_threshold=COMPLETION_TOLERANCE,
        )
        """The solver of :meth:`complete_state`; its options may be changed."""
        self.joint_variables = frames.variables
        """The variables of all joints as degrees of freedom of the frames."""
        self.joint_variables.overlay(dict.fromkeys(self.active_joints, 0.0))
        self.initial_state: Mapping[str, float] = self._state()
        """Positions by variable at the end of :func:`from_urdf`."""

    def _state(self) -> Mapping[str, float]:
        return MappingProxyType(dict(zip(*self.to_joint_state(), strict=True)))

    @property
    def variable_names(self) -> tuple[str, ...]:
        """The names of all positions, MoveIt's for joints with several (``base/x``), in the order of the model."""
        return self.joint_variables.names

    @property
    def positions(self) -> FloatArray:
        """The (nq,) positions of all joints: a full state of :attr:`model`."""
        return self.joint_variables.read()

    def to_joint_state(self) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """Return names and positions of all joint variables, mimic and passive joints included."""
        return self.variable_names, tuple(float(value) for value in self.positions)

    def from_joint_state(
        self, names: Iterable[str], positions: Iterable[float], *, ignore_unknown: bool = False
    ) -> tuple[str, ...]:
        """
        Set positions of some joints; other joints stay, so that loops may open.

        The joints of closures are set to values that fit the gap of their loop; they are exact if the loop is closed.
        If an argument is wrong, no joint changes.

        :param names: names of variables; a mimic joint sets its leader, unless the leader is named too.
        :param positions: as many positions [rad or m].
        :param ignore_unknown: whether to skip names that are not variables of this robot.
        :returns: the variables whose position is outside the limits; they are set to the limit.
        :raises JointNotFound: for unknown names, unless they are skipped.
        :raises InvalidOption: for names that are not texts, and positions that are not numbers.
        :raises InvalidTarget: for positions that are not finite, an incomplete or zero orientation, and a mimic joint
            with multiplier 0 whose leader is not named.
        :raises DimensionMismatch: for different numbers of names and positions, or a name that comes twice.
        """
        given = name_positions(names, positions)
        if read_flag('ignore_unknown', ignore_unknown):
            index = self.joint_variables.index
            given = {name: value for name, value in given.items() if name in index}
        moved = self.joint_variables.write(self.joint_variables.overlay(given)[0])
        for joint in self.closures.values():
            fit_closure(joint)
        return tuple(moved)

    def save_rest_pose(self) -> None:
        """Make the present values of all joints their rest pose, which later solves prefer."""
        for joint in self.joints.values():
            joint.save_rest_pose()

    def complete_state(
        self, active: Mapping[str, float] | Sequence[float] | None = None, *, steps: int = 1
    ) -> CompletedState:
        """
        Hold some joints at given positions, and move the other joints so that the loops close.

        The search begins at the present values. Goals and joint targets are ignored, and locked joints stay locked. If
        the loops cannot be closed, the joints keep the values with the smallest error.

        :param active: positions by variable [rad or m], or positions of :attr:`active_joints` in their order; None
            closes the loops with every joint free.
        :param steps: number of equal steps to the given positions, each solved from the state before. Several steps
            keep long motions in the same assembly mode.
        :raises JointNotFound: for unknown names.
        :raises InvalidTarget: for positions that are not finite, an incomplete or zero orientation, and a mimic joint
            with multiplier 0 whose leader is not named.
        :raises DimensionMismatch: for another number of positions than of :attr:`active_joints`.
        :raises InvalidOption: for ``steps`` outside 1 to 1,000,000.
        """
        read_count('steps', steps, 1, MOST_STEPS)
        if active is None:
            active = {}
        elif not isinstance(active, Mapping):
            active = name_positions(self.active_joints, active)
        variables = self.joint_variables
        wanted, places = variables.overlay(active)
        start = variables.read()
        storage = self.completion.mechanism.storage
        kept = storage.flags.copy()
        self._hold(places)
        try:
            for step in range(1, steps + 1):
                now = variables.read()
                now[places] = (start + (wanted - start) * (step / steps))[places]
                moved = variables.write(now)
                results = self.completion.solve()
        finally:
            with storage.lock:
                storage.flags[:] = kept
        variables.settle_followers()
        clamped = tuple(
            variables.names[place]
            for place in dict.fromkeys(places)
            if moved.get(variables.names[place], 0.0) > self._tolerance(place)
        )
        worst = max(
            [*results, SOLVE_STATUS.STALLED if clamped else SOLVE_STATUS.CONVERGED], key=int
        )
        return CompletedState(
            self._state(),
            SOLVE_STATUS(int(worst)),
            tuple(results),
            clamped,
        )

    def _tolerance(self, place: int) -> float:
        """
        Return how far a variable may be from its given position to count as reached [m or rad].

        It is the convergence threshold of the solver for translations or for rotations.

        :param place: index of the variable in the full state.
        """
        options = self.completion.options
        slides = self.joint_variables.freedoms([place])[0][1] < DOF.EX
        return (
            options.translation_converge_threshold
            if slides
            else options.rotation_converge_threshold
        )

    def _hold(self, places: Iterable[int]) -> None:
        """
        Lock some variables and the root joint, and make solves ignore goals and joint targets.

        The caller has to restore the flags afterwards.

        :param places: indices of the variables in the full state.
        """
        mechanism = self.completion.mechanism
        goals = [row for row, frame in enumerate(mechanism.frames) if isinstance(frame, Goal)]
        with mechanism.storage.lock:
            mechanism.storage.flags[goals, layout.EXCLUDED] = 1
            mechanism.storage.flags[:, layout.TARGET_SET] = 0
        self.root.locked = True
        for joint, dof in self.joint_variables.freedoms(places):
            joint.lock(dof)


def from_urdf(
    source: RobotModel | TextSource,
    *,
    free_root: bool = True,
    trim_unused: bool = False,
    keep: Collection[str] = (),
    loops: LoopClosures | str | os.PathLike[str] | None = None,
    closures: Iterable[ClosureSource] = (),
    use_constraints: bool = True,
) -> UrdfRobot:
    """
    Return a robot as a mechanism: a joint frame, by name, for every joint of its URDF, with its axis along z.

    A further joint above the root link is called ``__world_joint__``.

    :param source: a loaded robot, or path or text of its URDF.
    :param free_root: whether the joint above the root link has six degrees of freedom.
    :param trim_unused: whether to leave out links on fixed joints that carry no moving joint: tools and sensors.
    :param keep: links that are kept even if unused; links of loops are always kept.
    :param loops: loops from a ``loop_closures.yaml``, as its path or content; the robot starts at its
        ``initial_positions``.
    :param closures: more loops: each a :class:`LoopClosure`, or a tuple (frame, frame, degrees of freedom). A frame is
        the name of a link, or a pair of such a name and a pose (4, 4).
    :param use_constraints: whether the ``<constraint>`` elements of the URDF close loops.
    :raises DescriptionNotFound: if the file of the URDF or of the loops does not exist.
    :raises ModelError: if the URDF is malformed, or a named link or joint does not exist.
    :raises ConfigError: if the file of loops is malformed.
    :raises InvalidOption: for an argument of a wrong type or form.
    :raises InvalidClosure: if a loop is not well-defined.
    :raises InvalidTarget: for a pose of a loop that is not rigid. For initial positions that are not finite, an
        incomplete orientation, and a mimic joint with multiplier 0.
    """
    model = source if isinstance(source, RobotModel) else load_robot(source)
    if loops is None:
        loops = LoopClosures()
    elif not isinstance(loops, LoopClosures):
        if not isinstance(loops, str | os.PathLike):
            refuse('loops', loops, 'LoopClosures or the path of a file')
        loops = read_loop_closures(loops)
    warnings = list(model.warnings)
    all_closures = list(loops.closures)
    is_closed = read_flag('use_constraints', use_constraints)
    for constraint in model.constraints if is_closed else ():
        all_closures.append(closure_of_constraint(constraint))
        warnings += unused_parts(constraint)
    all_closures += [
        _closure_of(item, k) for k, item in enumerate(check_listed('closures', closures))
    ]
    if not isinstance(keep, Collection):
        refuse('keep', keep, 'the names of links')
    for link in keep:
        model.tree.link(link)
    kept = [*keep, *(end for closure in all_closures for end in (closure.parent, closure.child))]
    frames = UrdfFrames(model)
    if read_flag('free_root', free_root):
        frames.root.set_dof(*DOF)
        frames.root.rotation = 'quaternion'
    frames.add_tree(
        dangling_links(model.urdf, kept) if read_flag('trim_unused', trim_unused) else ()
    )
    for closure in all_closures:
        frames.close(closure)
    robot = UrdfRobot(frames, loops.active_joints, warnings)
    start = dict(zip(model.variable_names, model.default_positions(), strict=True))
    robot.from_joint_state(start.keys(), start.values())
    robot.from_joint_state(loops.initial_positions.keys(), loops.initial_positions.values())
    robot.initial_state = robot._state()
    return robot


def _closure_of(item: ClosureSource, number: int) -> LoopClosure:
    """
    Return a loop from a LoopClosure, or from a tuple (frame, frame, degrees of freedom).

    :param item: the loop as a user gives it.
    :param number: number in the name of a loop from a tuple.
    :raises InvalidClosure: for anything else.
    :raises InvalidOption: if one of the three parts of the tuple is malformed.
    :raises InvalidTarget: for a pose that is not 16 finite numbers.
    """
    if isinstance(item, LoopClosure):
        return item
    if not isinstance(item, tuple | list) or len(item) != 3:
        text = f'A loop is two frames and degrees of freedom: closures has {shown(item)}.'
        raise InvalidClosure(text, value=item)
    (parent, parent_pose), (child, child_pose) = (_frame_of(frame) for frame in item[:2])
    dof = tuple(sorted(read_dof(d) for d in check_listed('closures', item[2])))
    return LoopClosure(f'loop {number}', parent, child, dof, parent_pose, child_pose)


def _frame_of(frame: Any) -> tuple[str, FloatArray]:
    """
    Return (link, pose (4, 4)) of a frame, which is the name of a link, or a pair of such a name and a pose.

    :raises InvalidOption: for anything else.
    :raises InvalidTarget: for a pose that is not 16 finite numbers.
    """
    if isinstance(frame, str):
        return frame, np.eye(4)
    if not isinstance(frame, tuple | list) or len(frame) != 2:
        refuse('closures', frame, 'frames: names of links, or pairs of such a name and a pose')
    link, pose = frame
    return str(link), check_finite('closures', pose, 16).reshape(4, 4)
