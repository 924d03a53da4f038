"""Lower bounds with time: boxes hold every posture, sequences of boxes cost no more than any path, bounds stay below costs."""

import itertools
import time

from test.paths.made_paths import line, robot

import numpy as np
import pytest

from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.paths import boxes, layers as kernels
from ssik_ros.model.loader import load_robot
from ssik_ros.paths.bounding import enclosures, relaxed_paths
from ssik_ros.paths.bounding.enclosures import make_nodes
from ssik_ros.paths.bounding.relaxed_paths import KnownPath, relaxed_bound
from ssik_ros.paths.bounding.wrist_arms import ParameterCells, WristArm
from ssik_ros.paths.planner import plan_tool_path, ToolPathPlanner
from ssik_ros.paths.requests import PathObjective, ToolPathRequest
from ssik_ros.paths.steps import StepLimits
from ssik_ros.paths.tool_chain import ToolChain

TIGHT = 0.25
"""Some second-order part reaches at least this share of its bound, so that bounds a quarter as large are noticed."""
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
    serial = arm.chain.chain
    low, high = np.maximum(serial.lower, -3.0), np.minimum(serial.upper, 3.0)
    poses = arm.chain.poses(rng.uniform(low, high, (count, arm.chain.size)))
    free = arm.parameters
    centers = rng.uniform(low[free] + half, high[free] - half, (count, len(free)))
    return poses, ParameterCells(np.arange(count), centers, np.full(centers.shape, half))


@pytest.mark.parametrize('name', ['panda', 'lifted'])
def test_second_order_parts_are_bounded_and_not_by_far(chains, name):
    """Two postures of one pose: the error of a first-order step is within its bound, and more than ``TIGHT`` of it."""
    chain, _ = chains[name]
    rng = np.random.default_rng(8)
    poses, _ = random_cells(WristArm.of_chain(chain), 300, 0.01)
    serial = chain.chain
    low, high = np.maximum(serial.lower, -2.5), np.minimum(serial.upper, 2.5)
    first = rng.uniform(low, high, (len(poses), chain.size))
    poses = chain.poses(first)
    outer = first[:, : chain.outer] + rng.uniform(-0.05, 0.05, (len(poses), chain.outer))
    held = first[:, [chain.held]] + rng.uniform(-0.3, 0.3, (len(poses), 1))
    solutions = chain.find_postures(poses, outer, held)
    differences = solutions.q - first[solutions.owners]
    differences -= np.where(
        chain.has_windings, 2 * np.pi * np.round(differences / (2 * np.pi)), 0.0
    )
    rows = np.abs(differences).max(axis=1) < 1.0
    differences, owners = differences[rows], solutions.owners[rows]
    expansion = enclosures.Expansion(chain, first[owners], poses[owners])
    expansion.solve_for(np.tile(WristArm.of_chain(chain).parameters, (len(owners), 1)))
    left = np.einsum('kij,kj->ki', expansion.jacobians, differences) + expansion.miss
    bounds = expansion.remainders(np.abs(differences))
    for parts, bound in zip((left[:, :3], left[:, 3:]), bounds, strict=True):
        sizes = np.linalg.norm(parts, axis=1)
        assert (sizes <= bound + 1e-9).all()
        assert (sizes / bound).max() > TIGHT
    assert len(owners) > 50


def follows_tangents(node, offset):
    """Return whether a posture ``offset`` (n,) from the centre of one node is where its tangents and errors say."""
    errors, slopes = node.errors[0] + 1e-9, node.slopes[0]
    # Parameters are joints without errors: these rows decide.
    p = np.linalg.lstsq(slopes / errors[:, None], offset / errors, rcond=None)[0]
    is_within = bool((np.abs(p) <= node.spans[0] + 1e-8).all())
    return is_within and bool((np.abs(offset - slopes @ p) <= errors + 1e-8).all())


def test_boxes_near_folds_follow_tangents_too(chains):
    """Where branches meet, other joints are parameters; the closed form at many values of the cell lies along these."""
    chain, _ = chains['panda']
    arm = WristArm.of_chain(chain)
    poses, _ = random_cells(arm, 8, 5e-5)
    values = np.linspace(-2.8, 2.8, 1500)[None]
    folds = []
    for pose, solutions in zip(
        poses,
        (chain.find_postures(p[None], np.zeros((1, 0)), values) for p in poses[:8]),
        strict=False,
    ):
        held = solutions.q[:, chain.held]
        counts = np.array([(held == value).sum() for value in values[0]])
        folds += [(pose, values[0, k]) for k in np.flatnonzero(np.diff(counts))[:2]]
    step = values[0, 1] - values[0, 0]
    narrowed = checked = 0
    for pose, value in folds[:8]:
        centers = value + (np.arange(16)[:, None] + 0.5) / 16 * step
        cells = ParameterCells(np.zeros(16, dtype=int), centers, np.full((16, 1), step / 32))
        nodes = make_nodes(arm, cells, pose[None], arm.chain.has_windings)
        kept = nodes.is_loose & (nodes.errors < 0.5 * nodes.halves).any(axis=1)
        narrowed += int(kept.sum())
        inside = np.linspace(value, value + step, 80)[None]
        for q in chain.find_postures(pose[None], np.zeros((1, 0)), inside).q:
            near = np.abs(nodes.cells.centers[:, 0] - q[chain.held]) <= step / 32 + 1e-9
            offsets = q - nodes.q
            is_in = near & (np.abs(offsets) <= nodes.halves + 1e-9).all(axis=1)
            assert any(
                follows_tangents(nodes.chosen(np.array([k])), offsets[k])
                for k in np.flatnonzero(is_in)
            )
            checked += 1
    assert narrowed > 5 and checked > 200


@pytest.mark.sampled
@pytest.mark.parametrize('name', ['panda', 'lifted'])
@pytest.mark.parametrize('half', [0.002, 0.03, 0.15])
def test_boxes_hold_every_posture_of_the_closed_form(chains, name, half):
    chain, is_reversed = chains[name]
    arm = WristArm.of_chain(chain)
    assert arm is not None and arm.is_reversed == is_reversed
    poses, cells = random_cells(arm, 400, half)
    with np.errstate(over='raise', invalid='raise'):
        nodes = make_nodes(arm, cells, poses, arm.chain.has_windings)
    assert (nodes.errors >= 0.0).all() and np.isfinite(nodes.halves).all()
    rng, count, tight = np.random.default_rng(6), 0, 0
    moves = rng.uniform(-half, half, cells.centers.shape)
    values = cells.centers + moves
    solutions = chain.find_postures(poses, values[:, : chain.outer], values[:, chain.outer :])
    for q, cell in zip(solutions.q, solutions.owners, strict=True):
        rows = np.flatnonzero(nodes.owners == cell)
        offsets = q - nodes.q[rows]
        offsets -= np.where(chain.has_windings, 2 * np.pi * np.round(offsets / (2 * np.pi)), 0.0)
        is_in = (np.abs(offsets) <= nodes.halves[rows] + 1e-9).all(axis=1)
        is_near = [follows_tangents(nodes.chosen(rows[[k]]), offsets[k]) for k in range(len(rows))]
        assert (is_in & is_near).any()
        count += 1
        tight += bool((is_in & is_near & ~nodes.is_loose[rows]).any())
    assert count > 100
    if half < 0.01:
        assert tight > 0.5 * count


def test_boxes_of_neither_class_are_refused():
    model = robot('ur5e')
    group = next(g for g in model.groups.values() if len(g.joint_names) == 6)
    assert WristArm.of_chain(ToolChain(model, group)) is None


def cheapest_sequences(each, nodes, steps, sign=1, at_once=4, too_low_by=0.0):
    """Return the costs (k,) of sequences to boxes (q, halves, slopes, errors, spans, prices), some of each layer in one call."""
    q, halves, _, _, spans, prices = nodes
    turning, largest, weights, objective = steps
    layers, block = len(q) // each, boxes.BLOCK
    costs, multipliers = np.zeros(len(q)), np.zeros_like(q)
    for layer in range(1, layers) if sign > 0 else range(layers - 2, -1, -1):
        begin = each * (layer - sign)
        blocks = [
            slice(a, min(a + block, begin + each)) for a in range(begin, begin + each, block)
        ]
        low = np.array([(q - halves)[part].min(axis=0) for part in blocks])
        high = np.array([(q + halves)[part].max(axis=0) for part in blocks])
        least = costs - (np.abs(prices) * spans).sum(axis=1) - too_low_by
        around = (
            0.5 * (low + high),
            0.5 * (high - low),
            np.array([least[part].min() for part in blocks]),
        )
        work = np.empty(boxes.scratch_size(q.shape[1], spans.shape[1], len(blocks)))
        row = max(layer, layer - sign)
        for first in range(each * layer, each * (layer + 1), at_once):
            last = min(first + at_once, each * (layer + 1))
            boxes.connect_boxes(
                *(costs, multipliers, *nodes, *around, begin, begin + each, first, last),
                *(turning, largest[row], weights[row], objective, sign, work),
            )
    return costs


@pytest.mark.sampled
@pytest.mark.parametrize('objective', range(4))
@pytest.mark.parametrize('has_prices', [False, True])
def test_no_path_through_boxes_costs_less_than_the_cheapest_sequence(objective, has_prices):
    """Both ways, and through each box: random postures along the tangents of a few boxes."""
    rng = np.random.default_rng(objective)
    m, each, n, free = 4, 100, 3, 2
    turning, least = np.array([0, 1, 1]), []
    for _ in range(4):
        q = rng.uniform(-np.pi, np.pi, (m, each, n)) * [0.5, 1.0, 1.0]
        q = np.concatenate([layer[np.argsort(layer[:, 0])] for layer in q])
        slopes = rng.uniform(-1.0, 1.0, (m * each, n, free))
        spans, errors = rng.uniform(0.0, 0.3, (m * each, free)), rng.uniform(0.0, 0.02, q.shape)
        halves = (np.abs(slopes) * spans[:, None]).sum(axis=2) + errors
        prices = rng.uniform(-0.5, 0.5, spans.shape) * has_prices * (objective == 0)
        prices[:each] = prices[-each:] = 0.0
        weights, largest = rng.uniform(0.5, 1.5, (m, n)), np.full((m, n), 2.0)
        steps = turning, largest, weights, objective
        nodes = q, halves, slopes, errors, spans, prices
        ahead, back = (cheapest_sequences(each, nodes, steps, sign) for sign in (1, -1))
        every = cheapest_sequences(each, nodes, steps, too_low_by=99.0)
        assert np.array_equal(ahead, every), 'a block hid the best box'
        for _ in range(600):
            chosen = rng.integers(0, each, m) + each * np.arange(m)
            p = spans[chosen] * rng.choice([-1.0, 0.0, 1.0], (m, free)) * rng.uniform(0.5, 1.0)
            points = q[chosen] + np.einsum('knr,kr->kn', slopes[chosen], p)
            points += errors[chosen] * rng.uniform(-1.0, 1.0, points.shape)
            moves = np.diff(points, axis=0)
            moves[:, 1:] = np.mod(moves[:, 1:] + np.pi, 2.0 * np.pi) - np.pi
            if (np.abs(moves) > largest[1:]).any():
                continue
            sizes = np.abs(moves) * weights[1:]
            cost = (sizes.sum(), (sizes**2).sum(), sizes.max(), sizes.max(axis=1).sum())
            assert ahead[-each:].min() <= cost[objective] + 1e-9
            together = np.maximum if objective == 2 else np.add
            through = together(ahead[chosen], back[chosen])
            assert (through <= cost[objective] + 1e-9).all()
            least.append(cost[objective])
    assert least


def test_all_joints_of_a_step_follow_the_same_parameter():
    """Joint by joint two boxes touch; along their tangents they do not: one joint turns back where the other one goes on."""
    q = np.array([[0.0, 0.0], [0.2, 0.2]])
    slopes = np.array([[[1.0], [-1.0]], [[1.0], [-1.0]]])
    spans, errors, prices = np.full((2, 1), 0.1), np.full((2, 2), 1e-3), np.zeros((2, 1))
    steps = (
        np.zeros(2, dtype=np.int64),
        np.full((2, 2), 9.0),
        np.ones((2, 2)),
        kernels.SUM_OF_STEPS,
    )
    nodes = q, np.full((2, 2), 0.101), slopes, errors, spans, prices
    # Any move of the parameter shortens the step of one joint as much as it lengthens the other's.
    assert cheapest_sequences(1, nodes, steps)[1] == pytest.approx(0.4 - 4e-3)


@pytest.mark.parametrize('sign', [1, -1])
def test_the_price_of_a_box_changes_no_cost(sign):
    """The step to the box in the middle gets cheaper with its parameter; the step from the middle costs the same."""
    q = np.array([[-1.0, 0.0], [0.0, 0.0], [0.0, 0.5]])
    slopes = np.array([[[0.0], [0.0]], [[1.0], [0.0]], [[0.0], [0.0]]])
    spans, prices = np.array([[0.0], [0.1], [0.0]]), np.array([[0.0], [1.0], [0.0]])
    errors = np.array([[0.0, 0.0], [0.0, 0.0], [0.2, 0.0]])
    one = np.ones((3, 2))
    steps = np.zeros(2, dtype=np.int64), 9.0 * one, one, kernels.SUM_OF_STEPS
    nodes = q, np.array([[0.0, 0.0], [0.1, 0.0], [0.2, 0.0]]), slopes, errors, spans, prices
    costs = cheapest_sequences(1, nodes, steps, sign)
    assert costs[2 if sign > 0 else 0] == pytest.approx(1.4)


def test_a_step_of_half_a_turn_goes_the_other_way_too():
    """A box beyond half a turn, and a price that favours turning further: the step back is the short one."""
    q, slopes = np.array([[0.0], [3.0]]), np.array([[[0.0]], [[1.0]]])
    spans, none, one = np.array([[0.0], [0.2]]), np.zeros((2, 1)), np.ones((2, 1))
    steps = np.ones(1, dtype=np.int64), 9.0 * one, one, kernels.SUM_OF_STEPS
    nodes = q, spans, slopes, none, spans, np.array([[0.0], [1.0]])
    assert cheapest_sequences(1, nodes, steps)[1] <= 2.0 * np.pi - 3.2 - 0.2 + 1e-9


@pytest.mark.parametrize('objective', range(4))
def test_a_straight_step_costs_no_more_than_the_steps_that_it_stands_for(objective):
    rng = np.random.default_rng(objective)
    weights, largest = rng.uniform(0.2, 2.0, (9, 3)), rng.uniform(0.1, 0.5, (9, 3))
    limits = StepLimits(np.zeros(3, dtype=np.int64), largest, weights, objective)
    rows = np.array([0, 3, 4, 8])
    joined = relaxed_paths.joined_limits(limits, rows)
    for _ in range(200):
        q = np.cumsum(rng.uniform(-1.0, 1.0, (9, 3)) ** 3 * largest, axis=0)
        straight = np.abs(np.diff(q[rows], axis=0))
        assert (straight <= joined.largest[1:]).all()
        steps = np.abs(np.diff(q, axis=0)) * weights[1:], straight * joined.weights[1:]
        whole, joined_cost = (
            (sizes.sum(), (sizes**2).sum(), sizes.max(), sizes.max(axis=1).sum())[objective]
            for sizes in steps
        )
        assert joined_cost <= whole + 1e-12


def test_boxes_without_size_are_postures():
    rng = np.random.default_rng(0)
    q = np.sort(rng.uniform(-1.0, 1.0, (3, 6, 1)), axis=1).reshape(-1, 1)
    one, turning, none = np.ones((3, 1)), np.zeros(1, dtype=np.int64), np.zeros((18, 1))
    nodes = q, none, np.zeros((18, 1, 1)), none, none, none
    costs = cheapest_sequences(6, nodes, (turning, 9.0 * one, one, kernels.SUM_OF_STEPS))
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


def bounds_of(planner, poses, path, rounds):
    """Return the bound after each number of rounds; the path is said to cost more than it does, so that no bound stops there."""
    task = planner.task(poses)
    incumbent = KnownPath(path.positions, 1.3 * path.cost)
    return [
        relaxed_bound(planner.chain, task.limits, task.poses, incumbent, lambda: False, each).value
        for each in rounds
    ]


@pytest.mark.slow
def test_bounds_of_a_short_path_close_in_on_its_cost(monkeypatch):
    """Within one per cent of the best path, and never above it: a bound that is off by so little is seen."""
    monkeypatch.setattr(relaxed_paths, 'FIRST_CELLS', {1: (128,)})
    monkeypatch.setattr(relaxed_paths, 'LOOSE_ROUNDS', 4)
    poses, model = line((0.45, -0.2, 0.4), (0.45, 0.0, 0.4), 3), robot('panda')
    request = ToolPathRequest(largest_turn=1.5)
    planner = ToolPathPlanner(model, model.group('panda_arm'), request)
    path = planner.plan(poses)
    bounds = bounds_of(planner, poses, path, (5, 13))
    assert path.valid and 0.0 < bounds[0] <= bounds[1] <= path.cost * (1.0 + 1e-9)
    assert bounds[1] > 0.997 * path.cost


@pytest.mark.slow
@pytest.mark.parametrize('objective', PathObjective)
def test_every_round_keeps_the_bound_below_the_cost(objective):
    planner, _, path = known_path(robot('panda'), objective)
    bounds = bounds_of(planner, PANDA_LINE, path, (1, 3))
    assert 0.0 <= bounds[0] <= bounds[1] <= path.cost


@pytest.mark.slow
def test_a_round_looks_at_the_clock_often_and_does_not_depend_on_it(monkeypatch):
    planner, task, path = known_path(robot('panda'), PathObjective.JOINT_LENGTH)
    incumbent = KnownPath(path.positions, path.cost)
    problem = planner.chain, task.limits, task.poses, incumbent

    def run():
        looks = []
        return relaxed_bound(*problem, lambda: bool(looks.append(1)), 3).value, len(looks)

    value, looks = run()
    # The work between two looks has a largest size: with a smaller one there are more looks.
    monkeypatch.setattr(relaxed_paths, 'CELLS_AT_ONCE', 37)
    monkeypatch.setattr(relaxed_paths, 'PAIRS_AT_ONCE', 20_000)
    again, more_looks = run()
    assert again == pytest.approx(value, rel=1e-12)
    assert looks > 100 and more_looks > 2 * looks


def test_bound_seconds_change_the_bound_alone():
    model = robot('panda')
    quick = plan_tool_path(model, 'panda_arm', PANDA_LINE)
    path = plan_tool_path(model, 'panda_arm', PANDA_LINE, bound_seconds=0.2)
    assert quick.positions.tobytes() == path.positions.tobytes()
    assert quick.lower_bound <= path.lower_bound <= path.cost


def test_bound_rounds_give_the_same_bound_whatever_the_clock_does(monkeypatch):
    monkeypatch.setattr(relaxed_paths, 'FIRST_CELLS', {1: (128,)})
    monkeypatch.setattr(relaxed_paths, 'LOOSE_ROUNDS', 4)
    poses, model = line((0.45, -0.2, 0.4), (0.45, 0.0, 0.4), 3), robot('panda')

    def planned(rounds):
        return plan_tool_path(model, 'panda_arm', poses, largest_turn=1.5, bound_rounds=rounds)

    few, many = planned(2), planned(6)
    assert few.valid and not few.notes
    assert 0.0 < few.lower_bound < many.lower_bound <= many.cost
    jumps = itertools.count(0.0, 1.0)
    monkeypatch.setattr('ssik_ros.paths.control.time.monotonic', lambda: next(jumps))
    again = planned(2)
    assert again.lower_bound == few.lower_bound and not again.notes


def test_a_bound_that_the_clock_ended_says_so():
    path = plan_tool_path(robot('panda'), 'panda_arm', PANDA_LINE, bound_seconds=1e-9)
    assert path.valid and 'The clock ended the lower bound after 0 rounds.' in path.notes


@pytest.mark.parametrize('setting', [{'bound_seconds': -1.0}, {'bound_rounds': -1}])
def test_budgets_of_a_bound_below_zero_are_refused(setting):
    with pytest.raises(InvalidOption, match=next(iter(setting))):
        plan_tool_path(robot('panda'), 'panda_arm', PANDA_LINE, **setting)


@pytest.mark.sampled
@pytest.mark.parametrize('flag', ['deadline', 'cancel'])
def test_a_bound_ends_soon_after_its_time_and_a_cancellation(tmp_path, flag):
    """Two parameters at each waypoint: a round takes seconds, and ends amid its kernels."""
    model, group = lifted_arm(tmp_path)
    chain = ToolChain(model, group)
    middle = np.array([0.2, 0.1, 0.4, 0.2, 0.9, 0.1, 0.8, 0.0])
    q = middle + np.linspace(-0.15, 0.15, 30)[:, None] * np.array([0.2, 1, 1, 0, -1, 1, 0.5, 1])
    began, used = [], []

    def report(progress):
        if progress.phase == 'lower bound':
            began.append(time.monotonic())
            used.append(time.thread_time())

    seconds = 0.3 if flag == 'deadline' else 60.0
    request = ToolPathRequest(
        bound_seconds=seconds,
        report_progress=report,
        is_cancelled=lambda: bool(
            flag == 'cancel' and began and time.monotonic() > began[0] + 0.3
        ),
    )
    path = plan_tool_path(model, group, chain.poses(q), request)
    # Processor time: a busy machine adds none.
    over = time.thread_time() - used[0] - 0.3
    assert path.valid == (flag == 'deadline')
    assert flag != 'cancel' or 'cancelled' in path.reason
    assert over < 1.0


def test_an_arm_of_another_class_says_so():
    model = robot('ur5e')
    group = next(g for g in model.groups.values() if len(g.joint_names) == 6)
    poses = line((0.3, -0.1, 0.4), (0.3, 0.1, 0.4), 10)
    path = plan_tool_path(model, group, poses, bound_seconds=1.0)
    assert path.valid and any('bound_seconds' in note for note in path.notes)
