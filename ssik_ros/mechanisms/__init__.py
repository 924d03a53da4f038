"""
Mechanisms with closed loops: frames, links, joints with six degrees of freedom, goals, and their solver.

Names of frames, joints, goals and solvers follow closed-chain-ik-js, and each of their methods has both spellings
(``set_dof`` and ``setDoF``). Robots from a URDF have snake_case names only.
"""

from ssik_ros.markers import Marker
from ssik_ros.mechanisms.frame import Frame, Link
from ssik_ros.mechanisms.graph import find_roots
from ssik_ros.mechanisms.joint import Goal, Joint
from ssik_ros.mechanisms.loop_closures import LoopClosure, LoopClosures, read_loop_closures
from ssik_ros.mechanisms.markers import markers
from ssik_ros.mechanisms.names import DOF, DOF_NAMES, SOLVE_STATUS, SOLVE_STATUS_NAMES
from ssik_ros.mechanisms.result import ChainResult
from ssik_ros.mechanisms.shipped_mechanisms import load_mechanism, mechanism_names
from ssik_ros.mechanisms.solver import Solver
from ssik_ros.mechanisms.urdf_robot import CompletedState, from_urdf, UrdfRobot
from ssik_ros.mechanisms.worker import WorkerSolver

findRoots = find_roots  # noqa: N816 - the ancestor's spelling
"""The ancestor's name of :func:`find_roots`."""

__all__ = [
    'DOF',
    'DOF_NAMES',
    'SOLVE_STATUS',
    'SOLVE_STATUS_NAMES',
    'ChainResult',
    'CompletedState',
    'Frame',
    'Goal',
    'Joint',
    'Link',
    'LoopClosure',
    'LoopClosures',
    'Marker',
    'Solver',
    'UrdfRobot',
    'WorkerSolver',
    'findRoots',
    'find_roots',
    'from_urdf',
    'load_mechanism',
    'markers',
    'mechanism_names',
    'read_loop_closures',
]
