"""Limit a log to one line of each cause in a period, for up to MOST_CAUSES causes at a time: :class:`LogThrottle`."""

from collections.abc import Callable
import logging
import time
from typing import NamedTuple

LOG_INTERVAL = 5.0
"""Least time between two lines of one cause [s]."""
MOST_CAUSES = 200
"""Causes that are remembered; more than the package has, for texts of others may be among them."""
MOST_TEXTS = 10
"""Texts that one place in the source may log in a period where senders choose names in them; the rest is counted."""
OF_REQUESTS = frozenset(
    {
        'ssik_ros.describe',
        'ssik_ros.joint_states',
        'ssik_ros.messages',
        'ssik_ros.relay',
        'ssik_ros.scene',
        'ssik_ros.services',
    }
)
"""Loggers of requests and messages: their lines differ by names that senders choose."""

Cause = tuple[object, ...]


class _Passed(NamedTuple):
    """The last line of a cause, and the number of lines left out after it."""

    at: float
    """Time of that line [s]."""
    left_out: int
    """Number of lines that were left out after that line."""
    level: int
    """Level of that line, in Python's numbers."""
    text: str
    """First line of its text."""


class LogThrottle:
    """
    Limits a log: lets one line of each cause pass in a period, and counts the suppressed ones.

    A cause is a place in the source together with a text, so that messages about three objects are three causes.
    Requests can make up new texts without end. Therefore, in the loggers ``OF_REQUESTS``, a place has at most
    ``MOST_TEXTS`` causes in a period; all further texts are one more cause. Above ``MOST_CAUSES`` causes, old ones are
    forgotten and may log again early.
    """

    def __init__(
        self, period: float = LOG_INTERVAL, now: Callable[[], float] = time.monotonic
    ) -> None:
        """
        Start without lines.

        :param period: time between two lines of one cause [s].
        :param now: returns monotonic time [s].
        """
        self._period = period
        self._now = now
        self._passed: dict[Cause, _Passed] = {}

    def admit(self, record: logging.LogRecord, text: str) -> str:
        """
        Return the text to write, or an empty text if a line of the same cause was written in this period.

        A text that is written also tells how many lines were suppressed before.

        :param record: the record.
        :param text: its formatted text.
        """
        now = self._now()
        cause = self._cause_of(record, now)
        last = self._passed.get(cause)
        if last is not None and now - last.at < self._period:
            self._passed[cause] = last._replace(left_out=last.left_out + 1)
            return ''
        if last is None and len(self._passed) >= MOST_CAUSES:
            self._forget(now)
        self._passed[cause] = _Passed(now, 0, record.levelno, text.partition('\n')[0])
        return text + ('' if last is None else self._tell(last))

    def overdue(self, all_of_them: bool = False) -> list[tuple[int, str]]:
        """
        Return (level, text) for each cause whose lines were suppressed in a period that is over; reset their counts.

        The text repeats the first line of the cause, with the number of suppressed lines.

        :param all_of_them: whether to include causes whose period is not over, because the log ends.
        """
        now, lines = self._now(), []
        for cause, last in list(self._passed.items()):
            if last.left_out and (all_of_them or now - last.at >= self._period):
                lines.append((last.level, last.text + self._tell(last)))
                self._passed[cause] = last._replace(at=now, left_out=0)
        return lines

    def _cause_of(self, record: logging.LogRecord, now: float) -> Cause:
        """
        Return the key of a log line; lines with equal keys are repetitions of one cause.

        The key has the place in the source and the text. Loggers of requests are bounded: if a place has ``MOST_TEXTS``
        recent texts, all its new texts get one common key.
        """
        kind = record.exc_info[0] if record.exc_info else None
        place = (record.name, record.levelno, record.pathname, record.lineno, kind)
        cause: Cause = (place, record.getMessage())
        if record.name not in OF_REQUESTS or self._is_recent(cause, now):
            return cause
        others = sum(
            1 for passed in self._passed if passed[0] == place and self._is_recent(passed, now)
        )
        return cause if others < MOST_TEXTS else (place, None)

    def _is_recent(self, cause: Cause, now: float) -> bool:
        last = self._passed.get(cause)
        return last is not None and now - last.at < self._period

    def _forget(self, now: float) -> None:
        """
        Make room for a new cause: drop causes whose period is over and that have no suppressed lines.

        If too many remain, drop all causes without suppressed lines; if there are still too many, drop all causes.
        """
        kept = {c: p for c, p in self._passed.items() if p.left_out or now - p.at < self._period}
        if len(kept) >= MOST_CAUSES:
            kept = {c: p for c, p in kept.items() if p.left_out}
        self._passed = kept if len(kept) < MOST_CAUSES else {}

    def _tell(self, last: _Passed) -> str:
        if not last.left_out:
            return ''
        return f' [{last.left_out} more like this since, at most one line in {self._period:g} s]'
