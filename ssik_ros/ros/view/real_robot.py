"""
One planning group of the running robot for the page in the browser: :class:`RunningGroup`.

It tells the state from joint states and tf, and checks goals before they are sent.
"""

from collections.abc import Sequence

import numpy as np
from rclpy.node import Node

from ssik_ros.arrays import are_inside, FloatArray
from ssik_ros.errors import list_names, quote, SolverError
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.ros.inputs.aged_state import AgedState
from ssik_ros.ros.inputs.transform_listener import TransformListener
from ssik_ros.ros.view.goal_sender import GoalSender, Motion
from ssik_ros.server.scene.states import StateReader
from ssik_ros.view.browser.panels.robot_panel import Whereabouts

SPEED = 0.5
"""Part of the velocity limits that a goal may need."""
LONGEST_MOTION = 120.0
"""Longest motion that is sent to the robot [s]."""
NO_FIGURE = 1.0
"""Velocity limit of a joint whose URDF has none, as in MoveIt [rad/s or m/s]."""
SENSOR_NOISE = 1e-3
"""Largest distance of a reported joint beyond a limit at which the joint counts as at the limit [rad or m]."""
LARGEST_POSITION = 1e3
"""Largest position of a joint without limits; larger positions are refused [rad or m]."""
MOST_NAMED = 3
"""Joints that a text names; of the others it gives the number."""


class RunningGroup:
    """
    One planning group of the running robot: where it is, and goals for it.

    :meth:`where` returns the state. :meth:`send` and :meth:`stop` move or hold the robot; they need a receiver.
    """

    def __init__(
        self,
        node: Node,
        robot: RobotModel,
        group: JointGroup,
        live: AgedState,
        *,
        max_age: float,
        sender: GoalSender,
    ) -> None:
        """
        Subscribe to tf if the root link is not at the model frame.

        :param node: the node.
        :param robot: the robot.
        :param group: its group.
        :param live: listens to joint states.
        :param max_age: joint states that are older are stale [s].
        :param sender: sends goals to the receiver, if one was named.
        """
        self._robot, self._group, self._live = robot, group, live
        self._reader = StateReader(robot)
        self._max_age, self._sender = max_age, sender
        self._moves = robot.model_frame != robot.tree.root_link
        """Whether the pose of the root link comes from tf."""
        self._transforms = TransformListener(node) if self._moves else None
        self._refusal = ''
        """Why all goals are refused; empty if they are not."""

    @property
    def receiver(self) -> str:
        """Return the name of the receiver; empty if no receiver was named."""
        return self._sender.name

    def problem(self) -> str:
        """Return why no goal can be sent; empty if goals can be sent."""
        return self._refusal or self._sender.problem

    def refuse(self, reason: str) -> None:
        """
        Stop the present motion, and refuse all goals from now on.

        A later call only replaces the reason.

        :param reason: a sentence for the page.
        :raises SolverError: as :meth:`stop`, if the posture to hold is unknown; goals are refused all the same.
        """
        is_first, self._refusal = not self._refusal, reason
        if is_first:
            self._sender.stop(self._checked()[0])

    def status(self) -> str:
        """Return the state of the last goal as text; empty before the first goal."""
        return self._sender.status

    def look(self) -> None:
        """
        Look whether the topic or action for goals has a receiver, and update :meth:`problem`; a timer calls this.

        The first receiver, and a receiver of another type than before, gets a new channel for goals.
        """
        self._sender.look()

    def step(self) -> None:
        """Send the next part of a goal that is sent in parts; called often. Before the first receiver, do nothing."""
        if self._sender.had_receiver:
            self._sender.step(*self._checked())

    def where(self) -> Whereabouts:
        """
        Return the current state of the robot, whether it is recent enough, and a text about a problem.

        The state is ``None`` as long as no joint states have come.
        """
        merged = self._live.find(self._reader)
        if not merged.is_heard:
            text = f'No joint states of this robot have come on {self._live.topics}.'
            return Whereabouts(None, False, text)
        root_pose, note = self._root_pose()
        state = merged.state._replace(root_pose=root_pose)
        old = self._live.too_old(self._group.variable_names, self._max_age)
        if old:
            text = f'STALE: nobody has reported {_some(old)} within {self._max_age:g} s.'
            return Whereabouts(state, False, text)
        return Whereabouts(state, True, note)

    def _root_pose(self) -> tuple[FloatArray, str]:
        """
        Return the pose (4, 4) of the root link in the model frame, and a text.

        If the pose is unknown, it is the identity, and the text says that the root link is shown at the model frame and
        why. Otherwise the text is empty.
        """
        if self._transforms is None:
            return np.eye(4), ''
        frame, root = self._robot.model_frame, self._robot.tree.root_link
        root_frame = self._transforms.find(root, (frame,))
        if isinstance(root_frame, str):
            # The services assume the same: many arms have a fixed base, whose pose is not published.
            return np.eye(4), f'Shown with {quote(root)} at {quote(frame)}. {root_frame}'
        return root_frame.pose, ''

    def _checked(self) -> tuple[FloatArray | None, str]:
        """
        Return the current joint vector (n,) and an empty text; or None and why it is unknown, old or outside limits.

        A joint at most SENSOR_NOISE beyond a limit is set to the limit.
        """
        there, group = self.where(), self._group
        if there.state is None or not there.is_fresh:
            return None, there.text
        joints: FloatArray = there.state.positions[group.idx_q]
        low, high = np.clip((group.lower, group.upper), -LARGEST_POSITION, LARGEST_POSITION)
        # In this form a value that is not a number is outside.
        outside = np.flatnonzero(
            ~((joints >= low - SENSOR_NOISE) & (joints <= high + SENSOR_NOISE))
        )
        if outside.size:
            k = int(outside[0])
            return None, (
                f'{quote(group.variable_names[k])} is reported at {joints[k]:.6g}, outside of its limits '
                f'{low[k]:.6g} to {high[k]:.6g}.'
            )
        return np.clip(joints, low, high), ''

    def send(self, goal: FloatArray, seconds: float) -> str:
        """
        Send a goal; return a sentence if it takes longer than wanted, else an empty text.

        :param goal: (n,) joint vector of the group [rad or m].
        :param seconds: wanted duration [s]. The motion takes longer if a joint would exceed the share ``SPEED`` of its
            velocity limit.
        :raises SolverError: without a receiver or a recent posture, and for a goal too soon after another one. Also for
            a goal outside the limits, for joints of several variables, and for a motion longer than ``LONGEST_MOTION``
            [s].
        """
        group, names = self._group, self._group.variable_names
        here, reason = self._checked()
        reason = self.problem() or reason
        if here is None or reason:
            raise SolverError(f'Nothing is sent. {reason}')
        if names != group.joint_names:
            raise SolverError('Nothing is sent: a joint of the group has several values.')
        inside = are_inside(goal, group.lower, group.upper)
        if not (inside & (np.abs(goal) <= LARGEST_POSITION)).all():
            raise SolverError('Nothing is sent: the goal is outside of the limits of a joint.')
        needed, joint = _least_time(names, goal - here, self._velocity())
        if max(needed, seconds) > LONGEST_MOTION:
            raise SolverError(
                f'Nothing is sent: {quote(joint)} needs more than {LONGEST_MOTION:g} s.'
            )
        self._sender.send(
            Motion(names, here, goal, max(needed, seconds), self._velocity() / SPEED)
        )
        if needed <= seconds:
            return ''
        return f'It takes {needed:.1f} s: {quote(joint)} is not to be faster than {SPEED:.0%} of its limit.'

    def _velocity(self) -> FloatArray:
        """
        Return the velocity (n,) of each joint for goals [rad/s or m/s]: the share ``SPEED`` of its velocity limit.

        A joint without a velocity limit counts as limited to ``NO_FIGURE``.
        """
        limits: FloatArray = self._robot.tree.velocity[self._group.idx_q]
        return SPEED * np.where((limits > 0.0) & np.isfinite(limits), limits, NO_FIGURE)

    def stop(self) -> None:
        """
        Cancel the goal, or tell the receiver to hold the present posture; do nothing if no receiver was ever there.

        :raises SolverError: if a posture to hold has to be sent, and the present one is unknown.
        """
        self._sender.stop(*self._checked())


def _least_time(
    names: Sequence[str], motion: FloatArray, velocity: FloatArray
) -> tuple[float, str]:
    """Return the shortest duration of a joint motion ``motion`` (n,) at velocities (n,) [s], and its slowest joint."""
    times = np.abs(motion) / velocity
    place = int(times.argmax())
    return float(times[place]), names[place]


def _some(names: Sequence[str]) -> str:
    """Return the first MOST_NAMED names, and the number of the others, as text."""
    more = len(names) - MOST_NAMED
    return list_names(names[:MOST_NAMED]) + (f' and {more} more' if more > 0 else '')
