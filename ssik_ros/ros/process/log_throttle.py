"""Log each fault once in a while, however many requests and messages bring it about."""

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
    """When a cause had its last line, and the lines left out since."""

    at: float
    left_out: int
    level: int
    text: str


class LogThrottle:
    """
    Lets one line of each cause pass in a while and counts the others.

    A cause is a fault with its text: three wrong objects are three lines. Requests and messages can make up new texts
    without end, so of those a place in the source logs a bounded number.
    """

    def __init__(
        self, period: float = LOG_INTERVAL, now: Callable[[], float] = time.monotonic
    ) -> None:
        """
        Remember nothing yet.

        :param period: between two lines of one cause [s].
        :param now: a clock [s].
        """
        self._period = period
        self._now = now
        self._passed: dict[Cause, _Passed] = {}

    def admit(self, record: logging.LogRecord, text: str) -> str:
        """
        Return the text to write; empty when it is left out.

        :param record: the record.
        :param text: its text.
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
        Return level and text of causes whose lines have been left out and that were not logged since.

        :param all_of_them: also those whose time is not over, because nothing else will follow.
        """
        now, lines = self._now(), []
        for cause, last in list(self._passed.items()):
            if last.left_out and (all_of_them or now - last.at >= self._period):
                lines.append((last.level, last.text + self._tell(last)))
                self._passed[cause] = last._replace(at=now, left_out=0)
        return lines

    def _cause_of(self, record: logging.LogRecord, now: float) -> Cause:
        """Return the common part of lines that count as one."""
        kind = record.exc_info[0] if record.exc_info else None
        place = (record.name, record.levelno, record.pathname, record.lineno, kind)
        cause: Cause = (place, record.getMessage())
        if record.name not in OF_REQUESTS or self._is_recent(cause, now):
            return cause
        others = sum(
            1 for known in self._passed if known[0] == place and self._is_recent(known, now)
        )
        return cause if others < MOST_TEXTS else (place, None)

    def _is_recent(self, cause: Cause, now: float) -> bool:
        last = self._passed.get(cause)
        return last is not None and now - last.at < self._period

    def _forget(self, now: float) -> None:
        """Make room: causes that were silent go first, then all that left nothing out."""
        kept = {c: p for c, p in self._passed.items() if p.left_out or now - p.at < self._period}
        if len(kept) >= MOST_CAUSES:
            kept = {c: p for c, p in kept.items() if p.left_out}
        self._passed = kept if len(kept) < MOST_CAUSES else {}

    def _tell(self, last: _Passed) -> str:
        if not last.left_out:
            return ''
        return f' [{last.left_out} more like this since, at most one line in {self._period:g} s]'
