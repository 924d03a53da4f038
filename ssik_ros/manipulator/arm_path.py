"""The joint path that ``Manipulator.plan`` returns: a tool path with a method ``show()``."""

from collections.abc import Callable
import dataclasses
from pathlib import Path
from typing import Any, TYPE_CHECKING

from ssik_ros.arguments import names_keywords
from ssik_ros.errors import InvalidOption, tells_near_names
from ssik_ros.paths.requests import ToolPath
from ssik_ros.value_class import dataclass

if TYPE_CHECKING:
    from ssik_ros.view.sessions.session import Session


@tells_near_names
@dataclass(frozen=True, eq=False)
class ArmPath(ToolPath):
    """
    Result of ``Manipulator.plan``: the joint path of an arm, or the reason for the failure.

    ``show()`` plays the path in the viewer; after a failure, the longest part of a path that works.
    """

    open_session: 'Callable[[], Session] | None' = dataclasses.field(default=None, repr=False)
    """Returns a session of the viewer in which the path is shown."""

    @names_keywords
    def show(self, *, picture: str | Path | None = None, port: int = 8080) -> Any:
        """
        Play the path in the browser, in a notebook, or as a file.

        If the plan failed, play the longest part of the path that was found.

        :param picture: an HTML file to write instead of opening a page.
        :param port: port of the page.
        :returns: the path of the file; in a notebook a scene that can be turned; else the page. The page lives as long as
            the program or until its ``close()``.
        :raises InvalidOption: if no posture of a path was found, for a file that is not HTML or cannot be written, and
            for a port that cannot be used.
        :raises SolverError: when viser is missing; ``pip install 'ssik_ros[view]'`` brings it.
        """
        from ssik_ros.manipulator.arm_display import show_path

        if self.open_session is None or not len(self.positions):
            raise InvalidOption(f'There is no joint path to show. {self.reason}'.rstrip())
        return show_path(self.open_session(), self, picture, port)
