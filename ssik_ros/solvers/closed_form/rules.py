"""
Table of the rules that choose the closed form of a chain, in the order in which they are tried.

Each rule looks at the axes of six joints, first on the chain, then on the reversed chain. Rules for prismatic joints
accept fewer joints, too. A chain of seven joints is a chain of six with one joint held. Then a rule must hold at every
value of the held joint; :mod:`ssik_ros.solvers.closed_form.plan` checks this at four values.
"""

from collections.abc import Callable
import functools
import itertools
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.classes import (
    candidates,
    prismatic_shoulder,
    spherical_wrist,
    three_parallel,
)
from ssik_ros.model.topology import AxisGeometry
from ssik_ros.value_class import dataclass

NO_POINT: FloatArray = np.full(3, np.nan)
MOST_SLIDES = 3
"""Most prismatic joints, because there are three independent directions. Three revolute joints make any orientation."""
ASIDE: FloatArray = np.array([0.43, -0.37, 0.61])
"""Offset of an arbitrary point, in lengths of the chain, if no axis defines one."""


class Special(NamedTuple):
    """The points in which axes of a class meet, at most two, and the axes that meet there."""

    points: FloatArray
    """(6,) two points; NaN for a missing point."""
    joints: tuple[tuple[int, ...], tuple[int, ...]]
    """Indices of the axes through each point."""


Predicate = Callable[[AxisGeometry], Special | None]


@dataclass(frozen=True, slots=True)
class ClassRule:
    """
    One rule: a class of chains with a closed form, and a function that tells whether axes belong to this class.

    ``name`` is the name of the class, ``reason`` a text with its conditions. ``applies`` returns the special points of
    the axes, or None if they do not fit. ``kind`` and ``case`` are the kernel's numbers of the class and its variant.
    """

    name: str
    reason: str
    kind: int
    case: int
    applies: Predicate
    parallel: tuple[tuple[int, ...], ...] = ()
    """Indices of the joints in each set of parallel axes."""
    has_slides: bool = False
    """True if the rule is for chains with prismatic joints; other rules see six revolute joints."""


@dataclass(frozen=True, slots=True)
class Match:
    """
    A rule that a chain fits, and the points in which the axes meet.

    If ``is_reversed`` is True, the reversed chain fits the rule, not the chain itself.
    """

    rule: ClassRule
    is_reversed: bool
    special: Special


def _special(
    first: FloatArray | None = None,
    of_first: tuple[int, ...] = (),
    second: FloatArray | None = None,
    of_second: tuple[int, ...] = (),
) -> Special:
    points = [NO_POINT if point is None else point for point in (first, second)]
    return Special(np.concatenate(points), (of_first, of_second))


def _three_parallel_234(axes: AxisGeometry) -> Special | None:
    if not axes.are_parallel(1, 2, 3) or axes.are_parallel(0, 1) or axes.are_parallel(3, 4):
        return None
    return _special(axes.meet(4, 5), (4, 5))


def _three_parallel_123(axes: AxisGeometry) -> Special | None:
    point = axes.meet(4, 5) if axes.are_parallel(0, 1, 2) else None
    return None if point is None else _special(point, (4, 5))


def _wrist(axes: AxisGeometry) -> FloatArray | None:
    """Return the point (3,) where axes 4, 5 and 6 meet; None if they do not meet, or if 4, 5 or 5, 6 are parallel."""
    if axes.are_parallel(3, 4) or axes.are_parallel(4, 5):
        return None
    return axes.meet(3, 4, 5)


def _wrist_parallel(
    parallel: tuple[int, int], apart: tuple[int, int], axes: AxisGeometry
) -> Special | None:
    """
    Return a match with the point where axes 4, 5 and 6 meet.

    Return None if they do not meet or neighbours among them are parallel. Return None also if the axes ``parallel`` are
    not parallel, or if the axes ``apart`` are.

    :param parallel: indices of two axes that must be parallel.
    :param apart: indices of two axes that must not be parallel.
    :param axes: six axes.
    """
    point = _wrist(axes)
    if point is None or not axes.are_parallel(*parallel) or axes.are_parallel(*apart):
        return None
    return _special(point, (3, 4, 5))


def _wrist_meeting(pair: tuple[int, int], axes: AxisGeometry) -> Special | None:
    """
    Return a match with the points where axes 4, 5 and 6 meet and where two other axes meet; None without both points.

    Return None also if neighbours among axes 4, 5 and 6 are parallel.

    :param pair: indices of the two other axes.
    :param axes: six axes.
    """
    point = _wrist(axes)
    shoulder = None if point is None else axes.meet(*pair)
    if point is None or shoulder is None:
        return None
    return _special(point, (3, 4, 5), shoulder, pair)


def _wrist_generic(axes: AxisGeometry) -> Special | None:
    point = _wrist(axes)
    return None if point is None else _special(point, (3, 4, 5))


def _sliding_shoulder(slides: int, axes: AxisGeometry) -> Special | None:
    """
    Return a match with a point that joints 4 and later do not move; None if the axes do not fit the class.

    The prismatic joints must be exactly the joints in ``slides``. Axes 4 and later must meet in one point, and
    neighbours among them must not be parallel.

    :param slides: bit mask of the prismatic joints among the first three.
    :param axes: three to six axes; fewer return None.
    """
    n = len(axes.axes)
    wrist = tuple(range(3, n))
    if n < 3 or axes.slides != frozenset(i for i in range(3) if slides >> i & 1):
        return None
    if any(axes.are_parallel(a, b) for a, b in itertools.pairwise(wrist)):
        return None
    if len(wrist) > 1:
        point = axes.meet(*wrist)
        return None if point is None else _special(point, wrist)
    # One axis: any point on it. No axis: any point that the third joint carries.
    offset = axes.size * (ASIDE[0] * axes.axes[3] if wrist else ASIDE)
    return _special(axes.points[min(3, n - 1)] + offset, wrist or (2,))


def _orientation_first(axes: AxisGeometry) -> Special | None:
    """
    Return a match without special points if the target orientation determines all revolute joints; None otherwise.

    This needs at most three revolute joints without parallel neighbours, and at most three prismatic joints.
    """
    revolute = [i for i in range(len(axes.axes)) if i not in axes.slides]
    if len(revolute) > MOST_SLIDES or len(axes.slides) > MOST_SLIDES:
        return None
    if any(axes.are_parallel(a, b) for a, b in itertools.pairwise(revolute)):
        return None
    return _special()


def _sliding_rules() -> tuple[ClassRule, ...]:
    """Return the rules for one or two prismatic joints among the first three, cheapest first."""
    rules = []
    for slides in (
        prismatic_shoulder.RPP,
        prismatic_shoulder.PPR,
        prismatic_shoulder.PRP,
        prismatic_shoulder.RPR,
        prismatic_shoulder.RRP,
        prismatic_shoulder.PRR,
    ):
        order = ''.join('P' if slides >> i & 1 else 'R' for i in range(3))
        numbers = ' and '.join(str(i + 1) for i in range(3) if slides >> i & 1)
        subject = f'joint {numbers} slides' if len(numbers) == 1 else f'joints {numbers} slide'
        rules.append(
            ClassRule(
                f'spherical_{order.lower()}',
                f'{subject}, the axes behind the third joint meet',
                candidates.PRISMATIC_SHOULDER,
                slides,
                functools.partial(_sliding_shoulder, slides),
                has_slides=True,
            )
        )
    return tuple(rules)


_PARALLEL, _WRIST = candidates.THREE_PARALLEL, candidates.SPHERICAL_WRIST

RULES: tuple[ClassRule, ...] = (
    ClassRule(
        'three_parallel',
        'axes 2, 3 and 4 are parallel',
        _PARALLEL,
        three_parallel.AXES_234,
        _three_parallel_234,
        ((1, 2, 3),),
    ),
    ClassRule(
        'spherical_two_parallel',
        'axes 4, 5 and 6 meet, axes 2 and 3 are parallel',
        _WRIST,
        spherical_wrist.PARALLEL_23,
        functools.partial(_wrist_parallel, (1, 2), (0, 1)),
        ((1, 2),),
    ),
    ClassRule(
        'spherical_base_parallel',
        'axes 4, 5 and 6 meet, axes 1 and 2 are parallel',
        _WRIST,
        spherical_wrist.PARALLEL_12,
        functools.partial(_wrist_parallel, (0, 1), (1, 2)),
        ((0, 1),),
    ),
    ClassRule(
        'spherical_two_intersecting',
        'axes 4, 5 and 6 meet, so do axes 1 and 2',
        _WRIST,
        spherical_wrist.MEETING_12,
        functools.partial(_wrist_meeting, (0, 1)),
    ),
    ClassRule(
        'spherical_elbow_intersecting',
        'axes 4, 5 and 6 meet, so do axes 2 and 3',
        _WRIST,
        spherical_wrist.MEETING_23,
        functools.partial(_wrist_meeting, (1, 2)),
    ),
    ClassRule(
        'three_parallel_base',
        'axes 1, 2 and 3 are parallel, axes 5 and 6 meet',
        _PARALLEL,
        three_parallel.AXES_123,
        _three_parallel_123,
        ((0, 1, 2),),
    ),
    ClassRule(
        'spherical',
        'axes 4, 5 and 6 meet',
        _WRIST,
        spherical_wrist.GENERIC,
        _wrist_generic,
    ),
    *_sliding_rules(),
    ClassRule(
        'orientation_first',
        'at most three joints are revolute and at most three slide: the orientation gives the angles',
        candidates.ORIENTATION_FIRST,
        0,
        _orientation_first,
        has_slides=True,
    ),
)
"""Rules in the order of trial. The general elimination fits every chain and comes after them."""


def matches(axes: AxisGeometry) -> list[Match]:
    """
    Return every rule that holds for a set of axes, best first.

    :param axes: six axes, or at most six with prismatic joints.
    """
    back = axes.reversed()
    fitting = []
    for rule in RULES:
        if rule.has_slides != bool(axes.slides):
            continue
        for geometry, is_reversed in ((axes, False), (back, True)):
            special = rule.applies(geometry)
            if special is not None:
                fitting.append(Match(rule, is_reversed, special))
    return fitting
