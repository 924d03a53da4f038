"""Ends of goals of the action ``~/plan_tool_path``, without a middleware."""

import threading
import time
from types import SimpleNamespace

from test.ros_units import bare_nodes  # noqa: F401 - skips the module if ROS is not installed

import pytest

pytest.importorskip('ssik_msgs', reason='ssik_msgs is not built; run make setup')

from ssik_ros.ros.services import tool_path_action
from ssik_ros.ros.services.tool_path_action import GoalLimits, ToolPathAction

pytestmark = pytest.mark.ros
LONG = 30.0


class Goal:
    """A goal, which forgets its cancellation when it has ended, as goals of rclpy do."""

    request = None

    def __init__(self, is_cancelled=False):
        self.is_cancel_requested = is_cancelled

    def canceled(self):
        self.is_cancel_requested = False

    def abort(self):
        pass


@pytest.fixture
def serve(monkeypatch):
    """Return a function that starts the action for one goal at once; it returns the callback of a goal."""

    def serve(plan):
        monkeypatch.setattr(tool_path_action, 'ActionServer', keep)
        handlers = SimpleNamespace(handler=lambda service: plan)
        ToolPathAction(None, handlers, GoalLimits(1, 10, LONG), lambda: False, None)
        return execute.pop()

    def keep(node, kind, name, callback, **options):
        execute.append(callback)

    execute = []
    return serve


def test_a_plan_ends_although_its_cancelled_goal_has_ended_before(serve):
    looked, seen, places = threading.Event(), [], []

    def plan(watched, result):
        places.append(watched.has_place)
        if not seen:
            time.sleep(5.0 * tool_path_action.CANCEL_TIME)
            seen.append((goal.is_cancel_requested, watched.watch.is_cancelled()))
            looked.set()
        return result

    goal, execute = Goal(is_cancelled=True), serve(plan)
    result = execute(goal)
    assert result.reason == tool_path_action.CANCELLED
    assert looked.wait(LONG)
    assert seen == [(False, True)]
    # Its place is free again.
    execute(Goal())
    assert places == [True, True]


def test_of_many_goals_without_a_place_few_wait_for_one(serve, monkeypatch):
    monkeypatch.setattr(tool_path_action, 'HANDOVER', LONG)
    begun, end, outcomes = threading.Event(), threading.Event(), []

    def plan(watched, result):
        if not begun.is_set():
            begun.set()
            assert end.wait(LONG)
        else:
            outcomes.append(watched.has_place)
        return result

    execute = serve(plan)
    goals = [threading.Thread(target=execute, args=(Goal(),)) for _ in range(5)]
    goals[0].start()
    assert begun.wait(LONG)
    for goal in goals[1:]:
        goal.start()
    deadline = time.monotonic() + LONG
    while len(outcomes) < 3 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert outcomes == [False] * 3, 'one waits, and the others end at once'
    end.set()
    for goal in goals:
        goal.join(LONG)
    assert outcomes == [False] * 3 + [True]
