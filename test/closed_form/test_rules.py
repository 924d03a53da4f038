"""The table of rules: every rule is reached, the first that holds and works wins, plans check themselves."""

import time

from test.closed_form.arms_under_test import arm_of, ask
from test.closed_form.synthetic_arms import (
    CLASSES,
    direction,
    make_six,
    random_lines,
    random_pose,
    serial_chain,
)
from test.complete_oracle import compare, LineChain
from test.repository import ROOT

import numpy as np
import pytest

from ssik_ros import Manipulator, TolerancePolicy
from ssik_ros.artifact import module_text
from ssik_ros.artifact.c import image_rules
from ssik_ros.cli.arm_class import classify_arm
from ssik_ros.errors import TopologyMismatch
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.classes import candidates, spherical_wrist, three_parallel
from ssik_ros.model.catalogue import ARM_CLASSES
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.topology import AxisGeometry, EXACT_MEETING, EXACT_PARALLEL
from ssik_ros.solvers.closed_form import plan as planning
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays, Prepared
from ssik_ros.solvers.closed_form.labels import FACTORS
from ssik_ros.solvers.closed_form.plan import make_plan
from ssik_ros.solvers.closed_form.rules import matches, RULES

KERNEL_OF_KIND = {
    candidates.SPHERICAL_WRIST: spherical_wrist,
    candidates.THREE_PARALLEL: three_parallel,
}


def test_every_rule_is_reached_by_an_arm_in_both_directions():
    reached = set()
    for name in CLASSES:
        for is_reversed in (False, True):
            chain = make_six(name, np.random.default_rng(1), is_reversed=is_reversed)
            plan = make_plan(serial_chain(chain))
            reached.add((plan.name, 'reversed' in plan.reason))
    turning = [rule for rule in RULES if not rule.has_slides]
    assert reached == {(rule.name, value) for rule in turning for value in (False, True)}


def test_every_table_of_classes_has_every_rule():
    names = [rule.name for rule in RULES]
    assert list(dict.fromkeys(names)) == names and set(FACTORS) == set(names)
    table = (ROOT / 'docs/math/closed_forms.md').read_text(encoding='utf-8')
    for rule in RULES:
        if not rule.has_slides:
            assert f'| `{rule.name}` |' in table
            # The C library accepts blocks of the class, and the module of one arm has its kernel.
            assert image_rules.TURNING >> rule.kind & 1
            kernel = KERNEL_OF_KIND[rule.kind].__name__.removeprefix(
                'ssik_ros.kernels.closed_form.'
            )
            assert kernel in module_text.CLASSES
        assert image_rules.ALL_KINDS >> rule.kind & 1


def test_every_rule_has_a_class_of_arms_seen_from_base_and_tip():
    named = {}
    for name in CLASSES:
        for is_reversed in (False, True):
            chain = serial_chain(make_six(name, np.random.default_rng(1), is_reversed=is_reversed))
            arm_class, near_miss = classify_arm(chain)
            assert arm_class in ARM_CLASSES and not arm_class.startswith('general')
            assert near_miss is None
            named.setdefault(arm_class, set()).add((name.split(',')[0], is_reversed))
    assert all(len(rules) == 1 for rules in named.values())


@pytest.mark.parametrize('name', CLASSES)
def test_the_winner_is_the_first_rule_that_holds(name):
    for seed in range(5):
        chain = make_six(name, np.random.default_rng(seed))
        candidates = matches(AxisGeometry(chain.axes, chain.points))
        ranks = [RULES.index(match.rule) for match in candidates]
        assert ranks == sorted(ranks)
        assert candidates[0].rule.name == name.split(',')[0]


def time_of(plan, poses):
    """Return how long a search takes, the best of some rounds over all poses [s]."""
    arrays = BranchArrays(plan.size, search.BRANCHES_OF_SIX)
    prepared = Prepared(plan.ints, plan.reals, np.zeros(1), np.zeros(6), plan.options)
    rounds = []
    for _ in range(12):
        begin = time.process_time()
        for pose in poses:
            arrays.search(prepared, pose)
        rounds.append(time.process_time() - begin)
    return min(rounds)


@pytest.mark.parametrize('name', CLASSES)
def test_the_winner_is_the_cheapest_of_those_that_are_complete(name):
    chain = make_six(name, np.random.default_rng(1))
    poses = [
        np.ascontiguousarray(pose)
        for pose in chain.poses(np.random.default_rng(2).uniform(-3.0, 3.0, (20, 6)))
    ]
    plans = planning.possible_plans(serial_chain(chain), None, EXACT_PARALLEL, EXACT_MEETING)
    complete = [plan for plan in plans if planning.finds_postures(plan)]
    times = [time_of(plan, poses) for plan in complete]
    assert complete[0].name == make_plan(serial_chain(chain)).name
    assert complete[-1].name == 'general_6r'
    # Rules next to each other may cost the same, but for the noise of a busy machine.
    assert times[0] < 2.0 * min(times)
    assert times[0] < 0.3 * times[-1]


@pytest.mark.parametrize('error', [1e-6, 1e-4])
@pytest.mark.parametrize('name', CLASSES)
def test_a_near_miss_is_not_taken_for_the_class(name, error):
    rng = np.random.default_rng(2)
    chain = make_six(name, rng)
    axes = chain.axes + error * rng.standard_normal((6, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    points = chain.points + error * rng.standard_normal((6, 3))
    assert not matches(AxisGeometry(axes, points))
    assert make_plan(serial_chain(LineChain(axes, points, chain.home))).name == 'general_6r'


@pytest.mark.parametrize('name', ['spherical', 'spherical_two_parallel', 'three_parallel'])
def test_the_policy_decides_what_counts_as_the_class_and_solutions_stay_exact(name):
    rng = np.random.default_rng(21)
    chain = make_six(name, rng)
    axes = chain.axes + 1e-6 * rng.standard_normal((6, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    off = LineChain(axes, chain.points + 1e-6 * rng.standard_normal((6, 3)), chain.home)
    strict = AnalyticArm(serial_chain(off))
    loose = AnalyticArm(serial_chain(off), parallel=1e-5, meeting=1e-5)
    assert (strict.plan.name, loose.plan.name) == ('general_6r', name)
    for _ in range(5):
        pose = off.poses(rng.uniform(-np.pi, np.pi, 6))[0]
        compared = compare(off, pose, ask(loose, pose).q, rng)
        assert (len(compared.missing), len(compared.extra)) == (0, 0)
        assert compared.residual < 1e-9


def test_a_manipulator_hands_its_policy_to_the_rules():
    rng = np.random.default_rng(22)
    chain = make_six('spherical', rng)
    gaps = np.diff(chain.points, axis=0, prepend=np.zeros((1, 3)))
    last = chain.points[-1] + rng.uniform(-0.1, 0.1, 3)
    axes = chain.axes + 1e-6 * rng.standard_normal((6, 3))
    offsets = np.vstack([gaps, last - chain.points[-1]])
    loose = TolerancePolicy(axis_parallel=1e-4, axis_intersect=1e-4)
    plain = Manipulator.from_axes(axes, offsets)
    assert plain.solver_name == 'ikgeo.general_6r'
    assert Manipulator.from_axes(axes, offsets, policy=loose).solver_name == 'ikgeo.spherical'
    _, diagnostic = plain.solve(plain.fk(np.ones(6)), policy=loose, explain=True)
    assert any('axis_parallel' in warning for warning in diagnostic.warnings)


def test_signs_and_lengths_along_axes_do_not_matter():
    rng = np.random.default_rng(3)
    for name in CLASSES:
        chain = make_six(name, rng)
        signs = rng.choice([-1.0, 1.0], 6)[:, None]
        points = chain.points + rng.uniform(-1, 1, 6)[:, None] * chain.axes
        moved = make_plan(serial_chain(LineChain(signs * chain.axes, points, chain.home)))
        assert moved.name == make_plan(serial_chain(chain)).name


def test_a_plan_that_does_not_find_its_postures_gives_way_to_the_next(monkeypatch):
    chain = serial_chain(make_six('spherical_two_parallel', np.random.default_rng(4)))
    asked = []
    check = planning.finds_postures

    def refuse_the_first(plan):
        asked.append(plan.name)
        return len(asked) > 1 and check(plan)

    monkeypatch.setattr(planning, 'finds_postures', refuse_the_first)
    assert make_plan(chain).name == asked[1] != asked[0]


def shoulder_of_parallel_axes(rng, *parallel):
    """Return a chain with a spherical wrist and some more parallel axes, on which closed forms degenerate."""
    axes, points = random_lines(rng)
    for joint in parallel[1:]:
        axes[joint] = axes[parallel[0]]
    points[4] = points[5] = points[3]
    return LineChain(axes, points, random_pose(rng))


def with_equal_axes(rng, first, second):
    """Return a spherical-wrist arm, two axes of which lie on one line: a joint too many."""
    chain = make_six('spherical_two_parallel', rng)
    axes, points = chain.axes.copy(), chain.points.copy()
    axes[second], points[second] = axes[first], points[first]
    return LineChain(axes, points, chain.home)


@pytest.mark.sampled
@pytest.mark.parametrize('seed', range(3))
def test_degenerate_arms_are_solved_completely_or_refused(seed):
    rng = np.random.default_rng([5, seed])
    h = direction(rng)
    degenerate = {
        'planar shoulder and wrist': shoulder_of_parallel_axes(rng, 0, 1, 2),
        'wrist parallel to the elbow': shoulder_of_parallel_axes(rng, 2, 3),
        'outer wrist axes parallel': shoulder_of_parallel_axes(rng, 3, 5),
        'first and third axis parallel': shoulder_of_parallel_axes(rng, 0, 2),
        'two joints on one line': with_equal_axes(rng, 0, 1),
        'two wrist joints on one line': with_equal_axes(rng, 4, 5),
        'four parallel axes': shoulder_of_parallel_axes(rng, 0, 1, 2, 3),
        'all axes parallel': LineChain(
            np.tile(h, (6, 1)), rng.uniform(-1, 1, (6, 3)), random_pose(rng)
        ),
        'all axes through one point': LineChain(
            random_lines(rng)[0], np.tile(rng.uniform(-1, 1, 3), (6, 1)), random_pose(rng)
        ),
    }
    for name, chain in degenerate.items():
        try:
            arm = arm_of(chain)
        except TopologyMismatch:
            # Right where a whole joint is of no effect; the others have finitely many branches.
            assert chain_rank(chain, rng) < 6, name
            continue
        assert chain_rank(chain, rng) == 6, name
        for _ in range(3):
            pose = chain.poses(rng.uniform(-np.pi, np.pi, 6))[0]
            compared = compare(chain, pose, ask(arm, pose).q, rng)
            assert (len(compared.missing), len(compared.extra)) == (0, 0), name


def chain_rank(chain, rng):
    """Return the rank of the Jacobian at a random posture."""
    q = rng.uniform(-np.pi, np.pi, 6)
    values = np.linalg.svd(chain.linearise(q[None], chain.poses(q)[0])[1][0], compute_uv=False)
    return int((values > 1e-9).sum())


def test_prismatic_joints_without_a_closed_form_are_refused_by_name():
    axes, points = random_lines(np.random.default_rng(6))
    chain = serial_chain(LineChain(axes, points, np.eye(4)))
    kinds = chain.kinds.copy()
    kinds[2] = JointKind.PRISMATIC
    slide = type(chain)(**{**vars(chain), 'kinds': kinds})
    with pytest.raises(TopologyMismatch, match='joint_3'):
        make_plan(slide)
