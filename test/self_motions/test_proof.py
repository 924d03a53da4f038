"""The proof that no curve is missing: its bound holds, and it finds each fault that is put in on purpose."""

import dataclasses

from test.self_motions.test_curves import random_postures

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros import Manipulator
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.self_motions import completeness
from ssik_ros.solvers.self_motions.tracer import SelfMotionTracer

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


class Traced:
    """The curves of a pose as one table, and their proof with other knots or candidates."""

    def __init__(self, name, q):
        """Follow the curves of the pose that an arm has at a posture."""
        chain = chain_of(name)
        self.tracer = SelfMotionTracer(AnalyticArm(chain), len(q))
        self.table = self.tracer.trace(chain.pose(q))
        self.motions = self.tracer.motions(chain.pose(q))

    def gap(self, candidates=None, **changes):
        """Return the gap of the proof with other candidates, knots or rows."""
        if candidates is not None:
            changes['find_candidates'] = lambda: candidates
        return self.tracer.find_gap(self.table._replace(**changes))


def is_off(reason):
    """Return whether a reason says that a posture is on no curve."""
    return reason == 'a posture was not proved to lie on a curve' or 'not followed' in reason


def some_motions(name, count, seed):
    """Return the self-motions of some random poses, and those whose completeness is proved."""
    arm = Manipulator.from_prebuilt(name)
    every = [arm.self_motions(arm.fk(q)) for q in random_postures(arm, count, seed)]
    return every, [motions for motions in every if motions.is_complete]


def proved_curves(name, count, seed):
    """Return the curves of some random poses whose completeness is proved."""
    postures = random_postures(Manipulator.from_prebuilt(name), count, seed)
    return [traced for traced in (Traced(name, q) for q in postures) if traced.gap() == '']


@pytest.mark.sampled
@pytest.mark.parametrize('name', ARMS)
def test_the_proof_succeeds_for_nearly_all_poses(name):
    _, proved = some_motions(name, 40, 45)
    assert len(proved) >= 38
    assert all(motions.reason == '' for motions in proved)


@pytest.mark.sampled
@pytest.mark.parametrize('name', ARMS)
def test_a_curve_that_is_left_out_is_noticed(name):
    for traced in proved_curves(name, 6, 46):
        pose, knots, rows, *_ = traced.table
        for curve in range(len(rows)):
            ends = np.cumsum(rows)
            is_kept = np.ones(len(knots), dtype=bool)
            is_kept[ends[curve] - rows[curve] : ends[curve]] = False
            kept = np.ascontiguousarray(knots[is_kept])
            reason = traced.gap(knots=kept, rows=np.delete(rows, curve))
            # A curve between two values of the held joint is not among the proved curves.
            held_values = knots[~is_kept][:, pose.plan.held]
            assert is_off(reason) or np.ptp(held_values) < 0.4


@pytest.mark.parametrize('name', ARMS)
def test_knots_of_two_curves_are_not_proved_to_be_one(name):
    tried = 0
    for traced in proved_curves(name, 8, 47):
        sizes = traced.table.rows
        if len(sizes) < 2:
            continue
        # The first curve goes on with the knots of the second one.
        rows = np.append(sizes[0] + sizes[1], sizes[2:])
        knots = traced.table.knots.copy()
        first, second = sizes[0], sizes[:2].sum()
        distance = np.linalg.norm(knots[first, :7] - knots[first - 1, :7])
        knots[first:second, 14] += knots[first - 1, 14] + distance
        assert (
            traced.gap(knots=knots, rows=rows)
            == 'a curve passes too near a singular posture for a proof'
        )
        tried += 1
    assert tried > 2


def test_a_posture_beside_the_curves_is_noticed():
    for traced in proved_curves('panda', 6, 48):
        q = traced.motions.sample(0.3)
        for row in q[:: max(len(q) // 20, 1)]:
            assert traced.gap(row[None]) == ''
            # No solution, and so none that is missing.
            posture = row + 0.3
            assert traced.gap(posture[None]) == ''


def knot(arm, q, ahead, arc):
    """Return a knot (1, segments.COLUMNS) at a posture, its tangent pointing to another posture."""
    tangent = np.linalg.svd(arm.jacobian(q))[2][6]
    tangent = tangent if tangent @ (ahead - q) > 0.0 else -tangent
    return np.concatenate([q, tangent, [arc, 0.0, 0.0]])[None]


def test_a_step_between_parallel_curves_is_not_proved():
    # The elbow is nearly straight: the curves with its two signs are nowhere farther apart than this.
    arm = Manipulator.from_prebuilt('iiwa14')
    q = np.array([0.4, 0.7, 0.2, 0.05, 0.3, 0.9, -0.4])
    traced = Traced('iiwa14', q)
    motions = traced.motions
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
        reason = traced.gap(q[None], knots=np.vstack(pair), rows=np.array([2]))
        assert (reason == '') is expected


def test_a_posture_on_another_curve_is_noticed():
    arm = Manipulator.from_prebuilt('iiwa14')
    q = np.array([0.4, 0.7, 0.2, 0.05, 0.3, 0.9, -0.4])
    traced = Traced('iiwa14', q)
    motions = traced.motions
    assert motions.is_complete
    neighbour = min((c.nearest(q) for c in motions if c(0.0)[3] < 0.0), key=lambda p: p.value).q
    lone = {'knots': knot(arm, q, q + 1.0, 0.0), 'rows': np.array([1])}
    assert traced.gap(q[None], **lone) == ''
    assert is_off(traced.gap(neighbour[None], **lone))
