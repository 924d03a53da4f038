"""
IK environments: objects, groups, elements and priorities, searches and paths, without a simulator.

>>> env = Environment()
>>> joint = env.add_joint('revolute', 'j1', limits=(-2.0, 2.0))
"""

from ssik_ros.groups.constants import Constraint
from ssik_ros.groups.constants import GroupFlag
from ssik_ros.groups.constants import JointMode
from ssik_ros.groups.constants import JointType
from ssik_ros.groups.constants import Method
from ssik_ros.groups.constants import Outcome
from ssik_ros.groups.constants import Reason
from ssik_ros.groups.document import DocumentError
from ssik_ros.groups.element import Element
from ssik_ros.groups.environment import Environment
from ssik_ros.groups.group import Group
from ssik_ros.groups.handling import SolveResult
from ssik_ros.groups.joints import Joint
from ssik_ros.groups.objects import Dummy
from ssik_ros.groups.overlay import Overlay
from ssik_ros.groups.paths import PathResult
from ssik_ros.groups.scene import RobotScene
from ssik_ros.groups.scene import Scene
from ssik_ros.markers import Marker

__all__ = [
    'Constraint',
    'DocumentError',
    'Dummy',
    'Element',
    'Environment',
    'Group',
    'GroupFlag',
    'Joint',
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
]
