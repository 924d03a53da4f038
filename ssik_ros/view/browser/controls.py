"""Helpers for controls of a page: callbacks for changes by a user, and a check of values that browsers send."""

from collections.abc import Callable
from typing import Any

from ssik_ros.view.browser.guard import LONGEST_TEXT

SLIDER_SLACK = 1e-6
"""Distance of a slider beyond its ends, as a share of its range [1]: browsers round."""


def on_event(attach: Callable[[Any], Any], react: Callable[[Any], None]) -> None:
    """
    Call a function with each event of a control or node, one event after the other.

    viser would call a plain function in several threads at once.

    :param attach: viser's method that takes the callback, such as ``handle.on_click``.
    :param react: takes viser's event.
    """

    async def handle_event(event: Any) -> None:
        react(event)

    attach(handle_event)


def on_change(handle: Any, react: Callable[[Any], None]) -> None:
    """
    Call a function with the new value whenever a user changes a control; changes by the program do not call it.

    :param handle: viser's control.
    :param react: takes the new value.
    """

    def change(event: Any) -> None:
        if event.client_id is not None:
            react(event.target.value)

    on_event(handle.on_update, change)


def on_choice(handle: Any, react: Callable[[Any], None]) -> None:
    """
    Call a function with the text of a button when one of a group is pressed.

    :param handle: viser's group of buttons.
    :param react: takes the text.
    """
    on_event(handle.on_click, lambda event: react(event.target.value))


def on_press(handle: Any, react: Callable[[], None]) -> None:
    """
    Call a function when a button is pressed.

    :param handle: viser's button.
    :param react: the function.
    """
    on_event(handle.on_click, lambda event: react())


def fits(handle: Any, value: Any) -> bool:
    """
    Return whether a value that a browser sends is valid for a control.

    It must be one of the options, within the range of a slider, or of the control's type. A text must not be too long.

    :param handle: viser's control.
    :param value: the value in the message.
    """
    options = getattr(handle, 'options', None)
    if options is not None:
        return value in options
    low, high = getattr(handle, 'min', None), getattr(handle, 'max', None)
    if low is not None and high is not None:
        slack = SLIDER_SLACK * (high - low)
        return type(value) in (int, float) and low - slack <= value <= high + slack
    # The value of a button is whether it is pressed; the value of a text field is the typed text.
    now = getattr(handle, 'value', None)
    if isinstance(now, bool):
        return isinstance(value, bool)
    return isinstance(now, str) and isinstance(value, str) and len(value) <= LONGEST_TEXT
