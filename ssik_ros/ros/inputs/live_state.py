"""The state of the robot from the latest joint states: :class:`LiveState` merges them when a request needs the state."""

from collections.abc import Sequence
import logging
import math
import threading
from typing import NamedTuple

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from ssik_ros.arrays import are_within_reason, LARGEST_REQUEST_VALUE
from ssik_ros.errors import list_names, quote
from ssik_ros.ros.inputs.input_topics import InputTopic
from ssik_ros.server.requests.ik_requests import FullState, StateGiven
from ssik_ros.server.scene.states import StateReader

_LOGGER = logging.getLogger('ssik_ros.joint_states')

PUBLISHERS = 64
"""Different lists of names that are kept; a robot has one for each of its drivers."""
MOST_OLDER = 10_000
"""Joints whose values outlive their list of names."""
MOST_CHARACTERS = 1_000_000
"""Largest number of characters of all names in a message together; a message with more is ignored."""
TOPIC = 'joint_states'
MOST_NAMED = 3
"""Joints that a note in a response names; of the others it gives the number."""


class _MergedState(NamedTuple):
    """The full state of one robot, merged from all joint state messages that were kept at that time."""

    reader: StateReader
    """Makes states of the robot."""
    messages: int
    """Number of messages and calls of :meth:`LiveState.forget` until then; after another one, the state is merged anew."""
    state: FullState
    """The merged state; joints without a usable value have default positions."""
    is_heard: bool
    """Whether a message had a usable position of a joint of the robot."""
    refused: frozenset[str]
    """Joints for which messages had only unusable values."""
    has_defaults: bool
    """True if ``is_heard`` is false or ``refused`` has names; joints that no message names are not considered."""


class LiveState:
    """The latest joint states of a topic as a full state; joints that are not reported have default values."""

    def __init__(self, node: Node) -> None:
        """
        Subscribe to the topic ``joint_states``.

        :param node: the node that subscribes.
        """
        self._latest: dict[tuple[str, ...], Sequence[float]] = {}
        self._older: dict[str, float] = {}
        """Values of joints whose lists of names are no longer kept."""
        self._new: list[tuple[str, ...]] = []
        """Lists of names that came after the state was last computed."""
        self._lock = threading.Lock()
        self._count = 0
        self._merged: _MergedState | None = None
        self.is_missed = False
        """Whether a request named no joint before any message of the robot had come."""
        # Best effort hears reliable publishers too.
        self._input = InputTopic(
            node,
            JointState,
            TOPIC,
            self.take,
            qos_profile_sensor_data,
            callback_group=MutuallyExclusiveCallbackGroup(),
            forget=self.forget,
        )

    @property
    def topics(self) -> str:
        """Return the names of the topics that joint states may come from, joined by "or"."""
        return self._input.names

    @property
    def is_silent(self) -> bool:
        """Return whether no usable message is kept."""
        return not self._latest and not self._older

    def take(self, message: JointState) -> None:
        """
        Keep a message; the state is computed when a request needs it.

        A message whose names have too many characters, or do not have one position each, is logged and ignored. A
        message with names but without positions is ignored without a log line. Of unusable positions in a message, the
        first one is logged; such a joint keeps its last usable position, else its default.

        :param message: names and positions of some joints.
        """
        names, positions = tuple(message.name), message.position
        if not self._has_right_sizes(names, positions):
            return
        if not are_within_reason(positions):
            positions = self._leave_out(names, positions)
        self._note(names, positions)
        with self._lock:
            # At the end, so that the newest value of a joint is the one that counts.
            before = self._latest.pop(names, None)
            self._latest[names] = _keep_known(positions, before or ())
            if before is None:
                self._make_room(names)
            self._count += 1

    def _note(self, names: tuple[str, ...], positions: Sequence[float]) -> None:
        """Do nothing; a subclass may record the names and positions of each message. Unusable positions are NaN."""

    def _has_right_sizes(self, names: tuple[str, ...], positions: Sequence[float]) -> bool:
        """
        Return whether a message has one position for each name and not too many characters.

        If not, log a warning, except for a message that has names but no positions.
        """
        if len(names) != len(positions):
            # Drivers may report only velocities or efforts; the last positions stay valid then.
            if len(positions):
                _LOGGER.warning(
                    'A message on %s gives %d joints (%s) %d positions, so it is ignored. Publish one '
                    'position for each name.',
                    self.topics,
                    len(names),
                    list_names(names) or 'no names',
                    len(positions),
                )
            return False
        if sum(map(len, names)) > MOST_CHARACTERS:
            _LOGGER.warning(
                'A message on %s is ignored: its %d names (%s) have more than %d characters.',
                self.topics,
                len(names),
                list_names(names[:1]),
                MOST_CHARACTERS,
            )
            return False
        return True

    def _leave_out(self, names: tuple[str, ...], positions: Sequence[float]) -> list[float]:
        """Return positions with NaN for unusable values, at least one; log a warning about the first such joint."""
        usable = [
            value if abs(value) <= LARGEST_REQUEST_VALUE else math.nan for value in positions
        ]
        index = next(i for i, value in enumerate(usable) if math.isnan(value))
        _LOGGER.warning(
            'Joint %s has the position %g on %s, which is not a number within %g, so it is ignored: the '
            'joint stays at its last usable position, or at its default if it had none.',
            quote(names[index]),
            positions[index],
            self.topics,
            LARGEST_REQUEST_VALUE,
        )
        return usable

    def _make_room(self, names: tuple[str, ...]) -> None:
        """
        Note a new list of joint names; above ``PUBLISHERS`` lists, drop the oldest list but keep its usable values.

        Kept are values of joints of the robot, or of any joints while the robot is unknown, and ``MOST_OLDER`` at most.
        """
        self._new = [*self._new[1 - PUBLISHERS :], names]
        if len(self._latest) <= PUBLISHERS:
            return
        oldest = next(iter(self._latest))
        merged = self._merged
        is_known = None if merged is None else merged.reader.reads
        for name, value in zip(oldest, self._latest.pop(oldest), strict=True):
            if (is_known is None or is_known(name)) and not math.isnan(value):
                # After the present ones, up to a number.
                self._older.pop(name, None)
                if len(self._older) < MOST_OLDER:
                    self._older[name] = value

    def forget(self) -> None:
        """Drop all values, because the next messages are of another robot."""
        with self._lock:
            self._latest.clear()
            self._older.clear()
            self._new.clear()
            self._count += 1

    def reported(self) -> set[str]:
        """Return the names of all joints in the messages that are kept."""
        with self._lock:
            return {*self._older, *(name for names in self._latest for name in names)}

    def current(self, reader: StateReader) -> FullState:
        """
        Return the current full state of a robot.

        :param reader: makes states of this robot.
        """
        return self.find(reader).state

    def assumption(self, reader: StateReader, given: StateGiven) -> str:
        """
        Return a sentence about joints for which a response assumes default positions; empty if there is nothing to say.

        Before a usable position of this robot has come, these are all joints that the request does not name. Later,
        joints that no message names are left out: only those with nothing but unusable positions count. Before the
        first usable position, a request that names no joint also sets ``is_missed``. The node then logs a warning.

        :param reader: makes states of the robot of the request.
        :param given: the part of the state that the request names.
        """
        merged = self.find(reader)
        if not merged.has_defaults:
            return ''
        joints = reader.unnamed(given)
        if merged.is_heard:
            joints = [name for name in joints if name in merged.refused]
        if not joints:
            return ''
        named = ', '.join(joints[:MOST_NAMED])
        if len(joints) > MOST_NAMED:
            named = f'{named} and {len(joints) - MOST_NAMED} more'
        if merged.is_heard:
            return (
                f'No usable position came on {self.topics} for joints that the request does not name '
                f'({named}): default positions were used.'
            )
        self.is_missed = self.is_missed or not (given.names or given.multi_dof_names)
        return (
            f'No joint states of this robot came on {self.topics}, and the request does not name '
            f'{named}: default positions were used.'
        )

    def find(self, reader: StateReader) -> _MergedState:
        """
        Return the current full state of a robot, and which usable positions it lacks.

        The result is kept until the next message or another reader. For each new list of names, log a warning about
        names that the robot does not have.

        :param reader: makes states of the robot.
        """
        # Without the lock: the count is a single number, and an old one is a moment old.
        merged = self._merged
        if merged is not None and merged.reader is reader and merged.messages == self._count:
            return merged
        with self._lock:
            if merged is None or merged.reader is not reader:
                self._older = {n: v for n, v in self._older.items() if reader.reads(n)}
                self._new = list(self._latest)
            count, new, self._new = self._count, self._new, []
            messages = list(self._latest.items())
            if self._older:
                messages.insert(0, (tuple(self._older), list(self._older.values())))
        for names in new:
            self._tell_unknown(reader, names)
        start = state = reader.default()
        for names, positions in messages:
            state = reader.update(state, names, positions)
        is_heard, refused = state is not start, _refused(messages)
        has_defaults = not is_heard or bool(refused)
        self._merged = merged = _MergedState(reader, count, state, is_heard, refused, has_defaults)
        return merged

    def _tell_unknown(self, reader: StateReader, names: tuple[str, ...]) -> None:
        """Log a warning about names that are not variables of the reader's robot; without such names, do nothing."""
        unknown = [name for name in names if not reader.reads(name)]
        if unknown:
            _LOGGER.warning(
                '%s names joints that robot %s does not have (%s); they are ignored.',
                self.topics,
                quote(reader.robot.name),
                list_names(unknown),
            )


def _refused(messages: Sequence[tuple[tuple[str, ...], Sequence[float]]]) -> frozenset[str]:
    """
    Return the names of joints for which all messages have only unusable values, which are NaN.

    ``messages`` are pairs of joint names and positions.
    """
    if not any(any(map(math.isnan, values)) for _, values in messages):
        return frozenset()
    pairs = [pair for names, values in messages for pair in zip(names, values, strict=True)]
    given = {name for name, value in pairs if not math.isnan(value)}
    return frozenset(name for name, value in pairs if name not in given)


def _keep_known(positions: Sequence[float], before: Sequence[float]) -> Sequence[float]:
    """
    Return positions in which earlier values replace those that are not finite.

    ``before`` has the earlier values of the same joints; if it is empty, the positions are unchanged.
    """
    if not before or all(map(math.isfinite, positions)):
        return positions
    return [new if math.isfinite(new) else old for new, old in zip(positions, before, strict=True)]
