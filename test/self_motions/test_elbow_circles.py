"""Curves of two spherical joints by the circle of the elbow: those that are followed, cut exactly where limits are."""

import dataclasses

from test.self_motions.newton_oracle import solutions
from test.self_motions.test_proof import chain_of

import numpy as np
import pytest

from ssik_ros.kernels.closed_form.self_motions import segments, trace
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.arm_angle import ArmAngle
from ssik_ros.solvers.self_motions import tracer
from ssik_ros.solvers.self_motions.motions import SelfMotions

ON_CURVE = 1e-9
"""Distance of a solution from its curve [rad]."""


def moved(chain, q):
    """Return a chain of which another posture is the zero one."""
    there = chain.moved(np.atleast_2d(q))
    return dataclasses.replace(
        chain,
        axes=there.axes[0],
        points=there.points[0],
        home=there.poses[0],
        lower=chain.lower - q,
        upper=chain.upper - q,
    )


def make_chain(name):
    """Return an iiwa, or a variant: axes 1 and 3 across at zero, an elbow off the line, joints that turn freely."""
    chain = chain_of('iiwa14')
    if name == 'turned':
        chain = moved(chain, np.array([0.3, 0.9, -0.4, 1.2, 0.5, -0.7, 0.2]))
    if name == 'offset':
        points = chain.points.copy()
        points[3] += [0.06, 0.0, 0.03]
        chain = dataclasses.replace(chain, points=points)
    if name == 'free':
        wide, turns = np.array([0, 2, 4, 6]), chain.lower.copy()
        turns[wide] = -np.inf
        chain = dataclasses.replace(chain, lower=turns, upper=-turns)
    return chain


ARMS = ('iiwa14', 'turned', 'offset', 'free')


def draw(chain, count, seed):
    """Return random postures (count, 7) within the limits."""
    low, high = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    return low + (high - low) * np.random.default_rng(seed).random((count, 7))


def both_ways(chain, target):
    """Return the curves by circles, and those that are followed from postures at values of joint 7."""
    finder = tracer.SelfMotionTracer(AnalyticArm(chain), 7)
    followed = finder.find_at_values(target, 64)
    return [SelfMotions(*each[:3], 0.1, str) for each in (circles_of(chain, target), followed)]


def circles_of(chain, target):
    """Return (data of the pose, knots, knots of each curve) of the curves by circles; None without circles."""
    return tracer.SelfMotionTracer(AnalyticArm(chain), 7).find_on_circles(target)


@pytest.mark.parametrize('name', ARMS)
def test_circles_serve_nearly_all_poses(name):
    chain = make_chain(name)
    finder = tracer.SelfMotionTracer(AnalyticArm(chain), 7)
    served = [finder.find_on_circles(chain.pose(q)) is not None for q in draw(chain, 100, 1)]
    assert sum(served) >= 96


@pytest.mark.sampled
@pytest.mark.parametrize('count', [2, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize('name', ARMS)
def test_the_same_curves_are_followed(name, count):
    chain, kinds = make_chain(name), set()
    for q in draw(chain, count, 2):
        circles, followed = both_ways(chain, chain.pose(q))
        assert circles.nearest(q).value <= ON_CURVE
        # Following may miss curves between its values, but the postures that it finds are all on the circles.
        for curve in followed:
            for s in np.linspace(0.0, curve.length, 7):
                assert circles.nearest(curve(s)).value <= ON_CURVE
        for curve in circles:
            for s in np.linspace(0.0, curve.length, 7):
                value = followed.nearest(curve(s)).value
                assert value <= ON_CURVE or np.ptp(curve.knots[:, 6]) < 0.1
            kinds |= {curve.start.kind.name, curve.end.kind.name}
        lengths = [sum(curve.length for curve in motions) for motions in (circles, followed)]
        assert lengths[0] == pytest.approx(lengths[1], rel=5e-3)
    assert {'LIMIT', 'FOLD'} <= kinds


@pytest.mark.sampled
@pytest.mark.parametrize('name', ARMS)
def test_solutions_of_newton_lie_on_the_circles(name):
    chain, count = make_chain(name), 0
    low, high = max(chain.lower[6], -np.pi), min(chain.upper[6], np.pi)
    for number, q in enumerate(draw(chain, 2, 3)):
        motions, target = both_ways(chain, chain.pose(q))[0], chain.pose(q)
        for row in solutions(chain, target, 6, np.linspace(low, high, 12)[1:-1], 30, number):
            assert motions.nearest(row).value <= ON_CURVE
            count += 1
    assert count > 60


def test_joints_without_limits_give_closed_curves():
    chain, closed = make_chain('free'), 0
    for q in draw(chain, 6, 6):
        _, knots, rows = circles_of(chain, chain.pose(q))
        ends = np.cumsum(rows)
        for first, last in zip(ends - rows, ends - 1, strict=True):
            if knots[last, segments.KIND] == trace.CLOSED:
                change = knots[last, :7] - knots[first, :7]
                assert (
                    np.abs(change - 2.0 * np.pi * np.round(change / (2.0 * np.pi))).max() < 1e-12
                )
                closed += 1
    assert closed > 10


@pytest.mark.parametrize(('beyond', 'is_cut'), [(1e-8, False), (0.0, None), (-1e-6, True)])
def test_a_joint_that_peaks_beside_its_limit(beyond, is_cut):
    chain = make_chain('iiwa14')
    q = np.array([0.2, 0.8, 0.1, 1.2, 0.4, 0.9, 0.3])
    shoulder, upper_arm, lower_arm = np.array([0.0, 0.0, 0.36]), 0.42, 0.4
    target = chain.pose(q)
    line = target[:3, 3] - 0.126 * target[:3, 2] - shoulder
    length = np.linalg.norm(line)
    # Joint 2 is the angle between axis 1 and the upper arm, which turns about the line from shoulder to wrist.
    aside = np.arccos((upper_arm**2 + length**2 - lower_arm**2) / (2.0 * upper_arm * length))
    peak = np.arccos(line[2] / length) + aside
    limits = np.full(7, np.inf)
    limits[1] = peak + beyond
    free = dataclasses.replace(chain, lower=np.append([-np.inf, -0.1], -limits[2:]), upper=limits)
    cut, (_, knots, _) = both_ways(free, target)[0], circles_of(free, target)
    is_end = knots[:, segments.KIND] == trace.LIMIT + 4.0 / 32.0
    assert is_cut is None or is_end.any() == is_cut
    assert knots[:, 1].max() == pytest.approx(limits[1], abs=0.02)
    assert cut.sample(0.05)[:, 1].max() <= limits[1] + 1e-9


@pytest.mark.sampled
@pytest.mark.parametrize('joint', range(7))
@pytest.mark.parametrize('side', ['lower', 'upper'])
def test_a_joint_on_its_limit_has_its_curve(joint, side):
    chain = make_chain('iiwa14')
    finder = tracer.SelfMotionTracer(AnalyticArm(chain), 7)
    for q in draw(chain, 3, 10 + joint):
        q[joint] = getattr(chain, side)[joint]
        motions = finder.motions(chain.pose(q))
        assert motions.nearest(q).value <= 1e-8
        assert motions.is_complete


def test_the_proof_remembers_the_pose():
    chain = make_chain('iiwa14')
    target = chain.pose(np.array([0.4, 0.7, 0.2, 1.1, 0.3, 0.9, -0.4]))
    finder = tracer.SelfMotionTracer(AnalyticArm(chain), 7)
    table, motions = finder.trace(target), finder.motions(target)
    target[:3, 3] = 9.0
    assert len(table.find_candidates()) > 50
    assert motions.is_complete


def test_more_knots_than_there_is_room_for(monkeypatch):
    chain = make_chain('iiwa14')
    (q,) = draw(chain, 1, 5)
    _, expected, _ = circles_of(chain, chain.pose(q))
    monkeypatch.setattr(tracer, 'FIRST_KNOTS', 4)
    _, knots, _ = circles_of(chain, chain.pose(q))
    assert np.array_equal(knots, expected)
    assert len(knots) > 16


@pytest.mark.parametrize(
    'q',
    [
        [0.4, 0.7, 0.2, 1e-5, 0.3, 0.9, -0.4],
        [0.4, 0.0, 0.2, 1.0, 0.3, 0.9, -0.4],
        [0.4, 0.7, 0.2, 1.0, 0.3, 0.0, -0.4],
    ],
    ids=['stretched', 'shoulder', 'wrist'],
)
def test_singular_circles_are_left_to_others(q):
    chain = make_chain('iiwa14')
    finder = tracer.SelfMotionTracer(AnalyticArm(chain), 7)
    assert finder.find_on_circles(chain.pose(np.array(q))) is None
    assert finder.motions(chain.pose(np.array(q))).nearest(q).value <= 1e-7


def test_what_is_out_of_reach_has_no_circle():
    chain = make_chain('iiwa14')
    target = chain.pose(np.array([0.4, 0.7, 0.2, 0.5, 0.3, 0.9, -0.4]))
    target[:3, 3] *= 2.0
    finder = tracer.SelfMotionTracer(AnalyticArm(chain), 7)
    assert finder.find_on_circles(target) is None
    assert len(finder.motions(target)) == 0


def test_a_chain_that_is_none_of_two_spherical_joints_is_noticed():
    chain = make_chain('iiwa14')
    arm, angles = AnalyticArm(chain), ArmAngle.of_chain(chain)
    spheres = np.concatenate([angles.shoulder, angles.wrist])
    (q,) = draw(chain, 1, 6)
    arrays = tracer.CircleArrays()
    assert arrays.find(arm.plan, chain.pose(q), spheres) > 0
    assert arrays.find(arm.plan, chain.pose(q), spheres + 1e-6) < 0


@pytest.mark.slow
def test_knots_are_no_farther_apart_than_their_cubics_bear():
    chain, most = make_chain('iiwa14'), 0.0
    for q in draw(chain, 20, 7):
        circles = both_ways(chain, chain.pose(q))[0]
        for curve in circles:
            q, tangents = curve.knots[:, :7], curve.knots[:, segments.TANGENT : segments.ARC]
            widths = np.diff(curve.knots[:, segments.ARC])[:, None]
            middles = 0.5 * (q[:-1] + q[1:]) + 0.125 * widths * (tangents[:-1] - tangents[1:])
            most = max(most, max(circles.nearest(point).value for point in middles))
    assert 0.0 < most < 0.02
