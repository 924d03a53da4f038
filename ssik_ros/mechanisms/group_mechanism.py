"""A planning group of a robot as a mechanism with a goal at every tip, read and written as arrays."""

from collections.abc import Sequence

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.geometry.rotations import quaternion_of_matrix
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms.mechanism import Mechanism
from ssik_ros.mechanisms.names import DOF
from ssik_ros.mechanisms.urdf_frames import add_goal
from ssik_ros.mechanisms.urdf_robot import UrdfRobot
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.solvers.mechanisms.options import ClosedChainOptions


class GroupMechanism:
    """
    A planning group of a robot, ready to be solved: joints of the group and passive joints of loops can move.

    All other joints are locked. There is a goal at every tip. One thread may use an object at a time; :meth:`twin`
    makes another one.
    """

    def __init__(
        self,
        robot: UrdfRobot,
        group: JointGroup,
        base: str,
        tips: Sequence[str],
        position_only: bool = False,
    ) -> None:
        """
        Lock all joints that may not move, put a goal at every tip, and compile the mechanism.

        :param robot: the robot as frames, with a fixed root; its locks and goals are changed.
        :param group: the planning group whose joints move.
        :param base: the link in whose frame targets are given.
        :param tips: the links that must reach targets.
        :param position_only: leave the orientation of targets free.
        :raises FrameNotFound: for a link that the robot does not have.
        """
        self.robot = robot
        held = set(robot.joints) - set(group.joint_names) - passive_joints(robot, base, tips)
        for name in held:
            robot.joints[name].locked = True
        mounts, goals = [], []
        fixed = tuple(DOF)[:3] if position_only else tuple(DOF)
        for tip in tips:
            goal, mount = add_goal(robot.links[tip], f'{tip} goal', fixed)
            robot.links[base].add_child(goal)
            mounts.append(mount)
            goals.append(goal)
        self.mechanism = Mechanism([robot.root])
        row = {id(frame): k for k, frame in enumerate(self.mechanism.frames)}
        self._mounts = [row[id(mount)] for mount in mounts]
        self._goals = [row[id(goal)] for goal in goals]
        self._goal_names = [goal.name for goal in goals]
        variables = robot.joint_variables
        self._places = np.array([place for place, *_ in variables.scalars], dtype=np.int64)
        self._rows = np.array([row[id(j)] for _, j, _ in variables.scalars], dtype=np.int64)
        self._dof = np.array([int(dof) for *_, dof in variables.scalars], dtype=np.int64)
        self._balls = [(place, row[id(joint)]) for place, joint in variables.balls]
        self._of_place = {place: k for k, place in enumerate(self._places.tolist())}
        self._template = self.mechanism.storage.reals.copy()
        self._flags = self.mechanism.storage.flags.copy()
        self.reals, self.flags = self._template.copy(), self._flags.copy()

    def twin(self) -> 'GroupMechanism':
        """
        Return the same mechanism with separate tables and workspaces, for another thread.

        The twin begins with the initial state, limits and locks: changes by :meth:`place`, :meth:`narrow` and
        :meth:`solve` are not copied.
        """
        other = object.__new__(GroupMechanism)
        other.__dict__.update(self.__dict__)
        other.mechanism = self.mechanism.copy()
        other.reals, other.flags = self._template.copy(), self._flags.copy()
        return other

    def place(
        self, positions: FloatArray, targets: FloatArray, tools: FloatArray | None = None
    ) -> None:
        """
        Set the state of the robot and the target poses of its tips; reset all limits and locks.

        :param positions: (nq,) full state.
        :param targets: (t, 4, 4) target poses in the base link.
        :param tools: (t, 4, 4) poses of the tools in the tip links; None to use the tips themselves.
        """
        self.reals[:] = self._template
        self.flags[:] = self._flags
        for k, target in enumerate(targets):
            self._set_pose(self._goals[k], target)
            if tools is not None:
                self._set_pose(self._mounts[k], tools[k])
        self.reals[self._rows, layout.VALUES + self._dof] = positions[self._places]
        for place, row in self._balls:
            self.reals[row, layout.ROTATION : layout.ROTATION + 4] = positions[place : place + 4]

    def narrow(self, place: int, lower: float, upper: float) -> None:
        """
        Set the limits of one variable; equal limits fix the variable at this value.

        :param place: index of the variable in the full state; for quaternions and mimic joints nothing is done.
        :param lower, upper: the limits [rad or m].
        """
        k = self._of_place.get(place)
        if k is None:
            return
        row, dof = int(self._rows[k]), int(self._dof[k])
        self.reals[row, layout.LOWER + dof] = lower
        self.reals[row, layout.UPPER + dof] = upper
        if lower == upper:
            self.reals[row, layout.VALUES + dof] = lower
            self.flags[row, layout.LOCKED + dof] = 1

    def solve(self, options: ClosedChainOptions, cancel: IntArray) -> int:
        """
        Solve loops and goals from the present state, and return the number of iterations.

        The last values become the state in any case, also if a goal is not reached or a loop is not closed.
        :meth:`errors` tells whether the solve succeeded.

        :param options: the options of the solve.
        :param cancel: (1,) flag; if another thread sets it to 1, the solve ends.
        :raises InvalidTarget: if a target pose or a value of the state is not finite, or a quaternion is zero.
        """
        self._results = self.mechanism.solve(options, self.reals, self.flags, cancel)
        return sum(result.iterations for result in self._results)

    def read(self) -> FloatArray:
        """Return the present full state (nq,) of the robot, mimic joints included."""
        positions = np.zeros(len(self.robot.variable_names))
        positions[self._places] = self.reals[self._rows, layout.VALUES + self._dof]
        for place, row in self._balls:
            positions[place : place + 4] = self.reals[row, layout.ROTATION : layout.ROTATION + 4]
        return self.robot.model.with_mimic(positions)

    def errors(self) -> tuple[FloatArray, float]:
        """
        Return the errors of the last solve: (t, 2) of each tip [m], [rad], and the largest error of a loop [m or rad].

        The errors of a tip without a result are infinite.
        """
        tips, loops = np.full((len(self._goals), 2), np.inf), 0.0
        for result in self._results:
            for name, row in zip(result.closures, result.closure_errors, strict=True):
                if name in self._goal_names:
                    tips[self._goal_names.index(name)] = row
                else:
                    loops = max(loops, float(row.max()))
        return tips, loops

    def _set_pose(self, row: int, pose: FloatArray) -> None:
        self.reals[row, layout.POSITION : layout.POSITION + 3] = pose[:3, 3]
        quaternion = quaternion_of_matrix(pose[:3, :3])
        self.reals[row, layout.QUATERNION : layout.QUATERNION + 4] = quaternion


def passive_joints(robot: UrdfRobot, base: str, tips: Sequence[str]) -> set[str]:
    """
    Return the names of the joints outside the planning group that may move to close loops.

    They are joints of loops on which neither the base nor a tip depends. If the robot names its active joints, every
    joint of a loop that is not active may move, too.

    :param robot: the robot.
    :param base, tips: the links of the group.
    :raises FrameNotFound: if the robot has no such link.
    """
    mechanism = robot.completion.mechanism
    on_loops = {mechanism.frames[row].name for row in mechanism.chain_joints} & set(robot.joints)
    tree = robot.model.tree
    carrying = {tree.joint_names[j] for link in (base, *tips) for j in tree.joint_path(link)}
    driven = set(robot.active_joints)
    return {name for name in on_loops if name not in carrying or (driven and name not in driven)}
