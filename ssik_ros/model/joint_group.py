"""Planning groups: joints that are solved and moved together."""

from collections.abc import Iterable
from dataclasses import field

import numpy as np

from ssik_ros.arrays import FloatArray, freeze, IntArray
from ssik_ros.errors import counted, list_names, ModelError, quote
from ssik_ros.model.kinematic_tree import JointKind, KinematicTree, VARIABLE_SUFFIXES
from ssik_ros.value_class import dataclass

DEFAULT_VELOCITY = 1.0
"""For joints without a velocity limit [rad/s or m/s], as in MoveIt's time parameterization."""


def with_default(velocity: FloatArray) -> FloatArray:
    """
    Return a copy of velocity limits (n,) with 1 rad/s or 1 m/s for joints that have none.

    :param velocity: (n,) limits, inf for none [rad/s or m/s].
    """
    return np.where(np.isfinite(velocity), velocity, DEFAULT_VELOCITY)


def name_variables(tree: KinematicTree, joints: Iterable[int]) -> tuple[str, ...]:
    """
    Return MoveIt's names of the position variables of joints, such as ``base/x`` for a planar joint.

    :param tree: the robot.
    :param joints: indices of moving joints.
    """
    return tuple(
        tree.joint_names[joint] + suffix
        for joint in joints
        for suffix in VARIABLE_SUFFIXES[JointKind(tree.kinds[joint])]
    )


@dataclass(frozen=True, eq=False)
class JointGroup:
    """A planning group: joints that move together, with ``n`` position variables in model order."""

    name: str
    joint_names: tuple[str, ...]
    """Moving joints that mimic no other joint: the order of seeds and solutions."""
    mimic_joint_names: tuple[str, ...]
    """Moving joints of the group that mimic another joint."""
    all_joint_names: tuple[str, ...]
    """All joints, fixed ones and followers included."""
    link_names: tuple[str, ...]
    """Child links of all joints; the root link comes first if the group contains it."""
    base_link: str
    """Parent of the first of ``link_names``, or the root link itself: targets are poses in it."""
    tips: tuple[str, ...]
    """Last link of each branch, one for a chain. The link that an end effector is mounted on replaces tips on it."""
    is_chain: bool
    """Whether the moving joints, at least one, form one chain with only fixed joints in between."""
    subgroups: tuple[str, ...]
    """Names of the groups that the group contains."""
    joint_indices: IntArray
    """Index of each of ``joint_names`` in the tree."""
    idx_q: IntArray
    """(n,) index of each of the group's variables in a full state."""
    variable_names: tuple[str, ...]
    """(n,) names of the variables, ``joint/x`` for joints with several."""
    lower: FloatArray = field(repr=False)
    """(n,) lower limits, -inf for joints without one [rad or m]."""
    upper: FloatArray = field(repr=False)
    """(n,) upper limits, +inf for joints without one [rad or m]."""

    def __post_init__(self) -> None:
        """Make every array read-only."""
        freeze(self.joint_indices, self.idx_q, self.lower, self.upper)

    @property
    def variable_count(self) -> int:
        """Return the number of position variables."""
        return len(self.idx_q)

    @property
    def tip(self) -> str:
        """
        Return the tip link of a group that has only one tip.

        :raises ModelError: when the group has several tips or none.
        """
        if len(self.tips) != 1:
            raise ModelError(
                f'Group {quote(self.name)} has {counted(len(self.tips), "tip")}: {list_names(self.tips)}.',
                group=self.name,
                tips=self.tips,
            )
        return self.tips[0]
