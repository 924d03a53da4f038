"""Ends of self-motions by an own continuation: limits are passed behind them, folds and closures meet, lengths are true."""

import functools

import numpy as np
import pytest
from test_curves import ON_CURVE, random_postures

from ssik_ros import Manipulator
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.labels import label_branch
from ssik_ros.solvers.self_motions.curve import EndKind

ARMS = ('panda', 'iiwa14', 'gen3', 'xarm7', 'rizon4')
BEHIND = 1e-4
"""Step behind an end [rad]."""


@functools.cache
def poses_of(name):
    """Return an arm, its limits (2, 7), and some poses with their self-motions."""
    arm = Manipulator.from_prebuilt(name)
    body = SerialChain.from_group(arm.robot, arm.group)
    targets = [arm.fk(q) for q in random_postures(arm, 10, 51)]
    return arm, np.array([body.lower, body.upper]), [(T, arm.self_motions(T)) for T in targets]


def ends_of(motions):
    """Return arc length, sign of the way into the curve, curve and end of all ends."""
    for curve in motions:
        yield 0.0, 1.0, curve, curve.start
        yield curve.length, -1.0, curve, curve.end


def wrapped(away):
    """Return differences of angles in (-pi, pi]."""
    return away - 2.0 * np.pi * np.round(away / (2.0 * np.pi))


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


@pytest.mark.parametrize('name', ARMS)
def test_behind_a_limit_end_the_joint_is_outside(name):
    arm, limits, found = poses_of(name)
    count = 0
    for target, motions in found:
        for s, inward, curve, end in ends_of(motions):
            if end.kind is not EndKind.LIMIT or curve.length < 10.0 * BEHIND:
                continue
            joint = arm.joint_names.index(end.joint)
            here, limit = curve(s), limits[int(end.is_upper), joint]
            assert abs(here[joint] - limit) <= ON_CURVE
            out = -tangent_at(arm, here, curve(s + inward * BEHIND))
            behind = move_to(arm, target, here + BEHIND * out)
            side = 1.0 if end.is_upper else -1.0
            assert side * (behind[joint] - limit) > 0.0, (curve, end, out)
            count += 1
    assert count > 5


@pytest.mark.parametrize('name', ARMS)
def test_curves_that_meet_name_each_other(name):
    _, _, found = poses_of(name)
    count = 0
    for _, motions in found:
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


def test_a_closed_curve_ends_where_it_began():
    arm, _, found = poses_of('gen3')
    count = 0
    for _, motions in found:
        for curve in motions:
            if curve.is_closed:
                assert curve.end.kind is EndKind.CLOSED
                assert np.abs(wrapped(curve(curve.length) - curve(0.0))).max() <= ON_CURVE
                way = tangent_at(arm, curve(0.0), curve(BEHIND))
                back = tangent_at(arm, curve(curve.length), curve(curve.length - BEHIND))
                np.testing.assert_allclose(way, -back, atol=1e-6)
                count += 1
    assert count > 0


@pytest.mark.parametrize('name', ARMS)
def test_the_length_is_that_of_a_fine_polygon(name):
    _, _, found = poses_of(name)
    for _, motions in found[:3]:
        for curve in motions:
            rows = curve.sample(0.02)
            length = np.linalg.norm(wrapped(np.diff(rows, axis=0)), axis=1).sum()
            assert curve.length == pytest.approx(length, rel=1e-2, abs=1e-6)


@pytest.mark.parametrize('name', ['panda', 'iiwa14'])
def test_all_postures_of_a_curve_have_its_label(name):
    _, _, found = poses_of(name)
    labels = set()
    for _, motions in found[:4]:
        for curve in motions:
            # At a fold two branches meet: there the sign is that of rounding.
            inside = curve(np.linspace(0.0, curve.length, 9)[1:-1])
            own = {str(label_branch(motions._pose.plan, q)) for q in inside}
            assert own == {curve.label}
            labels.add(curve.label)
    assert len(labels) > 2


@pytest.mark.parametrize('name', ARMS)
def test_no_posture_of_a_fine_sample_is_nearer_than_the_nearest(name):
    arm, _, found = poses_of(name)
    for (_, motions), seed in zip(found[:4], random_postures(arm, 4, 52), strict=True):
        for curve in motions:
            point = curve.nearest(seed)
            rows = curve.sample(0.02)
            away = rows - seed
            if name == 'gen3':
                away[:, ::2] = wrapped(away[:, ::2])
            least = np.linalg.norm(away, axis=1).min()
            assert point.value <= least + 1e-9
            assert np.abs(wrapped(curve(point.s) - point.q)).max() < 1e-9
