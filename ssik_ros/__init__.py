"""
Inverse kinematics for any robot a URDF can describe: verified solutions, or the cause of the failure.

The package has the public names as attributes. Each name is imported from its module when it is first used, so that
``import ssik_ros`` is fast. No name needs ROS.
"""

import importlib
from typing import Any, TYPE_CHECKING

__version__ = '0.2.0'

_HOMES = {
    'ArmScene': 'ssik_ros.manipulator.arm_scene',
    'BatchSolutions': 'ssik_ros.manipulator.batch_solutions',
    'Cause': 'ssik_ros.results',
    'Continuum': 'ssik_ros.manipulator.solution',
    'create_solver': 'ssik_ros.solvers.registry',
    'DEFAULT_TOLERANCE_POLICY': 'ssik_ros.manipulator.tolerance_policy',
    'Diagnostic': 'ssik_ros.manipulator.diagnostic',
    'find_moveit_config': 'ssik_ros.model.description_files',
    'ik_GN': 'ssik_ros.manipulator.newton_family',
    'ik_LM': 'ssik_ros.manipulator.newton_family',
    'ik_NR': 'ssik_ros.manipulator.newton_family',
    'IkOutcome': 'ssik_ros.solvers.search.pose_ik.solve_ik',
    'IkResult': 'ssik_ros.results',
    'IkSolution': 'ssik_ros.manipulator.newton_solution',
    'IkSolutions': 'ssik_ros.manipulator.newton_solution',
    'IkStatus': 'ssik_ros.results',
    'JointGroup': 'ssik_ros.model.joint_group',
    'KinBody': 'ssik_ros.manipulator.kin_body',
    'KinBodyJoint': 'ssik_ros.manipulator.kin_body',
    'list_solvers': 'ssik_ros.solvers.registry',
    'load_robot': 'ssik_ros.model.loader',
    'Manipulator': 'ssik_ros.manipulator.manipulator',
    'plan_tool_path': 'ssik_ros.paths.planner',
    'pose': 'ssik_ros.problem.pose_input',
    'PoseIkOptions': 'ssik_ros.solvers.search.pose_ik.options',
    'PoseTarget': 'ssik_ros.solvers.search.pose_ik.solve_ik',
    'RefinementMode': 'ssik_ros.manipulator.solution',
    'RobotModel': 'ssik_ros.model.robot_model',
    'RobotState': 'ssik_ros.model.robot_state',
    'Rows': 'ssik_ros.problem.problem',
    'Solution': 'ssik_ros.manipulator.solution',
    'Solutions': 'ssik_ros.manipulator.solution',
    'solve_ik': 'ssik_ros.solvers.search.pose_ik.solve_ik',
    'SolveRequest': 'ssik_ros.problem.contract',
    'SsikError': 'ssik_ros.errors',
    'StoppedBy': 'ssik_ros.solvers.search.newton.tracker',
    'TolerancePolicy': 'ssik_ros.manipulator.tolerance_policy',
    'Tracker': 'ssik_ros.solvers.search.newton.tracker',
    'TrackStatus': 'ssik_ros.solvers.search.newton.tracker',
}
"""Module of each public name."""
_MODULES = ('mechanisms', 'postprocess', 'reach', 'tasks')
"""Modules and packages that are public as they are."""

__all__ = [*_HOMES, *_MODULES, '__version__']

if TYPE_CHECKING:
    from ssik_ros.errors import SsikError as SsikError
    from ssik_ros.manipulator.arm_scene import ArmScene as ArmScene
    from ssik_ros.manipulator.batch_solutions import BatchSolutions as BatchSolutions
    from ssik_ros.manipulator.diagnostic import Diagnostic as Diagnostic
    from ssik_ros.manipulator.kin_body import KinBody as KinBody, KinBodyJoint as KinBodyJoint
    from ssik_ros.manipulator.manipulator import Manipulator as Manipulator
    from ssik_ros.manipulator.newton_family import ik_GN as ik_GN, ik_LM as ik_LM, ik_NR as ik_NR
    from ssik_ros.manipulator.newton_solution import (
        IkSolution as IkSolution,
        IkSolutions as IkSolutions,
    )
    from ssik_ros.manipulator.solution import (
        Continuum as Continuum,
        RefinementMode as RefinementMode,
        Solution as Solution,
        Solutions as Solutions,
    )
    from ssik_ros.manipulator.tolerance_policy import (
        DEFAULT_TOLERANCE_POLICY as DEFAULT_TOLERANCE_POLICY,
        TolerancePolicy as TolerancePolicy,
    )
    from ssik_ros.model.description_files import find_moveit_config as find_moveit_config
    from ssik_ros.model.joint_group import JointGroup as JointGroup
    from ssik_ros.model.loader import load_robot as load_robot
    from ssik_ros.model.robot_model import RobotModel as RobotModel
    from ssik_ros.model.robot_state import RobotState as RobotState
    from ssik_ros.paths.planner import plan_tool_path as plan_tool_path
    from ssik_ros.problem.contract import SolveRequest as SolveRequest
    from ssik_ros.problem.pose_input import pose as pose
    from ssik_ros.problem.problem import Rows as Rows
    from ssik_ros.results import Cause as Cause, IkResult as IkResult, IkStatus as IkStatus
    from ssik_ros.solvers.registry import (
        create_solver as create_solver,
        list_solvers as list_solvers,
    )
    from ssik_ros.solvers.search.newton.tracker import (
        StoppedBy as StoppedBy,
        Tracker as Tracker,
        TrackStatus as TrackStatus,
    )
    from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions as PoseIkOptions
    from ssik_ros.solvers.search.pose_ik.solve_ik import (
        IkOutcome as IkOutcome,
        PoseTarget as PoseTarget,
        solve_ik as solve_ik,
    )


def __getattr__(name: str) -> Any:
    """
    Return a public name, imported from its module at first use.

    The AttributeError for another name suggests a similar public name, if any; it suggests none for ``_names``.
    """
    if name in _MODULES:
        return importlib.import_module(f'{__name__}.{name}')
    if name not in _HOMES:
        from ssik_ros.errors import nearest_name

        near = None if name.startswith('_') else nearest_name(name, __all__)
        hint = f" Did you mean '{near}'?" if near else ''
        raise AttributeError(f"module 'ssik_ros' has no attribute '{name}'.{hint}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
