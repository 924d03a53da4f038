"""Ends of goals of the action ``~/plan_tool_path``, without a middleware."""

import threading
import time

import bare_nodes  # noqa: F401 - skips the module if ROS is not installed
import pytest

pytest.importorskip('ssik_msgs', reason='ssik_msgs is not built; run make setup')

from ssik_ros.ros.services import tool_path_action
from ssik_ros.ros.services.tool_path_action import ToolPathAction

pytestmark = pytest.mark.ros
LONG = 30.0


class CancelledGoal:
    """A cancelled goal that forgets its cancellation when it has ended, as goals of rclpy do."""

    request = None

    def __init__(self):
        self.is_cancel_requested = True

    def canceled(self):
        self.is_cancel_requested = False


def test_a_plan_ends_although_its_cancelled_goal_has_ended_before(monkeypatch):
    looked, seen = threading.Event(), []

    def plan(watched, result):
        time.sleep(5.0 * tool_path_action.CANCEL_TIME)
        seen.append((goal.is_cancel_requested, watched.watch.is_cancelled()))
        looked.set()
        return result

    monkeypatch.setattr(ToolPathAction, '__init__', lambda self: None)
    action, goal = ToolPathAction(), CancelledGoal()
    action._handle, action._is_stopped = plan, lambda: False
    action._places, action._waiting = (threading.BoundedSemaphore(1) for _ in range(2))
    result = action._execute(goal)
    assert result.reason == tool_path_action.CANCELLED
    assert looked.wait(LONG)
    assert seen == [(False, True)]
    assert action._places.acquire(timeout=LONG)


def test_of_many_goals_without_a_place_few_wait_for_one(monkeypatch):
    monkeypatch.setattr(ToolPathAction, '__init__', lambda self: None)
    monkeypatch.setattr(tool_path_action, 'HANDOVER', LONG)
    action, outcomes = ToolPathAction(), []
    action._places, action._waiting = (threading.BoundedSemaphore(1) for _ in range(2))
    assert action._take_place()
    waiting = threading.Thread(target=lambda: outcomes.append(action._take_place()))
    waiting.start()
    while action._waiting.acquire(blocking=False):
        action._waiting.release()
        time.sleep(0.001)
    assert not action._take_place(), 'one waits already'
    action._places.release()
    waiting.join(LONG)
    assert outcomes == [True]
