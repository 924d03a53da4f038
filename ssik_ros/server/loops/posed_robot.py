"""
A robot with loops whose links have goals: :class:`PosedRobot` is placed in a state, then solved.

A :class:`MarkedLink` describes a goal without its pose, so that requests with similar goals share a robot.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.errors import quote
from ssik_ros.mechanisms.joint import Goal
from ssik_ros.mechanisms.names import DOF
from ssik_ros.mechanisms.result import ChainResult
from ssik_ros.mechanisms.solver import Solver
from ssik_ros.mechanisms.urdf_frames import add_goal
from ssik_ros.mechanisms.urdf_robot import UrdfRobot
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.requests.refusals import Refusal, unknown
from ssik_ros.solvers.mechanisms.options import ClosedChainOptions


class MarkedLink(NamedTuple):
    """
    The structure of a goal without its pose: the link, a frame on it, and the directions that the goal fixes.

    Goals with equal values can use the same mechanism.
    """

    link: str
    """Name of the link."""
    offset: bytes
    """Bytes of the pose (4, 4) of the goal's frame in the link."""
    fixed: tuple[DOF, ...]
    """Degrees of freedom that the goal fixes."""
    world_axes: bool
    """Whether ``fixed`` is measured along and about the axes of the model frame, not of the goal."""


def goal_key(number: int) -> str:
    """
    Return the name of a goal inside a mechanism: a zero character and the number, which no loop has as its name.

    :param number: index of the goal in the request.
    """
    return f'\0{number}'


class PosedRobot:
    """A robot with loops and goals on some links, for one request at a time; its world frame is the model frame."""

    def __init__(self, robot: UrdfRobot, marked: tuple[MarkedLink, ...]) -> None:
        """
        Put goals on links of a mechanism.

        :param robot: with a free root; this object owns it from now on.
        :param marked: one for each goal: its link, the frame on the link, and the degrees of freedom that are fixed.
        """
        self.robot = robot
        self.marked = marked
        self.goals = [self._add_goal(mark, number) for number, mark in enumerate(marked)]
        self._solver = Solver(robot.root)

    def _add_goal(self, mark: MarkedLink, number: int) -> Goal:
        """
        Add a goal for a frame that is fixed to a link, and return it.

        :param mark: the link, the pose of the frame on it, and the directions that the goal fixes.
        :param number: number that :func:`goal_key` turns into the name of the goal.
        """
        goal, mount = add_goal(self.robot.links[mark.link], goal_key(number), mark.fixed)
        mount.set_matrix(np.frombuffer(mark.offset).reshape(4, 4))
        if mark.world_axes:
            goal.mask_frame = 'world'
        return goal

    def place(self, state: FullState) -> None:
        """
        Move the robot into a state; positions outside the limits are set to the limits.

        :param state: the state.
        """
        root = self.robot.root
        root.set_matrix(state.root_pose)
        root.set_dof_values(*np.zeros(len(root.dof)))
        self.robot.from_joint_state(self.robot.variable_names, state.positions)

    def release(self, locked_joints: Collection[str], *, free_root: bool) -> None:
        """
        Lock the named joints, unlock all other joints, and lock or unlock the root.

        :param locked_joints: names of the joints to lock.
        :param free_root: whether the root may move.
        :raises RequestRefused: for unknown names.
        """
        joints = self.robot.joints
        for name in locked_joints:
            if name not in joints:
                text = f'There is no joint {quote(name)} to be locked'
                raise unknown(Refusal.BAD_STATE, text, name, joints)
        for name, joint in joints.items():
            joint.locked = name in locked_joints
        self.robot.root.locked = not free_root

    def solve(self, options: ClosedChainOptions, cancel: NDArray[np.int64]) -> list[ChainResult]:
        """
        Solve all chains from the present state, and leave the joints in the solved state.

        :param options: tolerances, iterations, time and restarts.
        :param cancel: (1,) flag that ends the solve.
        :returns: one result for each chain.
        """
        mechanism = self._solver.mechanism
        storage = mechanism.storage
        return mechanism.solve(options, storage.reals, storage.flags, cancel)

    @property
    def state(self) -> FullState:
        """Return the present positions of all joints and the pose of the root link."""
        return FullState(self.robot.positions, np.array(self.robot.root.matrix_world))
