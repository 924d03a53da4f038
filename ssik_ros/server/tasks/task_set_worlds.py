"""
A pool of environments of one robot with the task sets of one file.

An environment has the joints, frames and task sets, and serves one thread. A request borrows an environment; idle ones
are kept. At the start of each loan, frames are as in the file and joints at a given full state. So a response does not
depend on earlier requests.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import threading

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray, wrap_angles
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.tasks import Environment, RobotScene
from ssik_ros.tasks.files.task_set_builder import build_environment
from ssik_ros.tasks.files.task_set_file import TaskSetFile
from ssik_ros.tasks.joints import IkJoint, joint_values, value_places
from ssik_ros.tasks.scene import places_of_joints

MOVED = 1e-9
"""If a value changes by more than this when it is written, it was outside its limits [rad or m]."""


class TaskSetWorlds:
    """
    A pool of environments for requests about task sets; several threads may call it at once.

    :meth:`lent` lends one. Other methods convert between joint values of an environment and full states of the robot.
    """

    def __init__(self, robot: RobotModel, content: TaskSetFile) -> None:
        """
        Build the template, of which all environments are copies.

        :param robot: the robot.
        :param content: the file.
        :raises ConfigError: for names that the robot does not have, with their line.
        """
        self.robot = robot
        self.content = content
        self.template = build_environment(content, RobotScene(robot))
        self._lock = threading.Lock()
        self._idle: list[Environment] = []
        self._places = _places_of_values(robot, self.template)
        self._cyclic = np.array(
            [
                joint.place_in_values
                for joint in self.template.joints
                if joint.cyclic and joint.size == 1
            ],
            dtype=np.int64,
        )
        self._plain = np.setdiff1d(np.arange(len(self._places)), self._cyclic)
        self._names = tuple(robot.variable_names)

    @contextmanager
    def lent(self, positions: FloatArray) -> Iterator[Environment]:
        """
        Context manager: yield an environment whose joints are at a full state, and whose frames are as in the file.

        No other thread uses it until the context ends.

        :param positions: (nq,) full state of the robot; values outside limits are set to the limits.
        """
        with self._lock:
            world = self._idle.pop() if self._idle else self.template.copy()
        world.poses[:] = self.template.poses
        self.write(world, positions)
        try:
            yield world
        finally:
            with self._lock:
                self._idle.append(world)

    def write(self, world: Environment, positions: FloatArray) -> None:
        """
        Set the joints of an environment to a full state.

        :param world: made from the template.
        :param positions: (nq,) full state of the robot; values outside limits are set to the limits.
        """
        world.q = positions[self._places]

    def motion(self, before: FloatArray, after: FloatArray) -> FloatArray:
        """
        Return the joint motion ``after - before``; differences of cyclic joints are wrapped to [-pi, pi].

        :param before, after: joint values of an environment, like ``Environment.q`` [rad or m].
        """
        motion = after - before
        motion[self._cyclic] = wrap_angles(motion[self._cyclic])
        return motion

    def moved_inside(self, positions: FloatArray, world: Environment) -> list[str]:
        """
        Return the names of the joints that the environment moved to a limit, because the given values were outside.

        Mimic joints and ball joints are not listed.

        :param positions: (nq,) full state as given.
        :param world: environment lent for this state.
        """
        change = self.motion(positions[self._places], world.values)
        names = []
        for joint in world.joints:
            joint_change = joint_values((joint,), change)
            # The quaternion of a ball joint is only brought to length one.
            if joint.size == 1 and joint.dependency is None and abs(joint_change[0]) > MOVED:
                names.append(joint.name)
        return names

    def full_positions(self, positions: FloatArray, values: FloatArray) -> FloatArray:
        """
        Return a full state (nq,) with the joint values of an environment.

        Each cyclic joint gets the winding of its value that is nearest to its value in ``positions``.

        :param positions: (nq,) full state before.
        :param values: joint values, like ``Environment.q``.
        """
        before = positions[self._places]
        out = positions.copy()
        out[self._places] = before + self.motion(before, values)
        # Joints that are not cyclic keep the numbers bit for bit.
        plain = self._plain
        out[self._places[plain]] = values[plain]
        return out

    def places(self, joints: Sequence[IkJoint]) -> IntArray:
        """
        Return the index of each value of some joints in the robot's full state.

        :param joints: joints of any of the environments.
        """
        return self._places[value_places(joints)]

    def variable_names(self, joints: Sequence[IkJoint]) -> list[str]:
        """
        Return the names of the position variables of some joints, as the robot's states have them.

        :param joints: of any of the environments.
        """
        return [self._names[place] for place in self.places(joints)]


def _places_of_values(robot: RobotModel, world: Environment) -> IntArray:
    """Return the index in a full state of the robot of each joint value of an environment."""
    places = np.zeros(len(world.values), dtype=np.int64)
    for part, (at, size) in places_of_joints(robot.tree).items():
        first = world.joint(part).place_in_values
        places[first : first + size] = np.arange(at, at + size)
    return places
