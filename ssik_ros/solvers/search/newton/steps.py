"""
Compute the joint motion of one control cycle towards a target, from a posture that the caller gives.

:meth:`StepSolver.take` gets a target, a :class:`Start` and :class:`Bounds`, and returns a :class:`Step`. No state is
kept between calls; :class:`ssik_ros.solvers.search.newton.tracker.Tracker` keeps the state of the arm.
"""

from typing import NamedTuple

from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray
from ssik_ros.results import Cause
from ssik_ros.solvers.search.newton.tracker import StoppedBy, Tracker, TrackStatus
from ssik_ros.solvers.search.solver import SearchSolver

STEP_TEXT = {
    Cause.CONSISTENCY: 'joints move as fast as their velocity and acceleration limits allow',
    Cause.LIMITS: 'joints are on their limits',
    Cause.SINGULAR: 'the posture is singular, and no motion of the joints comes nearer',
    Cause.UNREACHABLE: 'the pose is out of reach',
}
"""Why a step does not reach its pose."""
OTHER_STEP = 'no step comes nearer'
"""Why a step does not reach its pose, for causes that STEP_TEXT does not list."""


class Bounds(NamedTuple):
    """
    How far joints may move in one cycle: cycle time, velocity and acceleration limits, and largest step.

    The fields are the arguments of :meth:`Tracker.bound`; None sets no bound. ``dt`` is in seconds and needed with the
    limits, which are in rad/s or m/s, and in rad/s^2 or m/s^2. ``max_step`` is in rad or m. The limits and the step are
    one number for all joints or (n,).
    """

    dt: float | None = None
    velocity_limits: ArrayLike | None = None
    acceleration_limits: ArrayLike | None = None
    max_step: ArrayLike | None = None


NO_BOUNDS = Bounds()


class Start(NamedTuple):
    """State of the robot at the beginning of a cycle: joint values, velocities, and joints outside the group."""

    q: FloatArray
    """(n,) joints of the group, within the limits [rad or m]."""
    velocity: FloatArray | None = None
    """(n,) [rad/s or m/s]; None for an arm at rest."""
    state: FloatArray | None = None
    """(nq,) the whole robot, for joints outside the group; None for their defaults."""


class JointMotion(NamedTuple):
    """Motion of joints in one cycle: velocities, part of the error removed, condition number, and stopped joints."""

    velocity: FloatArray
    """(n,) motion of the cycle divided by its time [rad/s or m/s]; NaN without a ``dt``."""
    scale: float
    """Part of the error that the step removes, 0 to 1."""
    condition: float
    """Condition number of the Jacobian at the end; infinite at a singular posture."""
    stopped_by: tuple[StoppedBy, ...]
    """(n,) the bound that stopped each joint."""


class Step(NamedTuple):
    """Result of one cycle: the joint values at its end, the status, and the error that is left."""

    q: FloatArray
    """(n,) [rad or m]."""
    status: TrackStatus
    cause: Cause
    """Why the step does not reach the pose: CONSISTENCY (velocity, acceleration or largest step), LIMITS, SINGULAR,
    UNREACHABLE or BAD_TARGET; NONE if it does."""
    distance: float
    """Largest distance of a tip from its target [m]."""
    angle: float
    """Largest rotation angle between a tip and its target [rad]."""
    motion: JointMotion | None
    """None if the call did not ask for it."""

    @property
    def is_exact(self) -> bool:
        """Return whether the step reaches the target pose within tolerance."""
        return self.status == TrackStatus.OK

    @property
    def text(self) -> str:
        """Return a sentence that says whether the step reaches the target pose, and otherwise by how much and why not."""
        if self.is_exact:
            return 'Solved by one step from the seed.'
        reason = STEP_TEXT.get(self.cause, OTHER_STEP)
        return (
            f'The nearest step is off by {self.distance:.3g} m and {self.angle:.3g} rad: {reason}.'
        )


class StepSolver:
    """Computes steps of one arm towards a target, one per control cycle; several threads may call it at once."""

    def __init__(self, solver: SearchSolver, max_iterations: int = 30) -> None:
        """
        Prepare the steps of one arm.

        :param solver: search whose step law, tolerances and limits the steps use.
        :param max_iterations: largest number of joint updates of one step.
        """
        self.solver, self._most = solver, max_iterations
        self._idle: list[tuple[Tracker, Bounds]] = []
        """Trackers that no thread uses, with their bounds."""

    def take(
        self,
        target: ArrayLike,
        start: Start,
        bounds: Bounds,
        *,
        previous: ArrayLike | None = None,
        posture: ArrayLike | None = None,
        wants_motion: bool = False,
    ) -> Step:
        """
        Return the step of one control cycle from ``start`` towards a target.

        :param target: pose of the tip in the base, or one for each tip, as for :meth:`Tracker.track`.
        :param start: the robot at the beginning.
        :param bounds: bounds of the motion. The same object costs less at the next call; its arrays must not change.
        :param previous: target of the cycle before, if the target moves; None if it rests.
        :param posture: (n,) joint vector to go to as far as the target leaves a choice [rad or m]; None means the
            ``posture`` of the search's settings, if it has a weight there.
        :param wants_motion: whether to return also how the joints moved.
        :raises TypeError, ValueError: for a target without one pose for each tip, wrong shapes, a start outside the
            limits, and bounds that are not positive.
        """
        try:
            tracker, last_bounds = self._idle.pop()
        except IndexError:
            tracker, last_bounds = (
                Tracker(self.solver, start.q, max_iterations=self._most),
                NO_BOUNDS,
            )
        try:
            if last_bounds is not bounds or posture is not None:
                last_bounds = NO_BOUNDS
                tracker.bound(*bounds)
                tracker.set_posture(posture)
                last_bounds = bounds if posture is None else NO_BOUNDS
            tracker.reset(*start)
            status = tracker.track(target, previous)
            errors = tracker.position_error, tracker.rotation_error
            motion = _read_motion(tracker) if wants_motion else None
            return Step(tracker.q.copy(), status, tracker.cause, *errors, motion)
        finally:
            self._idle.append((tracker, last_bounds))


def _read_motion(tracker: Tracker) -> JointMotion:
    """Return the motion of the joints in the last cycle of a tracker."""
    stopped = tuple(tracker.stopped_by)
    return JointMotion(tracker.velocity, tracker.scale, tracker.condition, stopped)
