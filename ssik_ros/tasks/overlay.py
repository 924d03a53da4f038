"""
Overlays: marker data that draw a chain, its tip, its target and its joint axes in a viewer such as RViz.

Points are in the frame of the base. Each marker has the same namespace and number in every call, so that a viewer
replaces it.
"""

from __future__ import annotations

from itertools import pairwise
import math

import numpy as np

from ssik_ros.arguments import names_keywords, read_flag, read_number
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption
from ssik_ros.markers import angles_of_arc, Color, Marker
from ssik_ros.tasks.constants import JointType
from ssik_ros.tasks.handling import jacobian_of
from ssik_ros.tasks.joints import IkJoint
from ssik_ros.tasks.objects import Dummy, IkObject
from ssik_ros.tasks.pose_formats import compose, IDENTITY, invert
from ssik_ros.tasks.world import TaskWorld

Shapes = list[tuple[int, str, Color, float, FloatArray, str]]
"""Number, shape, color, size, points and text of markers."""
RED: Color = (1.0, 0.0, 0.0, 1.0)
GREEN: Color = (0.0, 1.0, 0.0, 1.0)
MAGENTA: Color = (1.0, 0.0, 1.0, 1.0)
BLACK: Color = (0.0, 0.0, 0.0, 1.0)
WHITE: Color = (1.0, 1.0, 1.0, 1.0)
ORANGE: Color = (1.0, 0.5, 0.0, 1.0)
BLUE: Color = (0.0, 0.3, 1.0, 1.0)
GREY: Color = (0.5, 0.5, 0.5, 1.0)
TARGET_SIZE, TIP_SIZE, BASE_SIZE, OBJECT_SIZE, BALL_SIZE = 0.012, 0.01, 0.01, 0.01, 0.012
AXIS_HALF_LENGTH, DEPENDENT_AXIS, AXIS_WIDTH = 0.025, 0.05, 0.002
"""Half lengths of joint axes and width of lines [m]."""
ARC = 0.04
"""Radius of the arcs between limits [m]."""


class Overlay:
    """
    Marker data that draw the chain from a base to one tip in a viewer such as RViz.

    Each call of :meth:`markers` returns markers for the present state of the environment; none after :meth:`erase`.
    """

    @names_keywords
    def __init__(
        self,
        world: TaskWorld,
        tip: Dummy,
        base: IkObject | None = None,
        scale: float = 1.0,
        text: bool = False,
        limits: bool = False,
    ) -> None:
        """
        Choose the chain and the parts that are drawn.

        :param tip: the dummy at the end of the chain.
        :param base: where the chain begins and in whose frame points are given; None for the world.
        :param scale: factor on all sizes; larger than 0.
        :param text: whether the remaining errors are written next to the tip.
        :param limits: whether the range between the limits of each joint is drawn: an arc or a line, with a mark at the
            present value.
        :raises InvalidOption: for a scale that is not positive and finite, and for an unknown keyword.
        """
        if not read_number('scale', scale) > 0.0:
            raise InvalidOption(f'The scale of an overlay must be > 0, not {scale}.')
        self.world, self.tip, self.base = world, tip, base
        self.scale = scale
        self.text, self.limits = read_flag('text', text), read_flag('limits', limits)
        self.erased = False

    @property
    def namespace(self) -> str:
        """Return the namespace of all markers, ``environment/tip``: the names of the environment and of the tip."""
        return f'{self.world.name}/{self.tip.name}'

    @property
    def frame(self) -> str:
        """Return the name of the base, in whose frame all points are; empty for the world."""
        return '' if self.base is None else self.base.name

    def erase(self) -> None:
        """Mark the overlay as erased: :meth:`markers` returns no markers from then on."""
        self.erased = True

    def markers(self) -> tuple[Marker, ...]:
        """Return the markers at the present state of the environment; none after :meth:`erase`."""
        if self.erased:
            return ()
        base = np.array(IDENTITY)
        if self.base is not None:
            base = self.world.world_pose(self.base, moved=True)
        self._to_base = invert(base)
        chain = self.tip.line()
        if self.base in chain:
            chain = chain[chain.index(self.base) + 1 :]
        shapes = [*self._ends(), *self._chain(chain), *self._joints(chain), *self._errors()]
        if self.limits:
            shapes += self._ranges(chain)
        return tuple(
            Marker(self.namespace, number, shape, color, self.scale * size, points, text)
            for number, shape, color, size, points, text in shapes
        )

    def _at(self, item: IkObject) -> FloatArray:
        """
        Return the pose (12,) of an object in the frame of the base: rotation row by row, then position [m].

        A joint is moved by its present value. The base has the pose that the last call of :meth:`markers` has read.
        """
        return compose(self._to_base, self.world.world_pose(item, moved=True))

    def _ends(self) -> Shapes:
        """Return the markers of target (if any), tip and base: two balls and a cube."""
        points = [(1, 'sphere', GREEN, TIP_SIZE, self._at(self.tip)[9:][None], '')]
        if self.tip.target is not None:
            place = self._at(self.tip.target)[9:][None]
            points.insert(0, (0, 'sphere', RED, TARGET_SIZE, place, ''))
        return [*points, (2, 'cube', MAGENTA, BASE_SIZE, np.zeros((1, 3)), '')]

    def _chain(self, chain: list[IkObject]) -> Shapes:
        """
        Return the markers of a chain of objects: lines from the base through all of them, and balls at its dummies.

        The last object, the tip, gets no ball.
        """
        places = [np.zeros(3), *(self._at(item)[9:] for item in chain)]
        lines = [point for pair in pairwise(places) for point in pair]
        plain = [self._at(item)[9:] for item in chain[:-1] if not isinstance(item, IkJoint)]
        points = np.array(plain).reshape(-1, 3)
        return [
            (3, 'line_list', BLACK, AXIS_WIDTH, np.array(lines).reshape(-1, 3), ''),
            (4, 'sphere', WHITE, OBJECT_SIZE, points, ''),
        ]

    def _joints(self, chain: list[IkObject]) -> Shapes:
        """
        Return the markers of the joints of a chain: lines along their axes, and balls for spherical joints.

        Independent, dependent and passive joints have markers and colours of their own.
        """
        kinds = ((ORANGE, AXIS_HALF_LENGTH), (BLUE, DEPENDENT_AXIS), (GREY, AXIS_HALF_LENGTH))
        shapes: Shapes = []
        for index, (color, half) in enumerate(kinds):
            axes, balls = [], []
            for joint in chain:
                if not isinstance(joint, IkJoint) or _kind_of(joint) != index:
                    continue
                pose = self._at(joint)
                if joint.kind == JointType.SPHERICAL:
                    balls.append(pose[9:])
                    continue
                half_axis = self.scale * half * pose[[2, 5, 8]]
                axes += [pose[9:] - half_axis, pose[9:] + half_axis]
            shapes.append(
                (5 + 2 * index, 'line_list', color, AXIS_WIDTH, np.array(axes).reshape(-1, 3), '')
            )
            shapes.append(
                (6 + 2 * index, 'sphere', color, BALL_SIZE, np.array(balls).reshape(-1, 3), '')
            )
        return shapes

    def _ranges(self, chain: list[IkObject]) -> Shapes:
        """Return the markers of joints with limits: an arc or line between the limits, and a line at the present value."""
        ranges, marks = [], []
        for joint in chain:
            if not isinstance(joint, IkJoint) or joint.cyclic or joint.size > 1:
                continue
            radius = self.scale * ARC
            lower, upper = (limit - joint.position for limit in joint.limits)
            if joint.kind == JointType.PRISMATIC:
                local = np.array([[radius, 0.0, lower], [radius, 0.0, upper]])
            else:
                angles = angles_of_arc(lower, upper)
                rise = joint.screw_lead * angles / (2.0 * math.pi)
                ends = np.stack([radius * np.cos(angles), radius * np.sin(angles), rise], axis=1)
                local = np.stack([ends[:-1], ends[1:]], axis=1).reshape(-1, 3)
            pose = self._at(joint)
            rotation = pose[:9].reshape(3, 3)
            ranges.append(local @ rotation.T + pose[9:])
            marks += [pose[9:], pose[9:] + radius * rotation[:, 0]]
        return [
            (13, 'line_list', GREY, AXIS_WIDTH, np.concatenate([np.empty((0, 3)), *ranges]), ''),
            (14, 'line_list', WHITE, AXIS_WIDTH, np.array(marks).reshape(-1, 3), ''),
        ]

    def _errors(self) -> Shapes:
        """
        Return a line marker from tip to target and, if ``text`` is set, a text marker; empty if the tip has no target.

        The text has a line for each task of the tip: name of the task set, norm of its errors, and constraints.
        """
        if self.tip.target is None:
            return []
        tip, target = self._at(self.tip)[9:], self._at(self.tip.target)[9:]
        shapes = [(11, 'line_list', RED, AXIS_WIDTH, np.array([tip, target]), '')]
        if self.text:
            words = []
            for task_set in self.world.task_sets.values():
                for task in task_set.tasks:
                    if task.tip is self.tip:
                        _, error = jacobian_of(self.world, task_set)
                        size = float(np.linalg.norm(error))
                        words.append(f'{task_set.name}: {size:.3g}, {task.constraints!r}')
            shapes.append((12, 'text', BLACK, 2.0 * TIP_SIZE, tip[None], '\n'.join(words)))
        return shapes


def _kind_of(joint: IkJoint) -> int:
    """Return 1 for a joint that depends on another joint, 2 for a passive joint, 0 for other joints."""
    if joint.dependency is not None:
        return 1
    return 2 if joint.passive else 0
