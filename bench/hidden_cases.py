"""Draw goals that only their orientation puts out of reach, so that no bound on positions refuses them."""

import numpy as np

from bench.arms import Arm, FloatArray
from bench.cases import Cases, SEED
from bench.hard_cases import random_rotation, reach
from bench.peers import NotComparable
from ssik_ros.kernels.geometry import se3
from ssik_ros.kernels.geometry.rotations import rotate_about
from ssik_ros.kernels.rows import reach_hull
from ssik_ros.model.loader import load_robot
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.reach_hull import hull_of_wrist, make_hulls
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL

SHARES = (0.5, 1.0)
"""How far the tip is from the first axis, in reaches."""
SAMPLES = 1024
"""Values of the held joint of seven."""
BESIDE = 0.01
"""How far from a goal there must be no branch either, along and about six directions [m, rad]."""
MOST_DRAWS = 50
"""Poses that are drawn for each goal, at most."""


def draw_unreachable_inside(arm: Arm, count: int) -> Cases:
    """
    Draw goals without a solution whose tip and wrist lie inside the hulls of reach.

    The closed form without limits proves that six joints have no solution. For seven joints it tries :data:`SAMPLES`
    values of the held joint.

    :param arm: an arm of revolute joints with a closed form.
    :param count: number of goals.
    :raises NotComparable: if too few poses qualify; if a wrist rotates freely, positions refuse nearly all of them.
    """
    generator = np.random.default_rng(SEED)
    chain = SerialChain.from_robot(load_robot(arm.urdf_path), arm.base, arm.tip)
    closed_form = AnalyticArm(chain)
    request = BranchRequest(mode=KEEP_ALL, max_solutions=1, samples=SAMPLES)
    hulls = _hulls(chain)
    farthest, centre = reach(arm, np.zeros(3)), arm.joints[0].placement[:3, 3]
    targets: list[FloatArray] = []
    for _ in range(MOST_DRAWS * count):
        if len(targets) == count:
            break
        pose = _random_pose(generator)
        pose[:3, 3] = centre + generator.uniform(*SHARES) * farthest * pose[:3, 3]
        if not _is_refused(hulls, pose) and not _is_reached(closed_form, request, pose):
            targets.append(pose)
    if len(targets) < count:
        drawn = MOST_DRAWS * count
        raise NotComparable(f'{len(targets)} of {drawn} poses are such: the hull tells nearly all')
    lower, upper = arm.sampling_bounds()
    seeds = generator.uniform(lower, upper, (count, len(lower)))
    return Cases(np.full(seeds.shape, np.nan), seeds, np.array(targets))


def _is_reached(closed_form: AnalyticArm, request: BranchRequest, pose: FloatArray) -> bool:
    """Return whether a pose (4, 4), or one of twelve poses shifted from it by ``BESIDE``, has a branch."""
    for shift in (np.zeros(6), *(BESIDE * np.vstack([np.eye(6), -np.eye(6)]))):
        neighbour = pose.copy()
        if shift[3:].any():
            neighbour[:3, :3] = rotate_about(shift[3:] / BESIDE, BESIDE) @ pose[:3, :3]
        neighbour[:3, 3] += shift[:3]
        branches = closed_form.branches(neighbour, request)
        if branches is None or branches.certified:
            return True
    return False


def _random_pose(generator: np.random.Generator) -> FloatArray:
    """Return a transform (4, 4) of any rotation, its origin at a distance of one."""
    pose = np.eye(4)
    pose[:3, :3] = random_rotation(generator)
    direction = generator.normal(size=3)
    pose[:3, 3] = direction / np.linalg.norm(direction)
    return pose


def _hulls(chain: SerialChain) -> FloatArray:
    """Return the hulls of tip and wrist."""
    is_angle, none = np.zeros(len(chain.axes), dtype=bool), np.zeros(len(chain.axes))
    tip = make_hulls(
        is_angle, chain.axes, chain.points, none, none, chain.home, is_full_pose=False
    )
    wrist = hull_of_wrist(chain)
    if tip is None or wrist is None:
        raise ValueError('a chain of revolute joints has a hull')
    # The hull gives the wrist with all joints at zero; here it is needed in the frame of the tip.
    centre = chain.home[:3, :3].T @ (wrist[:3] - chain.home[:3, 3])
    return np.concatenate([tip, centre, wrist[len(centre) :]])


def _is_refused(hulls: FloatArray, pose: FloatArray) -> bool:
    """Return whether a hull tells that a pose (4, 4) is out of reach."""
    numbers = np.empty(12)
    se3.from_matrix(numbers, pose, 0)
    count = len(hulls) // reach_hull.BLOCK
    return bool(reach_hull.refuses(hulls, count, numbers, 0.0, 0.0))
