"""
Find base link and tip link of an arm without an SRDF: the ends of the longest chain, without the hand.

The chain begins at the root link, unless the caller names a base link.
"""

import logging
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import list_names, ModelError, quote
from ssik_ros.kernels.geometry.rotations import matrix_of_rpy
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.urdf.data import UrdfJoint

_LOGGER = logging.getLogger('ssik_ros.model.arm_ends')

JAW_RANGE = {'revolute': math.pi, 'prismatic': 0.2}
"""The last joint of a chain may be a jaw if its range is smaller than this [rad or m]."""
CLOSED_JAW_SHARE = 0.15
"""A jaw is closed near zero: one limit is zero but for this share of the range."""
LARGEST_JAW_COSINE = 0.1
"""Largest cosine of the angle between a jaw's axis and the axis before it."""
FEWEST_JOINTS = 3
"""Joints that an arm has before a jaw."""


class Ends(NamedTuple):
    """Base link and tip link (``ee``) of an arm."""

    base: str
    ee: str


def find_ends(robot: RobotModel, base: str | None = None, ee: str | None = None) -> Ends:
    """
    Return base link and tip link of an arm: the ends of its longest chain of moving joints, without the hand.

    Without a given base, the root link is the base. Without a given end effector, the tip is the last moved link of the
    longest chain below the base. The chain ends before a hand, and a log line says so. A hand is one of these: branches
    with fewer joints than the chain above them, a mimic joint, or a single jaw. A jaw is a last joint with a small
    range that ends near zero, whose axis is nearly perpendicular to the joint before. A joint is also a jaw if all
    joints below it mimic it or one another. If an end effector is given, both links are returned without checks.

    :param robot: the robot.
    :param base: the base link; None for the root link.
    :param ee: the end effector; None to find it.
    :raises ModelError: if the base does not exist, no joint moves below it, or several chains are equally long.
    """
    start = robot.urdf.root if base is None else base
    if ee is not None:
        return Ends(start, ee)
    robot.tree.link(start)
    return Ends(start, _ChainSearch(robot).follow(start))


class _ChainSearch:
    """Searches the longest chain of joints below a link of one robot."""

    def __init__(self, robot: RobotModel) -> None:
        """Store the joints directly below each link of the robot, and the joint above it, by the name of the link."""
        self.robot = robot
        self.below = robot.urdf.children()
        self.above = {joint.child: joint for joint in robot.urdf.joints.values()}

    def follow(self, start: str) -> str:
        """
        Return the last moved link of the longest chain below a link, without a hand at its end.

        If a hand is left out, log its joints. Raise ModelError if no joint moves below the link, or if several chains
        are equally long.
        """
        link = start
        chain: list[UrdfJoint] = []
        while True:
            moving = self.moving_below(link)
            depths = sorted(
                ((self.depth(joint.child) + 1, joint) for joint in moving),
                key=lambda pair: pair[0],
            )
            if not depths:
                break
            longest, joint = depths[-1]
            is_hand = joint.mimic is not None or self.is_jaw(joint, chain)
            if is_hand or (len(depths) > 1 and longest < len(chain)):
                if chain:
                    self.say_hand(link, moving)
                break
            if len(depths) > 1 and depths[-2][0] == longest:
                self.refuse(start, [joint for depth, joint in depths if depth == longest])
            link, chain = joint.child, [*chain, joint]
        if link == start:
            raise ModelError(
                f'Robot {quote(self.robot.name)} has no joint that moves below {quote(start)}.',
                base=start,
            )
        return link

    def is_jaw(self, joint: UrdfJoint, chain: list[UrdfJoint]) -> bool:
        """
        Return whether a joint moves a jaw of a gripper rather than the end of the arm.

        A joint with joints below it is a jaw if all of these mimic it or one another. A last joint is a jaw under two
        conditions. Its range is small, with one limit near zero. Its axis is nearly perpendicular to the axis of the
        joint before.

        :param chain: joints of the arm above the joint; with fewer than three of them, the result is False.
        """
        further = self.all_below(joint.child)
        followed = {joint.name, *(other.name for other in further)}
        if len(chain) < FEWEST_JOINTS:
            return False
        if further:
            return all(o.mimic is not None and o.mimic.joint in followed for o in further)
        width = joint.upper - joint.lower
        if not 0.0 < width < JAW_RANGE.get(joint.type, 0.0):
            return False
        closes = min(abs(joint.lower), abs(joint.upper)) <= CLOSED_JAW_SHARE * width
        return closes and abs(float(self.axis(joint) @ self.axis(chain[-1]))) < LARGEST_JAW_COSINE

    def axis(self, joint: UrdfJoint) -> FloatArray:
        """Return the unit axis (3,) of a joint in the root link, all joints at zero."""
        rotation = np.eye(3)
        above: list[UrdfJoint] = [joint]
        while above[-1].parent in self.above:
            above.append(self.above[above[-1].parent])
        for other in reversed(above):
            rotation = rotation @ matrix_of_rpy(*other.rpy)
        axis: FloatArray = rotation @ joint.axis
        return axis

    def all_below(self, link: str) -> list[UrdfJoint]:
        """Return all joints in the tree below a link, at any depth, that are not fixed."""
        return [
            j for first in self.moving_below(link) for j in (first, *self.all_below(first.child))
        ]

    def say_hand(self, link: str, joints: list[UrdfJoint]) -> None:
        """Log the link at which the arm ends, and the joints of the hand that is left out."""
        _LOGGER.warning(
            'The arm of robot %s ends at link %s. The hand is left out (%s); name another tip to include it.',
            quote(self.robot.name),
            quote(link),
            list_names(f'joint {joint.name}' for joint in joints),
        )

    def moving_below(self, link: str) -> list[UrdfJoint]:
        """Return the nearest moving joints below a link on each branch; fixed joints in between are skipped."""
        joints: list[UrdfJoint] = []
        for joint in self.below[link]:
            joints += self.moving_below(joint.child) if joint.type == 'fixed' else [joint]
        return joints

    def depth(self, link: str) -> int:
        """Return the number of joints that are not fixed in the longest chain below a link."""
        return max((self.depth(j.child) + 1 for j in self.moving_below(link)), default=0)

    def refuse(self, start: str, joints: list[UrdfJoint]) -> None:
        """Raise ModelError because the chains through these joints are equally long, so that the tip is not clear."""
        names = list_names(quote(joint.name) for joint in joints)
        raise ModelError(
            f'Several chains of robot {quote(self.robot.name)} below {quote(start)} are equally long, through '
            f'{names}: name base and ee.',
            joints=tuple(joint.name for joint in joints),
        )
