"""Chains of six revolute joints by name: random ones, arms typed in by their parameters, 7R arms with one joint locked."""

from test.complete_oracle import LineChain, rotations

import numpy as np

RIGHT = np.pi / 2.0
RANDOM = 6
"""How many random chains there are: one without structure is like another."""


def chain_of(axes, points):
    """Return the chain of six joints on lines whose tip is the base frame at zero, so that its poses are G."""
    return LineChain(np.array(axes), np.array(points), np.eye(4))


def numbers_of(pose):
    """Return a pose (4, 4) as the twelve numbers of a kernel."""
    return np.concatenate([pose[:3, :3].ravel(), pose[:3, 3]])


def pose_of(numbers):
    """Return the pose (4, 4) of twelve numbers."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = numbers[:9].reshape(3, 3), numbers[9:]
    return pose


def target(chain, q):
    """Return G, twelve numbers, at a posture."""
    return numbers_of(chain.poses(q)[0])


def rounded_differently(chain, generator):
    """Return a chain whose numbers differ by up to 1e-13 of themselves; its axes are unit vectors again."""
    axes, points = (
        lines * (1.0 + 1e-13 * generator.uniform(-1.0, 1.0, lines.shape))
        for lines in (chain.axes, chain.points)
    )
    return chain_of(axes / np.linalg.norm(axes, axis=1)[:, None], points)


def translate(x, y, z):
    """Return a translation (4, 4)."""
    motion = np.eye(4)
    motion[:3, 3] = x, y, z
    return motion


def turn(axis, angle):
    """Return a rotation (4, 4) about an axis through the origin."""
    motion = np.eye(4)
    motion[:3, :3] = rotations(np.asarray(axis, dtype=float), angle)[0]
    return motion


def from_links(before, after):
    """Return the chain of z axes with a fixed motion before and after each joint."""
    pose, axes, points = np.eye(4), [], []
    for first, last in zip(before, after, strict=True):
        pose = pose @ first
        axes.append(pose[:3, 2])
        points.append(pose[:3, 3])
        pose = pose @ last
    return chain_of(axes, points)


def from_distal(alpha, a, d):
    """Return a chain from Denavit-Hartenberg parameters whose link follows the joint."""
    links = [
        translate(0, 0, z) @ translate(x, 0, 0) @ turn((1, 0, 0), t)
        for t, x, z in zip(alpha, a, d, strict=True)
    ]
    return from_links([np.eye(4)] * len(alpha), links)


def from_proximal(alpha, a, d):
    """Return a chain from Denavit-Hartenberg parameters whose link precedes the joint."""
    links = [turn((1, 0, 0), t) @ translate(x, 0, 0) for t, x in zip(alpha, a, strict=True)]
    return from_links(links, [translate(0, 0, z) for z in d])


def random_chain(seed):
    """Return a chain without any structure."""
    generator = np.random.default_rng(seed)
    axes = generator.normal(size=(6, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    return chain_of(axes, generator.normal(size=(6, 3)))


def calibrated(chain, seed, size=1e-3):
    """Return a chain whose axes are off by about 1e-3, as calibration finds them."""
    generator = np.random.default_rng(seed)
    axes = chain.axes + size * generator.normal(size=chain.axes.shape)
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    return chain_of(axes, chain.points + size * generator.normal(size=chain.points.shape))


def lock(chain, joint, value):
    """Return the chain of six that is left of one of seven when a joint is held."""
    held = chain.held(joint, value)
    return chain_of(held.axes, held.points)


def _jaco2():
    """Return the curved-wrist arm from its published link lengths."""
    base, upper, fore, first, second, hand, offset = (
        0.2755,
        0.41,
        0.2073,
        0.0741,
        0.0741,
        0.16,
        0.0098,
    )
    share = np.sin(np.pi / 6) / np.sin(np.pi / 3)
    return from_distal(
        [RIGHT, np.pi, RIGHT, np.pi / 3, np.pi / 3, np.pi],
        [0, upper, 0, 0, 0, 0],
        [
            base,
            0,
            -offset,
            -fore - share * first,
            -share * (first + second),
            -share * second - hand,
        ],
    )


ARMS = {
    'ur5e': from_distal(
        [RIGHT, 0, 0, RIGHT, -RIGHT, 0],
        [0, -0.425, -0.3922, 0, 0, 0],
        [0.1625, 0, 0, 0.1333, 0.0997, 0.0996],
    ),
    'puma': from_distal(
        [RIGHT, 0, -RIGHT, RIGHT, -RIGHT, 0],
        [0, 0.4318, 0.0203, 0, 0, 0],
        [0, 0, 0.15005, 0.4318, 0, 0],
    ),
    'jaco2': _jaco2(),
    'xarm6': from_proximal(
        [0, -RIGHT, 0, -RIGHT, RIGHT, -RIGHT],
        [0, 0, 0.28948866, 0.0775, 0, 0.076],
        [0.267, 0, 0, 0.3425, 0, 0.097],
    ),
    'manseur_doty': from_distal(
        np.radians([90, 1, 90, 1, 90, 1]), [0.3, 1, 0, 1.5, 0, 0], [0, 0, 0.2, 0, 0, 0]
    ),
}
IIWA = from_proximal(
    [0, -RIGHT, RIGHT, RIGHT, -RIGHT, -RIGHT, RIGHT],
    [0, 0, 0, 0, 0, 0, 0],
    [0.36, 0, 0.42, 0, 0.4, 0, 0.126],
)
"""The dimensions of the iiwa 14."""
SIXTEEN_ROTATION = np.array(
    [-0.760117, -0.641689, 0.102262, 0.133333, 0.0, 0.991071, -0.635959, 0.766965, 0.085558]
)
"""Rotation of the pose that the arm of Manseur and Doty reaches in sixteen ways, to six digits."""
SIXTEEN_POINT = np.array([-1.140175, 0.0, 0.0])


def all_chains():
    """Return the chains that need no robot file, by name."""
    chains = {f'random_{seed}': random_chain(seed) for seed in range(RANDOM)}
    chains |= ARMS
    chains |= {
        f'{name}_calibrated': calibrated(ARMS[name], 1) for name in ('ur5e', 'puma', 'xarm6')
    }
    chains |= {
        f'iiwa_{joint}': lock(IIWA, joint, 0.37 + 0.1 * joint) for joint in (0, 1, 2, 4, 5, 6)
    }
    return chains
