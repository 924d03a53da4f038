"""The balls of the proof that no curve is missing: as large as the formulas say, joined as these allow, bounds that are met."""

from test.self_motions.test_curves import random_postures
from test.self_motions.test_proof import chain_of, Traced, what_is_left

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros import Manipulator
from ssik_ros.kernels.closed_form.self_motions import proof, segments, trace
from ssik_ros.kernels.geometry.rotations import pose_numbers
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.self_motions import completeness
from ssik_ros.solvers.self_motions.curve import JOINTS

ARMS = ('panda', 'iiwa14')
ROUNDING = 1.01
"""The factor on kappa and on g that docs/math/self_motions.md states."""
INSIDE, LEAST = 0.9, 1e-7
"""Share of a ball in which candidates are, and the least radius of one, stated there too."""
BOUNDS = ((1, 0.1, 0.2), (4, -0.07, 0.3))
"""Joint, place along its axis and length of some bounds."""


class Balls:
    """The proof for some knots of an arm, and its formulas at a posture."""

    def __init__(self, name, bound):
        arm = Manipulator.from_prebuilt(name)
        self.chain = chain_of(name)
        self.plan = AnalyticArm(self.chain).plan
        self.bound = completeness.bound_at(self.chain, *bound)
        self.postures = random_postures(arm, 4, 71)

    def is_proved(self, rows, target, seeds=None, arc=1e-7):
        """Return whether knots at postures are proved to be one curve, and which seeds are on it."""
        seeds = np.zeros((1, 7)) if seeds is None else seeds
        knots = np.zeros((len(rows), segments.COLUMNS))
        for row, (q, tangent) in enumerate(rows):
            knots[row, :7], knots[row, 7:14], knots[row, segments.ARC] = q, tangent, row * arc
        goes_on = np.ones(len(rows), dtype=np.int64)
        goes_on[-1] = 0
        is_on, work = (
            np.zeros(len(seeds), dtype=np.int64),
            np.empty(proof.scratch_size(len(seeds))),
        )
        where = self.plan.ints, self.plan.reals, pose_numbers(target), JOINTS, work
        gap = proof.prove(is_on, knots, goes_on, seeds, np.array(self.bound), *where)
        return gap < 0, is_on.astype(bool)

    def jacobian(self, q):
        """Return DF (6, 7) at a posture, for the pose that it has."""
        there, step = self.chain.pose(q), 1e-5 * np.eye(7)
        columns = [
            what_is_left(self.chain, self.bound, there, q + h)
            - what_is_left(self.chain, self.bound, there, q - h)
            for h in step
        ]
        return np.array(columns).T / 2e-5

    def tangent(self, q):
        """Return the unit null vector (7,)."""
        return np.linalg.svd(self.jacobian(q))[2][6]

    def ball(self, q, target):
        """Return 1 / kappa and g."""
        inverse = np.linalg.pinv(self.jacobian(q))
        kappa = ROUNDING * self.bound.bend * np.linalg.norm(inverse)
        left = inverse @ what_is_left(self.chain, self.bound, target, q)
        turn = Rotation.from_matrix(self.chain.pose(q)[:3, :3].T @ target[:3, :3]).magnitude()
        return 1.0 / kappa, ROUNDING * kappa * (np.linalg.norm(left) + np.sin(turn))

    def pose_beside(self, q, g, seed):
        """Return a pose that a posture misses so that its ball has about this g."""
        shift = 1e-7 * np.random.default_rng(seed).standard_normal(7)
        return self.chain.pose(q + g / self.ball(q, self.chain.pose(q + shift))[1] * shift)


@pytest.mark.sampled
@pytest.mark.parametrize('name', ARMS)
@pytest.mark.parametrize('bound', BOUNDS)
@pytest.mark.parametrize('g', [0.0, 0.04])
def test_candidates_lie_on_the_curve_within_the_ball_and_no_farther(name, bound, g):
    balls, rng = Balls(name, bound), np.random.default_rng(3)
    for q in balls.postures:
        target = balls.pose_beside(q, g, 5) if g else balls.chain.pose(q)
        free, slack = balls.ball(q, target)
        radius = INSIDE * free * np.sqrt(0.75 - 2.0 * slack)
        shifts = rng.standard_normal((20, 7))
        shifts /= np.linalg.norm(shifts, axis=1)[:, None]
        # In the plane of the other joints, too, where the held one says nothing.
        shifts[:10, balls.plan.held] = 0.0
        sizes = np.linalg.norm(shifts, axis=1)[:, None]
        for share, expected in ((0.99, True), (1.01, False)):
            seeds = np.ascontiguousarray(q + share * radius * shifts / sizes)
            proved, is_on = balls.is_proved([(q, balls.tangent(q))], target, seeds)
            assert proved and (is_on == expected).all()


def is_joined(first, second, step, tangent):
    """Return by how much, in units of the ball, one of the rules joins two balls; negative where none does."""
    (free, g), (free_b, g_b) = first, second
    reach, reach_b = free * np.sqrt(0.75 - 2.0 * g), free_b * np.sqrt(0.75 - 2.0 * g_b)
    distance = np.linalg.norm(step)
    ahead = np.linalg.norm(0.5 * free * tangent - step)
    rules = (
        reach_b - distance - 2.0 * g * free,
        reach - distance - 2.0 * g_b * free_b,
        reach_b - ahead - free + reach,
    )
    return max(rules) / free


@pytest.mark.sampled
@pytest.mark.parametrize('name', ARMS)
@pytest.mark.parametrize('g', [0.0, 0.03])
def test_balls_are_joined_where_a_solution_of_one_is_in_the_other(name, g):
    balls, seen = Balls(name, BOUNDS[0]), []
    for q in balls.postures:
        target = balls.pose_beside(q, g, 6) if g else balls.chain.pose(q)
        first, t = balls.ball(q, target), balls.tangent(q)
        for share in np.linspace(-1.2, 1.6, 15):
            other = q + share * first[0] * t
            second = balls.ball(other, target)
            margin = is_joined(first, second, other - q, t)
            if second[1] > 0.045 or abs(margin) < 0.01:
                continue
            ahead = balls.tangent(other)
            knots = [(q, t), (other, ahead if ahead @ t > 0.0 else -ahead)]
            assert balls.is_proved(knots, target)[0] == (margin > 0.0), share
            seen.append((share > 0.0, margin > 0.0))
    assert all(seen.count(case) > 3 for case in {(a, b) for a in (0, 1) for b in (0, 1)})


def test_a_half_turn_from_the_pose_is_no_solution():
    balls = Balls('panda', BOUNDS[0])
    q = balls.postures[0]
    turned = balls.chain.pose(q)
    turned[:3, :3] = turned[:3, :3] @ Rotation.from_rotvec([0.0, np.pi, 0.0]).as_matrix()
    assert not balls.is_proved([(q, balls.tangent(q))], turned)[0]


def test_balls_that_rounding_may_fill_prove_nothing():
    # The elbow of an iiwa is nearly straight.
    balls = Balls('iiwa14', BOUNDS[0])
    for elbow, expected in ((1e-5, True), (1e-6, False)):
        q = np.array([0.4, 0.7, 0.2, elbow, 0.3, 0.9, -0.4])
        free, _ = balls.ball(q, balls.chain.pose(q))
        assert bool(0.8 * free > LEAST) is expected
        assert balls.is_proved([(q, balls.tangent(q))], balls.chain.pose(q))[0] is expected


def planar(places, slide=None, travel=0.0):
    """Return seven joints with parallel axes at places along a line [m], one of which may slide along it."""
    kinds = np.array([JointKind.REVOLUTE] * 7)
    axes, lower, upper = np.tile([0.0, 0.0, 1.0], (7, 1)), np.full(7, -3.0), np.full(7, 3.0)
    if slide is not None:
        kinds[slide], axes[slide] = JointKind.PRISMATIC, (1.0, 0.0, 0.0)
        lower[slide], upper[slide] = -travel, travel
    points = np.zeros((7, 3))
    points[:, 0] = places
    index = np.arange(7)
    names = tuple(f'j{k}' for k in index)
    return SerialChain(
        'base', 'tip', names, kinds, axes, points, np.eye(4), lower, upper, index, index
    )


def largest_bend(chain, bound, target, q):
    """Return the largest |D2F(u, u)| of unit vectors at a posture."""
    h = 1e-3

    def left(u):
        return what_is_left(chain, bound, target, q + u)

    step, bends = h * np.eye(7), np.zeros((7, 7, 6))
    for i in range(7):
        for j in range(7):
            a, b = step[i], step[j]
            bends[i, j] = (left(a + b) - left(a - b) - left(b - a) + left(-a - b)) / (4.0 * h * h)
    best, rng = 0.0, np.random.default_rng(1)
    for _ in range(5):
        bend = rng.standard_normal(6)
        for _ in range(20):
            values, vectors = np.linalg.eigh(bends @ (bend / np.linalg.norm(bend)))
            u = vectors[:, np.argmax(np.abs(values))]
            bend = np.einsum('ijk,i,j->k', bends, u, u)
        best = max(best, float(np.linalg.norm(bend)))
    return best


EQUAL, SPREAD = (0.0, *[0.4] * 6), (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ('places', 'joint', 'length', 'slide', 'travel'),
    [
        # All reaches are the same: the rotation has its largest share in the bound.
        (EQUAL, 0, 0.4, None, 0.0),
        (SPREAD, 0, 0.1, None, 0.0),
        (SPREAD, 6, 0.1, None, 0.0),
        (SPREAD, 4, 0.1, None, 0.0),
        # Seen from the bound, joints beyond a slide have its travel in their reach.
        (SPREAD, 0, 0.1, 1, 3.0),
        (SPREAD, 6, 0.1, 5, 3.0),
        # Seen from the bound, joints beyond a slide rotate its displacement.
        ((0.0, *[0.02] * 6), 0, 0.1, 1, 0.01),
        ((*[0.02] * 6, 0.0), 6, 0.1, 5, 0.01),
    ],
)
def test_a_stretched_arm_meets_the_bound_of_the_second_derivative(
    places, joint, length, slide, travel
):
    chain, q = planar(places, slide, travel), np.zeros(7)
    if slide is not None:
        q[slide] = travel
    bound = completeness.bound_at(chain, joint, 0.0, length)
    # Nearly half a turn away, where the quaternion bends most.
    target = chain.pose(q)
    target[:3, :3] = target[:3, :3] @ Rotation.from_rotvec([0.0, 0.0, 3.0]).as_matrix()
    largest = largest_bend(chain, bound, target, q)
    assert 0.93 * bound.bend < largest < 1.0001 * bound.bend


@pytest.mark.parametrize(
    ('kind', 'reason'),
    [
        (trace.SINGULAR, 'a curve ends in a singular posture'),
        (trace.CROSSING, 'two curves cross, or nearly do'),
    ],
)
def test_curves_with_such_ends_are_not_proved_to_be_all(kind, reason):
    (q,) = random_postures(Manipulator.from_prebuilt('panda'), 1, 46)
    traced = Traced('panda', q)
    assert traced.gap() == ''
    knots = traced.table.knots.copy()
    knots[0, segments.KIND] = kind
    assert traced.gap(knots=knots) == reason


def test_arms_that_are_nearly_of_a_class_are_not_proved():
    arm = Manipulator.from_prebuilt('gen3')
    motions = arm.self_motions(arm.fk(random_postures(arm, 1, 46)[0]))
    assert not motions.is_complete and 'not exactly of its class' in motions.reason
