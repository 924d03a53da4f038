"""The panel of solvers: choice and parameters, times of solves, a second solver for comparison, and test cases."""

from functools import partial
import json
from typing import Any

import numpy as np

from ssik_ros.solvers.options.parameters import Parameter, REQUIRED
from ssik_ros.solvers.registry import list_solvers, solver_schema, solver_spec
from ssik_ros.strict_yaml import parse_yaml
from ssik_ros.view.browser.controls import on_change, on_event
from ssik_ros.view.browser.guard import import_extra
from ssik_ros.view.browser.page_panels import BasePage, Panel, plain, post_change
from ssik_ros.view.cases import make_case
from ssik_ros.view.sessions.posture_session import SolveOutcome
from ssik_ros.view.sessions.session import Session
from ssik_ros.view.sessions.solve_times import SolveTimes

NOBODY = 'none'
FILE = 'case.json'
COLOURS = ('#1864ab', '#e8590c')


class SolverPanel(Panel):
    """Chooses the solver and its parameters, and plots times and iterations of the last solves."""

    def __init__(self, page: BasePage[Session]) -> None:
        """
        Make the controls.

        :param page: the page.
        """
        self._page, self._gui = page, page.gui
        names = list_solvers()
        solver = self._gui.add_dropdown(
            'solver', names, initial_value=page.session.kinematics.solver
        )
        post_change(page, solver, self._choose)
        self._folder = self._gui.add_folder('Parameters')
        self._controls: list[Any] = []
        self._values: dict[str, Any] = {}
        self._solver = ''
        self._shown = False
        rival = self._gui.add_dropdown('compare with', (NOBODY, *names))
        post_change(page, rival, self._compare)
        self._text = self._gui.add_markdown('')
        self._times = SolveTimes()
        self._plots = [self._add_plot('solve [ms]'), self._add_plot('iterations')]
        button = self._gui.add_button('Save the pose as a test case')
        on_event(button.on_click, lambda event: page.post(partial(self._save, event.client)))
        self._show_parameters(page.session.kinematics.solver)

    def _add_plot(self, title: str) -> Any:
        """Return a plot over the solves, with a line for the chosen solver and one for the compared solver."""
        series = import_extra('viser.uplot').Series
        lines = [
            series(label=label, stroke=colour, width=2)
            for label, colour in zip(('solver', 'compared'), COLOURS)
        ]
        data = self._times.columns(0)
        return self._gui.add_uplot(
            data,
            (series(label='solve'), *lines),
            title=title,
            height=150,
            scales={'x': {'time': False}},
        )

    def _choose(self, name: str) -> None:
        """Use another solver with the default values of its parameters, and show these."""
        self._page.session.use_solver(name, {})
        self._show_parameters(solver_spec(name).name)

    def _compare(self, name: str) -> None:
        self._page.session.compare_with('' if name == NOBODY else name)

    def _show_parameters(self, name: str) -> None:
        """Replace the controls by one for each parameter of the solver with this name."""
        for control in self._controls:
            control.remove()
        given = self._page.session.kinematics.parameters
        self._solver, self._values, self._controls = name, dict(given), []
        with self._folder:
            for parameter in solver_schema(solver_spec(name)).parameters:
                value = given.get(parameter.name, parameter.default)
                control, read = make_control(self._gui, parameter, value)
                self._controls.append(control)
                on_change(control, partial(self._set, parameter, read))

    def _set(self, parameter: Parameter, read: Any, value: Any) -> None:
        """
        Post an event that solves with a new value of one parameter.

        :param parameter: the parameter.
        :param read: converts the value of the control to a value of the parameter.
        :param value: the new value of the control.
        """

        def use() -> None:
            values = {**self._values, parameter.name: parameter.check(read(value))}
            self._page.session.use_solver(self._solver, values)
            self._values = values

        self._page.post(use, ('parameter', parameter.name))

    def _save(self, client: Any) -> None:
        """Send the shown request to a browser as a test case in a JSON file."""
        text = json.dumps(make_case(self._page.session), indent=2)
        if client is not None:
            client.send_file_download(FILE, text.encode())

    def show(self, session: Session) -> None:
        self._times.add(session.outcome, session.rival_outcome)

    def show_details(self, session: Session) -> None:
        for place, plot in enumerate(self._plots):
            plot.data = self._times.columns(place)
        lines = [f'{plain(session.kinematics.solver)}: {_in_words(session.outcome)}']
        if session.rival_outcome is not None:
            lines.append(f'{plain(session.rival)}: {_in_words(session.rival_outcome)}')
        self._text.content = '\n\n'.join(lines)


def _in_words(outcome: SolveOutcome) -> str:
    if not outcome.seconds:
        return 'nothing to solve: drag the target'
    how = 'solved' if outcome.solved else f'not solved ({outcome.cause.name})'
    return f'{how} in {1e3 * outcome.seconds:.3f} ms, {outcome.iterations} iterations'


def make_control(gui: Any, parameter: Parameter, value: Any) -> tuple[Any, Any]:
    """
    Return a control for a solver parameter, and a function that converts its value to a value of the parameter.

    :param gui: viser's controls.
    :param parameter: the parameter.
    :param value: present value of the parameter.
    """
    hint = f'{parameter.description} Allowed: {parameter.allowed}.'
    choices = next((v.arguments[0] for v in parameter.validators if v.name == 'one_of'), None)
    kind = parameter.type
    if kind.scalar == 'bool' and not kind.is_array:
        return gui.add_checkbox(parameter.name, bool(value), hint=hint), bool
    if choices and kind.scalar == 'string' and value in choices:
        return gui.add_dropdown(
            parameter.name, tuple(choices), initial_value=value, hint=hint
        ), str
    text = '' if value is REQUIRED else json.dumps(value, default=np.generic.item)
    source = f'parameter {parameter.name}'
    return gui.add_text(parameter.name, text, hint=hint), partial(parse_yaml, source=source)
