"""
A proof that a chain reaches no pose within the tolerance of a waypoint.

The poses of the tolerance are divided into cells. All poses of a cell are within a distance and an angle of its middle
pose. The reach hulls, convex sets that contain all places that points of the last link can reach, are enlarged by both.
If an enlarged hull does not contain such a point at the middle pose, no pose of the cell is reachable. Otherwise the
cell is halved. The proof ends without a result if the hulls themselves allow a middle pose, or after 4096 cells.
"""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.rows import reach_hull
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.paths.pose_freedom import PoseFreedom, TILT, TILT_ACROSS
from ssik_ros.problem.reach_hull import make_hulls

WAYPOINT_PLAY = 2e-6
"""Error that a waypoint may have, and rounding [m, rad]."""
MOST_CELLS = 4096
"""Cells of a tolerance that are looked at."""


class ReachProof:
    """Proves that a chain reaches no pose of a tolerance; several threads may use it at once."""

    def __init__(self, chain: SerialChain) -> None:
        """
        Compute the reach hulls of a chain.

        :param chain: all joints that may move.
        """
        slides = chain.kinds == JointKind.PRISMATIC
        hulls = make_hulls(
            slides,
            chain.axes,
            chain.points,
            chain.lower,
            chain.upper,
            chain.home,
            is_full_pose=True,
        )
        self._hulls = np.zeros(0) if hulls is None else hulls
        self._count = len(self._hulls) // reach_hull.BLOCK
        levers = self._hulls.reshape(-1, reach_hull.BLOCK)[:, reach_hull.LEVER]
        self._lever = float(levers.max(initial=0.0))

    def refuses(
        self,
        waypoint: FloatArray,
        freedom: PoseFreedom,
        row: int,
        room: tuple[float, float] = (0.0, 0.0),
    ) -> bool:
        """
        Return True if it is proved that no pose within a waypoint's tolerance is reachable; False proves nothing.

        :param waypoint: (4, 4) pose in the base frame.
        :param freedom: the tolerances of all waypoints.
        :param row: index of the waypoint.
        :param room: distance [m] and angle [rad] by which the tolerance is enlarged for the proof.
        """
        if not self._count:
            return False
        full_freedom = freedom.with_all_numbers()
        low, high = (
            full_freedom.lower[row, full_freedom.columns],
            full_freedom.upper[row, full_freedom.columns],
        )
        middles, halves = 0.5 * (low + high)[None], 0.5 * (high - low)[None]
        looked_at = 0
        while len(middles):
            looked_at += len(middles)
            if looked_at > MOST_CELLS:
                return False
            rows = np.full(len(middles), row)
            poses = full_freedom.poses(np.repeat(waypoint[None], len(rows), axis=0), rows, middles)
            if not all(self._refuses(pose, *room) for pose in poses):
                return False
            sizes = full_freedom.cell_sizes(halves)
            left = [
                index
                for index, pose in enumerate(poses)
                if not self._refuses(pose, room[0] + sizes[index, 0], room[1] + sizes[index, 1])
            ]
            if not left:
                return True
            if not halves[left].any():
                return False
            middles, halves = self._cut(full_freedom, row, middles[left], halves[left])
        return True

    def _refuses(self, pose: FloatArray, distance: float, angle: float) -> bool:
        """Return whether all poses within a distance [m] and an angle [rad] of ``pose`` are proved out of reach."""
        twelve = np.concatenate([pose[:3, :3].ravel(), pose[:3, 3]])
        margins = distance + WAYPOINT_PLAY, angle + WAYPOINT_PLAY
        return bool(reach_hull.refuses(self._hulls, self._count, twelve, *margins))

    def _cut(
        self, freedom: PoseFreedom, row: int, middles: FloatArray, halves: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """
        Return the halves of cells, as middles and half widths (k, c) of the numbers that describe a pose.

        A cell is halved in the number that moves points of the chain most. Halves outside the tolerance cone are left
        out.

        :param row: index of the waypoint, which gives the cone.
        """
        weights = np.where(freedom.columns < TILT, 1.0, self._lever)
        across = np.argmax(halves * weights, axis=1)
        lines = np.arange(len(middles))
        halves = halves.copy()
        halves[lines, across] *= 0.5
        step = np.zeros_like(middles)
        step[lines, across] = halves[lines, across]
        middles, halves = np.vstack([middles - step, middles + step]), np.vstack([halves, halves])
        tilts = np.isin(freedom.columns, (TILT, TILT_ACROSS))
        nearest = np.maximum(np.abs(middles[:, tilts]) - halves[:, tilts], 0.0)
        kept = np.linalg.norm(nearest, axis=1) <= freedom.upper[row, TILT] + WAYPOINT_PLAY
        return middles[kept], halves[kept]
