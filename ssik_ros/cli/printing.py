"""Tables and progress of the verbs, on a terminal and in files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PATIENCE = 2.0
"""Time before a terminal shows a wait [s]."""
REFRESH = 1.0
"""Time between two updates of the line [s]."""
LINE_EVERY = 30.0
"""Time between two lines of progress in files and pipes [s]."""


def open_console(width: int) -> Console:
    """
    Return a console for the terminal; for files and pipes, one of a fixed width.

    :param width: columns in files and pipes.
    """
    # ssik doctor works without rich and imports this module.
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=width)


@contextlib.contextmanager
def progress_bar(width: int, *, quiet: bool) -> Iterator[Callable[[float, str], None]]:
    """
    Yield a function that updates a progress bar with the part done, 0 to 1, and the name of the step.

    :param width: columns of the console; in files and pipes the function does nothing.
    :param quiet: whether the function does nothing on a terminal, too.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = open_console(width)
    if quiet or not console.is_terminal:
        yield lambda part, text: None
        return
    columns = (
        TextColumn('{task.description}'),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn('left'),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task('', total=1.0)
        yield lambda part, text: progress.update(task, completed=part, description=text)


@contextlib.contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """
    Show a step and its time on stderr while a command waits; yield a function that changes the text of the step.

    A terminal shows one line after 2 s, which vanishes in the end. Elsewhere a line is printed every 30 s, the first one
    after 30 s. Nothing should be printed to the standard output during the wait.

    :param what: the step, such as "Loading the robot".
    """
    done, texts = threading.Event(), [what]
    thread = threading.Thread(target=show_wait, args=(done, texts), name='wait', daemon=True)
    thread.start()
    try:
        yield lambda text: texts.__setitem__(0, text)
    finally:
        done.set()
        thread.join()


def show_wait(done: threading.Event, texts: Sequence[str]) -> None:
    """
    Show a step and its time on stderr until the step is done; nothing for a short wait.

    A terminal shows one line after 2 s, which vanishes in the end. Elsewhere a line is printed every 30 s.

    :param done: set when the step is done.
    :param texts: the first one is the step; it may be replaced meanwhile.
    """
    begun = time.monotonic()
    is_terminal = sys.stderr.isatty()
    if done.wait(PATIENCE if is_terminal else LINE_EVERY):
        return

    def line() -> str:
        return f'{texts[0]}: {time.monotonic() - begun:.0f} s'

    if not is_terminal:
        while True:
            print(line(), file=sys.stderr, flush=True)
            if done.wait(LINE_EVERY):
                return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(
        Text(line()),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
    ) as live:
        while not done.wait(REFRESH):
            live.update(Text(line()), refresh=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> None:
    """
    Print a table.

    :param columns: titles of the columns.
    :param rows: texts of the cells.
    :param width: columns of the console in files and pipes.
    """
    from rich.markup import escape
    from rich.table import Table

    table = Table()
    for column in columns:
        table.add_column(escape(column), overflow='fold')
    for row in rows:
        table.add_row(*map(escape, row))
    open_console(width).print(table)
