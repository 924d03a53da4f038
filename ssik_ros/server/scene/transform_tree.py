"""Find the pose of a frame in the published transforms of /tf and /tf_static: :class:`TransformTree` keeps them."""

from collections import deque
from collections.abc import Collection

import numpy as np

from ssik_ros.arrays import FloatArray, is_within_reason, TOO_FAR
from ssik_ros.errors import describe_choices
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.collision.objects import LONGEST_NAME
from ssik_ros.server.scene.world import PlacedFrame

MOST_FRAMES = 10_000
"""Frames that are kept; those that come later are left out."""


class TransformTree:
    """Keeps the latest pose (4, 4) of each frame in its parent, and finds poses in other frames; serves one thread."""

    def __init__(self) -> None:
        """Start without transforms."""
        self._parents: dict[str, tuple[str, FloatArray]] = {}
        self._children: dict[str, set[str]] = {}

    def put(self, parent: str, child: str, pose: FloatArray) -> str:
        """
        Keep a transform and return an empty text; or ignore it and return the reason.

        :param parent, child: names; a leading slash is removed.
        :param pose: (4, 4) of the child in the parent.
        """
        parent, child = parent.removeprefix('/'), child.removeprefix('/')
        if parent == child or not parent or not child:
            return 'It leads from a frame to itself, or names none.'
        if not np.isfinite(pose).all() or not is_within_reason(pose[:3, 3]):
            return f'It is not finite, or {TOO_FAR}.'
        if max(len(parent), len(child)) > LONGEST_NAME:
            return f'A name has more than {LONGEST_NAME} characters.'
        before = self._parents.get(child)
        if before is None and len(self._parents) >= MOST_FRAMES:
            return f'{MOST_FRAMES} frames are known already.'
        if before is not None and before[0] != parent:
            siblings = self._children[before[0]]
            siblings.discard(child)
            if not siblings:
                del self._children[before[0]]
        self._parents[child] = (parent, pose)
        self._children.setdefault(parent, set()).add(child)
        return ''

    def names(self) -> set[str]:
        """Return the names of all frames in the transforms."""
        return {*self._parents, *self._children}

    def find(self, name: str, bases: Collection[str]) -> PlacedFrame | str:
        """
        Return the pose of a frame relative to a known frame; or a sentence why the transforms lead to no known frame.

        Of several known frames, the one that needs the fewest transforms is used.

        :param name: the frame.
        :param bases: names of frames whose poses are known.
        """
        if name not in self._parents and name not in self._children:
            heard = self.names()
            if not heard:
                return 'No transforms have been published.'
            return f'No transform names it. {describe_choices(name, heard)}'
        poses = {name: np.eye(4)}
        waiting = deque([name])
        while waiting:
            at = waiting.popleft()
            if at in bases and at != name:
                return PlacedFrame(at, invert_pose(poses[at]))
            for other, pose in self._neighbours(at):
                if other not in poses:
                    poses[other] = poses[at] @ pose
                    waiting.append(other)
        return 'Its transforms lead to no frame of the robot.'

    def _neighbours(self, name: str) -> list[tuple[str, FloatArray]]:
        """Return the parent of a frame, if any, then its children by name; each with its pose (4, 4) in the frame."""
        near = [(child, self._parents[child][1]) for child in sorted(self._children.get(name, ()))]
        if name in self._parents:
            parent, pose = self._parents[name]
            near.insert(0, (parent, invert_pose(pose)))
        return near
