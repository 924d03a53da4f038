"""Tables of the verbs, on a terminal and in files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


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
