"""Relaxations: joint limits, collisions or the orientation that a user ignores to see whether a pose is reachable then."""

from dataclasses import replace

import numpy as np

from ssik_ros.arrays import IntArray, TURN
from ssik_ros.errors import quote
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.srdf import LinkPair
from ssik_ros.value_class import dataclass


@dataclass(frozen=True)
class Relaxations:
    """The constraints that a user ignores: limits of variables, collisions of pairs of links, the orientation."""

    limits: tuple[str, ...] = ()
    """Variables whose limits do not count."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Links that may touch each other."""
    orientation: bool = False
    """Whether the orientation of the target is left free."""

    def describe(self) -> list[str]:
        """Return a sentence for each ignored constraint; an empty list if all constraints count."""
        said = [f'The limits of {quote(name)} do not count.' for name in self.limits]
        said += [f'{quote(a)} and {quote(b)} may touch.' for a, b in self.pairs]
        if self.orientation:
            said.append('The orientation is left free.')
        return said

    def with_limit(self, variable: str) -> 'Relaxations':
        """
        Return a copy that also ignores the limits of a joint variable.

        :param variable: name of the variable.
        """
        return replace(self, limits=tuple(dict.fromkeys((*self.limits, variable))))

    def with_pair(self, first: str, second: str) -> 'Relaxations':
        """
        Return a copy that also ignores collisions between two links.

        :param first, second: names of the links.
        """
        return replace(self, pairs=tuple(dict.fromkeys((*self.pairs, (first, second)))))

    def apply(self, robot: RobotModel) -> RobotModel:
        """
        Return a copy of a robot with much wider limits of the chosen variables, and without checks of the chosen pairs.

        The limits of an angle become at least one turn in both directions. The range of any other variable grows by its
        length on both sides, at least 1 m. Angles are the variables of revolute and continuous joints.

        :param robot: the robot; it is not changed.
        """
        tree = robot.tree
        lower, upper = tree.lower.copy(), tree.upper.copy()
        turning = turning_variables(robot)
        for name in self.limits:
            place = robot.variable_names.index(name)
            span = TURN if place in turning else max(float(upper[place] - lower[place]), 1.0)
            lower[place] = min(lower[place], -TURN) if place in turning else lower[place] - span
            upper[place] = max(upper[place], TURN) if place in turning else upper[place] + span
        return replace(
            robot,
            tree=replace(tree, lower=lower, upper=upper),
            srdf=replace(robot.srdf, disabled_collisions=self._disabled(robot)),
        )

    def _disabled(self, robot: RobotModel) -> tuple[LinkPair, ...]:
        """
        Return the pairs of links that are not checked for collisions: the SRDF's pairs and the pairs of ``pairs``.

        If ``pairs`` is not empty and the SRDF lists no pairs, the pairs that the collision checker skips by default are
        added.
        """
        disabled = robot.srdf.disabled_collisions
        if not self.pairs:
            return disabled
        # A list of pairs replaces the checker's own choice, so the list has to repeat it.
        chosen = [] if disabled else CollisionChecker(robot).unchecked_pairs()
        return (*disabled, *(LinkPair(a, b, 'let go of') for a, b in (*chosen, *self.pairs)))


def turning_variables(robot: RobotModel) -> set[int]:
    """
    Return the indices in a full state of the variables that are angles.

    :param robot: the robot.
    """
    turning = np.isin(robot.tree.kinds, (JointKind.REVOLUTE, JointKind.CONTINUOUS))
    return set(robot.tree.idx_q[turning].tolist())


def are_angles(robot: RobotModel, places: IntArray) -> list[bool]:
    """
    Return for each of some variables whether it is an angle.

    :param robot: the robot.
    :param places: (n,) index of each variable in a full state.
    """
    turning = turning_variables(robot)
    return [place in turning for place in places.tolist()]


def same_group(robot: RobotModel, group: JointGroup) -> JointGroup:
    """
    Return the group of a changed model of the robot that corresponds to a group of the first model.

    If the model has no such group with the same joints, a new group is made from the same base link to the same tip.

    :param robot: the changed model.
    :param group: the group of the first model.
    :raises ModelError: if the changed model does not have this chain.
    """
    named = robot.groups.get(group.name)
    if named is not None and named.joint_names == group.joint_names:
        return named
    return robot.group_from_links(group.base_link, group.tip, group.name)
