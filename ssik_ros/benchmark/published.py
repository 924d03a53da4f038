"""Figures that others published, for comparison; they were not measured by this package."""

from ssik_ros.value_class import dataclass


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """The published performance of one solver on one robot."""

    robot: str
    solver: str
    mean_ms: float
    """Mean solve time over all trials [ms]."""
    success_rate: float
    """Share of trials that the solver itself reported as solved [0 to 1]."""

    @property
    def label(self) -> str:
        """Return the solver's name for tables and plots; says that it is not a measurement."""
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


def published_for(robot_name: str) -> tuple[PublishedFigure, ...]:
    """
    Return the published figures of a robot.

    :param robot_name: the robot's name, with or without a prefix such as ``moveit_resources_``.
    """
    return tuple(figure for figure in PUBLISHED if figure.robot in robot_name.lower())
