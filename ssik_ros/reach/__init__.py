"""Reach maps: which poses an arm reaches, decided by exact IK or by proof, at any scale."""

from ssik_ros.reach.reach_map import ReachMap as ReachMap
from ssik_ros.reach.statuses import CellStatus as CellStatus

__all__ = ['CellStatus', 'ReachMap']
