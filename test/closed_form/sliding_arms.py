"""Chains with slides: every order in general geometry, textbook arms, and arms on a rail."""

from test.closed_form.sliding_oracle import SlidingChain
from test.closed_form.synthetic_arms import direction, make_parallel, random_lines, random_pose

import numpy as np

from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm

ORDERS = ('PRR', 'RPR', 'RRP', 'PPR', 'PRP', 'RPP', 'PPP')
"""Joints of the shoulder: P slides, R turns."""
PLANS = {order: f'spherical_{order.lower()}' for order in ORDERS} | {'PPP': 'orientation_first'}
X, Y, Z = np.eye(3)


def slides_of(order):
    """Return the indices of the slides in a word such as ``RRP``."""
    return tuple(i for i, letter in enumerate(order) if letter == 'P')


def chain_of(order, axes, points, rng, size=1.0):
    """Return a chain of the joints that a word names, with a tool in general orientation."""
    n, home = len(order), random_pose(rng)
    home[:3, 3] += points[n - 1]
    home[:3, 3] *= size
    return SlidingChain(np.array(axes[:n]), size * np.array(points[:n]), slides_of(order), home)


def backwards(chain, rng):
    """Return the chain with its joints in the opposite order."""
    home = random_pose(rng)
    home[:3, 3] += chain.points[0]
    slides = tuple(sorted(chain.size - 1 - i for i in chain.slides))
    return SlidingChain(-chain.axes[::-1], chain.points[::-1].copy(), slides, home)


def general(order, rng, joints=6, size=1.0):
    """Return a shoulder in general geometry with a wrist of up to three axes that meet."""
    axes, points = random_lines(rng)
    points[4:] = points[3]
    points = points + rng.uniform(-0.7, 0.7, (6, 1)) * axes
    return chain_of(order + 'R' * (joints - 3), axes, points, rng, size)


def scara(slide, rng):
    """Return three parallel axes of any signs and a slide along them, before joint ``slide`` + 1."""
    axes, points = random_lines(rng)
    make_parallel(axes, rng, 0, 1, 2, 3)
    order = ['R'] * 3
    order.insert(slide, 'P')
    return chain_of(''.join(order), axes, points, rng)


def stanford(rng, offset=0.15):
    """Return the arm of Stanford's proportions: two perpendicular turns, a slide across the second, a wrist."""
    axes = np.array([Z, Y, X, X, Y, X])
    points = np.array([[0, 0, 0.4], [0, 0, 0.4], [0, offset, 0.4], *[[0.0, offset, 0.4]] * 3])
    return chain_of('RRPRRR', axes, points, rng)


def cylindrical(rng):
    """Return a column that turns, a lift and a boom, with a wrist."""
    axes = np.array([Z, Z, X, Z, Y, X])
    points = np.array([[0, 0, 0], [0, 0, 0], [0, 0.1, 0.5], *[[0.3, 0.1, 0.5]] * 3])
    return chain_of('RPPRRR', axes, points, rng)


def gantry(rng, wrist_offset=0.0):
    """Return three perpendicular slides and a wrist whose axes meet, or miss each other."""
    axes = np.array([X, Y, Z, Z, Y, X])
    points = np.array([[0, 0, 0.0]] * 4 + [[wrist_offset, 0, -0.1], [0, wrist_offset, -0.2]])
    if not wrist_offset:
        points[3:] = [0.0, 0.0, -0.1]
    return chain_of('PPPRRR', axes, points, rng)


def planar_shoulder(order, rng):
    """Return two parallel turns and a slide along neither, with a wrist."""
    axes, points = random_lines(rng)
    make_parallel(axes, rng, *(i for i in range(3) if order[i] == 'R'))
    points[4:] = points[3]
    return chain_of(order + 'RRR', axes, points, rng)


def perpendicular_slide(order, rng, meeting=False):
    """Return a slide perpendicular to the middle axis, which may meet the axis of the joint on the other side."""
    axes, points = random_lines(rng)
    slide = order.index('P')
    across = np.cross(axes[1], direction(rng))
    axes[slide] = across / np.linalg.norm(across)
    if meeting:
        points[2 - slide] = points[1]
    points[4:] = points[3]
    return chain_of(order + 'RRR', axes, points, rng)


def friendly(rng):
    """Return a chain whose axes run along x, y and z through the corners of a small box, one of them perhaps not."""
    order = ORDERS[rng.integers(len(ORDERS))] + 'R' * rng.integers(0, 4)
    axes = np.eye(3)[rng.integers(0, 3, 6)] * rng.choice([-1.0, 1.0], (6, 1))
    points = 0.3 * rng.integers(0, 2, (6, 3))
    if rng.random() < 0.7:
        points[4:] = points[3]
    if rng.random() < 0.3:
        axes[rng.integers(6)] = direction(rng)
    chain = chain_of(order, axes, points, rng)
    return backwards(chain, rng) if rng.random() < 0.5 else chain


def mixed(order, rng):
    """Return slides and turns in any order, in general geometry; no axes meet."""
    axes, points = random_lines(rng)
    return chain_of(order, axes, points, rng)


def serial_chain(chain, lower=None, upper=None):
    """Return an oracle's chain as the package's, without limits unless some are given."""
    n = chain.size
    kinds = [JointKind.REVOLUTE if turns else JointKind.PRISMATIC for turns in chain.turns]
    return SerialChain(
        base_link='base',
        tip_link='tip',
        joint_names=tuple(f'joint_{i + 1}' for i in range(n)),
        kinds=np.array(kinds, dtype=np.int64),
        axes=chain.axes.copy(),
        points=chain.points.copy(),
        home=chain.home.copy(),
        lower=np.full(n, -np.inf) if lower is None else np.array(lower, dtype=float),
        upper=np.full(n, np.inf) if upper is None else np.array(upper, dtype=float),
        joint_indices=np.arange(n),
        idx_q=np.arange(n),
    )


def arm_of(chain, lower=None, upper=None):
    """Return the arm under test of an oracle's chain."""
    return AnalyticArm(serial_chain(chain, lower, upper))
