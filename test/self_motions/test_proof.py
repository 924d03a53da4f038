"""The proof that no curve is missing: its bound holds, and it finds each fault that is put in on purpose."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_curves import random_postures

from ssik_ros import Manipulator
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.self_motions import completeness

ARMS = ('panda', 'iiwa14', 'xarm7', 'rizon4')


def chain_of(name):
    """Return the chain of an arm."""
    arm = Manipulator.from_prebuilt(name)
    return SerialChain.from_group(arm.robot, arm.group)


def with_slide(chain, joint):
    """Return a chain of which one joint slides."""
    kinds, lower, upper = chain.kinds.copy(), chain.lower.copy(), chain.upper.copy()
    kinds[joint], lower[joint], upper[joint] = JointKind.PRISMATIC, -0.3, 0.4
    return dataclasses.replace(chain, kinds=kinds, lower=lower, upper=upper)


def motion_of(chain, k, value):
    """Return the motion (4, 4) of one joint."""
    moved = np.eye(4)
    if chain.kinds[k] == JointKind.PRISMATIC:
        moved[:3, 3] = value * chain.axes[k]
        return moved
    moved[:3, :3] = Rotation.from_rotvec(value * chain.axes[k]).as_matrix()
    moved[:3, 3] = chain.points[k] - moved[:3, :3] @ chain.points[k]
    return moved


def what_is_left(chain, bound, target, q):
    """Return F (6,): a point placed from the base and from the tip, and twice the vector part of the quaternion between."""
    joint, along, length, _ = bound
    point = np.append(chain.points[joint] + along * chain.axes[joint], 1.0)
    near, far = np.eye(4), np.eye(4)
    for k in range(joint + 1):
        near = near @ motion_of(chain, k, q[k])
    for k in range(joint + 1, len(q)):
        far = far @ motion_of(chain, k, q[k])
    far = target @ np.linalg.inv(far @ chain.home)
    turn = Rotation.from_matrix(near[:3, :3] @ far[:3, :3].T).as_quat(canonical=True)
    return np.append(((near - far) @ point)[:3] / length, 2.0 * turn[:3])


@pytest.mark.sampled
@pytest.mark.parametrize('name', ARMS)
@pytest.mark.parametrize('slide', [None, 0, 3, 6])
def test_the_bound_of_the_second_derivative_holds(name, slide):
    chain = chain_of(name) if slide is None else with_slide(chain_of(name), slide)
    rng, largest = np.random.default_rng(5), 0.0
    for joint in (1, 2, 4):
        bound = completeness.bound_at(chain, joint, 0.1, 0.2)
        for _ in range(40):
            low, high = np.clip([chain.lower, chain.upper], -np.pi, np.pi)
            q = low + (high - low) * rng.random(7)
            target = chain.pose(q + 0.3 * rng.standard_normal(7))
            u = rng.standard_normal(7) * (rng.random(7) < 0.6)
            u, h = u / max(np.linalg.norm(u), 1e-9), 1e-3
            values = [what_is_left(chain, bound, target, q + s * u) for s in (-h, 0.0, h)]
            bend = np.linalg.norm(values[0] - 2.0 * values[1] + values[2]) / h**2
            assert bend <= bound.bend * (1.0 + 1e-6)
            largest = max(largest, bend / bound.bend)
    assert largest > 0.1


def gap(motions, knots=None, rows=None, candidates=None):
    """Return the gap of the proof with other knots or candidates."""
    pose, *parts, look = motions._find_gap.args
    given = zip((knots, rows, candidates), [*parts, look()], strict=True)
    changed = [part if new is None else new for new, part in given]
    return completeness.find_gap(pose, *changed, motions._find_gap.func.__self__._bound)


def is_off(reason):
    """Return whether a reason says that a posture is on no curve."""
    return reason == 'a posture was not proved to lie on a curve' or 'not followed' in reason


def some_motions(name, count, seed):
    """Return the self-motions of some random poses, and those whose completeness is proved."""
    arm = Manipulator.from_prebuilt(name)
    every = [arm.self_motions(arm.fk(q)) for q in random_postures(arm, count, seed)]
    return every, [motions for motions in every if motions.is_complete]


@pytest.mark.sampled
@pytest.mark.parametrize('name', ARMS)
def test_the_proof_succeeds_for_nearly_all_poses(name):
    _, proved = some_motions(name, 40, 45)
    assert len(proved) >= 38
    assert all(motions.reason == '' for motions in proved)


@pytest.mark.sampled
@pytest.mark.parametrize('name', ARMS)
def test_a_curve_that_is_left_out_is_noticed(name):
    _, proved = some_motions(name, 6, 46)
    for motions in proved:
        for curve in range(len(motions._rows)):
            ends = np.cumsum(motions._rows)
            is_kept = np.ones(len(motions._knots), dtype=bool)
            is_kept[ends[curve] - motions._rows[curve] : ends[curve]] = False
            rows = np.delete(motions._rows, curve)
            reason = gap(motions, np.ascontiguousarray(motions._knots[is_kept]), rows)
            # A curve between two values of the held joint is not among the proved curves.
            held_values = motions._knots[~is_kept][:, motions._pose.plan.held]
            assert is_off(reason) or np.ptp(held_values) < 0.4


@pytest.mark.parametrize('name', ARMS)
def test_knots_of_two_curves_are_not_proved_to_be_one(name):
    _, proved = some_motions(name, 8, 47)
    tried = 0
    for motions in proved:
        if len(motions._rows) < 2:
            continue
        # The first curve goes on with the knots of the second one.
        rows = np.append(motions._rows[0] + motions._rows[1], motions._rows[2:])
        knots = motions._knots.copy()
        first, second = motions._rows[0], motions._rows[:2].sum()
        distance = np.linalg.norm(knots[first, :7] - knots[first - 1, :7])
        knots[first:second, 14] += knots[first - 1, 14] + distance
        assert (
            gap(motions, knots, rows) == 'a curve passes too near a singular posture for a proof'
        )
        tried += 1
    assert tried > 2


def test_a_posture_beside_the_curves_is_noticed():
    _, proved = some_motions('panda', 6, 48)
    for motions in proved:
        q = motions.sample(0.3)
        for row in q[:: max(len(q) // 20, 1)]:
            assert gap(motions, candidates=row[None]) == ''
            # No solution, and so none that is missing.
            posture = row + 0.3
            assert gap(motions, candidates=posture[None]) == ''


def knot(arm, q, ahead, arc):
    """Return a knot (1, segments.COLUMNS) at a posture, its tangent pointing to another posture."""
    tangent = np.linalg.svd(arm.jacobian(q))[2][6]
    tangent = tangent if tangent @ (ahead - q) > 0.0 else -tangent
    return np.concatenate([q, tangent, [arc, 0.0, 0.0]])[None]


def test_a_step_between_parallel_curves_is_not_proved():
    # The elbow is nearly straight: the curves with its two signs are nowhere farther apart than this.
    arm = Manipulator.from_prebuilt('iiwa14')
    q = np.array([0.4, 0.7, 0.2, 0.05, 0.3, 0.9, -0.4])
    motions = arm.self_motions(arm.fk(q))
    assert motions.is_complete
    nearest_curve = min(motions, key=lambda curve: curve.nearest(q).value)
    s = nearest_curve.nearest(q).s
    neighbour = min((c.nearest(q) for c in motions if c(0.0)[3] < 0.0), key=lambda p: p.value).q
    assert 0.05 < np.linalg.norm(neighbour - q) < 0.3
    for last, expected in (
        (nearest_curve(s + 1e-3 if s + 1e-3 < nearest_curve.length else s - 1e-3), True),
        (neighbour, False),
    ):
        # So short a way is looked at in one step.
        pair = [knot(arm, q, last, 0.0), knot(arm, last, 2.0 * last - q, 1e-3)]
        assert (gap(motions, np.vstack(pair), np.array([2]), q[None]) == '') is expected


def test_a_posture_on_another_curve_is_noticed():
    arm = Manipulator.from_prebuilt('iiwa14')
    q = np.array([0.4, 0.7, 0.2, 0.05, 0.3, 0.9, -0.4])
    motions = arm.self_motions(arm.fk(q))
    assert motions.is_complete
    neighbour = min((c.nearest(q) for c in motions if c(0.0)[3] < 0.0), key=lambda p: p.value).q
    lone = knot(arm, q, q + 1.0, 0.0)
    assert gap(motions, lone, np.array([1]), q[None]) == ''
    assert is_off(gap(motions, lone, np.array([1]), neighbour[None]))
