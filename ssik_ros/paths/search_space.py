"""
The free parameters of a tool path at each waypoint, and the exact postures for samples of them.

The first parameters are values of the first joints, if the chain has more than seven. Then come numbers of the tool's
pose within its tolerance. With seven or more joints, the last parameter is the value of the held joint. The closed form
keeps this joint of the last seven fixed.
"""

from collections.abc import Callable
import functools
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import BoolArray, chosen_rows, FloatArray, IntArray, joined_rows
from ssik_ros.errors import InvalidLimits
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.paths.pose_freedom import PoseFreedom, Z
from ssik_ros.paths.singular_waypoints import add_neighbours
from ssik_ros.paths.tolerance_reach import ReachProof
from ssik_ros.paths.tool_chain import PostureRows, ToolChain

VALUES = {0: (1, 1, 1), 1: (400, 400, 60), 2: (72, 12, 36), 3: (30, 8, 20)}
"""Values of a joint's angle, of a slide and of a spin in the first grid, by the number of wide parameters; all narrow ones count
as one."""
FEWEST_VALUES, WIDE_RANGE = 3, 1.0
"""Values of a narrow range, and the width above which a range is wide [rad or m]."""
MOST_SAMPLES, SCATTERED = 3000, 800
"""Combinations of values in one layer of a grid; number of scattered points in place of more."""
FEWEST_LAYERS, SCATTERED_LAYERS, LONGEST_STRIDE, MOST_LAYERS = 40, 12, 16, 150
"""
Fewest layers of the first grid, and of a scattered one; longest stride; number of layers above which the stride grows.

A stride is the number of waypoints from one layer to the next. Fewer layers hide less of a path's length in the steps
of the grid.
"""
OFFSETS = {0: 0, 1: 4, 2: 2, 3: 1}
"""Values to each side of the present one in the finer grids, by the number of parameters."""
MOST_PRODUCT = 3
"""Most parameters for which a finer grid holds all combinations; with more parameters its points are scattered."""
SCATTERED_NEAR = 24
FAN: FloatArray = 4.0 * 0.4 ** np.arange(7.0, -1.0, -1.0)
"""Distances of the values of a fan to each side, in the first grid's."""
SAMPLES_AT_ONCE = 5000
"""Samples whose postures are looked for at the same time: a few hundredths of a second, and little memory."""


class Samples(NamedTuple):
    """
    Values of the free parameters for several waypoints (layers), as s rows with h values of the held joint each.

    A sample combines a row of ``free`` with one of the values in the same row of ``held``, so that a layer has s h.
    """

    free: FloatArray
    """(layers, s, f) values of first joints and numbers of the pose."""
    held: FloatArray
    """(layers, s, h) values of the held joint; zeros if the chain has no such joint."""

    def first(self) -> 'Samples':
        """Return only the first sample of each layer."""
        return Samples(self.free[:, :1], self.held[:, :1, :1])


Keep = Callable[[FloatArray, IntArray], BoolArray]


class SearchSpace:
    """The r free parameters of a chain along waypoints: their ranges, grids of samples, and exact postures."""

    def __init__(
        self, chain: ToolChain, freedom: PoseFreedom, pause: Callable[[int], None] | None = None
    ) -> None:
        """
        Collect the free parameters and their ranges: first joints, numbers of the tool's pose, the held joint.

        Each of the three parts may be empty.

        :param chain: the joints.
        :param freedom: tolerance of the tool's pose at each waypoint.
        :param pause: called between blocks of layers, with a waypoint index; it raises an exception to stop. None calls
            nothing.
        :raises InvalidLimits: if a prismatic joint that is a parameter lacks a limit.
        """
        self.chain, self.freedom, self._pause = chain, freedom, pause
        joints = [*range(chain.outer), *([chain.held] if chain.has_held else [])]
        ranges = [_range(chain, joint) for joint in joints]
        columns = freedom.columns
        endless = np.array([freedom.is_free_spin(int(column)) for column in columns], dtype=bool)
        first = np.array(ranges[: chain.outer]).reshape(-1, 4)
        last = np.array(ranges[chain.outer :]).reshape(-1, 4)
        count = freedom.count

        def spread(ends: FloatArray) -> FloatArray:
            return np.broadcast_to(ends, (count, len(ends)))

        lower = [spread(first[:, 0]), freedom.lower[:, columns], spread(last[:, 0])]
        upper = [spread(first[:, 1]), freedom.upper[:, columns], spread(last[:, 1])]
        self.lower, self.upper = np.hstack(lower), np.hstack(upper)
        """(m, r) ranges at each waypoint."""
        self.is_endless = np.concatenate([first[:, 2] > 0.0, endless, last[:, 2] > 0.0])
        self.size = len(self.is_endless)
        """Number of parameters."""
        self._counts = self._first_counts(
            np.concatenate([first[:, 3] > 0.0, columns <= Z, last[:, 3] > 0.0])
        )
        widths = (self.upper - self.lower).max(axis=0, initial=1e-9)
        self._has_ends = self._is_pose & (widths <= WIDE_RANGE)
        """
        (r,) whether the first grid holds the ends of a range.

        The ends of narrow ranges are held, because a corner may be reachable when the middle is not.
        """
        self.spacing: FloatArray = widths / self._counts
        """(r,) distance of neighbouring values in the first grid."""
        self.offsets = OFFSETS.get(self.size, 1)

    def _first_counts(self, is_slide: FloatArray) -> FloatArray:
        """
        Return how many values (r,) of each parameter the first grid has; set ``is_scattered``.

        If all combinations would be more than MOST_SAMPLES, the first grid is scattered points instead.

        :param is_slide: (r,) True for a length, False for an angle.
        """
        widths = (self.upper - self.lower).max(axis=0, initial=0.0)
        place = np.arange(self.size) - self.chain.outer
        self._is_pose = is_pose = (place >= 0) & (place < len(self.freedom.columns))
        is_wide = ~is_pose | (widths > WIDE_RANGE)
        row = int(is_wide.sum()) + int(not is_wide.all())
        angles, slides, spins = VALUES[min(row, max(VALUES))]
        counts = np.where(is_pose, spins, np.where(is_slide, slides, angles))
        counts[~is_wide] = FEWEST_VALUES
        if counts.prod() > MOST_SAMPLES:
            self.is_scattered = True
            """Whether the first grid is scattered points, too far from each other for single steps."""
            wide = counts.astype(np.float64)
            shrink = (SCATTERED / wide.prod()) ** (1.0 / max(1, self.size))
            return np.asarray(np.maximum(1.0, wide * shrink))
        self.is_scattered = False
        return counts.astype(np.float64)

    def stride(self, waypoints: int) -> int:
        """
        Return how many waypoints lie from one layer of the first grid to the next; 1 uses every waypoint.

        :param waypoints: number of waypoints of the path.
        """
        if not self.size:
            return 1
        longest = max(LONGEST_STRIDE, waypoints // MOST_LAYERS)
        fewest = SCATTERED_LAYERS if self.is_scattered else FEWEST_LAYERS
        return max(1, min(longest, waypoints // fewest))

    def grid(self, rows: IntArray, density: int = 1) -> Samples:
        """
        Return the samples of the first grid, which covers the whole range of each parameter.

        :param rows: (layers,) index of the waypoint of each layer.
        :param density: factor on the number of values of each parameter. A space of scattered points gets its square
            times as many points.
        """
        width = 1
        if self.is_scattered:
            parts = scatter(SCATTERED * density**2, self.size)
        else:
            axes = [density * int(count) for count in self._counts]
            ends = self._has_ends
            parts = product([_parts(count, end) for count, end in zip(axes, ends, strict=True)])
            width = axes[-1] if axes else 1
        low, high = self.lower[rows][:, None, :], self.upper[rows][:, None, :]
        return self._samples(rows, low + parts * (high - low), width)

    def window(
        self, rows: IntArray, centers: FloatArray, spacing: FloatArray, reach: int
    ) -> Samples:
        """
        Return samples around given values of the parameters: a grid, or scattered points for many parameters.

        With more than MOST_PRODUCT parameters, the points are scattered within the same box.

        :param rows: (layers,) index of the waypoint of each layer.
        :param centers: (layers, r) values in the middle.
        :param spacing: (r,) distance of neighbouring values [rad or m].
        :param reach: number of values to each side.
        """
        width = 1
        if self.size <= MOST_PRODUCT:
            steps = product([np.arange(-reach, reach + 1.0)] * self.size)
            width = 2 * reach + 1
        else:
            star = np.vstack([np.zeros((1, self.size)), np.eye(self.size), -np.eye(self.size)])
            steps = reach * np.vstack([star, 2.0 * scatter(SCATTERED_NEAR, self.size) - 1.0])
        return self._samples(rows, centers[:, None, :] + steps * spacing, width)

    def fan(self, rows: IntArray, centers: FloatArray, spacing: FloatArray) -> Samples:
        """
        Return samples around given values of the parameters, at distances that shrink geometrically to each side.

        With more than two parameters, each sample changes only one of them.

        :param rows: (layers,) index of the waypoint of each layer.
        :param centers: (layers, r) values in the middle.
        :param spacing: (r,) spacing of the first grid [rad or m]. The distances go from four spacings down to less than
            a hundredth of a spacing.
        """
        steps = np.concatenate([-FAN[::-1], np.zeros(1), FAN])
        width = 1
        if self.size <= 2:
            parts, width = product([steps] * self.size), len(steps)
        else:
            parts = np.vstack([np.outer(steps, axis) for axis in np.eye(self.size)])
        return self._samples(rows, centers[:, None, :] + parts * spacing, width)

    def line(self, rows: IntArray, centers: FloatArray, steps: FloatArray) -> Samples:
        """
        Return four samples along a step of the parameters: at 0, 0.25, 0.6 and 1 of the step.

        :param rows: (layers,) index of the waypoint of each layer.
        :param centers, steps: (layers, r) start and length of the step.
        """
        parts = np.array([0.0, 0.25, 0.6, 1.0])[None, :, None]
        return self._samples(rows, centers[:, None, :] + parts * steps[:, None, :], 1)

    def _samples(self, rows: IntArray, values: FloatArray, width: int) -> Samples:
        """
        Return values of all parameters as Samples, clipped to ranges and tolerances.

        :param values: (layers, s, r) values, the held joint last.
        :param width: with a held joint, each block of ``width`` rows differs only in its value.
        """
        low, high = self.lower[rows][:, None, :], self.upper[rows][:, None, :]
        values = np.where(self.is_endless, values, np.clip(values, low, high))
        begin, end = self.chain.outer, self.chain.outer + len(self.freedom.columns)
        values[..., begin:end] = self.freedom.clip(rows, values[..., begin:end])
        layers, s, _ = values.shape
        if not self.chain.has_held:
            return Samples(values, np.zeros((layers, s, 1)))
        held = values[..., -1].reshape(layers, s // width, width)
        return Samples(values[:, ::width, :-1], held)

    def postures(
        self, rows: IntArray, waypoints: FloatArray, samples: Samples, keep: Keep | None = None
    ) -> tuple[PostureRows, FloatArray]:
        """
        Return the postures within limits for some samples, and the parameters (k, r) of each posture.

        ``owners`` of the postures are indices of layers. At a (nearly) singular pose postures may be missing, see
        ``counts``. If there are no parameters, singular waypoints also get postures next to postures of the waypoints
        before and after them.

        :param rows: (layers,) index of the waypoint of each layer.
        :param waypoints: (layers, 4, 4) poses of the waypoints.
        :param samples: the samples of each layer.
        :param keep: called with postures (k, n) and layers (k,); returns a mask (k,) of postures to keep. None keeps
            all.
        """
        parts, parameters = [], []
        width = samples.held.shape[1] * samples.held.shape[2]
        at_once = max(1, SAMPLES_AT_ONCE // max(1, width))
        for begin in range(0, max(1, len(rows)), at_once):
            batch = slice(begin, begin + at_once)
            if self._pause is not None:
                self._pause(int(rows[begin]) if len(rows) else 0)
            postures, part_parameters = self._some_postures(
                rows[batch], waypoints[batch], chosen_rows(samples, batch)
            )
            if not (self.size or self.chain.has_spin):
                postures = add_neighbours(self.chain, postures, waypoints[batch])
                part_parameters = np.zeros((len(postures.q), 0))
            postures = postures._replace(owners=postures.owners + begin)
            if keep is not None:
                kept = np.flatnonzero(keep(postures.q, postures.owners))
                postures = postures._replace(q=postures.q[kept], owners=postures.owners[kept])
                part_parameters = part_parameters[kept]
            parts.append(postures)
            parameters.append(part_parameters)
        return joined_rows(parts), np.concatenate(parameters)

    def _some_postures(
        self, rows: IntArray, waypoints: FloatArray, samples: Samples
    ) -> tuple[PostureRows, FloatArray]:
        """
        Return all postures within limits for some samples, and the parameters (k, r) of each.

        The closed form is called once.

        :param rows: (layers,) index of the waypoint of each layer.
        :param waypoints: (layers, 4, 4) poses of the waypoints.
        :param samples: the samples of each layer.
        """
        layers, s, f = samples.free.shape
        flat = samples.free.reshape(layers * s, f)
        outer = self.chain.outer
        of_row = np.repeat(rows, s)
        targets = self.freedom.poses(np.repeat(waypoints, s, axis=0), of_row, flat[:, outer:])
        held = np.ascontiguousarray(samples.held.reshape(layers * s, -1))
        postures = self.chain.find_postures(targets, flat[:, :outer], held)
        parameters = flat[postures.owners]
        if self.chain.has_held:
            parameters = np.hstack(
                [parameters, postures.q[:, self.chain.held : self.chain.held + 1]]
            )
        counts = postures.counts.reshape(layers, s, -1).sum(axis=1)
        return PostureRows(postures.q, postures.owners // s, counts), parameters

    def is_out_of_reach(self, row: int, waypoint: FloatArray) -> bool:
        """
        Return True if every pose within a waypoint's tolerance is proved out of reach; False proves nothing.

        The proof does not use the limits of turning joints.

        :param row: index of the waypoint.
        :param waypoint: (4, 4).
        """
        return self._proof.refuses(waypoint, self.freedom, row)

    @functools.cached_property
    def _proof(self) -> ReachProof:
        """Return the object that proves poses out of reach; its hulls are computed once, at the first use."""
        return ReachProof(self.chain.chain)

    def parameters_of(self, q: FloatArray, row: int, waypoint: FloatArray) -> FloatArray:
        """
        Return the values (r,) of the free parameters for a given posture at a waypoint.

        :param q: (n,) posture.
        :param row: index of the waypoint.
        :param waypoint: (4, 4) pose of the waypoint.
        """
        values = self.freedom.values_of(row, waypoint, self.chain.pose(q))
        held = [q[self.chain.held]] if self.chain.has_held else []
        return np.concatenate([q[: self.chain.outer], values, held])


def _parts(count: int, has_ends: bool) -> FloatArray:
    """
    Return ``count`` evenly spaced shares of a range, from 0 to 1.

    With ``has_ends``, the first is 0 and the last is 1; otherwise they are the middles of equal parts.
    """
    if has_ends and count > 1:
        return np.linspace(0.0, 1.0, count)
    return (np.arange(count) + 0.5) / count


def product(axes: list[FloatArray]) -> FloatArray:
    """
    Return all combinations (s, r) of the values of r parameters; the last parameter changes fastest.

    :param axes: the values of each parameter; an empty list gives one empty combination.
    """
    if not axes:
        return np.zeros((1, 0))
    return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, len(axes))


def scatter(count: int, size: int) -> FloatArray:
    """
    Return points (count, size) spread evenly over the unit cube, the same points in each call.

    :param count: how many.
    :param size: number of coordinates.
    """
    # Multiples of powers of the root of x^(size + 1) = x + 1 (Roberts 2018).
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (size + 1))
    steps = root ** -np.arange(1.0, size + 1.0)
    points: FloatArray = np.mod(0.5 + np.arange(1.0, count + 1.0)[:, None] * steps, 1.0)
    return points


def _range(chain: ToolChain, joint: int) -> tuple[float, float, bool, bool]:
    """
    Return (lower, upper, is_endless, is_slide) of a joint as a parameter [rad or m].

    A joint with a range of a full turn or more gets -pi to pi. Raise InvalidLimits for a slide without limits.
    """
    serial = chain.chain
    low, high = float(serial.lower[joint]), float(serial.upper[joint])
    if serial.kinds[joint] == JointKind.PRISMATIC:
        if not math.isfinite(high - low):
            name = serial.joint_names[joint]
            raise InvalidLimits(
                f"Joint '{name}' slides without limits, and its value is free.", joint=name
            )
        return low, high, False, True
    if chain.has_windings[joint]:
        return -math.pi, math.pi, True, False
    return low, high, False, False
