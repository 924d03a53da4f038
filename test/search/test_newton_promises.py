"""Promises of every result, in few and cheap requests: the mutants of the Newton family have to be noticed here."""

from concurrent.futures import ThreadPoolExecutor

from test.search.newton_arms import draw, load
from test.solvers import arms

import numpy as np
import pytest

from ssik_ros.kernels.search import laws
from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.results import Cause
from ssik_ros.solvers.search.settings import make_settings
from ssik_ros.solvers.search.solver import SearchSolver

TIGHT = 1e-8


@pytest.mark.parametrize('which', [0, 1])
def test_each_tolerance_holds_by_itself(which):
    arm, oracle = load('ur5e')
    name = ('pos_tol', 'rot_tol')[which]
    for q, q0 in zip(draw(arm, 4, 90), draw(arm, 4, 91), strict=True):
        target = oracle.pose(q)
        result = arm.ik_LM(target, q0, tol=1.0, **{name: TIGHT})
        assert result.success == 1
        assert oracle.errors(result.q, target)[which] <= 1.01 * TIGHT


def test_a_hinge_does_not_open_further_than_it_can():
    robot, group = arms.load_arm(
        arms.chain(('revolute', '0 0 0.15', arms.Z, '-0.5 0.5'), tool='0.3 0 0')
    )
    arm = Manipulator(robot, group)
    for angle in (0.6, -2.0):
        result = arm.ik_LM(arm.fk(np.array([angle])), slimit=20)
        assert (result.success, result.cause) == (0, Cause.LIMITS)
        assert abs(result.q[0]) <= 0.5


def test_the_damping_of_each_law_is_its_formula():
    square, gain, fixed, mu = 0.3, 0.02, 0.04, 0.5
    wanted = {
        laws.NEWTON: fixed,
        laws.GAUSS: fixed,
        laws.CHAN: gain * 0.5 * square,
        laws.WAMPLER: gain,
        laws.SUGIHARA: 0.5 * square + gain,
        laws.ADAPTIVE: mu * square,
    }
    for law, damping in wanted.items():
        assert laws.damping_of(law, gain, fixed, mu, square) == pytest.approx(damping, abs=1e-12)


@pytest.mark.parametrize(
    ('after', 'factor'),
    [(1.2, laws.MU_GROWTH), (0.9, laws.MU_GROWTH), (0.5, 1.0), (0.1, laws.MU_SHRINK)],
)
def test_the_damping_follows_the_gain_ratio(after, factor):
    assert laws.follow(0.1, 1.0, 0.1, after) == pytest.approx(0.1 * factor)


def test_the_sequence_of_starts_belongs_to_its_seed():
    arm, _ = load('xarm6')
    packed = [
        SearchSolver(arm.robot, arm.group, make_settings({'seed': seed})).packed.tobytes()
        for seed in (1, 1, 2)
    ]
    assert packed[0] == packed[1] != packed[2]


def test_calls_from_many_threads_give_the_bytes_of_one():
    arm, oracle = load('panda')
    cases = [(oracle.pose(q), q0) for q, q0 in zip(draw(arm, 200, 94), draw(arm, 200, 95))]

    def ask(case):
        return arm.ik_LM(*case).q.tobytes()

    alone = [ask(case) for case in cases]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, cases * 3)) == alone * 3
