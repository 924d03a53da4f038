"""Find all frames of a connected mechanism, and describe its structure by the frames' numbers in a list."""

from collections.abc import Iterable, Sequence
from typing import Any

from ssik_ros.arguments import shown
from ssik_ros.errors import InvalidClosure
from ssik_ros.mechanisms.frame import Frame, Link
from ssik_ros.mechanisms.joint import Goal, Joint
from ssik_ros.solvers.mechanisms.structure import FollowerDof, GOAL, JOINT, LINK, Shape


def as_frames(name: str, frames: Frame | Iterable[Frame]) -> list[Frame]:
    """
    Return one frame or an iterable of frames as a list.

    :param name: the argument, for messages.
    :param frames: the value that a caller gave.
    :raises InvalidClosure: for anything else.
    """
    is_many = isinstance(frames, Iterable) and not isinstance(frames, Frame | str)
    listed: list[Any] = list(frames) if is_many else [frames]
    for frame in listed:
        if not isinstance(frame, Frame):
            raise InvalidClosure(f'{name} holds frames, not {shown(frame)}.', frame=frame)
    return listed


def topmost(frame: Frame) -> Frame:
    """Return the root of the tree of a frame; the frame itself if it has no parent."""
    while frame.parent is not None:
        frame = frame.parent
    return frame


def neighbours(frame: Frame) -> list[Frame]:
    """
    Return the frames that a frame is coupled with, other than its parent and children.

    For a joint these are the leaders of its degrees of freedom, and the link that it closes onto. For a link they are
    the joints and goals that close onto the link.
    """
    if isinstance(frame, Link):
        return list(frame.closure_joints)
    if isinstance(frame, Joint):
        tied: list[Frame] = [leader for leader, *_ in frame._followed.values()]
        return [*tied, frame.child] if frame.is_closure and frame.child is not None else tied
    return []


def find_roots(frames: Iterable[Frame]) -> list[Frame]:
    """
    Return the roots of all trees that are connected with some frames by parents, children, closures and leaders.

    :param frames: any frames of the mechanism; one of each connected part is enough.
    :returns: each root once, in the order in which they are met.
    :raises InvalidClosure: if ``frames`` has anything but frames.
    """
    roots: list[Frame] = []
    pending = [topmost(frame) for frame in as_frames('frames', frames)][::-1]
    while pending:
        root = pending.pop()
        if root in roots:
            continue
        roots.append(root)
        tied = [other for frame in root.walk() for other in neighbours(frame)]
        pending += [topmost(other) for other in tied][::-1]
    return roots


def list_frames(roots: Sequence[Frame]) -> list[Frame]:
    """Return some roots and all their descendants, depth first."""
    frames: list[Frame] = []
    pending = list(roots)[::-1]
    while pending:
        frame = pending.pop()
        frames.append(frame)
        pending += frame.children[::-1]
    return frames


def describe(frames: Sequence[Frame]) -> Shape:
    """
    Return the structure of a mechanism as tables of row numbers, without the frame objects.

    :param frames: all of its frames, parents before children; the index of a frame is its row.
    :raises InvalidClosure: if a leader has lost the degree of freedom that a joint follows.
    """
    rows = {frame: row for row, frame in enumerate(frames)}
    joints = [frame if isinstance(frame, Joint) else None for frame in frames]
    closes = [-1] * len(frames)
    followers = {}
    for row, joint in enumerate(joints):
        if joint is None:
            continue
        if joint.is_closure:
            closes[row] = rows[joint.child]  # type: ignore[index]
        for dof, (leader, leader_dof, multiplier, offset) in joint._followed.items():
            if leader_dof not in leader.dof:
                text = f'{leader!r}, which {joint!r} follows, has lost {leader_dof.name}.'
                raise InvalidClosure(text, joint=joint)
            follower = FollowerDof(rows[leader], int(leader_dof), multiplier, offset)
            followers[row, int(dof)] = follower
    return Shape(
        kinds=tuple(
            GOAL if isinstance(f, Goal) else JOINT if f in joints else LINK for f in frames
        ),
        names=tuple(frame.name or f'{type(frame).__name__} {k}' for k, frame in enumerate(frames)),
        parents=tuple(-1 if f.parent is None else rows[f.parent] for f in frames),
        dof=tuple(() if j is None else tuple(int(d) for d in j.dof) for j in joints),
        balls=tuple(j is not None and j.rotation == 'quaternion' for j in joints),
        closes=tuple(closes),
        world=tuple(isinstance(f, Goal) and f.mask_frame == 'world' for f in frames),
        followers=followers,
    )
