"""Helpers for controls of a page: callbacks for changes by a user, and a check of values that browsers send."""

from collections.abc import Callable
from typing import Any

from ssik_ros.view.browser.guard import LONGEST_TEXT

SLIDER_SLACK = 1e-6
"""Distance of a slider beyond its ends, as a share of its range [1]: browsers round."""


def on_change(handle: Any, react: Callable[[Any], None]) -> None:
    """
    Call a function with the new value whenever a user changes a control; changes by the program do not call it.

    :param handle: viser's control.
    :param react: takes the new value.
    """

    async def handle_event(event: Any) -> None:
        if event.client_id is not None:
            react(event.target.value)

    handle.on_update(handle_event)


def on_choice(handle: Any, react: Callable[[Any], None]) -> None:
    """
    Call a function with the text of a button when one of a group is pressed.

    :param handle: viser's group of buttons.
    :param react: takes the text.
    """

    async def handle_event(event: Any) -> None:
        react(event.target.value)

    handle.on_click(handle_event)


def on_press(handle: Any, react: Callable[[], None]) -> None:
    """
    Call a function when a button is pressed.

    :param handle: viser's button.
    :param react: the function.
    """

    async def handle_event(event: Any) -> None:
        react()

    handle.on_click(handle_event)


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
