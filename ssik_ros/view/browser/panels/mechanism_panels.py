"""The panel of a mechanism, with a switch for each target's orientation, and the panel of task sets."""

from functools import partial

from ssik_ros.view.browser.page_panels import BasePage, Panel, plain, post_change
from ssik_ros.view.sessions.loop_session import LoopSession
from ssik_ros.view.sessions.task_session import describe_level, TaskSession


class LoopPanel(Panel):
    """The panel of a mechanism with loops: a switch for each target's orientation, and the time of the last solve."""

    def __init__(self, page: BasePage[LoopSession]) -> None:
        """
        Make for each target a switch that says whether its orientation counts.

        :param page: the page; its session has loops.
        """
        session, gui = page.session, page.gui
        self._text = gui.add_markdown('')
        for name in session.tips:
            hint = 'off: only the position of this link is led'
            box = gui.add_checkbox(f'{name} keeps its orientation', True, hint=hint)
            post_change(page, box, partial(session.let_turn, name))
        for warning in session.warnings:
            gui.add_markdown(plain(warning))

    def show(self, session: LoopSession) -> None:
        seconds, count = session.outcome.seconds, session.outcome.iterations
        if seconds:
            self._text.content = f'The last solve took {1e3 * seconds:.1f} ms, {count} iterations.'
        else:
            self._text.content = (
                'Drag a target, or move an active joint: the loops stay closed within reach.'
            )


class TaskPanel(Panel):
    """The panel of task sets: a switch for each task set, the highest priority first, and whether it is met."""

    def __init__(self, page: BasePage[TaskSession]) -> None:
        """
        Make for each task set a switch that says whether it counts.

        :param page: the page; its session has task sets.
        """
        session, gui = page.session, page.gui
        gui.add_markdown('The first task set has the highest priority.')
        self._boxes, self._lines = [], []
        for number, name in enumerate(session.on, 1):
            box = gui.add_checkbox(f'{number}. {name}', True, hint='off: this task set is ignored')
            post_change(page, box, partial(session.switch, name))
            self._boxes.append(box)
            self._lines.append(gui.add_markdown(''))

    def show(self, session: TaskSession) -> None:
        for box, line, level in zip(self._boxes, self._lines, session.levels):
            box.value = level.is_on
            text = plain(describe_level(level))
            line.content = f'**{text}**' if level.is_on and not level.is_met else text
