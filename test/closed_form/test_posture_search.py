"""Poses at nearly singular postures, which samples of the held joint miss: solved, and no cause is invented."""

import functools
from xml.etree import ElementTree

import numpy as np
import pytest

from bench import hard_cases
from bench.arms import chain_from_xml
from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.model.catalogue import arm_data, make_urdf
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, METRICS, with_row
from ssik_ros.solvers.closed_form.posture_search import PostureSearch, Searched

TOLERANCE = 1e-9
STORED = {
    'iiwa14': (
        [0.456764, 2.094395, -1.060995, 5.5e-05, -2.17678, 2.094395, -1.497513],
        [2.788988, -2.094395, 0.862658, 0.000104, 2.249207, -1.235735, -2.296677],
        [2.79482, 1.848214, 1.156114, 1e-05, 1.279429, -2.094395, -0.888727],
    ),
    'panda': (
        [2.7946, 1.5916, 2.4751, -0.467, 0.0015, 1.1248, 0.8791],
        [2.8443, -1.465, 0.2282, -0.467, -0.0003, 3.0182, 1.7134],
        [0.0027, -1.2869, 0.0733, -0.4667, 0.0249, 2.1582, -2.8064],
        [-2.5081, 0.3385, 0.8354, -0.467, -0.0018, 1.8132, -2.2099],
    ),
    'gen3': (
        [-1.775348, -1.522882, 0.011141, -0.00033, 0.134685, -1.80627, 1.125872],
        [2.3269, 0.6211, 0.1208, 0.0045, 1.4406, -1.8646, 2.1485],
        [1.4044, 0.8896, -0.0418, -0.0011, 0.3353, -0.6402, 1.5432],
        [-0.5444, -1.8458, -0.1115, -0.0042, -1.4006, 1.9759, 1.7207],
    ),
    'xarm7': (
        [4.7424, 1.4844, -1.9487, 2.7417, -3.1413, 0.137, -2.1018],
        [0.645, 1.7903, 4.358, 2.7418, -6.2828, 3.0009, -0.5963],
        [5.1181, 1.763, 5.7595, 2.7418, 3.1415, 0.3749, 4.959],
        [-0.8084, 2.0944, 1.2022, 2.7415, 0.0127, 2.2751, -4.442],
    ),
}
"""Postures, some on a limit, at whose poses the arc of the held joint is shorter than samples can tell."""


@functools.cache
def judge_of(name):
    """Return the arm as the judge reads it from its URDF, with code of its own."""
    data = arm_data(name)
    root = ElementTree.fromstring(make_urdf(data))
    return chain_from_xml(root, name, data.base_link, data.tip_link)


@functools.cache
def arm_of(name):
    return Manipulator.from_prebuilt(name)


def assert_sound(name, q, target, tolerance=TOLERANCE):
    """Hold joint vectors (k, n) to their pose and to the limits."""
    judge = judge_of(name)
    # The judge's own rounding comes on top.
    assert np.linalg.norm(judge.fk(q) - target, axis=(1, 2)).max() <= tolerance + 1e-13
    assert (q >= judge.lower).all() and (q <= judge.upper).all()


@pytest.mark.heavy
@pytest.mark.parametrize('size', [0.0, 1e-10, 1e-6, 1e-3])
def test_a_straight_arm_is_found_whatever_its_offsets(size):
    """Only one posture reaches such a pose; the offsets of a Gen3 make the valley around it narrow."""
    arm, rng = arm_of('gen3'), np.random.default_rng(1)
    lower, upper = np.maximum(arm.lower, -2.0), np.minimum(arm.upper, 2.0)
    for _ in range(20):
        posture = rng.uniform(lower, upper)
        posture[2:5] = size * rng.normal(size=3)
        target = np.ascontiguousarray(judge_of('gen3').fk(posture[None])[0])
        q = arm.solve_q(target)
        assert len(q) > 0
        assert_sound('gen3', q, target)


@pytest.mark.parametrize('name', STORED)
def test_stored_poses_at_singular_postures_are_solved(name):
    arm, rng = arm_of(name), np.random.default_rng(1)
    solver = arm.solver('ssik_ros/Analytic')
    for posture in STORED[name]:
        target = np.ascontiguousarray(judge_of(name).fk(np.array([posture]))[0])
        for seed in (None, rng.uniform(arm.group.lower.clip(-3), arm.group.upper.clip(None, 3))):
            q = arm.solve_q(target, seed)
            assert len(q) > 0
            assert_sound(name, q, target)
            one = solver.solve(SolveRequest(target, seed=seed, max_solutions=100))
            assert np.array_equal(one.solutions, q[:100])
            assert np.array_equal(arm.solve_q(target, seed), q)


@pytest.mark.sampled
@pytest.mark.parametrize('name', ['panda', 'xarm7', 'iiwa14', 'fr3'])
def test_poses_drawn_at_singular_postures_are_solved(name, monkeypatch):
    monkeypatch.setattr(hard_cases, 'SEED', 20261122)
    cases = hard_cases.draw_near_singular(judge_of(name), 120)
    for target, seed in zip(cases.targets, cases.seeds, strict=True):
        q = arm_of(name).solve_q(np.ascontiguousarray(target), seed)
        assert len(q) > 0
        assert_sound(name, q, target)


@pytest.mark.parametrize('metric', ['wrap_l2', 'wrap_linf'])
def test_a_posture_that_was_searched_stands_in_its_place_of_the_order(metric):
    panda = arm_of('panda')
    arm = AnalyticArm(SerialChain.from_group(panda.robot, panda.group))
    q = np.array([0.3, -0.4, 0.2, -1.9, 0.1, 1.7, 0.6])
    request = BranchRequest(seed=q + 0.2, metric=METRICS[metric])
    every = arm.branches(panda.fk(q), request)
    assert len(every.q) > 5
    for index in range(len(every.q)):
        row = np.hstack([every.q, every.errors])[index]
        without = every._replace(
            q=np.delete(every.q, index, axis=0), errors=np.delete(every.errors, index, axis=0)
        )
        for branches in (every, without):
            again = with_row(branches, row, request, arm.plan)
            assert np.array_equal(again.q, every.q) and np.array_equal(again.errors, every.errors)


def test_limits_and_tool_of_a_request_count():
    arm = arm_of('xarm7')
    solver = arm.solver('ssik_ros/Analytic')
    tool = np.eye(4)
    tool[:3, 3] = 0.1, 0.0, 0.2
    for posture in STORED['xarm7']:
        target = judge_of('xarm7').fk(np.array([posture]))[0]
        lower, upper = np.array(posture) - 0.3, np.array(posture) + 0.3
        result = solver.solve(
            SolveRequest(target @ tool, tool_offsets=tool, lower=lower, upper=upper)
        )
        assert result.solved
        assert_sound('xarm7', result.solutions, target, tolerance=2e-9)
        assert (result.q >= lower).all() and (result.q <= upper).all()


@pytest.mark.sampled
@pytest.mark.parametrize('name', STORED)
def test_out_of_reach_is_said_where_it_is_proved_alone(name):
    arm = arm_of(name)
    solver = arm.solver('ssik_ros/Analytic')
    cases = hard_cases.draw_unreachable(judge_of(name), 12)
    for target in cases.targets:
        result = solver.solve(SolveRequest(np.ascontiguousarray(target)))
        solutions, diagnostic = arm.solve(target, explain=True)
        assert not (result.solved or solutions)
        assert result.cause is diagnostic.cause
        assert result.cause in (Cause.UNREACHABLE, Cause.NOT_FOUND)
        is_proved = result.cause is Cause.UNREACHABLE
        assert (result.searches == 0) == is_proved
        assert ('no proof' in diagnostic.summary()) != is_proved
        assert diagnostic.summary().startswith('Unreachable' if is_proved else 'Not found')


def test_a_search_that_finds_nothing_makes_no_proof(monkeypatch):
    nothing = Searched(None, starts=16)
    monkeypatch.setattr(PostureSearch, 'find', lambda *_: nothing)
    target = judge_of('panda').fk(np.array([STORED['panda'][0]]))[0]
    solutions, diagnostic = arm_of('panda').solve(target, explain=True)
    assert (solutions, diagnostic.cause) == ([], Cause.NOT_FOUND)
    result = arm_of('panda').solver('ssik_ros/Analytic').solve(SolveRequest(target))
    assert (result.cause, result.searches > 16) == (Cause.NOT_FOUND, True)


def test_a_locked_joint_is_no_proof_that_the_others_cannot():
    arm = arm_of('panda')
    solver, q = arm.solver('ssik_ros/Analytic'), np.array([0.3, -0.4, 0.2, -1.9, 0.1, 1.7, 0.6])
    result = solver.solve(SolveRequest(arm.fk(q), seed=q, locked={'panda_joint4': -0.2}))
    assert (result.solved, result.cause) == (False, Cause.LIMITS)


def test_limits_are_named_where_they_alone_stand_in_the_way():
    arm = arm_of('panda')
    q = np.array([0.3, -0.4, 0.2, -1.9, 0.1, 1.7, 0.6])
    upper = q + 5.0
    upper[3] = -2.6
    result = arm.solver('ssik_ros/Analytic').solve(SolveRequest(arm.fk(q), upper=upper))
    assert (result.solved, result.cause) == (False, Cause.LIMITS)
