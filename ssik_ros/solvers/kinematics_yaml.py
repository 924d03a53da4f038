"""
Read a kinematics.yaml: the solver of each group, its parameters, and the line of each value.

Groups may be at the root, or below a node name (or ``/**``), ``ros__parameters`` and ``robot_description_kinematics``;
see :mod:`ssik_ros.solvers.kinematics_layout`. A key that looks like a misspelt key of ours is an error. All other
unused keys of a group are named in one warning.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
import logging
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ssik_ros.errors import (
    ConfigError,
    describe_choices,
    InvalidParameter,
    list_names,
    LocatedMapping,
    misspelt_name,
    nearest_name,
    quote,
    reads_file,
    UnknownSolver,
)
from ssik_ros.model.makers_yaml import read_makers_yaml
from ssik_ros.problem.contract import SolverSpec
from ssik_ros.solvers.kinematics_layout import find_groups, KEYS_OF_OTHER_SOLVERS
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.solvers.options.parameters import flatten
from ssik_ros.solvers.registry import (
    DEFAULT_SOLVER,
    is_known,
    known_names,
    solver_schema,
    solver_spec,
)
from ssik_ros.value_class import dataclass

_LOGGER = logging.getLogger('ssik_ros.solvers.kinematics_yaml')

COMMON_PARAMETERS_FILE = 'ssik_ros.solvers:kinematics_parameters.yaml'
"""File of the parameters that every group has, whatever its solver."""

_COMMON = load_schema(COMMON_PARAMETERS_FILE)

KINEMATICS_FIELDS = {
    'kinematics_solver': 'solver',
    'kinematics_solver_timeout': 'timeout',
    'kinematics_solver_search_resolution': 'search_resolution',
    'position_only_ik': 'position_only',
}
"""Field of :class:`GroupKinematics` for each key that all solvers share."""


@dataclass(frozen=True, slots=True)
class GroupKinematics:
    """Solver, parameters and timeout of one group, read from a kinematics.yaml, with file and line of each value."""

    group: str
    requested_solver: str = ''
    """Name in the file; empty if the file names no solver."""
    solver: str = DEFAULT_SOLVER
    """The solver of the group: the requested one, or the default for an empty or a foreign name. Empty if the name is
    foreign and was not to be replaced."""
    is_foreign: bool = False
    """True if the requested solver belongs to another package."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Checked parameters of the solver that the file gives, by their main names."""
    timeout: float = _COMMON.parameter('kinematics_solver_timeout').default
    """Budget of a request that names none [s]."""
    search_resolution: float = _COMMON.parameter('kinematics_solver_search_resolution').default
    """Step of solvers that sample a redundant joint [rad or m]."""
    position_only: bool = _COMMON.parameter('position_only_ik').default
    """True if the orientation is free."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where each value came from, by field or parameter name: ``file:line (key)``, or ``default``."""
    unused: tuple[str, ...] = ()
    """Keys that the solver does not read, in the order of the file."""


@reads_file(ConfigError)
def read_kinematics_yaml(
    path: str | Path, groups: Iterable[str] | None = None, *, substitute: bool = True
) -> dict[str, GroupKinematics]:
    """
    Return the kinematics of each group in a file.

    :param path: the file, in either layout.
    :param groups: the groups of the robot; others in the file are skipped with a warning. None reads all groups.
    :param substitute: True replaces a solver of another package by the default solver. False leaves ``solver`` empty
        and ignores the parameters of that solver.
    :raises DescriptionNotFound: if the file does not exist.
    :raises ConfigError: if the file is malformed.
    :raises InvalidParameter: for a misspelt key, a wrong type or a value out of range.
    :raises UnknownSolver: for a misspelt name of a solver of ours.
    """
    return parse_kinematics(
        read_content(path), source=str(path), groups=groups, substitute=substitute
    )


def read_content(path: str | Path) -> Any:
    """
    Return the content of a kinematics.yaml; log mistakes that MoveIt tolerates as warnings.

    :param path: the file.
    :raises DescriptionNotFound: if the file does not exist.
    :raises ConfigError: if the file is not YAML, or a group has a parameter of one of our solvers twice.
    """
    content, notes = read_makers_yaml(path)
    for note in notes:
        ours = (solver_spec(name) for name in known_names() if name.startswith('ssik_ros/'))
        if any(_is_own(spec, note.key) for spec in ours):
            raise ConfigError(f'{note.place}: {note.text.split(";")[0]}.', place=note.place)
        _LOGGER.warning('%s.', note)
    return content


def parse_kinematics(
    content: Any,
    *,
    source: str = 'kinematics',
    groups: Iterable[str] | None = None,
    substitute: bool = True,
) -> dict[str, GroupKinematics]:
    """
    Return the kinematics of each group in the content of a file or in nested node parameters.

    :param content: the content, in either layout.
    :param source: the file or node, for messages.
    :param groups: the groups of the robot, others are skipped with a warning; None reads all.
    :param substitute: True replaces a solver of another package by the default solver. False leaves ``solver`` empty.
    :raises ConfigError: if the content is malformed.
    :raises InvalidParameter: for a misspelt key, a wrong type or a value out of range.
    :raises UnknownSolver: for a misspelt name of a solver of ours.
    """
    group_names = None if groups is None else tuple(groups)
    result: dict[str, GroupKinematics] = {}
    for name, (entries, place) in find_groups(content, source).items():
        if group_names is not None and name not in group_names:
            _LOGGER.warning(
                "%s: group '%s' is not in the robot's semantic description: skipped. %s",
                place,
                name,
                describe_choices(name, group_names),
            )
            continue
        result[name] = make_group_kinematics(name, entries, place, substitute=substitute)
    return result


def make_group_kinematics(
    group: str, entries: Mapping[str, Any], where: str = '', *, substitute: bool = True
) -> GroupKinematics:
    """
    Return the kinematics that the entries of one group describe; log unused keys as one warning.

    :param group: the group's name.
    :param entries: the keys below the group.
    :param where: file and line, for messages.
    :param substitute: True replaces a solver of another package by the default solver. False leaves ``solver`` empty.
        Then ``requested_solver`` and ``is_foreign`` are set, and all other fields have their defaults.
    :raises InvalidParameter: for a misspelt key, a wrong type or a value out of range.
    :raises UnknownSolver: for a misspelt name of a solver of ours.
    """
    leaves = {key: (value, place) for key, value, place in flatten(entries, where)}
    common = {key: _common_value(key, leaves) for key in _COMMON.names}
    requested = common['kinematics_solver'].strip()
    if not substitute and _is_foreign(requested):
        return GroupKinematics(group, requested, solver='', is_foreign=True)
    spec = _resolve_solver(requested, group, where)
    solver_leaves = {key: leaf for key, leaf in leaves.items() if _is_own(spec, key)}
    others = {
        key: leaf for key, leaf in leaves.items() if key not in solver_leaves and key not in common
    }
    return GroupKinematics(
        group=group,
        requested_solver=requested,
        solver=spec.name,
        is_foreign=_is_foreign(requested),
        parameters=MappingProxyType(_own_values(spec, solver_leaves)),
        timeout=common['kinematics_solver_timeout'],
        search_resolution=common['kinematics_solver_search_resolution'],
        position_only=common['position_only_ik'],
        sources=MappingProxyType(_sources(spec, leaves, solver_leaves)),
        unused=_report_unused(group, spec, others, where),
    )


def _common_value(key: str, leaves: Mapping[str, tuple[Any, str]]) -> Any:
    """
    Return the checked value of a key that all solvers share, such as the timeout; its default if the key is missing.

    :param leaves: value and place (file and line) of each key of the group.
    """
    parameter = _COMMON.parameter(key)
    return parameter.check(*leaves[key]) if key in leaves else parameter.default


def _is_own(spec: SolverSpec, key: str) -> bool:
    """Return whether a key is a parameter of a solver, or an alias of one of its parameters."""
    return key in solver_schema(spec).names or key in spec.parameter_aliases


def _own_values(spec: SolverSpec, leaves: Mapping[str, tuple[Any, str]]) -> dict[str, Any]:
    """
    Check the solver's own parameters, and return them by their main names.

    :param leaves: value and place (file and line) of each key that is a parameter or an alias.
    """
    schema, values = solver_schema(spec), LocatedMapping()
    for key, (value, place) in leaves.items():
        values[key] = value
        values.places[key] = place
    return schema.check(values, spec.parameter_aliases)


def _is_foreign(requested: str) -> bool:
    """Return whether a name belongs to a solver of another package: not empty, not ours, and not a misspelling of ours."""
    ours = is_known(requested) or requested.startswith('ssik_ros/')
    return bool(requested) and not ours and misspelt_name(requested, known_names()) is None


def _resolve_solver(requested: str, group: str, where: str) -> SolverSpec:
    """
    Return the solver of a group. If no solver or a foreign one is named, log this and return the default.

    Raise UnknownSolver for a misspelt name of a solver of ours.
    """
    if is_known(requested):
        return solver_spec(requested)
    if not requested:
        _LOGGER.info("%s: group '%s' names no solver: %s is used.", where, group, DEFAULT_SOLVER)
    elif not _is_foreign(requested):
        raise UnknownSolver.unknown(
            f'{where}: there is no solver {quote(requested)}', requested, known_names()
        )
    else:
        _LOGGER.warning(
            "%s: group '%s' names the solver '%s', which is not one of ours: %s is used.",
            where,
            group,
            requested,
            DEFAULT_SOLVER,
        )
    return solver_spec(DEFAULT_SOLVER)


def _sources(
    spec: SolverSpec,
    leaves: Mapping[str, tuple[Any, str]],
    solver_leaves: Mapping[str, tuple[Any, str]],
) -> dict[str, str]:
    """
    Return the source of each value: ``file:line (key)`` if the file gives it, otherwise ``default``.

    The keys are parameter names, and fields of :class:`GroupKinematics` for the keys that all solvers share.

    :param leaves: value and place of every key of the group.
    :param solver_leaves: the same for the keys of the solver.
    """
    sources = dict.fromkeys((*KINEMATICS_FIELDS.values(), *solver_schema(spec).names), 'default')
    for key, (_, place) in leaves.items():
        if key in KINEMATICS_FIELDS:
            sources[KINEMATICS_FIELDS[key]] = f'{place} ({key})'
        elif key in solver_leaves:
            sources[spec.parameter_aliases.get(key, key)] = f'{place} ({key})'
    return sources


def _report_unused(
    group: str, spec: SolverSpec, others: Mapping[str, tuple[Any, str]], where: str
) -> tuple[str, ...]:
    """
    Return the unused keys; log one warning with up to 20 of them. Raise InvalidParameter for a misspelt key.

    Of a nested key, only the name before the first dot is returned.

    :param others: value and place of each key that neither the solver nor every group has.
    """
    ours = (*_COMMON.names, *solver_schema(spec).names, *spec.parameter_aliases)
    unused: dict[str, str] = {}
    for key, (value, place) in others.items():
        name = key.split('.')[0]
        meant = None if name in KEYS_OF_OTHER_SOLVERS else misspelt_name(key, ours)
        if meant:
            raise InvalidParameter(
                f'{place}: unknown key {quote(key)} in group {quote(group)}. {describe_choices(key, ours)}',
                key=key,
                value=value,
                allowed=ours,
            )
        unused[name] = _hint(name, ours)
    if unused:
        _LOGGER.warning(
            "%s: group '%s': not used by %s: %s.",
            where,
            group,
            spec.name,
            list_names(unused.values()),
        )
    return tuple(unused)


def _hint(name: str, ours: Iterable[str]) -> str:
    """
    Return a key as text for the warning about unused keys.

    If the key resembles a parameter of ours, the text names this parameter, too.
    """
    similar = None if name in KEYS_OF_OTHER_SOLVERS else nearest_name(name, ours)
    return f'{name} (similar to {quote(similar)})' if similar else name
