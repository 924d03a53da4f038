"""Frames of a mechanism: named nodes with a pose, a parent and children. A link is a frame that is a rigid body."""

from collections.abc import Callable, Iterator, MutableSequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import check_callable, check_kind, read_numbers, refuse, shown
from ssik_ros.arrays import FloatArray, with_length
from ssik_ros.errors import InvalidClosure, InvalidTarget, quote
from ssik_ros.kernels.geometry.rotations import (
    invert_pose,
    matrix_of_quaternion,
    matrix_of_rpy,
    pose_matrix,
    quaternion_of_matrix,
    rpy_of_matrix,
)
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms.names import CamelCaseNames
from ssik_ros.mechanisms.storage import frozen, live, LiveArray, Storage


def check_finite(noun: str, values: ArrayLike, count: int) -> FloatArray:
    """
    Return values as a flat array of ``count`` finite numbers.

    :param noun: name of the argument, for messages.
    :param count: how many numbers there must be.
    :raises InvalidTarget: if there are more or fewer, or one is not finite.
    :raises InvalidOption: for text and other values that are not numbers.
    :raises DimensionMismatch: for rows of different length.
    """
    array = read_numbers(noun, values).ravel()
    if array.size != count or not np.isfinite(array).all():
        raise InvalidTarget(
            f'{noun} must be {count} finite numbers, not {shown(values)}.', value=values
        )
    return array


def _fill(target: Any, values: FloatArray) -> FloatArray:
    """
    Return ``values``; if ``target`` is not None, also write them into this list or array.

    :raises InvalidOption: if ``target`` is not a list or an array of the same length.
    """
    if target is not None:
        if not isinstance(target, np.ndarray | MutableSequence) or len(target) != len(values):
            refuse('target', target, f'a list or an array of {len(values)} numbers')
        target[:] = values
    return values


class Frame(CamelCaseNames):
    """
    A named frame in space, with its position and orientation in a parent frame, and children.

    A method raises InvalidOption for an argument of a wrong type, and DimensionMismatch for rows of different length,
    unless it names another error.
    """

    name: str = ''

    def __init__(self, name: str = '') -> None:
        """
        Make a frame at the origin of its future parent.

        :param name: for messages, results and markers; need not be unique.
        """
        self._storage = Storage()
        self._row = 0
        self._parent: Frame | None = None
        self._children: list[Frame] = []
        self.name = name

    def __repr__(self) -> str:
        """Return class and name."""
        return f'{type(self).__name__}({quote(self.name)})'

    def _read(self, start: int, count: int) -> FloatArray:
        return self._storage.reals[self._row, start : start + count]

    def _write(self, start: int, values: ArrayLike) -> None:
        array = np.asarray(values, dtype=float).ravel()
        with self._storage.lock:
            self._storage.reals[self._row, start : start + array.size] = array

    def _restructured(self, *others: 'Frame | None') -> None:
        """Note that the structure at this frame, and at ``others``, has changed: solvers then compile it again."""
        for frame in (self, *others):
            if frame is not None:
                frame._storage.stale = True

    @property
    def parent(self) -> 'Frame | None':
        """The frame that carries this frame; None for a root."""
        return self._parent

    @property
    def children(self) -> tuple['Frame', ...]:
        """The frames that this frame carries."""
        return tuple(self._children)

    @property
    def position(self) -> LiveArray:
        """
        Position in the parent [m]; items can be set.

        Setting raises InvalidTarget for other than three finite numbers.
        """
        return live(self._read(layout.POSITION, 3), self.set_position)

    @position.setter
    def position(self, values: ArrayLike) -> None:
        self.set_position(*read_numbers('position', values).ravel())

    @property
    def quaternion(self) -> LiveArray:
        """
        Orientation in the parent as x, y, z, w; items can be set, all four at once.

        Setting raises InvalidTarget for a norm below 1e-9, and for other than four finite numbers.
        """
        return live(self._read(layout.QUATERNION, 4), self.set_quaternion)

    @quaternion.setter
    def quaternion(self, values: ArrayLike) -> None:
        self.set_quaternion(*read_numbers('quaternion', values).ravel())

    def set_position(self, *position: float) -> None:
        """
        Set the position in the parent.

        :param position: x, y, z [m].
        :raises InvalidTarget: for other than three finite numbers.
        """
        self._write(layout.POSITION, check_finite('position', position, 3))

    def set_quaternion(self, *quaternion: float) -> None:
        """
        Set the orientation in the parent.

        :param quaternion: x, y, z, w of any length but zero.
        :raises InvalidTarget: for a norm below 1e-9, and for other than four finite numbers.
        """
        values, length = with_length(check_finite('quaternion', quaternion, 4))
        if length < 1e-9:
            raise InvalidTarget('quaternion must not be zero.', value=quaternion)
        self._write(layout.QUATERNION, values / length)

    def set_euler(self, *angles: float) -> None:
        """
        Set the orientation in the parent by Rz(ez) Ry(ey) Rx(ex).

        :param angles: ex, ey, ez [rad].
        :raises InvalidTarget: for other than three finite numbers.
        """
        ex, ey, ez = check_finite('angles', angles, 3)
        self._write(layout.QUATERNION, quaternion_of_matrix(matrix_of_rpy(ex, ey, ez)))

    @property
    def euler(self) -> tuple[float, float, float]:
        """Orientation in the parent as ex, ey, ez [rad]."""
        return rpy_of_matrix(self.matrix[:3, :3])

    def set_matrix(self, matrix: ArrayLike) -> None:
        """
        Set the pose in the parent.

        :param matrix: (4, 4) rigid transform; its last row is not checked.
        :raises InvalidTarget: if the rotation is not orthonormal within 1e-6 or is mirrored, or for other than 16
            finite numbers.
        """
        array = check_finite('matrix', matrix, 16).reshape(4, 4)
        rotation = array[:3, :3]
        if np.abs(rotation.T @ rotation - np.eye(3)).max() > 1e-6 or np.linalg.det(rotation) < 0.0:
            raise InvalidTarget('matrix must be a rigid transform.', value=matrix)
        self._write(layout.QUATERNION, quaternion_of_matrix(rotation))
        self._write(layout.POSITION, array[:3, 3])

    @property
    def matrix(self) -> FloatArray:
        """The (4, 4) pose in the parent."""
        row = self._storage.reals[self._row]
        rotation = matrix_of_quaternion(row[layout.QUATERNION : layout.QUATERNION + 4])
        return frozen(pose_matrix(row[layout.POSITION : layout.POSITION + 3], rotation))

    @property
    def matrix_dof(self) -> FloatArray:
        """The (4, 4) transform of the degrees of freedom: the identity except for joints."""
        return frozen(np.eye(4))

    @property
    def matrix_world(self) -> FloatArray:
        """The (4, 4) pose in the world, with the motion of the frame's own degrees of freedom."""
        matrix = self.matrix @ self.matrix_dof
        if self._parent is not None:
            matrix = self._parent.matrix_world @ matrix
        return frozen(matrix)

    def _parent_world(self) -> FloatArray:
        return np.eye(4) if self._parent is None else self._parent.matrix_world

    def get_world_position(self, target: Any = None) -> FloatArray:
        """
        Return the position in the world [m].

        :param target: list or array of three numbers that is filled, too; None for no such list.
        :raises InvalidOption: for a target of another type or length.
        """
        return _fill(target, self.matrix_world[:3, 3].copy())

    def get_world_quaternion(self, target: Any = None) -> FloatArray:
        """
        Return the orientation in the world as x, y, z, w.

        :param target: list or array of four numbers that is filled, too; None for no such list.
        :raises InvalidOption: for a target of another type or length.
        """
        return _fill(target, quaternion_of_matrix(self.matrix_world[:3, :3]))

    def set_world_position(self, *position: float) -> None:
        """
        Set the position of the frame in the world, at zero values of its degrees of freedom.

        :param position: x, y, z [m].
        :raises InvalidTarget: for other than three finite numbers.
        """
        point = check_finite('position', position, 3)
        local = invert_pose(self._parent_world()) @ np.append(point, 1.0)
        self._write(layout.POSITION, local[:3])

    def set_world_quaternion(self, *quaternion: float) -> None:
        """
        Set the orientation of the frame in the world, at zero values of its degrees of freedom.

        :param quaternion: x, y, z, w of any length but zero.
        :raises InvalidTarget: for a zero quaternion, and for other than four finite numbers.
        """
        values = check_finite('quaternion', quaternion, 4)
        rotation = self._parent_world()[:3, :3].T @ matrix_of_quaternion(values)
        self.set_quaternion(*quaternion_of_matrix(rotation))

    def set_matrix_world(self, matrix: ArrayLike) -> None:
        """
        Set the pose of the frame in the world, at zero values of its degrees of freedom.

        :param matrix: (4, 4) rigid transform; its last row is not checked.
        :raises InvalidTarget: if the rotation is not orthonormal within 1e-6 or is mirrored, or for other than 16
            finite numbers.
        """
        array = check_finite('matrix', matrix, 16).reshape(4, 4)
        self.set_matrix(invert_pose(self._parent_world()) @ array)

    def walk(self) -> Iterator['Frame']:
        """Yield this frame and all its descendants, breadth first."""
        level = [self]
        while level:
            yield from level
            level = [child for frame in level for child in frame._children]

    def traverse(self, callback: Callable[['Frame'], Any]) -> None:
        """
        Call a function for this frame and all its descendants, breadth first.

        :param callback: if it returns True, the descendants of the frame are skipped.
        """
        check_callable('callback', callback)
        level = [self]
        while level:
            kept = [frame for frame in level if callback(frame) is not True]
            level = [child for frame in kept for child in frame._children]

    def find(self, condition: Callable[['Frame'], Any]) -> 'Frame | None':
        """
        Return the first frame, breadth first from this frame on, that meets a condition; None if no frame does.

        :param condition: function of a frame; it is called until it returns something true.
        """
        check_callable('condition', condition)
        return next((frame for frame in self.walk() if condition(frame)), None)

    def traverse_parents(self, callback: Callable[['Frame'], Any]) -> None:
        """
        Call a function for every ancestor, the nearest first.

        :param callback: if it returns True, the farther ancestors are skipped.
        """
        check_callable('callback', callback)
        frame = self._parent
        while frame is not None and callback(frame) is not True:
            frame = frame._parent

    def _check_child(self, child: 'Frame') -> None:
        check_kind('child', child, Frame)
        if child._parent is not None:
            raise InvalidClosure(
                f'{child!r} already has the parent {child._parent!r}.', frame=child
            )
        # A frame without children is an ancestor of no other frame. So a tree that is built from its root down, or from
        # its leaves up, is walked through once in all.
        above: Frame | None = self
        while above is not None:
            if above is child:
                raise InvalidClosure(f'{child!r} cannot be put below itself.', frame=child)
            above = above._parent if child._children else None

    def add_child(self, child: 'Frame') -> None:
        """
        Make a frame a child of this one; its pose in the parent stays.

        :param child: a frame without a parent.
        :raises InvalidClosure: if the child has a parent, is this frame or an ancestor, or is of the wrong kind for a
            link or a joint.
        """
        self._check_child(child)
        child._parent = self
        self._children.append(child)
        self._restructured(child)

    def remove_child(self, child: 'Frame') -> None:
        """
        Remove a child; its pose in the parent becomes its pose in the world.

        :param child: a child of this frame.
        :raises InvalidClosure: if it is not a child of this frame.
        """
        if check_kind('child', child, Frame) not in self._children:
            raise InvalidClosure(f'{child!r} is no child of {self!r}.', frame=child)
        self._children.remove(child)
        child._parent = None
        self._restructured(child)

    def attach_child(self, child: 'Frame') -> None:
        """
        Make a frame a child of this one; its pose in the world stays.

        :param child: a frame without a parent.
        :raises InvalidClosure: if the child has a parent, is this frame or an ancestor, or is of the wrong kind.
        """
        before = check_kind('child', child, Frame)._world_before_dof()
        self.add_child(child)
        child.set_matrix(invert_pose(self.matrix_world) @ before)

    def detach_child(self, child: 'Frame') -> None:
        """
        Remove a child; its pose in the world stays.

        :param child: a child of this frame.
        :raises InvalidClosure: if it is not a child of this frame.
        """
        before = check_kind('child', child, Frame)._world_before_dof()
        self.remove_child(child)
        child.set_matrix(before)

    def _world_before_dof(self) -> FloatArray:
        return self._parent_world() @ self.matrix

    def update_matrix(self, include_children: bool = False) -> None:
        """
        Do nothing, since matrices are always computed from the present numbers; it exists for ported code.

        :param include_children: not read.
        """

    update_matrix_world = set_matrix_needs_update = set_matrix_world_needs_update = update_matrix


class Link(Frame):
    """A rigid body between joints."""

    def __init__(self, name: str = '') -> None:
        """
        Make a link.

        :param name: for messages, results and markers.
        """
        super().__init__(name)
        self._closure_joints: list[Frame] = []

    @property
    def closure_joints(self) -> tuple['Frame', ...]:
        """The joints and goals that close onto this link."""
        return tuple(self._closure_joints)

    def add_child(self, child: Frame) -> None:
        """
        Make a joint a child of this link.

        :param child: a joint without a parent.
        :raises InvalidClosure: if the child is a link, has a parent, or is an ancestor of this link.
        """
        if isinstance(child, Link):
            raise InvalidClosure(f'{self!r} is a link, its children are joints.', frame=child)
        super().add_child(child)
