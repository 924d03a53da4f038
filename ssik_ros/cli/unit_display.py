"""Display of the progress while a map or a data set is made; its cells are computed in units."""

import sys
import time

from rich.progress import BarColumn, Progress as Bar, TextColumn

from ssik_ros.cli.printing import LINE_EVERY, open_console
from ssik_ros.reach.engine import Progress
from ssik_ros.reach.mapping import in_words

WIDTH = 100


class UnitDisplay:
    """
    Shows how many units of a map or data set are finished, with speed and time left; a unit is a batch of cells.

    A terminal shows a bar. Elsewhere :meth:`report` prints a line to stderr, but only ``LINE_EVERY`` (30) s after the
    line before.
    """

    def __init__(self, noun: str = 'cells', *, quiet: bool = False) -> None:
        """
        Prepare the display; entering the context shows it.

        :param noun: plural for the things that a unit contains, such as ``cells``; the speed is shown in them.
        :param quiet: whether to show nothing.
        """
        console = open_console(WIDTH)
        columns = (BarColumn(), TextColumn('{task.description}'))
        self._bar = Bar(*columns, console=console, transient=True)
        self._is_bar = console.is_terminal and not quiet
        self._noun = noun
        self._quiet, self._begun, self._shown = quiet, time.monotonic(), time.monotonic()
        self.last = Progress(0, 0, 0.0, 0)
        """Last progress of this run."""
        self._task = self._bar.add_task('begin', total=1.0)

    def __enter__(self) -> 'UnitDisplay':
        """Show the bar."""
        if self._is_bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        if self._is_bar:
            self._bar.stop()

    def report(self, progress: Progress, units: int) -> None:
        """
        Show the progress of this run, and keep it in the attribute ``last``.

        :param progress: numbers of units and cells that this run has done, at least one unit.
        :param units: number of units that this run has to do.
        """
        self.last = progress
        now = time.monotonic()
        elapsed = max(1e-9, now - self._begun)
        left = elapsed * (units - progress.units) / progress.units
        text = (
            f'{progress.units} of {units} units, {progress.cells / elapsed:,.0f} {self._noun}/s, {in_words(left)} left, '
            f'{progress.memory / 1e6:.0f} MB a worker'
        )
        if self._is_bar:
            self._bar.update(self._task, completed=progress.units / units, description=text)
        elif not self._quiet and now - self._shown > LINE_EVERY:
            self._shown = now
            print(text, file=sys.stderr)
