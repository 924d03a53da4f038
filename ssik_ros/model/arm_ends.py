"""Base link and tip link of an arm without an SRDF: from the root link to the last moved link."""

from typing import NamedTuple

from ssik_ros.errors import list_names, ModelError, quote
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.urdf.data import UrdfJoint


class Ends(NamedTuple):
    """The links between which an arm lies."""

    base: str
    ee: str


def find_ends(robot: RobotModel, base: str | None = None, ee: str | None = None) -> Ends:
    """
    Return base link and tip link of the longest chain of joints.

    Without a given base, the root link is the base. Without a given end effector, the last moved link of the longest
    chain below the base is the end effector. A hand is left out if each finger has fewer joints than the chain above it.

    :param robot: the robot.
    :param base: the base link, None to find it.
    :param ee: the end effector, None to find it.
    :raises ModelError: when nothing moves, or when several chains are equally long.
    """
    start = robot.urdf.root if base is None else base
    if ee is not None:
        return Ends(start, ee)
    robot.tree.link(start)
    return Ends(start, _ChainSearch(robot).follow(start))


class _ChainSearch:
    """Chains of joints below links."""

    def __init__(self, robot: RobotModel) -> None:
        """Index the joints below each link."""
        self.robot = robot
        self.below = robot.urdf.children()

    def follow(self, start: str) -> str:
        """Return the last moved link of the longest chain below a link."""
        link, joints = start, 0
        while True:
            moving = self.moving_below(link)
            depths = sorted(
                ((self.depth(joint.child) + 1, joint) for joint in moving),
                key=lambda pair: pair[0],
            )
            if not depths:
                break
            longest = depths[-1][0]
            if depths[-1][1].mimic is not None:
                break
            if len(depths) > 1:
                if longest < joints:
                    break
                if depths[-2][0] == longest:
                    self.refuse(start, [joint for depth, joint in depths if depth == longest])
            link, joints = depths[-1][1].child, joints + 1
        if link == start:
            raise ModelError(
                f'Robot {quote(self.robot.name)} has no joint that moves below {quote(start)}.',
                base=start,
            )
        return link

    def moving_below(self, link: str) -> list[UrdfJoint]:
        """Return the first joints below a link that move, fixed ones passed over."""
        found: list[UrdfJoint] = []
        for joint in self.below[link]:
            found += self.moving_below(joint.child) if joint.type == 'fixed' else [joint]
        return found

    def depth(self, link: str) -> int:
        """Return the number of joints in the longest chain below a link."""
        return max((self.depth(j.child) + 1 for j in self.moving_below(link)), default=0)

    def refuse(self, start: str, joints: list[UrdfJoint]) -> None:
        """Raise for chains of equal length."""
        names = list_names(quote(joint.name) for joint in joints)
        raise ModelError(
            f'Several chains of robot {quote(self.robot.name)} below {quote(start)} are equally long, through '
            f'{names}: name base and ee.',
            joints=tuple(joint.name for joint in joints),
        )
