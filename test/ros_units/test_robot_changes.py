"""A robot description that comes while requests run."""

import gc
from types import SimpleNamespace
import weakref

import bare_nodes  # noqa: F401 - skips the module if ROS is not installed
import pytest

from ssik_ros.errors import SsikError
from ssik_ros.ros.node import IkServer

pytestmark = pytest.mark.ros


class Loading:
    """The parts of a node that load a robot, with a robot that is served."""

    def __init__(self, is_sound):
        """Serve a robot; the next one is sound or not."""
        self._handlers = SimpleNamespace(served=object())
        self._is_sound = is_sound
        self._source = SimpleNamespace(may_mend=lambda _: True)
        self._loading = SimpleNamespace(end=lambda: None)

    def _serve(self, _):
        if not self._is_sound:
            raise SsikError('The robot description is not XML text.')
        self._handlers.served = object()

    def _report(self, text, can_mend):
        pass


@pytest.mark.parametrize(('is_sound', 'generation'), [(False, 0), (True, 2)])
def test_only_a_robot_that_is_replaced_is_searched_for_among_all_objects(
    monkeypatch, is_sound, generation
):
    # A search of all objects holds every other thread; descriptions may be wrong many times a second.
    collected = []
    monkeypatch.setattr(gc, 'collect', collected.append)
    IkServer._load(Loading(is_sound), None)
    assert collected == [generation] and gc.isenabled()


def test_a_robot_that_failed_leaves_nothing_behind():
    class Failing(Loading):
        def _serve(self, _):
            robot = Loading(False)
            robot.itself = robot
            self.robot = weakref.ref(robot)
            raise SsikError('The robot has no links.')

    loading = Failing(False)
    IkServer._load(loading, None)
    assert loading.robot() is None
