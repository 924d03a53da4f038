"""Early ends of plans, refusals by callers, and the poses of the tool and of other joints."""

import sys
import threading
import time

from test.paths.made_paths import box, line, robot

import numpy as np
import pytest

from ssik_ros.errors import InvalidOption, SolverError
from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.paths import control
from ssik_ros.paths.control import import_library, PlanCancelled, PlanControl
from ssik_ros.paths.measures import LARGEST_CLEARANCE, measure_path
from ssik_ros.paths.planner import plan_tool_path, ToolPathPlanner
from ssik_ros.paths.requests import PathProgress, PathTolerance, ToolPathRequest
from ssik_ros.results import Cause

LINE = line((0.45, -0.1, 0.4), (0.45, 0.1, 0.4), 15)


@pytest.fixture(scope='module')
def panda():
    """Return the Panda."""
    return robot('panda')


def plan(model, waypoints=LINE, **settings):
    """Return the plan of the Panda's arm."""
    return plan_tool_path(model, 'panda_arm', waypoints, **settings)


def test_a_plan_may_be_cancelled_at_every_look_and_ends_there(panda):
    asked = []
    plan(panda, obstacles=[], is_cancelled=lambda: bool(asked.append(1)))
    total = len(asked)
    assert total > 50
    for at in (1, 2, 3, total // 3, total // 2, total - 3, total):
        asked.clear()

        def is_cancelled(at=at):
            asked.append(1)
            return len(asked) >= at

        path = plan(panda, obstacles=[], is_cancelled=is_cancelled)
        assert (path.valid, path.cause, len(asked)) == (False, Cause.DEADLINE, at)
        assert 'cancelled' in path.reason and not len(path.positions)


def test_a_deadline_before_the_search_is_a_result(panda):
    path = plan(panda, timeout=1e-9, obstacles=[])
    assert (path.valid, path.cause) == (False, Cause.DEADLINE)
    assert 'budget' in path.reason


def test_progress_names_the_waypoint_and_the_cost(panda, monkeypatch):
    # A phase may be over before the time between two reports is.
    monkeypatch.setattr(control, 'OFTEN', 0.0)
    told: list[PathProgress] = []
    path = plan(panda, line((0.45, -0.1, 0.4), (0.45, 0.1, 0.4), 300), report_progress=told.append)
    assert path.valid
    assert all(0 <= report.waypoint < 300 and report.phase for report in told)
    assert any(report.waypoint > 0 for report in told)
    assert all(report.best_cost >= path.cost - 1e-9 for report in told)


def test_a_library_is_imported_while_the_flag_is_looked_at(tmp_path, monkeypatch):
    (tmp_path / 'takes_long.py').write_text(
        'import time\ntime.sleep(0.3)\nVALUE = 1\n', encoding='utf-8'
    )
    monkeypatch.syspath_prepend(tmp_path)
    looks = []
    assert import_library('takes_long', lambda: looks.append(time.monotonic())).VALUE == 1
    assert len(looks) > 5
    with pytest.raises(SolverError, match='is_not_there'):
        import_library('is_not_there', lambda: None)
    sys.modules.pop('takes_long')

    def look_up():
        raise PlanCancelled('the plan was cancelled')

    start = time.monotonic()
    with pytest.raises(PlanCancelled):
        import_library('takes_long', look_up)
    # The import goes on in its thread.
    assert time.monotonic() - start < 0.25
    for thread in threading.enumerate():
        if thread.name == 'import takes_long':
            thread.join()


def test_a_caller_refuses_postures(panda):
    free = plan(panda)
    joint = 0
    middle = float(free.positions[:, joint].mean())

    def accepts(q):
        return q[joint] > middle + 0.3

    path = plan(panda, accepts=accepts)
    assert path.valid and all(accepts(q) for q in path.positions)
    assert path.cost >= free.cost - 1e-9
    none = plan(panda, accepts=lambda q: False)
    assert (none.valid, none.cause, none.failed_waypoint) == (False, Cause.CONSTRAINTS, 0)
    assert 'accepted by the caller' in none.reason


def test_a_tool_follows_the_path_instead_of_the_tip(panda):
    tool = pose_matrix(np.array([0.05, 0.0, 0.12]), np.eye(3))
    path = plan(panda, tool=tool)
    assert path.valid
    kinematics, planner = (
        ReferenceKinematics(panda),
        ToolPathPlanner(panda, panda.group('panda_arm'), ToolPathRequest(tool=tool)),
    )
    for q, waypoint in zip(path.positions, LINE, strict=True):
        tip = kinematics.link_pose(planner.chain.full_state(q), panda.group('panda_arm').tip)
        assert np.abs(tip @ tool - waypoint).max() < 1e-6


def test_other_joints_are_where_the_state_has_them(panda):
    state = panda.default_positions()
    finger = panda.tree.idx_q[panda.require_joint('panda_finger_joint1')]
    state[finger] = 0.04
    request = ToolPathRequest(state=panda.with_mimic(state))
    chain = ToolPathPlanner(panda, panda.group('panda_arm'), request).chain
    assert chain.full_state(np.zeros(7))[finger] == 0.04
    assert plan(panda, state=panda.with_mimic(state), obstacles=[]).valid


@pytest.mark.parametrize(
    'settings',
    [
        {'tool': np.full((4, 4), np.nan)},
        {'tool': np.zeros((4, 4))},
        {'tool': np.eye(3)},
        {'state': np.zeros(3)},
        {'state': np.full(9, np.nan)},
        {'start': {'panda_joint1': 0.0}},
        {'start': {'panda_joint99': 0.0}},
    ],
)
def test_frames_and_postures_that_are_none_are_refused(panda, settings):
    with pytest.raises(InvalidOption):
        plan(panda, **settings)


def test_a_start_by_name_is_the_start_in_order(panda):
    free = plan(panda)
    start = dict(zip(reversed(free.joint_names), reversed(free.positions[0]), strict=True))
    assert np.array_equal(plan(panda, start=start).positions[0], free.positions[0])


def test_five_joints_need_a_spin(panda):
    """Two joints of seven are locked."""
    locked = {'panda_joint3': 0.0, 'panda_joint5': 0.0}
    with pytest.raises(InvalidOption, match='spin'):
        plan(panda, locked=locked)


def test_measures_are_those_of_other_kinematics(panda):
    group = panda.group('panda_arm')
    post = box((0.08, 0.08, 0.5), (0.25, 0.02, 0.55), 'post')
    request = ToolPathRequest(obstacles=[post], clearance=0.01)
    planner = ToolPathPlanner(panda, group, request)
    path = planner.plan(LINE)
    measures = measure_path(planner, path)
    assert measures.waypoints.tolist() == list(range(len(LINE)))
    assert (measures.clearance >= 0.01 - 1e-9).all() and (
        measures.clearance <= LARGEST_CLEARANCE
    ).all()
    assert measures.clearance.min() < 0.5
    kinematics = ReferenceKinematics(panda)
    places = np.vstack([planner.chain.chain.points, planner.chain.chain.home[:3, 3]])
    reach = np.linalg.norm(np.diff(places, axis=0), axis=1).sum()
    step = 1e-6
    for q, least in zip(path.positions, measures.singular, strict=True):
        here = kinematics.link_pose(planner.chain.full_state(q), group.tip)
        columns = []
        for joint in range(7):
            moved = q.copy()
            moved[joint] += step
            there = kinematics.link_pose(planner.chain.full_state(moved), group.tip)
            turn = (there[:3, :3] @ here[:3, :3].T - np.eye(3)) / step
            shift = (there[:3, 3] - here[:3, 3]) / step / reach
            columns.append([*shift, turn[2, 1], turn[0, 2], turn[1, 0]])
        values = np.linalg.svd(np.array(columns).T, compute_uv=False)
        assert values[-1] == pytest.approx(least, abs=1e-5)
    margins = np.minimum(path.positions - group.lower, group.upper - path.positions)
    assert np.allclose(measures.margins, margins / (group.upper - group.lower))


@pytest.mark.parametrize('timeout', [-1.0, float('nan')])
def test_a_timeout_that_is_no_time_is_refused(timeout):
    with pytest.raises(InvalidOption, match='timeout is a time'):
        PlanControl(ToolPathRequest(timeout=timeout))


@pytest.mark.parametrize(
    'settings',
    [
        {'corner': -1.0},
        {'clearance': float('nan')},
        {'largest_turn': 0.0},
        {'largest_slide': float('inf')},
        {'tool_speed': 0.0},
        {'bound_seconds': -1.0},
        {'bound_rounds': -1},
        {'spin_axis': (0.0, 0.0, 1.0), 'tolerance': PathTolerance()},
    ],
)
def test_a_request_refuses_settings_that_make_no_sense(settings):
    with pytest.raises(InvalidOption):
        ToolPathRequest(**settings)
