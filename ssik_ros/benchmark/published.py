"""Results of other solvers that their authors published, shown for comparison; this package did not measure them."""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.model.description_files import config_directory, find_moveit_config, SUFFIX
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_package
from ssik_ros.value_class import dataclass

SAME_LIMIT = 1e-3
"""Limits that differ by less belong to the same joint, and were written with other digits [rad or m]."""


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """Mean solve time and success rate of a solver on a robot, as published."""

    robot: str
    """Part of the robot's name, such as ``panda``."""
    solver: str
    mean_ms: float
    """Mean solve time over all trials [ms]."""
    success_rate: float
    """Share of trials that the solver itself reported as solved [0 to 1]."""

    @property
    def label(self) -> str:
        """Return the solver's name with the remark "published", for tables and plots."""
        return f'{self.solver} (published)'


PUBLISHED_SOURCE = (
    'PoseIK documentation: ik_benchmarking, 10000 samples, ik_timeout 0.1 s, tolerance 0.001, '
    '12th Gen Intel Core i7-12700H'
)
PUBLISHED_MACHINE = 'i7-12700H'

PUBLISHED: tuple[PublishedFigure, ...] = (
    PublishedFigure('panda', 'KDL', 1.58, 1.0),
    PublishedFigure('panda', 'TRAC-IK', 0.306, 1.0),
    PublishedFigure('panda', 'PoseIK', 0.0421, 1.0),
    PublishedFigure('fanuc', 'KDL', 3.28, 1.0),
    PublishedFigure('fanuc', 'TRAC-IK', 0.489, 1.0),
    PublishedFigure('fanuc', 'PoseIK', 0.0416, 1.0),
    PublishedFigure('gen3', 'KDL', 1.073, 1.0),
    PublishedFigure('gen3', 'TRAC-IK', 0.386, 1.0),
    PublishedFigure('gen3', 'PoseIK', 0.0321, 1.0),
)


def published_for(robot_name: str, group: JointGroup) -> tuple[PublishedFigure, ...]:
    """
    Return the published results for a robot, by the part of its name that they are listed under, such as ``panda``.

    There are none if the name is unknown, or if no group of the published robot has the same limits as the measured
    group.

    :param robot_name: name of the robot, with or without a prefix such as ``moveit_resources_``.
    :param group: the group that is measured.
    """
    named = [figure for figure in PUBLISHED if figure.robot in robot_name.lower()]
    return tuple(named) if named and _is_same_arm(named[0].robot, group) else ()


def _is_same_arm(name: str, group: JointGroup) -> bool:
    """Return whether a group of the shipped robot ``name`` has the same number of joints and the same limits as ``group``."""
    folder = config_directory() / 'robots' / f'{name}{SUFFIX}'
    robot = load_package(find_moveit_config(folder))
    return any(
        other.variable_count == group.variable_count
        and _are_same(other.lower, group.lower)
        and _are_same(other.upper, group.upper)
        for other in robot.groups.values()
    )


def _are_same(first: FloatArray, second: FloatArray) -> bool:
    """Return whether limits are equal within ``SAME_LIMIT``."""
    return bool(np.allclose(first, second, rtol=0.0, atol=SAME_LIMIT))
