"""Searches that only the clock ends, kept under way while something else is measured."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from moveit_msgs.msg import MoveItErrorCodes
import numpy as np

from bench.arms import Arm, FloatArray
from bench.ros.caller import Caller, NoResponse
from bench.ros.requests import make_request

SOLVER = 'ssik_ros/PoseIK'
"""It goes on until the clock ends it; Auto gives such poses up in milliseconds."""
BUDGET = 1.0
"""Budget of each request [s]."""
LONG_NS = 40_000_000
"""A search that takes this long counts as long [ns]."""
SEARCHES = 4
"""Different requests that are enough."""
POSES = 60
"""Poses that are tried for them."""


def solver_parameter(group: str) -> str:
    """Return the parameter that gives a group of a node :data:`SOLVER`."""
    return f'robot_description_kinematics.{group}.kinematics_solver:={SOLVER}'


def poses_at_the_edge(arm: Arm, count: int) -> FloatArray:
    """
    Return poses (count, 4, 4) near the edge of the workspace, most of them just not reachable.

    One half has positions that the arm reaches, with random rotations; the other lies up to a fifth further out.
    """
    generator = np.random.default_rng(2)
    poses = arm.fk(generator.uniform(*arm.sampling_bounds(), (40 * count, len(arm.joints))))
    # The first joint's axis is vertical: its height does not depend on the configuration.
    centre = arm.joints[0].placement[:3, 3]
    offsets = poses[:, :3, 3] - centre
    far = np.argsort(-np.linalg.norm(offsets, axis=1))[:count]
    result = poses[far]
    result[:, :3, :3] = poses[generator.permutation(len(poses))[:count], :3, :3]
    stretch = np.where(np.arange(count) % 2 == 0, 1.0, generator.uniform(1.0, 1.2, count))
    result[:, :3, 3] = centre + stretch[:, None] * offsets[far]
    return result


def unreachable_requests(
    arm: Arm, caller: Caller, namespace: str, budget: float = BUDGET, group: str = ''
) -> list[Any]:
    """
    Return requests that the node searches for until its own limits end the search.

    :param arm: the arm.
    :param caller: tries them with :data:`BUDGET`.
    :param namespace: of the service.
    :param budget: of the requests that are returned [s].
    :param group: of the requests; empty means the arm's.
    :raises NoResponse: when no pose is searched for longer than :data:`LONG_NS`.
    """
    kept: list[Any] = []
    seed = np.zeros(len(arm.joints))
    for pose in poses_at_the_edge(arm, POSES):
        tried, request = (make_request(arm, pose, seed, time) for time in (BUDGET, budget))
        for each in (tried, request):
            each.ik_request.group_name = group or each.ik_request.group_name
        response, elapsed = caller.timed_call(namespace, tried)
        if response.error_code.val != MoveItErrorCodes.SUCCESS and elapsed > LONG_NS:
            kept.append(request)
        if len(kept) == SEARCHES:
            return kept
    if not kept:
        raise NoResponse(f'no pose is searched for longer than {1e-6 * LONG_NS:g} ms')
    return kept


class Searches:
    """As many searches under way as are wanted, each sent again after its response."""

    def __init__(
        self,
        caller: Caller,
        namespace: str,
        requests: Sequence[Any],
        count: int,
        budget: float = BUDGET,
    ) -> None:
        """
        Begin.

        :param caller: the client that calls.
        :param namespace: of the service.
        :param requests: those to send, repeated as often as needed.
        :param count: searches under way at once.
        :param budget: of each request [s].
        """
        self._caller, self._namespace, self._budget = caller, namespace, budget
        self._requests = [requests[index % len(requests)] for index in range(count)]
        self.overruns_ms: list[float] = []
        """By how much each response missed its deadline, the way to the client and back included [ms]."""
        self._futures = [self._send(request) for request in self._requests]

    def _send(self, request: Any) -> Any:
        begin = perf_counter()

        def note(_: Any) -> None:
            self.overruns_ms.append(1e3 * (perf_counter() - begin - self._budget))

        future = self._caller.send(self._namespace, request)
        future.add_done_callback(note)
        return future

    def keep_up(self) -> None:
        """Send again each request that has its response."""
        for index, future in enumerate(self._futures):
            if future.done():
                self._futures[index] = self._send(self._requests[index])

    def keep_up_for(self, seconds: float) -> int:
        """
        Keep the searches under way, then wait for the last responses; return how many did not come.

        :param seconds: how long [s].
        """
        end = perf_counter() + seconds
        while perf_counter() < end:
            self._caller.spin_once(0.1)
            self.keep_up()
        return len(self._futures) - self.finish()

    def finish(self) -> int:
        """Wait for the last responses; return how many came."""
        return self._caller.spin(self._futures, 10.0)
