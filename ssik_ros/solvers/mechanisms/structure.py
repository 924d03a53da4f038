"""
Split a mechanism into independent chains, and order the variables of a chain for the factors of its normal matrix.

A chain is a set of joints that are solved together. A closure contributes the joints between itself and the root, the
joints between the closed link and the root, and the leaders that these joints follow. Closures that share a joint
belong to one chain (union-find).
"""

from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple

from ssik_ros.kernels.mechanisms.layout import FIRST_TURN
from ssik_ros.value_class import dataclass

LINK, JOINT, GOAL = 'link', 'joint', 'goal'
ALL_ROWS = 63


class FollowerDof(NamedTuple):
    """
    The rule by which one degree of freedom follows another: value = multiplier * value of the leader + offset.

    ``frame`` and ``dof`` (0 to 5) name the leader.
    """

    frame: int
    dof: int
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Shape:
    """
    The structure of a mechanism: kind, name, parent and degrees of freedom of each frame, and the loop closures.

    A frame is a link, a joint or a goal. Poses, joint values and limits are in a separate table of numbers.
    """

    kinds: tuple[str, ...]
    names: tuple[str, ...]
    parents: tuple[int, ...]
    """Index of the parent of each frame, -1 for roots; parents come before their children."""
    dof: tuple[tuple[int, ...], ...]
    """Free degrees of freedom of joints, ascending; locked rows of goals."""
    balls: tuple[bool, ...]
    """True for joints whose three rotations are one ball rotation."""
    closes: tuple[int, ...]
    """Index of the link that a joint or goal closes onto; -1 for none."""
    world: tuple[bool, ...]
    """True for goals that are measured along the axes of the world."""
    followers: dict[tuple[int, int], FollowerDof] = field(default_factory=dict)
    """Rule of each degree of freedom that follows another, by (frame, dof)."""

    def free(self, frame: int) -> tuple[int, ...]:
        """Return the free degrees of freedom of a joint, 0 to 5 for X, Y, Z, EX, EY, EZ; () for links and goals."""
        return self.dof[frame] if self.kinds[frame] == JOINT else ()

    def is_ball(self, frame: int, dof: int) -> bool:
        """Return whether degree of freedom ``dof`` is one of the three rotations (3 to 5) of a ball joint."""
        return self.balls[frame] and dof >= FIRST_TURN

    def rows(self, frame: int) -> int:
        """
        Return a bit mask of the error rows, 0 to 5, that a closure constrains.

        A goal constrains its chosen rows; a joint that closes a loop constrains all six.
        """
        return sum(1 << d for d in self.dof[frame]) if self.kinds[frame] == GOAL else ALL_ROWS

    def is_world(self, frame: int) -> bool:
        """
        Return whether the errors of a closure are measured along the world axes; only goals can request this.

        For all other closures the errors are along the axes of the closing frame. Then a common motion of the whole
        loop does not change them.
        """
        return self.kinds[frame] == GOAL and self.world[frame]

    def joints_above(self, frame: int) -> list[int]:
        """Return the indices of all joints and goals on the path from a frame up to its root, the frame included."""
        joints = []
        while frame >= 0:
            if self.kinds[frame] != LINK:
                joints.append(frame)
            frame = self.parents[frame]
        return joints


class ChainRows(NamedTuple):
    """
    One independent chain of a mechanism, as indices of frames in the :class:`Shape`.

    ``joints`` are its joints and goals, ascending; ``closures`` are those among them that close onto links.
    """

    joints: tuple[int, ...]
    closures: tuple[int, ...]


def find_chains(shape: Shape) -> list[ChainRows]:
    """
    Return the independent chains of a mechanism, ordered by their first closure.

    :param shape: the mechanism, its frames in the order of a depth-first walk from the roots.
    """
    leader = list(range(len(shape.kinds)))

    def find(frame: int) -> int:
        while leader[frame] != frame:
            leader[frame] = leader[leader[frame]]
            frame = leader[frame]
        return frame

    closures = [f for f, link in enumerate(shape.closes) if link >= 0]
    members = set()
    for closure in closures:
        joints = shape.joints_above(closure) + shape.joints_above(shape.closes[closure])
        for (frame, _), followed in shape.followers.items():
            if frame in joints:
                joints.append(followed.frame)
        members.update(joints)
        for joint in joints:
            leader[find(joint)] = find(closure)
    groups: dict[int, list[int]] = {find(closure): [] for closure in closures}
    for joint in sorted(members):
        groups[find(joint)].append(joint)
    return [
        ChainRows(tuple(joints), tuple(c for c in closures if find(c) == root))
        for root, joints in groups.items()
    ]


def elimination_order(count: int, cliques: Iterable[Iterable[int]]) -> list[int]:
    """
    Return an order of variables, as their indices, in which the profile of the normal matrix is small.

    The order is minimum degree, then depth first in the elimination tree. So variables that share a row of the factors
    are neighbours, and variables that many constraints share come last.

    :param count: number of variables.
    :param cliques: indices of the variables of each constraint.
    """
    neighbours: list[set[int]] = [set() for _ in range(count)]
    for clique in cliques:
        together = set(clique)
        for variable in together:
            neighbours[variable] |= together
    for variable in range(count):
        neighbours[variable].discard(variable)
    left = set(range(count))
    place: dict[int, int] = {}
    later: list[tuple[int, set[int]]] = []
    while left:
        chosen = min(left, key=lambda v: (len(neighbours[v]), v))
        left.remove(chosen)
        place[chosen] = len(place)
        later.append((chosen, set(neighbours[chosen])))
        for other in neighbours[chosen]:
            neighbours[other] |= neighbours[chosen]
            neighbours[other] -= {chosen, other}
    children: dict[int, list[int]] = {-1: []}
    for variable, ahead in later:
        parent = min(ahead, key=place.__getitem__) if ahead else -1
        children.setdefault(parent, []).append(variable)
    return _children_first(children)


def _children_first(children: dict[int, list[int]]) -> list[int]:
    """Return the nodes of a forest, every node after its children; ``children[-1]`` holds the roots."""
    order: list[int] = []
    pending = list(children[-1])
    while pending:
        variable = pending.pop()
        order.append(variable)
        pending += children.get(variable, [])
    return order[::-1]
