"""
Name the branch of a posture by the signs of the factors of the Jacobian's determinant.

For some classes the determinant is a product. Each factor vanishes where one subproblem has a double solution, and its
sign tells the two solutions apart. A sign changes only at a singularity. So it depends on the posture only, not on
pose, seed or order, and small motions keep it. If several branches share the signs, or the class has no such factors,
the text has a number. The number follows the order of the joint angles, and small motions may change it. If a joint is
held, the text ends with its value.

Notation: c is the point where the axes of the wrist meet, a_i the direction of axis i, p_i a point on it. If the rule
holds for the reversed chain, wrist and shoulder change places in the formulas.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray, wrap_angles
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.classes import candidates
from ssik_ros.solvers.closed_form.plan import AnalyticPlan
from ssik_ros.solvers.closed_form.rules import RULES

BORDER_FACTOR = 1e-9
"""Factor [m, or a sine] below which the posture lies on the border of two branches."""
ALWAYS = 1e-8
"""Sine or cosine between neighbouring axes below which they count as parallel or perpendicular."""
ORIGIN_WEIGHT = 1e-13
"""Weight that pulls the nearest point to the origin if the axes do not define it."""
SORTING_STEP = 1e-6
"""Angles are rounded to multiples of this before branches are sorted [rad]."""


class BranchLabel(NamedTuple):
    """
    Signs of the factors of det J for shoulder, elbow and wrist, which name the branch of a posture.

    Each is +1, -1, or 0 at a singularity and for a factor that the class does not have.
    """

    shoulder: int
    elbow: int
    wrist: int

    def __str__(self) -> str:
        """Return text such as ``shoulder +, elbow -, wrist +``."""
        signs = {1: '+', 0: '0', -1: '-'}
        return ', '.join(f'{name} {signs[value]}' for name, value in self._asdict().items())


NO_LABEL = BranchLabel(0, 0, 0)
"""Label of chains whose class has no factors."""


class Lines(NamedTuple):
    """The axes of the ``m`` free joints of a chain as lines, at each of ``k`` postures; ``m`` is at most six."""

    directions: FloatArray
    """(k, m, 3) unit directions."""
    points: FloatArray
    """(k, m, 3) a point on each axis, moving with the chain [m]; both are in the base frame."""
    slides: frozenset[int] = frozenset()
    """Indices of the prismatic joints."""

    def triple(self, a: int, b: int, c: int) -> FloatArray:
        """
        Return the triple product a . (b x c) of the directions of three axes at each posture (k,).

        :param a, b, c: indices of axes.
        """
        first, second, third = (self.directions[:, i] for i in (a, b, c))
        return dot(first, np.cross(second, third))

    def lever(self, axis: int, point: FloatArray) -> FloatArray:
        """
        Return the velocity of a point when a joint rotates by 1 rad/s about its axis, at each posture (k, 3).

        :param axis: index of the axis.
        :param point: (k, 3) position of the point [m].
        """
        return np.cross(self.directions[:, axis], point - self.points[:, axis])

    def velocity(self, joint: int, point: FloatArray) -> FloatArray:
        """
        Return the velocity of a point when a joint moves by 1 rad/s, or 1 m/s if prismatic, at each posture (k, 3).

        :param joint: index of the joint.
        :param point: (k, 3) position of the point [m].
        """
        return self.directions[:, joint] if joint in self.slides else self.lever(joint, point)

    def are_always(self, values: FloatArray) -> bool:
        """
        Return whether a sine or cosine between two axes is zero, up to rounding, at all postures.

        :param values: (k,) the sine or cosine at each posture.
        """
        return bool((np.abs(values) < ALWAYS).all())

    def meeting(self, axes: Sequence[int]) -> FloatArray:
        """
        Return the point with the least sum of squared distances to several axes, at each posture (k, 3) [m].

        If the axes are parallel, return any point with this least sum.

        :param axes: indices of axes.
        """
        a, p = self.directions[:, axes], self.points[:, axes]
        across = np.eye(3) - a[..., :, None] * a[..., None, :]
        right = (across @ p[..., None]).sum(axis=1)
        # A held joint can make the axes parallel; then any point on them will do.
        normal = across.sum(axis=1) + ORIGIN_WEIGHT * np.eye(3)
        return np.asarray(np.linalg.solve(normal, right)[..., 0])


Factors = tuple[FloatArray, FloatArray, FloatArray]
"""(k,) values for shoulder, elbow and wrist; only their signs matter."""


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """
    Return the scalar product of each row of ``a`` with the same row of ``b`` (k,).

    :param a, b: (k, 3).
    """
    return np.asarray(np.einsum('ki,ki->k', a, b))


def _parallel_234(lines: Lines) -> Factors:
    """Return (shoulder, elbow, wrist) factors of det J (k,), for arms with axes 2, 3, 4 parallel and 5, 6 meeting."""
    normal, (p2, p3, p4) = lines.directions[:, 1], lines.points[:, 1:4].swapaxes(0, 1)
    shoulder = dot(normal, lines.lever(0, lines.meeting((4, 5))))
    return shoulder, dot(normal, np.cross(p3 - p2, p4 - p2)), lines.triple(1, 4, 5)


def _parallel_123(lines: Lines) -> Factors:
    """Return (shoulder, elbow, wrist) factors of det J (k,), for arms with axes 1, 2, 3 parallel and 5, 6 meeting."""
    normal, (p1, p2, p3) = lines.directions[:, 0], lines.points[:, :3].swapaxes(0, 1)
    elbow = dot(normal, lines.lever(3, lines.meeting((4, 5))))
    return dot(normal, np.cross(p2 - p1, p3 - p1)), elbow, lines.triple(0, 4, 5)


def _wrist_parallel_23(lines: Lines) -> Factors:
    """Return (shoulder, elbow, wrist) factors of det J (k,), for arms with axes 4, 5, 6 meeting and 2, 3 parallel."""
    c, normal = lines.meeting((3, 4, 5)), lines.directions[:, 1]
    elbow = dot(normal, np.cross(c - lines.points[:, 1], c - lines.points[:, 2]))
    return dot(normal, lines.lever(0, c)), elbow, lines.triple(3, 4, 5)


def _wrist_parallel_12(lines: Lines) -> Factors:
    """Return (shoulder, elbow, wrist) factors of det J (k,), for arms with axes 4, 5, 6 meeting and 1, 2 parallel."""
    c, normal = lines.meeting((3, 4, 5)), lines.directions[:, 0]
    shoulder = dot(normal, np.cross(c - lines.points[:, 0], c - lines.points[:, 1]))
    return shoulder, dot(normal, lines.lever(2, c)), lines.triple(3, 4, 5)


def _wrist_meeting_12(lines: Lines) -> Factors:
    """Return (shoulder, elbow, wrist) factors of det J (k,), for arms whose axes 4, 5, 6 meet and axes 1, 2 meet."""
    c = lines.meeting((3, 4, 5))
    reach = c - lines.meeting((0, 1))
    normal = np.cross(lines.directions[:, 0], lines.directions[:, 1])
    return dot(normal, reach), dot(reach, lines.lever(2, c)), lines.triple(3, 4, 5)


def _wrist_meeting_23(lines: Lines) -> Factors:
    """Return (shoulder, elbow, wrist) factors of det J (k,), for arms whose axes 4, 5, 6 meet and axes 2, 3 meet."""
    c = lines.meeting((3, 4, 5))
    reach = c - lines.meeting((1, 2))
    normal = np.cross(lines.directions[:, 1], lines.directions[:, 2])
    return dot(reach, lines.lever(0, c)), dot(normal, reach), lines.triple(3, 4, 5)


def _wrist_alone(lines: Lines) -> Factors:
    """
    Return (shoulder, elbow, wrist) factors of det J (k,), for arms whose axes 4, 5 and 6 meet.

    The first three joints share one factor, returned as the shoulder's; the elbow's is zero.
    """
    c = lines.meeting((3, 4, 5))
    levers = [lines.lever(axis, c) for axis in range(3)]
    arm = dot(levers[0], np.cross(levers[1], levers[2]))
    return arm, np.zeros(len(c)), lines.triple(3, 4, 5)


def _sliding_shoulder(lines: Lines) -> Factors:
    """
    Return (shoulder, elbow, wrist) factors of det J (k,), for arms with a sliding shoulder.

    One or two of the first three joints are prismatic. The later axes meet in one point c. The factor of the first
    three joints is the triple product of the velocities that they give c. It is returned as the elbow's factor if two
    revolute joints are parallel, otherwise as the shoulder's. If the prismatic joint is first or third, and
    perpendicular to the second axis, this factor splits into both. The wrist's factor is the triple product of three
    later axes, zero for fewer. Without later axes all factors are zero.
    """
    none, wrist = np.zeros(len(lines.directions)), range(3, lines.directions.shape[1])
    if not wrist:
        return none, none, none
    c = lines.meeting(wrist) if len(wrist) > 1 else lines.points[:, 3]
    flip = lines.triple(3, 4, 5) if len(wrist) == 3 else none
    moves = [lines.velocity(joint, c) for joint in range(3)]
    arm = dot(moves[0], np.cross(moves[1], moves[2]))
    revolute = [joint for joint in range(3) if joint not in lines.slides]
    if len(revolute) < 2:
        return arm, none, flip
    across = np.cross(lines.directions[:, revolute[0]], lines.directions[:, revolute[1]])
    if lines.are_always(np.linalg.norm(across, axis=1)):
        return none, arm, flip
    middle, (slide,) = lines.directions[:, 1], lines.slides & {0, 1, 2}
    along = lines.directions[:, slide]
    if slide == 1 or not lines.are_always(dot(middle, along)):
        return arm, none, flip
    return dot(middle, moves[2 - slide]), dot(along, c - lines.points[:, 1]), flip


def _orientation_first(lines: Lines) -> Factors:
    """
    Return (shoulder, elbow, wrist) factors of det J (k,), for the class ``orientation_first``.

    In this class the target orientation determines the revolute joints. The wrist's factor is the triple product of
    three revolute axes, zero for fewer; the other two factors are zero.
    """
    none = np.zeros(len(lines.directions))
    revolute = [i for i in range(lines.directions.shape[1]) if i not in lines.slides]
    return none, none, lines.triple(*revolute) if len(revolute) == 3 else none


FACTORS: dict[str, Callable[[Lines], Factors]] = {
    'three_parallel': _parallel_234,
    'three_parallel_base': _parallel_123,
    'spherical_two_parallel': _wrist_parallel_23,
    'spherical_base_parallel': _wrist_parallel_12,
    'spherical_two_intersecting': _wrist_meeting_12,
    'spherical_elbow_intersecting': _wrist_meeting_23,
    'spherical': _wrist_alone,
    **{
        rule.name: _sliding_shoulder
        for rule in RULES
        if rule.kind == candidates.PRISMATIC_SHOULDER
    },
    'orientation_first': _orientation_first,
}
"""Factors of each class, by its name. Their product is the determinant, up to a positive factor and a fixed sign."""


def label_branch(plan: AnalyticPlan, q: FloatArray) -> BranchLabel:
    """
    Return the signs (shoulder, elbow, wrist) that name the branch of a posture; zeros if the class has no signs.

    :param plan: plan of the chain; the label ignores the value of a held joint.
    :param q: (n,) joint values [rad or m].
    """
    return label_branches(plan, np.asarray(q, dtype=np.float64)[None])[0]


def label_branches(plan: AnalyticPlan, q: FloatArray) -> list[BranchLabel]:
    """
    Return for each posture the signs (shoulder, elbow, wrist) that name its branch; zeros if the class has no signs.

    :param plan: plan of the chain; the label ignores the value of a held joint.
    :param q: (k, n) joint values [rad or m].
    """
    factors = FACTORS.get(plan.name.removesuffix('_polished'))
    if factors is None or not len(q):
        return [NO_LABEL] * len(q)
    values = np.array(factors(_free_lines(plan, q)))
    signs = np.where(np.abs(values) < BORDER_FACTOR, 0.0, np.sign(values)).astype(np.int64)
    if plan.ints[search.REVERSED]:
        signs = signs[::-1]
    return [BranchLabel(*row) for row in signs.T.tolist()]


def name_branches(plan: AnalyticPlan, q: FloatArray) -> tuple[str, ...]:
    """
    Return a text for each branch of one pose; different branches get different texts.

    :param plan: plan of the chain.
    :param q: (k, n) joint values, one row for each branch [rad or m].
    """
    places = _places(plan, q)
    kinds = ['' if label == NO_LABEL else str(label) for label in label_branches(plan, q)]
    texts = _number_equal_ones(kinds, places, q)
    return tuple(f'{text}{place}' for text, place in zip(texts, places, strict=True))


def _places(plan: AnalyticPlan, q: FloatArray) -> list[str]:
    """
    Return a text such as `` at joint7 0.5000`` with the value of the held joint for each row.

    The texts are empty if no joint is held.
    """
    if plan.held < 0:
        return [''] * len(q)
    joint = plan.chain.joint_names[plan.held]
    return [f' at {joint} {value:.4f}' for value in q[:, plan.held].tolist()]


def _free_lines(plan: AnalyticPlan, q: FloatArray) -> Lines:
    """
    Return the axes of all joints but the held one, at postures (k, n).

    If the class fits the reversed chain, the axes are in reverse order with opposite directions.
    """
    turns, directions, points, _ = plan.chain.moved(q)
    slides = ~turns
    if plan.held >= 0:
        directions = np.delete(directions, plan.held, axis=1)
        points = np.delete(points, plan.held, axis=1)
        slides = np.delete(slides, plan.held)
    if plan.ints[search.REVERSED]:
        directions, points, slides = -directions[:, ::-1], points[:, ::-1], slides[::-1]
    return Lines(directions, points, frozenset(np.flatnonzero(slides).tolist()))


def number_branches(q: FloatArray) -> list[int]:
    """
    Return numbers from 1 for postures in the order of their wrapped joint values, independently of the order of rows.

    :param q: (k, n) joint values [rad or m]; all columns, prismatic ones too, are wrapped to (-pi, pi].
    """
    wrapped = np.round(wrap_angles(q) / SORTING_STEP)
    order = np.lexsort(wrapped.T[::-1])
    numbers: IntArray = np.empty(len(q), dtype=np.int64)
    numbers[order] = np.arange(1, len(q) + 1)
    return [int(number) for number in numbers]


def _number_equal_ones(kinds: Sequence[str], places: Sequence[str], q: FloatArray) -> list[str]:
    """
    Return a text for each branch: its label, with a number if the label is empty or not unique.

    A label is unique if no other branch with the same text for the held joint has it.

    :param kinds: text of the label of each branch; may be empty.
    :param places: text with the value of the held joint of each branch.
    :param q: (k, n) joint values, whose order gives the numbers [rad or m].
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(kinds, places, strict=True)):
        groups.setdefault(key, []).append(row)
    texts = list(kinds)
    for (kind, _), rows in groups.items():
        if len(rows) == 1 and kind:
            continue
        for row, number in zip(rows, number_branches(q[rows]), strict=True):
            texts[row] = f'{kind} ({number})' if kind else f'branch {number}'
    return texts
