"""
Find a smooth sequence of postures along sampled poses.

**Problem.** Each sampled pose has some postures. Choose one for each sample so that neighbours join: no joint moves
further than its largest step, and in the middle of the joint motion the link is near the line. Of all sequences from
the start, take one with the smallest sum of squared joint steps. If no sequence reaches the end, take the cheapest one
to the last sample that is reached.

**Derivation.** A layer holds the postures of a sample that join a posture of the layer before. The cost of a posture is
the least sum of squared steps that leads to it (dynamic programming). Windings are chosen next to the posture before.
If a closed form knows all postures of a sample, all are tried. Otherwise the group's solver starts from each posture of
the layer before. Only the 64 cheapest postures of a layer are kept. The sequence is the cheapest one of all postures
that were found, as long as no layer has more and no line is halved.

**Degenerate cases.** Near singularities, steps are long although the motion is continuous. If no posture of a sample
joins, the line between the samples is halved until all parts join, down to 1e-5 of its length. Then the first pair of
postures that can be joined is taken. A jump to another branch does not join, because the link leaves the line.

**References.** docs/reference/ros2.md.
"""

from collections.abc import Callable, Sequence
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.results import Cause
from ssik_ros.value_class import dataclass

LARGEST_DEVIATION = (1e-3, 1e-2)
"""How far the link may leave the line between neighbours [m], [rad]."""
SHORTEST_PART = 1e-5
"""Parts of a step that are not halved any more."""
PAIRS_HALVED = 8
"""Pairs of postures between which a step is halved, the nearest ones."""
POSTURES_HALVED = 200
"""Most halvings of the step between two postures."""
NO_NEXT = 'no posture there continues the path: the arm would have to jump to another branch'
LAYER = 64
"""Postures of one sample that are followed, the cheapest ones."""


class SamplePostures(NamedTuple):
    """The postures that were found for one pose, or the cause if none was found."""

    q: FloatArray
    """(k, n) [rad or m]."""
    cause: Cause
    """Why no posture was found; NONE if ``q`` has rows."""


@dataclass(slots=True)
class PathModel:
    """Functions and limits of an arm that the path search needs; poses are of the link in the model frame."""

    find: Callable[[FloatArray, FloatArray], SamplePostures]
    """Postures that reach a pose (4, 4); a solver that searches starts at a posture (n,)."""
    knows_all: bool
    """Whether ``find`` returns the same postures whatever the seed, windings aside."""
    windings_near: Callable[[FloatArray, FloatArray], FloatArray]
    """Postures (k, n) in the windings that are nearest to a posture (n,)."""
    errors: Callable[[FloatArray, FloatArray], tuple[float, float]]
    """Distance [m] and angle [rad] between the link at a posture (n,) and a pose (4, 4)."""
    accepts: Callable[[FloatArray], bool]
    """Whether a posture (n,) is free of collisions and keeps the constraints."""
    refusal: Callable[[], tuple[Cause, str]]
    """(cause, text) why ``accepts`` refused postures of the path until now."""
    largest_steps: FloatArray
    """(n,) largest step of each variable, inf for any [rad or m]."""
    middle: Callable[[FloatArray, FloatArray], FloatArray]
    """The posture halfway between two."""


@dataclass(slots=True, eq=False)
class _PathNode:
    """
    A node of the path search: a posture that reaches one of the sampled poses of the path.

    ``parent`` is the node before it on the cheapest sequence of postures from the start to this node.
    """

    q: FloatArray
    """(n,) the posture [rad or m]."""
    cost: float
    """Sum of squared joint steps of the sequence up to here."""
    parent: '_PathNode | None' = None
    """The posture before; None at the start."""
    between: Sequence[FloatArray] = ()
    """Postures inserted between the parent and this one."""


class FollowedPath(NamedTuple):
    """A sequence of postures along samples, and why it ends."""

    points: list[FloatArray]
    """Postures (n,), the start first."""
    samples: list[int]
    """How many samples are reached at each point."""
    reached: int
    """Samples reached in all."""
    part: float
    """Part of the next step that is followed too."""
    cause: Cause
    """Why the path ends before the last sample; NONE if it does not."""
    text: str
    """The reason in words; counts only if a sample is not reached."""


class PathSearch:
    """A search for a smooth sequence of postures along one sequence of sampled poses."""

    def __init__(self, model: PathModel, pose_at: Callable[[int, float], FloatArray]) -> None:
        """
        Keep the model of the arm and the poses of the samples.

        :param model: the arm.
        :param pose_at: returns the pose (4, 4) at a part, above 0 and at most 1, of the step that leads to a sample.
            Its arguments are the index of this sample and the part.
        """
        self._model = model
        self._pose_at = pose_at
        self._left = 0
        """Halvings of the present step that are left."""

    def run(self, start: FloatArray, count: int, is_cancelled: Callable[[], bool]) -> FollowedPath:
        """
        Return the postures along all samples with the least sum of squared joint steps, of the sequences that are kept.

        At each sample, the LAYER cheapest postures are kept. If no sequence goes on at a sample, return the cheapest
        one to the sample before. If postures reach this sample, but none of them joins, the result also has the part of
        the next step that could be followed. A cancelled search has the cause DEADLINE.

        :param start: (n,) posture at the beginning of the first step.
        :param count: number of samples.
        :param is_cancelled: polled at each sample; true ends the search.
        """
        layer = [_PathNode(start, 0.0)]
        for sample in range(count):
            if is_cancelled():
                return self._result(layer, sample, 0.0, Cause.DEADLINE, 'the caller cancelled')
            following, cause, text = self._next_layer(layer, sample)
            if following:
                layer = following
                continue
            if cause == Cause.CONSISTENCY:
                end, part = self._advance(layer[0], sample)
                return self._result([end], sample, part, cause, text)
            return self._result(layer, sample, 0.0, cause, text)
        return self._result(layer, count, 0.0, Cause.NONE, '')

    def join(self, rows: FloatArray, cause: Cause) -> FollowedPath:
        """
        Follow a given sequence of postures, one for each sample, as far as neighbours join; return the followed part.

        If two neighbours do not join at once, postures are inserted between them.

        :param rows: (k, n) the start, and a posture for each of the first samples.
        :param cause: why there are no postures for the later samples.
        """
        nodes = [_PathNode(rows[0], 0.0)]
        for sample, q in enumerate(rows[1:]):
            node = nodes[-1]
            if not self._model.accepts(q):
                return self._result(nodes[-1:], sample, 0.0, *self._model.refusal())
            self._left = POSTURES_HALVED
            between = self._halve(node.q, q, sample, 0.0, 1.0)
            if between is None:
                return self._result(nodes[-1:], sample, 0.0, Cause.CONSISTENCY, NO_NEXT)
            nodes.append(_PathNode(q, 0.0, node, between))
        return self._result(nodes[-1:], len(rows) - 1, 0.0, cause, 'no path reaches it')

    def _result(
        self, layer: list[_PathNode], reached: int, part: float, cause: Cause, text: str
    ) -> FollowedPath:
        """
        Return the sequence that leads to the cheapest node of ``layer``, with the reason why it ends there.

        It follows ``reached`` samples completely, and the ``part``, 0 to 1, of the next step.
        """
        node: _PathNode | None = min(layer, key=lambda n: n.cost)
        points: list[FloatArray] = []
        samples: list[int] = []
        index = reached + (part > 0.0)
        while node is not None:
            points += [node.q, *reversed(node.between)]
            samples += [min(index, reached), *([index - 1] * len(node.between))]
            index -= 1
            node = node.parent
        return FollowedPath(points[::-1], samples[::-1], reached, part, cause, text)

    def _next_layer(
        self, layer: list[_PathNode], sample: int
    ) -> tuple[list[_PathNode], Cause, str]:
        """
        Return the postures of ``sample`` that follow a posture of the layer before, as nodes, cheapest first.

        There are at most ``LAYER`` nodes. The second and third value are the cause and a text, which count only if
        there are no nodes.
        """
        target = self._pose_at(sample, 1.0)
        choices = self._choices(layer, target)
        if isinstance(choices, Cause):
            return [], choices, 'no posture reaches it within limits'
        free = {key: q for key, (q, _) in choices.items() if self._model.accepts(q)}
        if not free:
            return [], *self._model.refusal()
        following: list[_PathNode] = []
        for key, q in free.items():
            pairs = sorted(choices[key][1], key=lambda pair: pair[0])
            for cost, parent in pairs:
                if self._joins(parent.q, q, sample, 0.0, 1.0):
                    following.append(_PathNode(q, cost, parent))
                    break
        if not following:
            following = self._halved(
                sorted(
                    ((c, p, q) for k, q in free.items() for c, p in choices[k][1]),
                    key=lambda entry: entry[0],
                ),
                sample,
            )
        following.sort(key=lambda node: node.cost)
        return following[:LAYER], Cause.CONSISTENCY, NO_NEXT

    def _choices(
        self, layer: list[_PathNode], target: FloatArray
    ) -> dict[bytes, tuple[FloatArray, list[tuple[float, _PathNode]]]] | Cause:
        """
        Return the postures at a pose (4, 4), each with the nodes of ``layer`` before it; or the cause if none is found.

        A posture is turned to the winding nearest to a node, so that it may appear in several windings. The keys are
        rounded bytes of the posture. Each node comes as (cost of the sequence with this step, node).
        """
        model = self._model
        choices: dict[bytes, tuple[FloatArray, list[tuple[float, _PathNode]]]] = {}
        postures = model.find(target, layer[0].q)
        cause = postures.cause
        for node in layer:
            if not model.knows_all and node is not layer[0]:
                postures = model.find(target, node.q)
            if not len(postures.q):
                continue
            for q in model.windings_near(postures.q, node.q):
                step = q - node.q
                entry = choices.setdefault(np.round(q, 9).tobytes(), (q, []))
                entry[1].append((node.cost + float(step @ step), node))
        return choices or cause

    def _joins(self, a: FloatArray, b: FloatArray, sample: int, begin: float, end: float) -> bool:
        """
        Return whether the joints may move straight from ``a`` (n,) to ``b`` (n,).

        They may if no joint moves further than ``largest_steps``, and if halfway the link is near the line:
        ``LARGEST_DEVIATION`` bounds its distance [m] and its angle [rad]. ``begin`` and ``end`` are the parts, 0 to 1,
        of the step to ``sample`` at which the postures are.
        """
        if (np.abs(b - a) > self._model.largest_steps).any():
            return False
        halfway = self._pose_at(sample, 0.5 * (begin + end))
        position, angle = self._model.errors(self._model.middle(a, b), halfway)
        return position <= LARGEST_DEVIATION[0] and angle <= LARGEST_DEVIATION[1]

    def _halved(
        self, pairs: Sequence[tuple[float, _PathNode, FloatArray]], sample: int
    ) -> list[_PathNode]:
        """
        Return a list of one node: the first posture that can be joined to its node of the sample before; else empty.

        A pair is (cost, node of the sample before, posture (n,) at ``sample``). Postures are inserted between the two.
        At most ``PAIRS_HALVED`` pairs are tried.
        """
        for cost, parent, q in pairs[:PAIRS_HALVED]:
            self._left = POSTURES_HALVED
            between = self._halve(parent.q, q, sample, 0.0, 1.0)
            if between is not None:
                return [_PathNode(q, cost, parent, between)]
        return []

    def _halve(
        self, a: FloatArray, b: FloatArray, sample: int, begin: float, end: float
    ) -> list[FloatArray] | None:
        """
        Return the postures to insert between ``a`` and ``b`` (n,) so that neighbours join; None if that fails.

        ``begin`` and ``end`` are the parts of the step to ``sample`` at which ``a`` and ``b`` are. The number of
        halvings is limited by the counter ``_left``, which every halving reduces, and by the smallest part,
        ``SHORTEST_PART``.
        """
        if self._joins(a, b, sample, begin, end):
            return []
        if end - begin < SHORTEST_PART or self._left <= 0:
            return None
        self._left -= 1
        half = 0.5 * (begin + end)
        middle = self._nearest(self._pose_at(sample, half), self._model.middle(a, b))
        if middle is None:
            return None
        first = self._halve(a, middle, sample, begin, half)
        if first is None:
            return None
        second = self._halve(middle, b, sample, half, end)
        return None if second is None else [*first, middle, *second]

    def _nearest(self, target: FloatArray, q: FloatArray) -> FloatArray | None:
        """
        Return the posture (n,) nearest to ``q`` (n,) of those that reach a pose (4, 4) and pass all checks.

        The model finds the postures, perhaps not all. Return None if none passes.
        """
        postures = self._model.find(target, q).q
        if not len(postures):
            return None
        near = self._model.windings_near(postures, q)
        for row in np.argsort(((near - q) ** 2).sum(axis=1), kind='stable'):
            if self._model.accepts(near[row]):
                nearest: FloatArray = near[row]
                return nearest
        return None

    def _advance(self, node: _PathNode, sample: int) -> tuple[_PathNode, float]:
        """
        Go on from a node towards a sample that cannot be reached, by halving the step again and again.

        The search may stop although a longer part exists. Return the last node, and the part of the step that was
        followed, 0 to 1. Without progress, return ``node`` and 0.
        """
        low, high, q = 0.0, 1.0, node.q
        between: list[FloatArray] = []
        while high - low > SHORTEST_PART:
            half = 0.5 * (low + high)
            posture = self._nearest(self._pose_at(sample, half), q)
            if posture is None or not self._joins(q, posture, sample, low, half):
                high = half
                continue
            between.append(posture)
            low, q = half, posture
        if not between:
            return node, 0.0
        return _PathNode(between[-1], node.cost, node, between[:-1]), low


def cut_at_jump(points: FloatArray, threshold: float) -> int:
    """
    Return the number of points before the first step that is too long; the number of all points if no step is.

    The length of a step is the sum of the absolute changes of its joints. A path of fewer than two steps is never cut.

    :param points: (k, n).
    :param threshold: largest length of a step as a multiple of the mean of the other steps. Any length is allowed if it
        is 0, negative or not finite.
    """
    steps = np.abs(np.diff(points, axis=0)).sum(axis=1)
    if threshold <= 0.0 or len(steps) < 2 or not math.isfinite(threshold):
        return len(points)
    others = (steps.sum() - steps) / (len(steps) - 1)
    long = np.flatnonzero(steps > threshold * others)
    return int(long[0]) + 1 if len(long) else len(points)
