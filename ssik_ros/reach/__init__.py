"""Reach maps: which poses an arm reaches, decided by inverse kinematics or by proof, and stored on the disk."""

from ssik_ros.reach.reach_map import ReachMap as ReachMap
from ssik_ros.reach.statuses import CellStatus as CellStatus

__all__ = ['CellStatus', 'ReachMap']
