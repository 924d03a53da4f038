"""Ends of self-motions by independent continuation: limits are exceeded, folds and closures meet, lengths hold."""

import functools

from test.self_motions.test_arms_and_objectives import on_rail
from test.self_motions.test_curves import ON_CURVE, random_postures

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.labels import label_branch
from ssik_ros.solvers.self_motions.curve import EndKind

ARMS = ('panda', 'iiwa14', 'gen3', 'xarm7', 'rizon4')
LIMITED = (*ARMS, 'sawyer', 'rail')
"""The same and more, of which ends are looked at; the last one is six joints on a rail."""
BEHIND, FAR = 1e-4, 2e-3
"""Steps beyond an end [rad]; the position of a fold is less accurate than the position of a limit."""


@functools.cache
def poses_of(name):
    """Return an arm, its limits (2, 7), and some poses with their self-motions."""
    arm = on_rail() if name == 'rail' else Manipulator.from_prebuilt(name)
    body = SerialChain.from_group(arm.robot, arm.group)
    targets = [arm.fk(q) for q in random_postures(arm, 10, 51)]
    return arm, np.array([body.lower, body.upper]), [(T, arm.self_motions(T)) for T in targets]


def plan_of(arm):
    """Return the plan of the closed form of an arm."""
    return AnalyticArm(SerialChain.from_group(arm.robot, arm.group)).plan


def ends_of(motions):
    """Return arc length, sign of the way into the curve, curve and end of all ends."""
    for curve in motions:
        yield 0.0, 1.0, curve, curve.start
        yield curve.length, -1.0, curve, curve.end


def wrapped(change):
    """Return differences of angles in (-pi, pi]."""
    return change - 2.0 * np.pi * np.round(change / (2.0 * np.pi))


def move_to(arm, target, q):
    """Return the solution of a pose next to a posture, by the shortest steps of Newton's method."""
    for _ in range(6):
        there = arm.fk(q)
        turned = 0.5 * np.cross(there[:3, :3], target[:3, :3], axis=0).sum(axis=1)
        error = np.append(target[:3, 3] - there[:3, 3], turned)
        q = q + np.linalg.lstsq(arm.jacobian(q), error, rcond=None)[0]
    assert np.abs(arm.fk(q) - target).max() < 1e-12
    return q


def tangent_at(arm, q, ahead):
    """Return the unit tangent at a posture, pointing to another posture."""
    tangent = np.linalg.svd(arm.jacobian(q))[2][6]
    return tangent if tangent @ wrapped(ahead - q) > 0.0 else -tangent


@pytest.mark.sampled
@pytest.mark.parametrize('name', LIMITED)
def test_behind_a_limit_end_the_joint_is_outside(name):
    arm, limits, cases = poses_of(name)
    count = 0
    for target, motions in cases:
        for s, inward, curve, end in ends_of(motions):
            if end.kind is not EndKind.LIMIT or curve.length < 10.0 * BEHIND:
                continue
            joint = arm.joint_names.index(end.joint)
            here, limit = curve(s), limits[int(end.is_upper), joint]
            assert abs(here[joint] - limit) <= ON_CURVE
            out = -tangent_at(arm, here, curve(s + inward * BEHIND))
            beyond = move_to(arm, target, here + BEHIND * out)
            side = 1.0 if end.is_upper else -1.0
            assert side * (beyond[joint] - limit) > 0.0, (curve, end, out)
            count += 1
    assert count > 5


@pytest.mark.parametrize('name', ['iiwa14', 'fr3', 'panda'])
def test_no_posture_of_a_curve_is_beyond_a_limit_by_rounding(name):
    arm = Manipulator.from_prebuilt(name)
    body = SerialChain.from_group(arm.robot, arm.group)
    rng, count = np.random.default_rng(54), 0
    for q in random_postures(arm, 40, 54):
        # Several joints on their limits: each that is put there moves the others.
        limit = np.where(rng.random(7) < 0.5, body.lower, body.upper)
        q = np.where(rng.random(7) < 0.5, limit, q)
        for curve in arm.self_motions(arm.fk(q)):
            rows = np.vstack([curve.sample(0.1), curve.nearest(q).q])
            assert (rows >= body.lower).all() and (rows <= body.upper).all(), curve
            count += int(((rows == body.lower) | (rows == body.upper)).any(axis=1).sum())
    assert count > 50


@pytest.mark.parametrize('name', LIMITED)
def test_curves_that_meet_name_each_other(name):
    _, _, cases = poses_of(name)
    count = 0
    for _, motions in cases:
        for s, _, curve, end in ends_of(motions):
            if end.kind not in (EndKind.FOLD, EndKind.CROSSING):
                continue
            assert end.curves
            for index in end.curves:
                other = motions[index]
                same = [
                    (there, back)
                    for there, _, which, back in ends_of([other])
                    if back.kind is end.kind
                    and np.abs(wrapped(other(there) - curve(s))).max() < 1e-7
                    and (which is not curve or there != s)
                ]
                assert any(curve.index in back.curves for _, back in same)
                count += 1
    assert count > 5


@pytest.mark.sampled
@pytest.mark.parametrize('name', LIMITED)
def test_the_held_joint_turns_back_at_a_fold_where_the_next_curve_begins(name):
    arm, _, cases = poses_of(name)
    count, held = 0, plan_of(arm).held
    for target, motions in cases:
        for s, inward, curve, end in ends_of(motions):
            if end.kind is not EndKind.FOLD or curve.length < 10.0 * FAR:
                continue
            here = curve(s)
            into = tangent_at(arm, here, curve(s + inward * BEHIND))
            assert abs(into[held]) < 1e-3
            # On both sides, by steps of our own, the held joint is on the same side of its value here.
            sides = [
                tangent_at(arm, move_to(arm, target, here + step), here + 2.0 * step)[held]
                for step in (FAR * into, -FAR * into)
            ]
            assert sides[0] * sides[1] > 0.0, (curve, end)
            (other,) = end.curves
            beyond = move_to(arm, target, here - FAR * into)
            assert motions[other].nearest(beyond).value < 1e-7
            count += 1
    assert count > 3


def test_the_curves_that_a_crossing_names_pass_there():
    # With its second joint at zero an iiwa also turns its first and third joint against each other.
    arm = Manipulator.from_prebuilt('iiwa14')
    count = 0
    for q in random_postures(arm, 4, 53):
        q[1] = 0.0
        motions = arm.self_motions(arm.fk(q))
        assert motions.nearest(q).value < ON_CURVE
        for s, _, curve, end in ends_of(motions):
            if end.kind is not EndKind.CROSSING or curve.length < 0.1:
                continue
            # Knots: near a singular posture some knots are less accurate than a posture has to be.
            here = curve.knots[0 if s == 0.0 else -1, :7]
            assert np.linalg.svd(arm.jacobian(here))[1][-1] < 1e-3
            for index in end.curves:
                distances = np.abs(wrapped(motions[index].knots[[0, -1], :7] - here)).max(axis=1)
                assert min(distances) < 1e-4, (curve, end)
            count += len(end.curves) > 1
    # Two that cross are four curves.
    assert count > 3


def test_a_closed_curve_ends_where_it_began():
    arm, _, cases = poses_of('gen3')
    count = 0
    for _, motions in cases:
        for curve in motions:
            if curve.is_closed:
                assert curve.end.kind is EndKind.CLOSED
                assert np.abs(wrapped(curve(curve.length) - curve(0.0))).max() <= ON_CURVE
                ahead = tangent_at(arm, curve(0.0), curve(BEHIND))
                back = tangent_at(arm, curve(curve.length), curve(curve.length - BEHIND))
                np.testing.assert_allclose(ahead, -back, atol=1e-6)
                count += 1
    assert count > 0


@pytest.mark.parametrize('name', ARMS)
def test_the_length_is_that_of_a_fine_polygon(name):
    _, _, cases = poses_of(name)
    for _, motions in cases[:3]:
        for curve in motions:
            rows = curve.sample(0.02)
            length = np.linalg.norm(wrapped(np.diff(rows, axis=0)), axis=1).sum()
            assert curve.length == pytest.approx(length, rel=1e-2, abs=1e-6)


@pytest.mark.parametrize('name', ['panda', 'iiwa14'])
def test_all_postures_of_a_curve_have_its_label(name):
    arm, _, cases = poses_of(name)
    plan, labels = plan_of(arm), set()
    for _, motions in cases[:4]:
        for curve in motions:
            # At a fold two branches meet, and rounding decides the sign.
            inside = curve(np.linspace(0.0, curve.length, 9)[1:-1])
            posture_labels = {str(label_branch(plan, q)) for q in inside}
            assert posture_labels == {curve.label}
            labels.add(curve.label)
    assert len(labels) > 2


@pytest.mark.parametrize('name', ARMS)
def test_no_posture_of_a_fine_sample_is_nearer_than_the_nearest(name):
    arm, _, cases = poses_of(name)
    for (_, motions), seed in zip(cases[:4], random_postures(arm, 4, 52), strict=True):
        for curve in motions:
            point = curve.nearest(seed)
            rows = curve.sample(0.02)
            changes = rows - seed
            if name == 'gen3':
                changes[:, ::2] = wrapped(changes[:, ::2])
            least = np.linalg.norm(changes, axis=1).min()
            assert point.value <= least + 1e-9
            assert np.abs(wrapped(curve(point.s) - point.q)).max() < 1e-9
