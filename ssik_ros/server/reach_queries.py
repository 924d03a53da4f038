"""
Requests whether an arm reaches each of many poses: :class:`ReachQueries` responds by a reach map, or by its solver.

:func:`open_map` reads the map, and refuses a map that is not of the robot that is served.
"""

from pathlib import Path
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, InvalidOption, SsikError
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.reach_map import ReachMap, ReachResult
from ssik_ros.reach.store import hash_of_chain
from ssik_ros.results import Cause
from ssik_ros.server.groups.batches import read_poses
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.requests.refusals import Refusal, refused_as
from ssik_ros.server.scene.frames import FrameReader
from ssik_ros.value_class import dataclass

MOST_EXACT = 1000
"""Poses of one request that the solver is asked about."""
POSES_PER_LOOK = 16
"""Poses between two looks at the flag that ends all work."""


@dataclass(slots=True)
class ReachRequest:
    """Request whether the arm reaches each of many poses."""

    poses: FloatArray
    """(7 m) position [m] and quaternion x, y, z, w of each."""
    frame: str = ''
    """Frame of the poses; empty for the model frame."""
    exact: bool = False
    """Whether the solver decides about each pose, instead of the map."""


class ReachResponse(NamedTuple):
    """Whether the arm reaches each pose, with base and tip of the map; or why the request is refused."""

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """Cause of the failure; NONE for a success, and for some refusals such as FAULT."""
    text: str
    """One sentence or more about the outcome."""
    base: str = ''
    """Base link of the map; empty for a refused request."""
    tip: str = ''
    """Tip link of the map; empty for a refused request."""
    result: ReachResult | None = None
    """Status of each pose; None for a refused request."""


class ReachQueries:
    """Responds to requests whether the arm of one reach map reaches poses; several threads may call it at once."""

    def __init__(
        self,
        map_or_reason: ReachMap | str,
        frames: FrameReader,
        cancel: NDArray[np.int64] | None = None,
    ) -> None:
        """
        Keep a map, or the reason why no map is used.

        :param map_or_reason: a map of the robot; a text instead refuses every request.
        :param frames: gives the poses of named frames, and of the base link of the map.
        :param cancel: (1,) flag; while it is not 0, requests with ``exact`` are refused. None for no flag.
        """
        self._map_or_reason, self._frames = map_or_reason, frames
        self._cancel = np.zeros(1, dtype=np.int64) if cancel is None else cancel
        # A map keeps the units that it has read, and its solver serves one thread.
        self._map_lock, self._solver_lock = threading.Lock(), threading.Lock()

    @refused_as(ReachResponse, InvalidOption, Refusal.BAD_TARGET)
    def query(self, request: ReachRequest, current: FullState) -> ReachResponse:
        """
        Return whether the arm reaches each pose, by the map or by its solver; a wrong request gets a refusal.

        Without a map, every request gets the refusal FAULT with the reason. So does a request with ``exact`` after the
        cancel flag was set, and a request for which the map cannot be read.

        :param request: the poses.
        :param current: state of the robot, which places the frame of the poses.
        """
        if isinstance(self._map_or_reason, str):
            return ReachResponse(Refusal.FAULT, Cause.NONE, self._map_or_reason)
        poses = self._read(request, current)
        if request.exact:
            with self._solver_lock:
                result = self._solve(self._map_or_reason, poses)
        else:
            with self._map_lock:
                result = self._map_or_reason.query(poses)
        chain, count = self._map_or_reason.chain, int(result.reachable.sum())
        text = f'{count} of {counted(len(poses), "pose")} reachable.'
        said = Refusal.NONE, Cause.NONE, text
        return ReachResponse(*said, chain.base_link, chain.tip_link, result)

    def _read(self, request: ReachRequest, current: FullState) -> FloatArray:
        """
        Return the poses (m, 4, 4) of a request in the base link of the map.

        Raise RequestRefused for an invalid pose, an unknown frame, or too many poses.
        """
        assert isinstance(self._map_or_reason, ReachMap)
        poses = read_poses(request.poses)
        if request.exact and len(poses) > MOST_EXACT:
            raise Refusal.GOAL_COUNT.error(
                f'{counted(len(poses), "pose")} came with exact; there may be {MOST_EXACT}.',
            )
        bad = np.flatnonzero(~np.isfinite(poses).all(axis=(1, 2)))
        if len(bad):
            text = f'Pose {int(bad[0])} is no finite position with a quaternion other than zero.'
            raise Refusal.BAD_TARGET.error(text)
        frame = self._frames.in_model_frame(request.frame, current)
        base = self._frames.model_in_link(self._map_or_reason.chain.base_link, current)
        moved: FloatArray = (base if frame is None else base @ frame) @ poses
        return moved

    def _solve(self, reach_map: ReachMap, poses: FloatArray) -> ReachResult:
        """
        Return the solver's status of each pose (m, 4, 4); raise RequestRefused if the cancel flag is set.

        The flag is read before each ``POSES_PER_LOOK`` poses.
        """
        parts = []
        for start in range(0, max(1, len(poses)), POSES_PER_LOOK):
            if self._cancel[0]:
                raise Refusal.FAULT.error('The node ends; no more poses are solved.')
            parts.append(reach_map.query(poses[start : start + POSES_PER_LOOK], exact=True))
        return ReachResult(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def open_map(path: str, frames: FrameReader) -> ReachMap:
    """
    Return the map in a folder, if it is of the robot that is served.

    :param path: of the folder.
    :param frames: of the robot.
    :raises SsikError: when it is not a map, when the extra ``reach`` is missing, and for a map of another robot.
    """
    reach_map = ReachMap.open(Path(path))
    saved, robot = reach_map.chain, frames.robot
    try:
        chain = SerialChain.from_robot(robot, saved.base_link, saved.tip_link)
        is_same = hash_of_chain(chain) == hash_of_chain(saved)
    except SsikError:
        is_same = False
    if not is_same:
        raise InvalidOption(
            f"The reach map '{path}' is of '{saved.base_link}' to '{saved.tip_link}' of another robot, or geometry or "
            f"limits of '{robot.name}' have changed since; make it anew with `ssik reach`."
        )
    return reach_map
