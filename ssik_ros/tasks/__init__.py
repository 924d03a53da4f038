"""
Solve several IK tasks of a mechanism together, with priorities, as CoppeliaSim's simIK does, but without a simulator.

An :class:`Environment` has joints, plain frames and task sets, and methods that solve, search configurations and plan
paths.

>>> env = Environment()
>>> joint = env.add_joint('revolute', 'j1', limits=(-2.0, 2.0))
"""

from ssik_ros.markers import Marker
from ssik_ros.tasks.constants import (
    Constraint,
    JointMode,
    JointType,
    Method,
    Outcome,
    Reason,
    TaskSetFlag,
)
from ssik_ros.tasks.document import DocumentError
from ssik_ros.tasks.environment import Environment, TaskSet
from ssik_ros.tasks.joints import IkJoint
from ssik_ros.tasks.objects import Dummy
from ssik_ros.tasks.overlay import Overlay
from ssik_ros.tasks.paths import PathResult
from ssik_ros.tasks.scene import RobotScene, Scene
from ssik_ros.tasks.solve_result import SolveResult
from ssik_ros.tasks.task_set import Task

__all__ = [
    'Constraint',
    'DocumentError',
    'Dummy',
    'Environment',
    'IkJoint',
    'JointMode',
    'JointType',
    'Marker',
    'Method',
    'Outcome',
    'Overlay',
    'PathResult',
    'Reason',
    'RobotScene',
    'Scene',
    'SolveResult',
    'Task',
    'TaskSet',
    'TaskSetFlag',
]
