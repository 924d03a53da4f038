"""Random arms of every class with a closed form, none of them in a friendly position."""

from test.complete_oracle import LineChain, rotations

import numpy as np

from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain


def direction(rng):
    """Return a random unit vector."""
    v = rng.standard_normal(3)
    return v / np.linalg.norm(v)


def random_pose(rng):
    """Return a random rigid transform (4, 4) in general orientation."""
    pose = np.eye(4)
    pose[:3, :3] = rotations(direction(rng), rng.uniform(0.3, 2.8))[0]
    pose[:3, 3] = rng.uniform(-0.5, 0.5, 3)
    return pose


def sign(rng):
    return rng.choice([-1.0, 1.0])


def random_lines(rng):
    """Return axes and points (6, 3), (6, 3) without any structure."""
    axes = np.array([direction(rng) for _ in range(6)])
    points = np.cumsum(rng.uniform(-0.6, 0.6, (6, 3)), axis=0)
    return axes, points


def make_parallel(axes, rng, *joints):
    """Make axes parallel to the first of them, with random signs, in place."""
    for joint in joints[1:]:
        axes[joint] = sign(rng) * axes[joints[0]]


def make_meeting(points, *joints):
    """Make axes go through the point of the first of them, in place."""
    for joint in joints[1:]:
        points[joint] = points[joints[0]]


def _three_parallel(axes, points, rng):
    make_parallel(axes, rng, 1, 2, 3)


def _three_parallel_meeting(axes, points, rng):
    make_parallel(axes, rng, 1, 2, 3)
    make_meeting(points, 4, 5)


def _spherical_two_parallel(axes, points, rng):
    make_parallel(axes, rng, 1, 2)
    make_meeting(points, 3, 4, 5)


def _spherical_base_parallel(axes, points, rng):
    make_parallel(axes, rng, 0, 1)
    make_meeting(points, 3, 4, 5)


def _spherical_two_intersecting(axes, points, rng):
    make_meeting(points, 0, 1)
    make_meeting(points, 3, 4, 5)


def _spherical_elbow_intersecting(axes, points, rng):
    make_meeting(points, 1, 2)
    make_meeting(points, 3, 4, 5)


def _three_parallel_base(axes, points, rng):
    make_parallel(axes, rng, 0, 1, 2)
    make_meeting(points, 4, 5)


def _spherical(axes, points, rng):
    make_meeting(points, 3, 4, 5)


CLASSES = {
    'three_parallel': _three_parallel,
    'three_parallel, wrist meeting': _three_parallel_meeting,
    'spherical_two_parallel': _spherical_two_parallel,
    'spherical_base_parallel': _spherical_base_parallel,
    'spherical_two_intersecting': _spherical_two_intersecting,
    'spherical_elbow_intersecting': _spherical_elbow_intersecting,
    'three_parallel_base': _three_parallel_base,
    'spherical': _spherical,
}
"""Arms by the name of their rule; the words after a comma name a case of the rule."""


def make_six(name, rng, *, is_reversed=False, size=1.0):
    """
    Return a random chain of a class: general directions, signs, points and tool.

    :param name: a key of :data:`CLASSES`.
    :param is_reversed: whether the reversed chain has the class.
    :param size: factor of all lengths.
    """
    axes, points = random_lines(rng)
    CLASSES[name](axes, points, rng)
    slides = rng.uniform(-0.7, 0.7, 6)
    points = points + slides[:, None] * axes
    if is_reversed:
        axes, points = axes[::-1].copy(), points[::-1].copy()
    home = random_pose(rng)
    home[:3, 3] += points[-1]
    home[:3, 3] *= size
    return LineChain(axes, size * points, home)


def serial_chain(line_chain, lower=None, upper=None):
    """Return a line chain as the package's, without limits unless some are given."""
    n = len(line_chain.axes)
    return SerialChain(
        base_link='base',
        tip_link='tip',
        joint_names=tuple(f'joint_{i + 1}' for i in range(n)),
        kinds=np.full(n, JointKind.REVOLUTE, dtype=np.int64),
        axes=line_chain.axes.copy(),
        points=line_chain.points.copy(),
        home=line_chain.home.copy(),
        lower=np.full(n, -np.inf) if lower is None else np.array(lower, dtype=float),
        upper=np.full(n, np.inf) if upper is None else np.array(upper, dtype=float),
        joint_indices=np.arange(n),
        idx_q=np.arange(n),
    )


def from_dh(alpha, a, d, home=None):
    """Return a chain by distal Denavit-Hartenberg parameters, all joints at zero."""
    pose, axes, points = np.eye(4), [], []
    for twist, length, offset in zip(alpha, a, d, strict=True):
        axes.append(pose[:3, 2].copy())
        points.append(pose[:3, 3].copy())
        step = np.eye(4)
        step[:3, :3] = rotations(np.array([1.0, 0.0, 0.0]), twist)[0]
        step[:3, 3] = [length, 0.0, offset]
        pose = pose @ step
    return LineChain(np.array(axes), np.array(points), pose if home is None else home)


MANSEUR_DOTY = from_dh(
    np.radians([90, 1, 90, 1, 90, 1]), [0.3, 1, 0, 1.5, 0, 0], [0, 0, 0.2, 0, 0, 0]
)
"""The arm of Manseur and Doty (1989), which reaches a pose in sixteen ways."""
SIXTEEN_WAYS = np.array(
    [
        [-0.760117, -0.641689, 0.102262, -1.140175],
        [0.133333, 0.0, 0.991071, 0.0],
        [-0.635959, 0.766965, 0.085558, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
)
"""That pose, to six digits: its rotation has to be made exact."""


def calibrated(chain, rng, error=1e-3):
    """Return a chain whose axes are off by an error in direction [rad] and place [m], each one differently."""
    axes = chain.axes + error * rng.uniform(-1, 1, chain.axes.shape)
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    points = chain.points + error * rng.uniform(-1, 1, chain.points.shape)
    return LineChain(axes, points, chain.home)
