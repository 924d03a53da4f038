"""The two links of an arm where nobody named them: from the root link to the last link that a joint moves."""

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
    Return base and end effector; what is not given is found.

    The base is the root link. The end effector is the last moved link of the longest chain of joints below the base;
    a hand, where every finger has fewer joints than the chain above it, does not count.

    :param robot: the robot.
    :param base: the base link, None to find it.
    :param ee: the end effector, None to find it.
    :raises ModelError: when nothing moves, or when several chains could be meant.
    """
    start = robot.urdf.root if base is None else base
    if ee is not None:
        return Ends(start, ee)
    robot.tree.link(start)
    return Ends(start, _Search(robot).follow(start))


class _Search:
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
            depths = sorted(((self.depth(joint.child) + 1, joint) for joint in moving), key=_depth)
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
            f'Several chains of robot {quote(self.robot.name)} below {quote(start)} are equally long, by way of '
            f'{names}: name base and ee.',
            joints=tuple(joint.name for joint in joints),
        )


def _depth(pair: tuple[int, UrdfJoint]) -> int:
    return pair[0]
