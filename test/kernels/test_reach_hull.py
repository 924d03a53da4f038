"""The hull of a chain's reach: it contains every position that joint values give, and little more."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros import Manipulator
from ssik_ros.kernels.rows import reach_hull
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.reach_hull import hull_of_wrist, make_hulls
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL

ARMS = ('panda', 'gen3', 'ur5e', 'irb6700', 'jaco2', 'xarm6', 'iiwa14', 'rizon4')
SLACK = 3e-4
"""Largest distance of the hull from the convex hull of the places, over how far they are from the first axis."""
SWEEPS = 80


def turned(axis, angles, x):
    """Return vectors (k, 3) turned about an axis by angles (k, 1)."""
    along = np.outer(x @ axis, axis)
    return np.cos(angles) * (x - along) + np.sin(angles) * np.cross(axis, x) + along


class Chain:
    """A chain as axes, points and limits of slides, and one point of its last link."""

    def __init__(self, slides, axes, points, lower, upper, point):
        """Make the hull of the chain's tip."""
        self.slides, self.axes, self.points = np.array(slides), axes, points
        self.lower, self.upper, self.point = lower, upper, point
        home = np.eye(4)
        home[:3, 3] = point
        blocks = make_hulls(self.slides, axes, points, lower, upper, home, is_full_pose=False)
        self.hull = None if blocks is None else blocks[reach_hull.HULL :]
        self.size = sum(np.linalg.norm(np.diff(np.vstack([points, point]), axis=0), axis=1))
        self.size += np.abs([lower[self.slides], upper[self.slides]]).sum()

    def move(self, joint, values, x):
        """Return places (k, 3) moved by a joint at its values (k,)."""
        axis, start, values = self.axes[joint], self.points[joint], values[:, None]
        if self.slides[joint]:
            return x + values * axis
        return start + turned(axis, values, x - start)

    def places(self, q):
        """Return where the point is at joint values (k, n)."""
        x = np.tile(self.point, (len(q), 1))
        for joint in range(q.shape[1] - 1, -1, -1):
            x = self.move(joint, q[:, joint], x)
        return x

    def draw(self, rng, count):
        """Return joint values (count, n)."""
        shape = count, len(self.axes)
        turns = rng.uniform(-np.pi, np.pi, shape)
        return np.where(self.slides, rng.uniform(self.lower, self.upper, shape), turns)

    def climb(self, q, u):
        """Return joint values at which no single joint brings the point farther in a direction of its own (k, 3)."""
        q, n = q.copy(), q.shape[1]
        for _ in range(SWEEPS):
            moved = [np.tile(self.point, (len(q), 1))]
            for joint in range(n - 1, 0, -1):
                moved.append(self.move(joint, q[:, joint], moved[-1]))
            aim = u
            for joint in range(n):
                axis = self.axes[joint]
                if self.slides[joint]:
                    ends = self.upper[joint], self.lower[joint]
                    q[:, joint] = np.where(aim @ axis > 0.0, *ends)
                    continue
                arm = moved[n - 1 - joint] - self.points[joint]
                arm = arm - np.outer(arm @ axis, axis)
                sine, cosine = (aim * np.cross(axis, arm)).sum(axis=1), (aim * arm).sum(axis=1)
                q[:, joint] = np.arctan2(sine, cosine)
                aim = turned(axis, -q[:, joint, None], aim)
        return q

    def farthest(self, u, rng, starts=40):
        """Return the places farthest in directions (k, 3), as far as climbing finds them."""
        aims = np.repeat(u, starts, axis=0)
        x = self.places(self.climb(self.draw(rng, len(aims)), aims))
        best = (x * aims).sum(axis=1).reshape(-1, starts).argmax(axis=1)
        return x.reshape(-1, starts, 3)[np.arange(len(u)), best]

    def excess(self, x):
        """Return how far a place is from the hull at least."""
        return reach_hull.excess(self.hull, *x)

    def is_beyond(self, x, margin=0.0):
        """Return whether a place is refused."""
        return reach_hull.is_beyond(self.hull, *x, margin)


def from_catalogue(name, at_wrist):
    """Return an arm of the catalogue with the point of its wrist, or its tip."""
    arm = Manipulator.from_prebuilt(name)
    chain = SerialChain.from_group(arm.robot, arm.group)
    point = hull_of_wrist(chain)[:3] if at_wrist else chain.home[:3, 3].copy()
    none = np.zeros(len(chain.axes))
    return Chain(none > 0.0, chain.axes, chain.points, none, none, point)


def random_chain(seed, leading=None):
    """Return a chain of three to eight joints, some of them slides; ``leading`` slides come first."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    slides = rng.uniform(size=n) < 0.25
    if leading is not None:
        slides[:leading] = True
        slides[leading] = False
    if not (~slides[:3]).any():
        slides[0] = False
    axes = rng.normal(size=(n, 3))
    # Parallel and perpendicular neighbours, as real arms have them.
    for joint in range(1, n):
        kind = rng.integers(3)
        if kind == 0:
            axes[joint] = axes[joint - 1] * rng.choice([-1.0, 1.0])
        elif kind == 1:
            axes[joint] = np.cross(axes[joint - 1], axes[joint])
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    points = np.cumsum(rng.normal(size=(n, 3)) * 0.3, axis=0)
    lower = rng.uniform(-0.5, 0.1, n)
    upper = lower + rng.uniform(0.0, 0.8, n)
    return Chain(slides, axes, points, lower, upper, points[-1] + 0.2 * rng.normal(size=3))


def directions(rng, count):
    """Return unit vectors."""
    u = rng.normal(size=(count, 3))
    return u / np.linalg.norm(u, axis=1)[:, None]


def chains():
    """Return chains of all kinds, by name."""
    made = {f'{name}, wrist': (from_catalogue, name, True) for name in ARMS}
    made |= {f'{name}, tip': (from_catalogue, name, False) for name in ARMS}
    made |= {f'random {seed}': (random_chain, seed) for seed in range(24)}
    made |= {f'rail {seed}': (random_chain, 100 + seed, 1) for seed in range(4)}
    return made | {f'gantry {seed}': (random_chain, 200 + seed, 2) for seed in range(4)}


@pytest.fixture(scope='module', params=chains().items(), ids=lambda item: item[0])
def chain(request):
    """Return one chain after the other."""
    make, *values = request.param[1]
    return make(*values)


def test_no_place_of_random_joint_values_is_refused(chain):
    rng = np.random.default_rng(1)
    for x in chain.places(chain.draw(rng, 400)):
        assert not chain.is_beyond(x)
        assert chain.excess(x) <= 0.0


@pytest.mark.sampled
def test_no_place_that_climbing_comes_to_is_refused(chain):
    rng = np.random.default_rng(2)
    for x in chain.farthest(directions(rng, 60), rng, starts=2):
        assert not chain.is_beyond(x), chain.excess(x)
        assert chain.excess(x) <= 0.0


@pytest.mark.slow
def test_the_hull_is_hardly_larger_than_what_climbing_reaches(chain):
    if chain.hull[reach_hull.SLIDES]:
        pytest.skip('the table of a chain on slides is that of what stands on them')
    rng, axis = np.random.default_rng(3), chain.hull[reach_hull.AXIS : reach_hull.AXIS + 3]
    start = chain.hull[reach_hull.ORIGIN : reach_hull.ORIGIN + 3]
    across = np.linalg.svd(axis[None])[2][1]
    z = np.linspace(-1.0, 1.0, reach_hull.DIRECTIONS)[:, None]
    u = ((1.0 - abs(z)) * across + z * axis)[::4]
    reached = ((chain.farthest(u, rng) - start) * u).sum(axis=1)
    slack = (chain.hull[reach_hull.TABLE :: 4] - reached) / np.linalg.norm(u, axis=1)
    assert slack.min() >= 0.0
    assert slack.max() <= SLACK * np.abs(chain.hull[reach_hull.TABLE :]).max()


@pytest.mark.slow
def test_a_place_one_percent_beyond_what_climbing_reaches_is_refused(chain):
    rng, count = np.random.default_rng(4), 60
    u = directions(rng, count)
    refused = sum(map(chain.is_beyond, chain.farthest(u, rng) + 0.01 * chain.size * u))
    # Where slides are not at right angles, the plane through the axis does not hold the best direction.
    assert refused == count or (chain.hull[reach_hull.SLIDES] > 0 and refused > 0)


def test_halving_finds_what_looking_at_every_direction_finds(chain):
    rng = np.random.default_rng(5)
    places = 1.2 * chain.size * directions(rng, 300) * rng.uniform(0.3, 1.0, (300, 1))
    beyond = 0
    for x in places + chain.hull[reach_hull.ORIGIN : reach_hull.ORIGIN + 3]:
        excess, margin = chain.excess(x), rng.uniform(0.0, 0.05)
        assert not (chain.is_beyond(x, margin) and excess <= margin)
        if excess > margin + 1e-5 * chain.size:
            beyond += 1
            assert chain.is_beyond(x, margin)
    assert beyond > 0


def test_planar_arms_have_their_disc_exactly():
    axes = np.tile([0.0, 0.0, 1.0], (3, 1))
    points = np.array([[0.0, 0.0, 0.1], [0.5, 0.0, 0.1], [0.9, 0.0, 0.1]])
    none = np.zeros(3)
    flat = Chain(none > 0.0, axes, points, none, none, np.array([1.2, 0.0, 0.1]))
    for angle in np.linspace(0.0, 6.0, 13):
        edge = 1.2 * np.array([np.cos(angle), np.sin(angle), 0.0]) + [0.0, 0.0, 0.1]
        assert not flat.is_beyond(edge)
        assert flat.is_beyond(edge * [1.0 + 1e-8, 1.0 + 1e-8, 1.0])
        assert flat.is_beyond(np.add(edge, [0.0, 0.0, 1e-8]))
    assert flat.is_beyond([0.3, 0.0, 0.1001]) and not flat.is_beyond([0.3, 0.0, 0.1])


def test_a_slide_reaches_as_far_as_its_limits_and_no_farther():
    axes = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    points = np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0]])
    limits = np.array([-1.0, 0.0]), np.array([2.0, 0.0])
    rail = Chain([True, False], axes, points, *limits, np.array([0.5, 0.0, 0.0]))
    for x, is_beyond in ((2.5 - 1e-9, False), (2.501, True), (-1.1, False), (-1.101, True)):
        assert rail.is_beyond([x, 0.0, 0.0]) == is_beyond
    assert not rail.is_beyond([1.0, 0.3, 0.0]) and rail.is_beyond([1.0, 0.301, 0.0])


def test_chains_without_a_bound_have_no_hull():
    axes, points = np.eye(3)[[0, 1, 2, 2]], np.zeros((4, 3))
    ends, point = (np.full(4, -1.0), np.full(4, 1.0)), np.array([0.1, 0.0, 0.0])
    assert Chain([True] * 4, axes, points, *ends, point).hull is None
    endless = np.full(4, -np.inf), np.full(4, np.inf)
    assert Chain([False, True, False, False], axes, points, *endless, point).hull is None
    more = np.vstack([axes, axes[:1]])
    ends = np.full(5, -1.0), np.full(5, 1.0)
    chain = Chain([True] * 4 + [False], more, np.zeros((5, 3)), *ends, point)
    assert chain.hull is None
    nothing = reach_hull.no_hull()[reach_hull.HULL :]
    assert not reach_hull.is_beyond(nothing, 1e9, 0.0, 0.0, 0.0)
    assert reach_hull.excess(nothing, 1e9, 0.0, 0.0) < 0.0


def test_limits_of_joints_that_turn_make_no_difference():
    chain = random_chain(3)
    other = np.where(chain.slides, chain.lower, 0.1), np.where(chain.slides, chain.upper, 0.2)
    same = Chain(chain.slides, chain.axes, chain.points, *other, chain.point)
    np.testing.assert_array_equal(chain.hull, same.hull)


def test_tolerances_widen_the_hull_by_the_lever_of_the_point():
    arm = Manipulator.from_prebuilt('ur5e')
    chain = SerialChain.from_group(arm.robot, arm.group)
    turns = np.zeros(len(chain.axes), dtype=bool)
    ends = np.zeros((2, len(turns)))
    block = make_hulls(turns, chain.axes, chain.points, *ends, chain.home, is_full_pose=True)
    block, hull = block[: reach_hull.BLOCK].copy(), block[reach_hull.HULL : reach_hull.BLOCK]
    turn = Rotation.from_rotvec([0.3, -1.0, 0.4]).as_matrix()
    wrist = np.array([3.0, 1.0, 0.5])
    tip = wrist - turn @ block[:3]
    pose = np.concatenate([turn.ravel(), tip])
    excess, lever = reach_hull.excess(hull, *wrist), block[reach_hull.LEVER]
    assert lever == pytest.approx(np.linalg.norm(block[:3])) and lever > 0.05
    for position, rotation, refused in (
        (0.0, 0.0, True),
        (0.9 * excess, 0.0, True),
        (1.01 * excess, 0.0, False),
        (0.0, 0.9 * excess / lever, True),
        (0.0, 1.01 * excess / lever, False),
        (0.5 * excess, 0.51 * excess / lever, False),
    ):
        assert reach_hull.refuses(block, 1, pose, position, rotation) == refused


class PoseHulls:
    """The hulls that full poses of a chain are compared with."""

    def __init__(self, chain, turn):
        """Make them for a tip with a rotation (3, 3) of its own when all joints are at zero."""
        self.chain, self.home = chain, np.eye(4)
        self.home[:3, :3], self.home[:3, 3] = turn, chain.point
        numbers = chain.slides, chain.axes, chain.points, chain.lower, chain.upper, self.home
        self.blocks = make_hulls(*numbers, is_full_pose=True)
        self.count = len(self.blocks) // reach_hull.BLOCK

    def poses(self, q):
        """Return the poses (k, 12) at joint values (k, n)."""
        frame = [*(self.chain.point + self.home[:3, :3].T), self.chain.point]
        places = []
        for point in frame:
            other = Chain.__new__(Chain)
            other.__dict__.update(self.chain.__dict__, point=point)
            places.append(other.places(q))
        turns = np.stack(places[:3], axis=2) - places[3][:, :, None]
        return np.hstack([turns.reshape(len(q), 9), places[3]])

    def refuses(self, pose, count=None):
        """Return whether the first hulls refuse a pose (12,), all of them by default."""
        return reach_hull.refuses(self.blocks, count or self.count, pose, 0.0, 0.0)

    def point_of(self, number):
        """Return the point of one of the hulls, with all joints at zero."""
        offset = self.blocks[number * reach_hull.BLOCK :][:3]
        return self.home[:3, :3] @ offset + self.chain.point


@pytest.mark.slow
def test_no_pose_that_joint_values_give_is_refused_by_points_of_the_last_axis(chain):
    rng = np.random.default_rng(6)
    if chain.slides[-1]:
        pytest.skip('no point of an axis that slides stays where it is')
    hulls = PoseHulls(chain, Rotation.from_rotvec([0.4, 1.1, -0.7]).as_matrix())
    reached = [chain.draw(rng, 200)]
    for number in range(hulls.count):
        other = Chain.__new__(Chain)
        other.__dict__.update(chain.__dict__, point=hulls.point_of(number))
        reached.append(other.climb(chain.draw(rng, 40), directions(rng, 40)))
    for pose in hulls.poses(np.vstack(reached)):
        assert not hulls.refuses(pose)


@pytest.mark.parametrize('name', ['ur5e', 'jaco2', 'xarm6'])
def test_points_of_the_last_axis_refuse_orientations_and_nothing_that_has_a_branch(name):
    arm = Manipulator.from_prebuilt(name)
    chain = SerialChain.from_group(arm.robot, arm.group)
    hulls = PoseHulls(from_catalogue(name, False), chain.home[:3, :3])
    rng, refused = np.random.default_rng(7), 0
    reach = np.abs(hulls.blocks[reach_hull.HULL + reach_hull.TABLE : reach_hull.BLOCK]).max()
    closed_form = AnalyticArm(chain)
    for turn, direction in zip(Rotation.random(800, rng), directions(rng, 800), strict=True):
        pose = np.concatenate(
            [turn.as_matrix().ravel(), rng.uniform(0.5, 1.0) * reach * direction]
        )
        if hulls.refuses(pose, 2) or not hulls.refuses(pose):
            continue
        matrix = np.vstack([np.hstack([pose[:9].reshape(3, 3), pose[9:, None]]), [0, 0, 0, 1]])
        assert closed_form.branches(matrix, BranchRequest(mode=KEEP_ALL)).certified == 0
        refused += 1
    assert refused >= 10


@pytest.mark.parametrize('name', ['irb6700', 'iiwa14', 'gen3'])
def test_an_axis_that_has_any_direction_anywhere_needs_no_more_points(name):
    chain = from_catalogue(name, False)
    assert PoseHulls(chain, np.eye(3)).count == 2
