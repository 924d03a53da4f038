"""Robots for tests of cases, all solved by PoseIK: one set of kernels for all chains."""

from functools import cache
import math

from test.server.served_robots import errors_between, ik_request, true_pose

import numpy as np

from ssik_ros.model.loader import load_robot
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

POSE_IK = 'ssik_ros/PoseIK'
TOLERANCE = 1e-3
ROUNDING = 1e-9


class Asked:
    """A group of a robot with its server and its judge."""

    def __init__(self, robot, group, **settings):
        """
        Serve the group.

        :param robot: the robot.
        :param group: the group, of the robot or made from links.
        :param settings: of :class:`RobotServer`, or of the group's kinematics.
        """
        self.robot, self.group = robot, group
        scene_settings = {
            k: settings.pop(k) for k in ('world', 'padding', 'transforms') if k in settings
        }
        given = GroupKinematics(group.name, **{'solver': POSE_IK, 'timeout': math.inf, **settings})
        scene = PlanningScene(robot, **scene_settings)
        self.server = RobotServer(robot, [group], {group.name: given}, scene=scene)
        self.default = self.server.states.default()
        self.served.warm_up()

    @property
    def served(self):
        """Return the group as it is served."""
        return self.server.groups[self.group.name]

    def state(self, q, current=None):
        """Return the full state with the group at a posture."""
        return self.served.with_group(current or self.default, np.asarray(q, dtype=np.float64))

    def pose(self, q, link='', current=None):
        """Return the pose (4, 4) of a link in the model frame, by pinocchio."""
        state = self.state(q, current)
        return true_pose(self.robot, state, link or self.group.tips[0])

    def ask(self, goals, current=None, **more):
        """Return the response for goals (link, pose[, frame])."""
        asked = ik_request(self.group.name, goals, **more)
        return self.server.solve(asked, current or self.default)

    def q(self, response):
        """Return the group's variables of a response."""
        return response.state.positions[self.group.idx_q]

    def is_verified(self, response, link, pose, tolerance=TOLERANCE):
        """Return whether a response is a posture within limits with a link at a pose."""
        if not response.solved:
            return False
        q = self.q(response)
        inside = (q >= self.group.lower).all() and (q <= self.group.upper).all()
        where = true_pose(self.robot, response.state, link or self.group.tips[0])
        errors = errors_between(where, pose)
        return bool(np.isfinite(q).all() and inside and np.hypot(*errors) <= tolerance + ROUNDING)


@cache
def from_text(urdf, srdf=None, group='', tip='tip'):
    """Return a robot of text with a group: a named one, or all joints from ``l0`` to a tip."""
    robot = load_robot(urdf, srdf)
    chosen = robot.group(group) if group else robot.group_from_links('l0', tip)
    return Asked(robot, chosen)


def positions(state: FullState, robot, *names):
    """Return the values of variables by name."""
    return [float(state.positions[robot.variable_names.index(name)]) for name in names]
