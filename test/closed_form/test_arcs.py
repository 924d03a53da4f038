"""
Held joints within limits: no arc is missed, no pose is empty, nothing is outside.

Two oracles. A dense scan computes the branches at 20,000 explicit values of the held joint, without a search for arcs.
The other oracle uses no code of the package: it follows the motions of the test's own chain that keep the pose.
"""

from test.closed_form.arms_under_test import arm_of, catalogue_arm, catalogue_chain
from test.complete_oracle import wrap

import numpy as np
import pytest

from ssik_ros.kernels.closed_form.branches import arcs, held_branches, held_search
from ssik_ros.model.catalogue import arm_data, list_arms
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays
from ssik_ros.solvers.closed_form.branch_request import BranchRequest

FOLLOWED = ('panda', 'fr3', 'iiwa7', 'iiwa14', 'j2s7s300', 'xarm7')
"""Arms whose branches are followed over the held joint."""
NEARLY = ('gen3', 'xarm7_published', 'baxter_left')
"""Arms that are followed on the nearest arm of a class."""
SEVEN = tuple(name for name in list_arms() if arm_data(name).dof == 7)
VALUES, AT_ONCE = 20_000, 250
WIDE = 1e-3
"""Arcs wider than this may not be missed [rad]."""
STEP, LONGEST = 5e-3, 20.0
"""Length of a step along a motion, and of the longest motion walked [rad]."""


def postures(arm, count, seed=0):
    """Return random postures (count, 7) within the limits, joints without any within a turn."""
    lower = np.where(np.isfinite(arm.chain.lower), arm.chain.lower, -np.pi)
    upper = np.where(np.isfinite(arm.chain.upper), arm.chain.upper, np.pi)
    return np.random.default_rng(seed).uniform(lower, upper, (count, len(lower)))


def pose_of(name, q):
    """Return the pose of a posture on the test's own chain."""
    return np.ascontiguousarray(catalogue_chain(name).poses(np.asarray(q, dtype=float))[0])


def ask(name, q, **options):
    """Return the branches at the pose of a posture, checked on the test's own chain and the limits."""
    arm, chain, pose = catalogue_arm(name), catalogue_chain(name), pose_of(name, q)
    result = arm.branches_refined(pose, BranchRequest(**options))
    assert chain.residuals(result.q, pose).max(initial=0.0) < 1e-9
    assert (result.q >= arm.chain.lower).all() and (result.q <= arm.chain.upper).all()
    return result


def near(angle, values):
    """Return an angle at the turn that is nearest to the middle of some values."""
    return angle + 2.0 * np.pi * np.round((values.mean() - angle) / (2.0 * np.pi))


class Arc:
    """One branch within limits over the held joint, by neighbouring postures."""

    def __init__(self, value, q):
        self.values, self.rows = [value], [q]

    def add(self, value, q):
        self.values.append(value)
        self.rows.append(q)

    def is_met(self, solutions, held, gap):
        """Return whether one of the solutions lies on the arc, whose values are ``gap`` apart."""
        values, rows = np.array(self.values), np.array(self.rows)
        for q in solutions:
            value = near(q[held], values)
            place = np.abs(values - value).argmin()
            if (
                abs(values[place] - value) <= 1.5 * gap
                and np.abs(wrap(rows[place] - q)).max() < 0.1
            ):
                return True
        return False

    @property
    def width(self):
        return abs(self.values[-1] - self.values[0])


def dense_arcs(arm, pose):
    """Return the arcs of a pose by branches at many values of the held joint, and how far these are apart."""
    held = arm.plan.held
    low, high = arm.requests.held_range(held, BranchRequest())
    values = low + (np.arange(VALUES) + 0.5) * (high - low) / VALUES
    done, growing = [], []
    for block in np.split(values, VALUES // AT_ONCE):
        rows = arm.branches(pose, BranchRequest(held_values=block)).q
        places = np.array([np.abs(block - near(q[held], block)).argmin() for q in rows])
        for k, value in enumerate(block):
            growing, ended = grow(growing, value, rows[places == k] if len(rows) else rows)
            done += ended
    return done + growing, (high - low) / VALUES


def grow(arcs, value, rows):
    """Add postures to the arcs that they continue; return those that go on or begin, and those that have ended."""
    pairs = sorted(
        (np.abs(wrap(arc.rows[-1] - q)).max(), i, j)
        for i, arc in enumerate(arcs)
        for j, q in enumerate(rows)
    )
    taken, used = {}, set()
    for distance, i, j in pairs:
        if distance < 0.3 and i not in taken and j not in used:
            taken[i] = j
            used.add(j)
    for i, j in taken.items():
        arcs[i].add(value, rows[j])
    begun = [Arc(value, q) for j, q in enumerate(rows) if j not in used]
    ended = [arc for i, arc in enumerate(arcs) if i not in taken]
    return [arc for i, arc in enumerate(arcs) if i in taken] + begun, ended


@pytest.mark.slow
@pytest.mark.parametrize('name', FOLLOWED)
def test_no_arc_of_a_dense_scan_is_missed(name):
    arm, seen = catalogue_arm(name), 0
    for q in postures(arm, 2, seed=21):
        solutions = ask(name, q).q
        arcs, gap = dense_arcs(arm, pose_of(name, q))
        for arc in arcs:
            if arc.width > WIDE:
                seen += 1
                assert arc.is_met(solutions, arm.plan.held, gap), (q.tolist(), arc.values[0])
    assert seen > 3


def null_direction(chain, q, pose):
    """Return the unit direction of joint motion that keeps the pose."""
    columns = chain.linearise(q[None], pose)[1][0]
    return np.linalg.svd(columns.T)[2][-1]


def walk(chain, q, pose, direction, lower, upper, held):
    """Return the postures from one on, until the limits are met or the held joint turns back."""
    rows, tangent = [], direction
    for _ in range(int(LONGEST / STEP)):
        step = null_direction(chain, q, pose)
        step = step if step @ tangent > 0.0 else -step
        if step[held] * direction[held] <= 0.0:
            break
        ahead, tangent = q + STEP * step, step
        for _ in range(3):
            error, columns = chain.linearise(ahead[None], pose)
            ahead = ahead + np.linalg.lstsq(columns[0].T, error[0], rcond=None)[0]
        if (ahead < lower).any() or (ahead > upper).any():
            break
        rows.append(ahead)
        q = ahead
    return rows


@pytest.mark.slow
@pytest.mark.parametrize('name', FOLLOWED)
def test_the_arc_of_a_posture_is_met_on_a_chain_of_the_tests_own(name):
    arm, chain = catalogue_arm(name), catalogue_chain(name)
    held, walked = arm.plan.held, 0
    for q in postures(arm, 4, seed=22):
        pose, solutions = pose_of(name, q), ask(name, q).q
        direction = null_direction(chain, q, pose)
        limits = arm.chain.lower, arm.chain.upper, held
        before = walk(chain, q, pose, -direction, *limits)[::-1]
        rows = np.array([*before, q, *walk(chain, q, pose, direction, *limits)])
        if abs(rows[-1, held] - rows[0, held]) < WIDE:
            continue
        walked += 1
        distances = np.abs(wrap(rows[:, None] - solutions[None])).max(axis=2)
        assert distances.min() < 2.0 * STEP, q.tolist()
    assert walked >= 3


@pytest.mark.sampled
@pytest.mark.parametrize('name', SEVEN)
def test_no_pose_of_a_posture_within_limits_is_empty(name):
    for q in postures(catalogue_arm(name), 60 if name in FOLLOWED + NEARLY else 4):
        assert len(ask(name, q).q)


@pytest.mark.parametrize('name', FOLLOWED)
def test_a_number_of_samples_is_the_least_that_is_tried_and_loses_no_pose(name):
    for q in postures(catalogue_arm(name), 20, seed=23):
        few, more = ask(name, q, samples=2), ask(name, q, samples=40)
        assert len(few.q) and len(more.q)
        assert few.samples >= 2 and more.samples >= 40
        assert few.raw >= few.certified >= few.branches == few.dropped + len(few.q)


@pytest.mark.parametrize('name', FOLLOWED)
def test_the_value_of_the_seed_is_tried_first_and_no_posture_comes_twice(name):
    held = catalogue_arm(name).plan.held
    for q in postures(catalogue_arm(name), 20, seed=24):
        solutions = ask(name, q, seed=q).q
        assert np.abs(solutions[0] - q).max() < 1e-6
        assert solutions[0, held] == pytest.approx(q[held], abs=1e-12)
        gaps = np.abs(solutions[:, None] - solutions[None]).max(axis=2) + np.eye(len(solutions))
        assert gaps.min() > 1e-9


@pytest.mark.parametrize('name', NEARLY)
def test_a_seed_that_is_a_posture_is_the_first_of_an_arm_that_is_nearly_of_a_class(name):
    for q in postures(catalogue_arm(name), 30, seed=24):
        solutions = ask(name, q, seed=q).q
        assert np.abs(solutions[0] - q).max() < 1e-6
        gaps = np.abs(solutions[:, None] - solutions[None]).max(axis=2) + np.eye(len(solutions))
        assert gaps.min() > 1e-9


def narrowed(name, q, joint_rooms):
    """Return the branches with some joints narrowed to (below, above) around a posture."""
    arm = catalogue_arm(name)
    lower, upper = arm.chain.lower.copy(), arm.chain.upper.copy()
    for joint, (below, above) in joint_rooms.items():
        lower[joint], upper[joint] = q[joint] - below, q[joint] + above
    result = arm.branches_refined(pose_of(name, q), BranchRequest(lower=lower, upper=upper))
    assert (result.q >= lower).all() and (result.q <= upper).all()
    return result.q


def rates(name, q):
    """Return how fast each joint turns where the held one turns with 1 and the pose stays."""
    direction = null_direction(catalogue_chain(name), q, pose_of(name, q))
    return direction / direction[catalogue_arm(name).plan.held]


@pytest.mark.parametrize('width', [1e-2, 1e-3, 1e-5, 0.0])
@pytest.mark.parametrize('name', FOLLOWED)
def test_an_arc_between_the_limits_of_two_joints_is_found_however_narrow(name, width):
    held, met = catalogue_arm(name).plan.held, 0
    for q in postures(catalogue_arm(name), 10, seed=25):
        speed = rates(name, q)
        a, b = [k for k in np.argsort(-np.abs(speed)) if k != held][:2]
        if not 0.1 < abs(speed[b]) <= abs(speed[a]) < 10.0:
            continue
        met += 1
        # One joint keeps the held one from going down, the other from going up.
        sides = {a: np.sign(speed[a]), b: -np.sign(speed[b])}
        room = {k: (width, 1.0) if side > 0.0 else (1.0, width) for k, side in sides.items()}
        solutions = narrowed(name, q, room)
        assert len(solutions), (q.tolist(), int(a), int(b))
    assert met >= 4


def test_all_of_a_circle_is_an_arc_without_limits():
    chain = catalogue_chain('iiwa14')
    arm = arm_of(chain)
    for q in postures(catalogue_arm('iiwa14'), 5, seed=26):
        pose = np.ascontiguousarray(chain.poses(q)[0])
        assert arm.requests.has_arcs(BranchRequest())
        assert len(arm.branches_refined(pose).q) >= 16


def test_a_pose_with_no_arc_is_empty_and_says_that_limits_are_why():
    q = np.array([0.3, 0.9, -0.4, -1.2, 0.6, 1.0, 0.2])
    arm = catalogue_arm('iiwa14')
    lower, upper = arm.chain.lower.copy(), arm.chain.upper.copy()
    lower[3], upper[3] = 0.0, 0.5
    result = arm.branches_refined(pose_of('iiwa14', q), BranchRequest(lower=lower, upper=upper))
    assert len(result.q) == 0 and result.branches == result.dropped > 0
    far = pose_of('iiwa14', q)
    far[:3, 3] *= 5.0
    result = arm.branches_refined(far)
    assert len(result.q) == result.branches == result.certified == 0


@pytest.mark.parametrize('name', ['iiwa7', 'iiwa14'])
def test_home_and_straight_elbows_at_corners_of_the_limits_are_solved(name):
    arm, rng = catalogue_arm(name), np.random.default_rng(27)
    assert len(ask(name, np.zeros(7)).q)
    for _ in range(10):
        q = np.where(rng.random(7) < 0.5, arm.chain.lower, arm.chain.upper)
        q[3] = 0.0
        assert len(ask(name, q).q), q.tolist()
        assert len(ask(name, q, seed=q).q), q.tolist()


def test_a_range_of_two_turns_is_sampled_once():
    arm = catalogue_arm('xarm7')
    low, high = arm.requests.held_range(arm.plan.held, BranchRequest())
    assert high - low == pytest.approx(2.0 * np.pi)


@pytest.mark.parametrize('turn', [-2.0 * np.pi, 2.0 * np.pi])
def test_the_seed_of_a_held_joint_is_taken_modulo_a_turn_where_limits_are_off(turn):
    arm = catalogue_arm('gen3')
    q = postures(arm, 1, seed=28)[0]
    seed = q.copy()
    seed[arm.plan.held] += turn
    solutions = arm.branches(pose_of('gen3', q), BranchRequest(seed=seed, mode=0)).q
    assert np.abs(wrap(solutions - q)).max(axis=1).min() < 1e-6


def test_arms_are_followed_that_the_tests_say_are():
    for name in SEVEN:
        arm: AnalyticArm = catalogue_arm(name)
        assert arm.requests.has_arcs(BranchRequest()) == (name in FOLLOWED + NEARLY), name


def test_scratch_suffices_for_any_number_of_samples_after_any_other():
    """Eleven values take more scanned places than twelve do."""
    for before in (1, 6, 11, 12, 13, 16):
        for wanted in range(1, 30):
            arrays = BranchArrays(7, 64)
            arrays.arc_arrays(before)
            reserved, last = arrays.arc_arrays(wanted), held_search.last_scanned(wanted)
            places = held_search.places_needed(last)
            assert reserved.places.size >= places * held_branches.place_size(7)
            assert reserved.stack.size >= arcs.stack_size(last)
            assert reserved.scratch.size >= held_search.scratch_size(7, wanted, 64)
