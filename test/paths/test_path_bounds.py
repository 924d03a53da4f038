"""Lower bounds with time: boxes hold every posture, sequences of boxes cost no more than any path, bounds stay below costs."""

import time

from made_paths import line, robot
import numpy as np
import pytest

from ssik_ros.errors import SsikError
from ssik_ros.kernels.paths import boxes, layers as kernels
from ssik_ros.model.loader import load_robot
from ssik_ros.paths.bounding import relaxed_paths
from ssik_ros.paths.bounding.enclosures import make_nodes
from ssik_ros.paths.bounding.relaxed_paths import KnownPath, relaxed_bound
from ssik_ros.paths.bounding.wrist_arms import ParameterCells, WristArm
from ssik_ros.paths.planner import plan_tool_path, ToolPathPlanner
from ssik_ros.paths.requests import PathObjective, ToolPathRequest
from ssik_ros.paths.tool_chain import ToolChain

PANDA_LINE = line((0.45, -0.2, 0.4), (0.45, 0.25, 0.4), 40)


LIFTED_ARM = (
    # Name, kind, axis, offset, lower and upper limit: a lift, a shoulder whose axes 2 and 3 meet, a wrist.
    ('lift', 'prismatic', '0 0 1', '0 0 0.3', 0.0, 0.4),
    ('pan', 'revolute', '0 0 1', '0.1 0 0.3', -1.6, 1.6),
    ('shoulder', 'revolute', '0 1 0', '0.12 0 0.06', -1.2, 1.5),
    ('upper', 'continuous', '1 0 0', '0.2 0 0', 0.0, 0.0),
    ('elbow', 'revolute', '0 1 0', '0.13 0 0', -2.2, 2.2),
    ('fore', 'continuous', '1 0 0', '0.2 0 0', 0.0, 0.0),
    ('wrist', 'revolute', '0 1 0', '0.12 0 0', -2.1, 2.1),
    ('roll', 'continuous', '1 0 0', '0.14 0 0', 0.0, 0.0),
)


def lifted_arm(folder):
    """Return an arm of seven joints on a lift."""
    text, parent = '<robot name="lifted"><link name="base"/>', 'base'
    for name, kind, axis, xyz, low, high in LIFTED_ARM:
        limit = f'lower="{low}" upper="{high}"' if kind != 'continuous' else ''
        text += (
            f'<link name="{name}_link"/><joint name="{name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{name}_link"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>'
            f'<limit {limit} velocity="1" effort="1"/></joint>'
        )
        parent = f'{name}_link'
    file = folder / 'lifted.urdf'
    file.write_text(text + '</robot>', encoding='utf-8')
    model = load_robot(file)
    return model, model.group_from_links('base', parent)


@pytest.fixture(scope='module')
def chains(tmp_path_factory):
    """Return chains by name, each with whether its wrist is at the base."""
    model = robot('panda')
    lifted = lifted_arm(tmp_path_factory.mktemp('lifted'))
    return {
        'panda': (ToolChain(model, model.group('panda_arm')), True),
        'lifted': (ToolChain(*lifted), False),
    }


def random_cells(arm, count, half):
    """Return poses that are reached, and random cells of the parameters."""
    rng = np.random.default_rng(5)
    own = arm.chain.chain
    low, high = np.maximum(own.lower, -3.0), np.minimum(own.upper, 3.0)
    poses = arm.chain.poses(rng.uniform(low, high, (count, arm.chain.size)))
    free = arm.parameters
    centers = rng.uniform(low[free] + half, high[free] - half, (count, len(free)))
    return poses, ParameterCells(np.arange(count), centers, np.full(centers.shape, half))


@pytest.mark.parametrize('name', ['panda', 'lifted'])
@pytest.mark.parametrize('half', [0.002, 0.03])
def test_boxes_hold_every_posture_of_the_closed_form(chains, name, half):
    chain, is_reversed = chains[name]
    arm = WristArm.of_chain(chain)
    assert arm is not None and arm._is_reversed == is_reversed
    poses, cells = random_cells(arm, 400, half)
    nodes = make_nodes(arm, cells, poses)
    rng, found, tight = np.random.default_rng(6), 0, 0
    moves = rng.uniform(-half, half, cells.centers.shape)
    values = cells.centers + moves
    own = chain.find_postures(poses, values[:, : chain.outer], values[:, chain.outer :])
    for q, cell in zip(own.q, own.owners, strict=True):
        rows = np.flatnonzero(nodes.owners == cell)
        away = q - nodes.q[rows]
        away -= np.where(chain.turning != 0, 2 * np.pi * np.round(away / (2 * np.pi)), 0.0)
        is_in = (np.abs(away) <= nodes.halves[rows] + 1e-9).all(axis=1)
        line_away = np.abs(away - nodes.slopes[rows] @ moves[cell])
        is_near = (line_away <= nodes.errors[rows] + 1e-9).all(axis=1)
        assert (is_in & is_near).any()
        found += 1
        tight += bool((is_in & is_near & ~nodes.is_loose[rows]).any())
    assert found > 100
    if half < 0.01:
        assert tight > 0.5 * found


def test_boxes_of_neither_class_are_refused():
    model = robot('ur5e')
    group = next(g for g in model.groups.values() if len(g.joint_names) == 6)
    assert WristArm.of_chain(ToolChain(model, group)) is None


def cheapest_sequences(each, rows, steps, at_once=4):
    """Return the costs (k,) of sequences to boxes (q, halves, own), of which each layer has some, a few in one call."""
    q, halves, own = rows
    starts = np.arange(0, len(q) + 1, each)
    costs, parents = own.copy(), np.full(len(q), -1)
    for layer in range(1, len(starts) - 1):
        for first in range(starts[layer], starts[layer + 1], at_once):
            last = min(first + at_once, starts[layer + 1])
            boxes.connect_boxes(
                *(costs, parents, q, halves, starts, starts[:-1].copy(), own, *steps),
                *(0, layer, first, last),
            )
    return costs


@pytest.mark.parametrize('objective', range(4))
@pytest.mark.parametrize('has_slopes', [False, True])
def test_no_path_through_boxes_costs_less_than_the_cheapest_sequence(objective, has_slopes):
    rng = np.random.default_rng(objective)
    m, each, n = 4, 5, 3
    turning = np.array([0, 1, 1])
    for _ in range(30):
        q = rng.uniform(-np.pi, np.pi, (m, each, n)) * [0.5, 1.0, 1.0]
        q = np.stack([own[np.argsort(own[:, 0])] for own in q])
        halves = rng.uniform(0.0, 0.3, q.shape)
        weights = rng.uniform(0.5, 1.5, (m, n))
        slopes = weights * rng.uniform(-1.0, 1.0, (m, n)) * has_slopes * (objective == 0)
        largest = np.full((m, n), 2.0)
        behind = np.vstack([slopes[1:], np.zeros((1, n))])
        before = np.vstack([np.zeros((1, n)), slopes[1:]])
        prices = before - behind
        own = (prices[:, None] * q - np.abs(prices)[:, None] * halves).sum(axis=2)
        rows = q.reshape(-1, n), halves.reshape(-1, n), own.ravel()
        costs = cheapest_sequences(each, rows, (turning, largest, weights, slopes, objective))
        bound = costs[-each:].min()
        for _ in range(300):
            chosen = rng.integers(0, each, m)
            parts = rng.choice([-1.0, 0.0, 1.0], (m, n)) * rng.uniform(0.5, 1.0, (m, n))
            points = q[np.arange(m), chosen] + parts * halves[np.arange(m), chosen]
            steps = np.diff(points, axis=0)
            steps[:, 1:] = np.mod(steps[:, 1:] + np.pi, 2.0 * np.pi) - np.pi
            if (np.abs(steps) > largest[1:]).any():
                continue
            sizes = np.abs(steps) * weights[1:]
            cost = (sizes.sum(), (sizes**2).sum(), sizes.max(), sizes.max(axis=1).sum())
            assert bound <= cost[objective] + 1e-9


def test_boxes_without_size_are_postures():
    rng = np.random.default_rng(0)
    q = np.sort(rng.uniform(-1.0, 1.0, (3, 6, 1)), axis=1).reshape(-1, 1)
    one, turning = np.ones((3, 1)), np.zeros(1, dtype=np.int64)
    rows = q, np.zeros_like(q), np.zeros(18)
    costs = cheapest_sequences(6, rows, (turning, 9.0 * one, one, 0.0 * one, kernels.SUM_OF_STEPS))
    a, b, c = q[:6], q[6:12].T, q[12:].T
    first = np.abs(a - b).min(axis=0)
    assert costs[12:].min() == pytest.approx((first[:, None] + np.abs(b.T - c)).min())


def known_path(model, objective):
    """Return the task of a line, and a path along it."""
    planner = ToolPathPlanner(
        model, model.group('panda_arm'), ToolPathRequest(objective=objective)
    )
    path = planner.plan(PANDA_LINE)
    return planner, planner.task(PANDA_LINE), path


@pytest.mark.slow
@pytest.mark.parametrize('objective', PathObjective)
def test_every_round_keeps_the_bound_below_the_cost(objective):
    planner, task, path = known_path(robot('panda'), objective)
    own = KnownPath(path.positions, path.cost)
    bounds = [
        relaxed_bound(planner.chain, task.limits, task.poses, own, lambda: False, rounds).value
        for rounds in (1, 2)
    ]
    assert 0.0 <= bounds[0] <= bounds[1] <= path.cost


@pytest.mark.slow
def test_a_round_looks_at_the_clock_often_and_does_not_depend_on_it(monkeypatch):
    planner, task, path = known_path(robot('panda'), PathObjective.JOINT_LENGTH)
    own, looks = KnownPath(path.positions, path.cost), []

    def look():
        looks.append(time.process_time())
        return False

    problem = planner.chain, task.limits, task.poses, own
    bound = relaxed_bound(*problem, look, 3)
    assert len(looks) > 100 and np.diff(looks).max() < 0.25
    monkeypatch.setattr(relaxed_paths, 'CELLS_AT_ONCE', 37)
    monkeypatch.setattr(relaxed_paths, 'PAIRS_AT_ONCE', 20_000)
    again = relaxed_bound(*problem, lambda: False, 3)
    assert again.value == pytest.approx(bound.value, rel=1e-12)


def test_bound_seconds_change_the_bound_alone():
    model = robot('panda')
    quick = plan_tool_path(model, 'panda_arm', PANDA_LINE)
    path = plan_tool_path(model, 'panda_arm', PANDA_LINE, bound_seconds=0.2)
    assert quick.positions.tobytes() == path.positions.tobytes()
    assert quick.lower_bound <= path.lower_bound <= path.cost
    with pytest.raises(SsikError):
        plan_tool_path(model, 'panda_arm', PANDA_LINE, bound_seconds=-1.0)


@pytest.mark.parametrize('flag', ['deadline', 'cancel'])
def test_a_bound_ends_soon_after_its_time_and_a_cancellation(tmp_path, flag):
    """Two parameters at each waypoint: a round takes seconds, and ends amid its kernels."""
    model, group = lifted_arm(tmp_path)
    chain = ToolChain(model, group)
    middle = np.array([0.2, 0.1, 0.4, 0.2, 0.9, 0.1, 0.8, 0.0])
    q = middle + np.linspace(-0.15, 0.15, 30)[:, None] * np.array([0.2, 1, 1, 0, -1, 1, 0.5, 1])
    began = []

    def report(progress):
        if progress.phase == 'lower bound':
            began.append(time.monotonic())

    seconds = 0.3 if flag == 'deadline' else 60.0
    request = ToolPathRequest(
        bound_seconds=seconds,
        report_progress=report,
        is_cancelled=lambda: bool(
            flag == 'cancel' and began and time.monotonic() > began[0] + 0.3
        ),
    )
    path = plan_tool_path(model, group, chain.poses(q), request)
    over = time.monotonic() - began[0] - 0.3
    assert path.valid == (flag == 'deadline')
    assert flag != 'cancel' or 'cancelled' in path.reason
    assert over < 1.0


def test_an_arm_of_another_class_says_so():
    model = robot('ur5e')
    group = next(g for g in model.groups.values() if len(g.joint_names) == 6)
    poses = line((0.3, -0.1, 0.4), (0.3, 0.1, 0.4), 10)
    path = plan_tool_path(model, group, poses, bound_seconds=1.0)
    assert path.valid and any('bound_seconds' in note for note in path.notes)
