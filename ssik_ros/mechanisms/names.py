"""Degrees of freedom and solve statuses of mechanisms, and the support for camelCase names of closed-chain-ik-js."""

from enum import IntEnum
import re
from typing import Any

from ssik_ros.arguments import as_integer, refuse
from ssik_ros.errors import describe_choices, quote


class DOF(IntEnum):
    """The six degrees of freedom of a joint, numbered from 0: X, Y, Z [m], then the angles EX, EY, EZ [rad]."""

    X = 0
    Y = 1
    Z = 2
    EX = 3
    EY = 4
    EZ = 5


class SOLVE_STATUS(IntEnum):  # noqa: N801 - the ancestor's users know it by this name
    """How the solve of a chain ended: CONVERGED, STALLED, DIVERGED or TIMEOUT."""

    CONVERGED = 0
    """Every closure, goal and target is within its tolerances; targets of low priority do not count."""
    STALLED = 1
    """Not converged, and no further step helps: each would be too short, or would not lower the error."""
    DIVERGED = 2
    """The error grew, and smaller steps did not help (dls and svd)."""
    TIMEOUT = 3
    """The iterations or the time ended first, or the solve was stopped."""


def read_dof(dof: Any) -> DOF:
    """
    Return a degree of freedom as a :class:`DOF`.

    :param dof: a DOF, or its number from 0 to 5.
    :raises InvalidOption: for anything else.
    """
    number = as_integer(dof)
    if number is None or not 0 <= number < len(DOF):
        refuse('dof', dof, f'one of {", ".join(DOF.__members__)}')
    return DOF(number)


DOF_NAMES = tuple(dof.name for dof in DOF)
SOLVE_STATUS_NAMES = tuple(status.name for status in SOLVE_STATUS)


def snake_case(name: str) -> str:
    """Return the snake_case form of a camelCase name of closed-chain-ik-js: ``set_dof_values`` for ``setDoFValues``."""
    plain = name.replace('DoF', 'Dof').replace('SVD', 'Svd')
    return re.sub(r'(?<=[a-z0-9])([A-Z])', r'_\1', plain).lower()


class CamelCaseNames:
    """
    Base class that also accepts the camelCase name of every public attribute of its class, as in closed-chain-ik-js.

    Unknown names raise AttributeError. This also holds when they are set, except for names with a leading underscore.
    """

    def __getattr__(self, name: str) -> Any:
        """Return the attribute that a camelCase name means; raise AttributeError if it does not exist."""
        snake_name = snake_case(name)
        if snake_name != name and not name.startswith('_') and hasattr(type(self), snake_name):
            return getattr(self, snake_name)
        raise AttributeError(self._describe_missing(name, snake_name))

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, given by its snake_case or camelCase name; raise AttributeError for an unknown name."""
        snake_name = name if name.startswith('_') else snake_case(name)
        if not snake_name.startswith('_') and not hasattr(type(self), snake_name):
            raise AttributeError(self._describe_missing(name, snake_name))
        object.__setattr__(self, snake_name, value)

    def _describe_missing(self, name: str, snake_name: str) -> str:
        attributes = [n for n in dir(type(self)) if not n.startswith('_')]
        return f'{type(self).__name__} has no attribute {quote(name)}. {describe_choices(snake_name, attributes)}'
