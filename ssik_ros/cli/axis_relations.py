"""Parallel and intersecting neighbours among the axes of a chain, exact or near, as text and numbers."""

from itertools import pairwise

from ssik_ros.model.topology import AxisGeometry, EXACT_MEETING, EXACT_PARALLEL
from ssik_ros.solvers.closed_form.plan import NEARBY_MEETING, NEARBY_PARALLEL
from ssik_ros.value_class import dataclass

PARALLEL, MEET = 'parallel', 'meet'
HIDDEN_DEVIATION = 1e-12
"""Largest deviation of axes that the text leaves out [m, or the sine of an angle]."""


@dataclass(frozen=True, slots=True)
class AxisRelation:
    """
    A geometric relation of neighbouring joint axes: parallel or meeting in one point, exactly or nearly.

    ``drift`` is the deviation from the exact relation: a sine for parallel axes, a distance [m] for meeting axes.
    """

    joints: tuple[int, ...]
    """Numbers of the joints, from one."""
    relation: str
    """``parallel`` or ``meet``."""
    drift: float
    """Largest sine between parallel axes, or largest distance from the common point [m]."""
    is_exact: bool
    """Whether the deviation is so small that it counts as rounding; else the relation holds only nearly."""

    def describe(self) -> str:
        """Return the relation as one line of text."""
        *others, last = map(str, self.joints)
        verb = 'are parallel' if self.relation == PARALLEL else 'meet'
        subject = f'axes {", ".join(others)} and {last} {verb}'
        if self.is_exact and self.drift <= HIDDEN_DEVIATION:
            return subject
        off = f'sine {self.drift:.2g}'
        if self.relation == MEET:
            off = f'{1000.0 * self.drift:.3g} mm'
        return f'{subject}, off by {off}' if self.is_exact else f'{subject} nearly, off by {off}'


def find_relations(geometry: AxisGeometry) -> list[AxisRelation]:
    """
    Return the exact and near relations of pairs and triples of neighbouring axes, parallel axes before meeting ones.

    A pair is left out if a triple with both of its joints has the same relation. An exact pair stays if the triple has
    the relation only nearly.

    :param geometry: the axes of a chain.
    """
    n = len(geometry.axes)
    relations: list[AxisRelation] = []
    for size in (3, 2):
        for first in range(n - size + 1):
            joints = tuple(range(first, first + size))
            for relation in (_parallel(geometry, joints), _meeting(geometry, joints)):
                if relation is not None and not any(_covers(f, relation) for f in relations):
                    relations.append(relation)
    return sorted(relations, key=lambda relation: (relation.relation != PARALLEL, relation.joints))


def _covers(larger: AxisRelation, smaller: AxisRelation) -> bool:
    """
    Return whether ``larger`` makes ``smaller`` redundant: the same kind of relation of at least the same joints.

    An exact relation is covered only by another exact one.
    """
    is_better = larger.is_exact or not smaller.is_exact
    is_part = set(smaller.joints) <= set(larger.joints)
    return larger.relation == smaller.relation and is_part and is_better


def _parallel(geometry: AxisGeometry, joints: tuple[int, ...]) -> AxisRelation | None:
    """
    Return the relation "parallel" of some joints; None if their axes are not even nearly parallel.

    ``joints`` are indices from 0. The deviation is the largest sine between the first axis and another one.
    """
    drift = max(geometry.sine(joints[0], joint) for joint in joints[1:])
    if drift >= NEARBY_PARALLEL:
        return None
    return AxisRelation(_numbers(joints), PARALLEL, drift, drift < EXACT_PARALLEL)


def _meeting(geometry: AxisGeometry, joints: tuple[int, ...]) -> AxisRelation | None:
    """
    Return the relation "meet" of some joints; None if their axes do not even nearly have a common point.

    It is also None for prismatic joints, and if consecutive axes are parallel or nearly so. ``joints`` are indices from
    0.
    """
    if geometry.slides.intersection(joints):
        return None
    if any(geometry.sine(a, b) < NEARBY_PARALLEL for a, b in pairwise(joints)):
        return None
    meeting = geometry.meeting(joints)
    size = max(1.0, geometry.size)
    if meeting is None or meeting.drift >= NEARBY_MEETING * size:
        return None
    exact = meeting.drift < EXACT_MEETING * size
    return AxisRelation(_numbers(joints), MEET, meeting.drift, exact)


def _numbers(joints: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(joint + 1 for joint in joints)
