"""The free parameters of a tool path: values of first joints, the spin about the tool axis, the value of a held joint."""

from collections.abc import Sequence
import math

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidLimits, InvalidOption
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.paths.tool_chain import PostureRows, ToolChain

VALUES = {0: (1, 1), 1: (400, 400), 2: (72, 12), 3: (30, 8)}
"""Values of an angle and of a slide in the first grid, by the number of parameters."""
SPINS = {1: 90, 2: 36, 3: 20}
"""Values of the spin in the first grid, by the number of parameters."""
FEWEST_LAYERS, LONGEST_STRIDE = 40, 16
"""Layers that the first grid has at least, and the most waypoints from one to the next: fewer layers hide less of a path's length
behind the steps of the grid."""
OFFSETS = {0: 0, 1: 4, 2: 2, 3: 1}
"""Values to each side of the present one in the finer grids."""
MOST_PARAMETERS = 3


class SearchSpace:
    """The parameters of a chain that follows waypoints."""

    def __init__(self, chain: ToolChain, spin_axis: Sequence[float] | None = None) -> None:
        """
        Lay the parameters out: the first joints, the spin, the held joint, as far as there are such.

        :param chain: the joints.
        :param spin_axis: axis in the tip frame about which the tool may turn freely; None for none.
        :raises InvalidOption: for an axis without direction, and for too many parameters.
        :raises InvalidLimits: for a slide without limits.
        """
        self.chain = chain
        self.axis = None if spin_axis is None else _unit(spin_axis)
        joints = [*range(chain.outer), *([chain.held] if chain.has_held else [])]
        ranges = [_range(chain, joint) for joint in joints]
        spin = chain.outer
        if self.axis is not None:
            ranges.insert(spin, (-math.pi, math.pi, True, False))
        self.size = len(ranges)
        """Number of parameters."""
        if self.size > MOST_PARAMETERS:
            raise InvalidOption(
                f'{self.size} free parameters (joints beyond six, and the spin); at most {MOST_PARAMETERS} are '
                'searched. Lock a joint or fix the spin.'
            )
        columns = np.array(ranges, dtype=np.float64).reshape(-1, 4).T
        self.lower, self.upper = columns[0], columns[1]
        self.is_endless, self.is_slide = columns[2] > 0.0, columns[3] > 0.0
        angles, slides = VALUES[self.size]
        counts = np.where(self.is_slide, slides, angles)
        if self.axis is not None:
            counts[spin] = SPINS[self.size]
        self.spacing: FloatArray = (self.upper - self.lower) / counts
        """(r,) distance of neighbouring values in the first grid."""
        self.offsets = OFFSETS[self.size]

    def stride(self, waypoints: int) -> int:
        """
        Return how many waypoints lie between neighbouring layers of the first grid.

        :param waypoints: number of waypoints.
        """
        if not self.size:
            return 1
        return max(1, min(LONGEST_STRIDE, waypoints // FEWEST_LAYERS))

    def grid(self, layers: int, density: int = 1) -> list[FloatArray]:
        """
        Return the first grid: for each parameter the same values (layers, s) in each layer.

        :param layers: how many.
        :param density: values where one would be without.
        """
        values = []
        for p in range(self.size):
            count = density * round((self.upper[p] - self.lower[p]) / self.spacing[p])
            part = (np.arange(count) + 0.5) / count
            row = self.lower[p] + part * (self.upper[p] - self.lower[p])
            values.append(np.tile(row, (layers, 1)))
        return values

    def window(self, centers: FloatArray, spacing: FloatArray, reach: int) -> list[FloatArray]:
        """
        Return a grid around values of the parameters.

        :param centers: (layers, r).
        :param spacing: (r,) distance of neighbouring values.
        :param reach: values to each side.
        """
        steps = np.arange(-reach, reach + 1)
        values = []
        for p in range(self.size):
            own = centers[:, p : p + 1] + spacing[p] * steps
            if not self.is_endless[p]:
                own = np.clip(own, self.lower[p], self.upper[p])
            values.append(own)
        return values

    def postures(
        self, poses: FloatArray, values: Sequence[FloatArray]
    ) -> tuple[PostureRows, FloatArray]:
        """
        Return every posture on a grid, and its parameters (k, r); owners are the layers.

        :param poses: (layers, 4, 4) waypoints.
        :param values: (layers, s) for each parameter.
        """
        layers = len(poses)
        free = self.size - int(self.chain.has_held)
        mesh = _products(values[:free], layers)
        per_layer = mesh.shape[1]
        flat = mesh.reshape(layers * per_layer, free)
        targets = np.repeat(poses, per_layer, axis=0)
        if self.axis is not None:
            targets = targets @ _spins(self.axis, flat[:, self.chain.outer])
        held = values[-1] if self.chain.has_held else np.zeros((layers, 1))
        found = self.chain.find_postures(
            targets, flat[:, : self.chain.outer], np.repeat(held, per_layer, axis=0)
        )
        own = flat[found.owners]
        if self.chain.has_held:
            own = np.hstack([own, found.q[:, self.chain.held : self.chain.held + 1]])
        counts = found.counts.reshape(layers, per_layer, -1).sum(axis=1)
        return PostureRows(found.q, found.owners // per_layer, counts), own

    def parameters_of(self, q: FloatArray, pose: FloatArray) -> FloatArray:
        """
        Return the parameters (r,) of a given posture.

        :param q: (n).
        :param pose: (4, 4) of its waypoint.
        """
        own = list(q[: self.chain.outer])
        if self.axis is not None:
            own.append(_spin_between(self.axis, pose[:3, :3].T @ self.chain.pose(q)[:3, :3]))
        if self.chain.has_held:
            own.append(q[self.chain.held])
        return np.array(own)


def _spin_between(axis: FloatArray, rotation: FloatArray) -> float:
    """Return the angle of a rotation about an axis [rad]."""
    skew = 0.5 * (rotation - rotation.T)
    sine = float(axis @ (skew[2, 1], skew[0, 2], skew[1, 0]))
    return math.atan2(sine, 0.5 * (float(np.trace(rotation)) - 1.0))


def _unit(axis: Sequence[float]) -> FloatArray:
    """Return a unit axis."""
    vector = np.asarray(axis, dtype=np.float64)
    length = float(np.linalg.norm(vector)) if vector.shape == (3,) else 0.0
    if not 1e-9 < length < math.inf:
        raise InvalidOption(f'The spin axis takes three numbers with a direction, not {axis!r}.')
    return vector / length


def _range(chain: ToolChain, joint: int) -> tuple[float, float, bool, bool]:
    """Return the range of a joint, whether it has no end, and whether the joint slides."""
    own = chain.chain
    low, high = float(own.lower[joint]), float(own.upper[joint])
    if own.kinds[joint] == JointKind.PRISMATIC:
        if not math.isfinite(high - low):
            name = own.joint_names[joint]
            raise InvalidLimits(
                f"Joint '{name}' slides without limits, and its value is free.", joint=name
            )
        return low, high, False, True
    if chain.turning[joint]:
        return -math.pi, math.pi, True, False
    return low, high, False, False


def _products(values: Sequence[FloatArray], layers: int) -> FloatArray:
    """Return all combinations (layers, c, r) of the values of each layer."""
    mesh = np.zeros((layers, 1, 0))
    for own in values:
        before = np.repeat(mesh, own.shape[1], axis=1)
        after = np.tile(own, (1, mesh.shape[1]))[:, :, None]
        mesh = np.concatenate([before, after], axis=2)
    return mesh


def _spins(axis: FloatArray, angles: FloatArray) -> FloatArray:
    """Return rotations (k, 4, 4) about an axis."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sines, cosines = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    motions = np.tile(np.eye(4), (len(angles), 1, 1))
    motions[:, :3, :3] += sines * cross + (1.0 - cosines) * (cross @ cross)
    return motions
