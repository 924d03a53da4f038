"""Requests of every service of the node, good and faulty ones, each with a judge that shares nothing with the package."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetCartesianPath, GetPositionFK, GetPositionIK, GetStateValidity
import numpy as np
from ssik_msgs.srv import ExplainIk, SolveAll, SolveBatch

from bench.arms import Arm, FloatArray
from bench.ros.requests import GROUPS, make_batch_request, make_request, pose_message

TOLERANCE = 2e-3
"""Distance [m] and difference of rotation matrices within which a pose counts as reached."""
SUCCESS = MoveItErrorCodes.SUCCESS
BATCH = 50
PATIENT = 10.0
"""Budget of all other requests [s]: more than they wait on a busy machine."""
SHORT = 0.3
"""Budget of a search that finds nothing [s]."""

Judge = Callable[[Any], str]
"""Return the fault of a response; empty if it has none."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and the function that judges its response."""

    kind: str
    service: str
    request: Any
    judge: Judge


SERVICES = {
    'compute_ik': GetPositionIK,
    'solve_ik': GetPositionIK,
    'compute_fk': GetPositionFK,
    'compute_cartesian_path': GetCartesianPath,
    'check_state_validity': GetStateValidity,
    'ssik_ros/solve_all': SolveAll,
    'ssik_ros/solve_batch': SolveBatch,
    'ssik_ros/explain_ik': ExplainIk,
}


class MixedRequests:
    """Draws requests about one arm."""

    def __init__(self, arm: Arm, seed: int) -> None:
        """
        Begin to draw.

        :param arm: the arm.
        :param seed: of the draws.
        """
        self._arm = arm
        self._group = GROUPS[arm.name]
        self._generator = np.random.default_rng(seed)
        self._names = [joint.name for joint in arm.joints]
        makers = (self._ik, self._fk, self._path, self._validity, self._all, self._batch)
        faulty = (self._unreachable, self._explain, self._wrong_name, self._no_pose, self._far)
        self._makers = (*makers, *faulty)
        weights = np.array([30, 8, 2, 8, 4, 3, 6, 4, 12, 12, 11], dtype=np.float64)
        self._weights = weights / weights.sum()

    def draw(self) -> Asked:
        """Return the next one."""
        index = int(self._generator.choice(len(self._makers), p=self._weights))
        return self._makers[index]()

    def _posture(self, share: float = 0.9) -> FloatArray:
        lower, upper = self._arm.sampling_bounds()
        middle, half = 0.5 * (lower + upper), 0.5 * share * (upper - lower)
        posture: FloatArray = self._generator.uniform(middle - half, middle + half)
        return posture

    def _pose(self, posture: FloatArray) -> FloatArray:
        pose: FloatArray = self._arm.fk(posture[None])[0]
        return pose

    def _left(self, names: Any, positions: Any, pose: FloatArray) -> str:
        """Say how far a posture by name leaves the tip from a pose; empty when it is there."""
        joint_values = dict(zip(names, positions, strict=True))
        reached = self._pose(np.array([joint_values[name] for name in self._names]))
        left = float(np.abs(reached - pose).max())
        return '' if left <= TOLERANCE else f'the tip is {left:.3g} away'

    def _state_judge(self, pose: FloatArray, code: int = SUCCESS) -> Judge:
        """Return the judge of a response with one state for a pose, or with another code that is right as well."""

        def judge(response: Any) -> str:
            if response.error_code.val != SUCCESS:
                return _expect(response, code)
            state = response.solution.joint_state
            return self._left(state.name, state.position, pose)

        return judge

    def _ik(self) -> Asked:
        pose = self._pose(self._posture())
        request = make_request(self._arm, pose, self._posture(), PATIENT)
        service = 'compute_ik' if self._generator.random() < 0.7 else 'solve_ik'
        return Asked('reachable pose', service, request, self._state_judge(pose))

    def _unreachable(self) -> Asked:
        pose = self._pose(self._posture())
        direction = pose[:3, 3] / max(1e-3, float(np.linalg.norm(pose[:3, 3])))
        pose[:3, 3] += 0.15 * direction
        pose[:3, :3] = -pose[:3, :3] @ np.diag([1.0, 1.0, -1.0])
        request = make_request(self._arm, pose, self._posture(), SHORT)
        return Asked('pose at the edge', 'compute_ik', request, self._state_judge(pose, -31))

    def _far(self) -> Asked:
        pose = np.eye(4)
        pose[:3, 3] = self._generator.uniform(3.0, 9.0, 3)
        request = make_request(self._arm, pose, self._posture(), PATIENT)
        return Asked('far pose', 'solve_ik', request, lambda response: _expect(response, -31))

    def _wrong_name(self) -> Asked:
        request = make_request(self._arm, self._pose(self._posture()), self._posture(), PATIENT)
        ik_request = request.ik_request
        which = int(self._generator.integers(4))
        code = (-15, -31, -21, -17)[which]
        if which == 0:
            ik_request.group_name = 'nobody'
        elif which == 1:
            ik_request.ik_link_name = 'thumb'
        elif which == 2:
            ik_request.pose_stamped.header.frame_id = 'nowhere'
        else:
            ik_request.robot_state.joint_state.name[0] = 'ghost'
        return Asked('wrong name', 'compute_ik', request, lambda response: _expect(response, code))

    def _no_pose(self) -> Asked:
        request = make_request(self._arm, self._pose(self._posture()), self._posture(), PATIENT)
        pose = request.ik_request.pose_stamped.pose
        if self._generator.random() < 0.5:
            pose.position.x = float(self._generator.choice([np.nan, np.inf, -np.inf]))
        else:
            q = pose.orientation
            q.x = q.y = q.z = q.w = 0.0
        return Asked('no pose', 'compute_ik', request, lambda response: _expect(response, -31))

    def _fk(self) -> Asked:
        posture = self._posture()
        request = GetPositionFK.Request(fk_link_names=[self._arm.tip])
        request.header.frame_id = self._arm.base
        self._set_state(request.robot_state, posture)
        pose = self._pose(posture)

        def judge(response: Any) -> str:
            if response.error_code.val != SUCCESS:
                return f'no pose: {response.error_code.message}'
            p = response.pose_stamped[0].pose.position
            left = float(np.abs(pose[:3, 3] - (p.x, p.y, p.z)).max())
            return '' if left < 1e-9 else f'the link is {left:.3g} m away'

        return Asked('poses of links', 'compute_fk', request, judge)

    def _validity(self) -> Asked:
        request = GetStateValidity.Request(group_name=self._group)
        self._set_state(request.robot_state, self._posture())

        def judge(response: Any) -> str:
            return '' if response.valid == (not response.contacts) else 'valid and in contact'

        return Asked('validity', 'check_state_validity', request, judge)

    def _path(self) -> Asked:
        posture = self._posture(0.5)
        request = GetCartesianPath.Request(
            group_name=self._group, link_name=self._arm.tip, max_step=0.02
        )
        request.header.frame_id = self._arm.base
        self._set_state(request.start_state, posture)
        pose = self._pose(posture)
        pose[2, 3] -= 0.05
        request.waypoints = [pose_message(pose)]
        return Asked('path', 'compute_cartesian_path', request, lambda r: _expect(r, SUCCESS))

    def _all(self) -> Asked:
        pose = self._pose(self._posture())
        request = SolveAll.Request(group=self._group)
        asked = make_request(self._arm, pose, self._posture(), PATIENT).ik_request
        request.pose_stamped, request.robot_state = asked.pose_stamped, asked.robot_state
        request.timeout = asked.timeout

        def judge(response: Any) -> str:
            names = response.joint_names
            wrong = [self._left(names, branch.positions, pose) for branch in response.branches]
            return next(filter(None, wrong), '')

        return Asked('all branches', 'ssik_ros/solve_all', request, judge)

    def _batch(self) -> Asked:
        poses = [self._pose(self._posture()) for _ in range(BATCH)]
        request = make_batch_request(self._arm, np.array(poses), self._posture())
        request.timeout.sec = 5

        def judge(response: Any) -> str:
            if response.solved != BATCH:
                return f'{response.solved} of {BATCH} solved'
            rows = np.array(response.positions).reshape(BATCH, -1)
            wrong = [
                self._left(response.joint_names, row, pose)
                for row, pose in zip(rows, poses, strict=True)
            ]
            return next(filter(None, wrong), '')

        return Asked('batch', 'ssik_ros/solve_batch', request, judge)

    def _explain(self) -> Asked:
        asked = self._far().request.ik_request
        request = ExplainIk.Request(group=self._group)
        request.pose_stamped, request.robot_state = asked.pose_stamped, asked.robot_state
        request.timeout.nanosec = 100_000_000
        return Asked('explanation', 'ssik_ros/explain_ik', request, lambda r: _expect(r, -31))

    def _set_state(self, state: Any, posture: FloatArray) -> None:
        state.joint_state.name = list(self._names)
        state.joint_state.position = posture.tolist()


def _expect(response: Any, code: int) -> str:
    """Return an empty text if a response has the expected code, else a text with both codes and the message."""
    error = response.error_code.val
    return '' if error == code else f'{error} instead of {code}: {response.error_code.message}'
