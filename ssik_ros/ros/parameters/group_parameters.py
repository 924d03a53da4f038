"""
Parameters of planning groups: from a kinematics.yaml and from the node's own values, declared and followed.

Each group's parameters are below ``robot_description_kinematics.<group>.``, as MoveIt names them.
"""

from collections.abc import Callable, Iterable, Mapping
import dataclasses
import operator
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter

from ssik_ros.errors import InvalidParameter, LocatedMapping, quote
from ssik_ros.ros.parameters.integer_parameters import parameter_overrides
from ssik_ros.ros.parameters.parameter_listener import ParamListener
from ssik_ros.solvers.kinematics_layout import find_groups
from ssik_ros.solvers.kinematics_yaml import (
    COMMON_PARAMETERS_FILE,
    GroupKinematics,
    KINEMATICS_FIELDS,
    parse_kinematics,
    read_content,
)
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.solvers.registry import DEFAULT_SOLVER, is_known, solver_schema, solver_spec

PREFIX = 'robot_description_kinematics.'
RUN_TIME = 'set at run time'


class GroupParameters:
    """
    The solver and solver parameters of each group of a node, as :class:`GroupKinematics`.

    They come from a kinematics.yaml and from parameters of the node, and follow later changes of these parameters.
    """

    def __init__(
        self, node: Node, path: Path | None, changed: Callable[[GroupKinematics], None]
    ) -> None:
        """
        Keep the file and the parameters given to the node.

        :param node: the node that declares the parameters.
        :param path: a kinematics.yaml; None without a file.
        :param changed: called with the kinematics of a group after its parameters were changed at run time.
        :raises InvalidParameter: for a parameter of a group whose name has no key.
        """
        self._node = node
        self._path = path
        self._changed = changed
        self._given = _node_entries(node)
        """Parameters given to the node itself, kept because declaring replaces them by resolved values."""
        self._groups: dict[str, _DeclaredGroup] = {}

    def declare(self, groups: Iterable[str], of_robot: Iterable[str] = ()) -> None:
        """
        Read the kinematics of groups that are not declared yet, and declare their parameters.

        :param groups: names of the groups that are served.
        :param of_robot: names of all groups of the robot. Entries of the file for any other group are logged as a
            warning.
        :raises ConfigError: when the file or a value is wrong.
        :raises UnknownSolver: for a misspelt name of a solver of this package.
        :raises ParameterException: (of rclpy) for a value of the node that has a wrong type or is out of range.
        """
        new = [name for name in groups if name not in self._groups]
        if not new:
            return
        source = str(self._path or f'parameters below {PREFIX}')
        given = parse_kinematics(self._entries(), source=source, groups={*new, *of_robot})
        for name in new:
            kinematics = given.get(name) or GroupKinematics(name)
            self._groups[name] = _DeclaredGroup(self._node, kinematics, self._changed)

    def kinematics(self, group: str) -> GroupKinematics:
        """
        Return the present kinematics of a group.

        :param group: name of a group that was declared.
        """
        return self._groups[group].kinematics

    def _entries(self) -> LocatedMapping:
        """
        Return the entries of kinematics.yaml and of the node's parameters for every group.

        Parameters of the node replace entries of the file with the same meaning.
        """
        merged = LocatedMapping()
        if self._path is not None:
            content = read_content(self._path)
            for name, (entries, place) in find_groups(content, str(self._path)).items():
                _copy_entries(merged, name, entries, place)
        for name, entries in self._given.items():
            _drop_replaced(merged.get(name, {}), entries)
            _copy_entries(merged, name, entries, f'parameter {PREFIX}{name}')
        return merged


def _drop_replaced(kept: dict[str, Any], entries: Mapping[str, Any]) -> None:
    """
    Remove the entries of ``kept`` that ``entries`` replaces, in place.

    An entry is replaced by one with the same key, or with an alias of the key in the parameters of the solver.
    """
    name = str(entries.get('kinematics_solver', kept.get('kinematics_solver') or ''))
    aliases = solver_spec(name if is_known(name) else DEFAULT_SOLVER).parameter_aliases
    given = {aliases.get(key, key) for key in entries}
    for key in [key for key in kept if aliases.get(key, key) in given]:
        del kept[key]


def _copy_entries(
    merged: LocatedMapping, group: str, entries: Mapping[str, Any], place: str
) -> None:
    """Write the entries of a group, and the places they come from, into ``merged``; replace present ones."""
    target = merged.setdefault(group, LocatedMapping())
    merged.places[group] = place
    places = getattr(entries, 'places', {})
    for key, value in entries.items():
        target[key] = value
        target.places[key] = places.get(key, place)


def _node_entries(node: Node) -> dict[str, LocatedMapping]:
    """
    Return the parameter values given to a node below ``PREFIX``, by group and then by key, such as ``auto.epsilon``.

    :raises InvalidParameter: for a value whose name has a group but no key.
    """
    groups: dict[str, LocatedMapping] = {}
    for name, parameter in parameter_overrides(node).items():
        if not f'{name}.'.startswith(PREFIX):
            continue
        group, dot, key = name[len(PREFIX) :].partition('.')
        if not dot:
            raise InvalidParameter(
                f'Parameter {quote(name)} has a value; only keys of groups have: '
                f"'{PREFIX}{group or '<group>'}.<key>'.",
                key=name,
                value=parameter.value,
            )
        entries = groups.setdefault(group, LocatedMapping())
        entries[key] = parameter.value
        entries.places[key] = f'parameter {name}'
    return groups


class _DeclaredGroup:
    """One group whose solver parameters are declared on the node; ``kinematics`` has their present values."""

    def __init__(
        self, node: Node, kinematics: GroupKinematics, changed: Callable[[GroupKinematics], None]
    ) -> None:
        self.kinematics = kinematics
        self._node = node
        self._changed = changed
        self._prefix = f'{PREFIX}{kinematics.group}.'
        self._schema = solver_schema(solver_spec(kinematics.solver))
        parameters_file = solver_spec(kinematics.solver).parameters_file
        self._listeners: tuple[Any, ...] = ()
        self._listeners = (
            self._listen(COMMON_PARAMETERS_FILE, self._common_values()),
            self._listen(parameters_file, kinematics.parameters),
        )
        # Another thread may have set the first parameters before the others were declared.
        self._take(None)

    def _listen(self, resource: str, values: Mapping[str, Any]) -> Any:
        """
        Declare the parameters of the file ``resource`` and follow their changes; return the listener.

        ``values`` by key replace the values given to the node.
        """
        overrides = parameter_overrides(self._node)
        for key, value in values.items():
            name = self._prefix + key
            overrides[name] = Parameter(
                name, value=list(value) if isinstance(value, tuple) else value
            )
        listener = ParamListener(self._node, load_schema(resource), self._prefix)
        listener.set_user_callback(self._take)
        return listener

    def _common_values(self) -> dict[str, Any]:
        """Return the present values of the parameters that every solver has, such as its name and time-out, by key."""
        fields = {key: getattr(self.kinematics, field) for key, field in KINEMATICS_FIELDS.items()}
        return {**fields, 'kinematics_solver': self.kinematics.requested_solver}

    def _take(self, _params: Any) -> None:
        """
        Read all values from the node after a change; if one differs, replace the kinematics and call ``changed``.

        Do nothing until all parameters are declared. The argument is ignored. The name of the solver cannot change.
        """
        if not self._listeners:
            return
        fields = {
            field: self._value(key)
            for key, field in KINEMATICS_FIELDS.items()
            if field != 'solver'
        }
        parameters = self._schema.check({name: self._value(name) for name in self._schema.names})
        changed = self._changed_sources({**fields, **parameters})
        if not changed:
            return
        before = self.kinematics
        self.kinematics = dataclasses.replace(
            before, **fields, parameters=parameters, sources={**before.sources, **changed}
        )
        self._changed(self.kinematics)

    def _value(self, key: str) -> Any:
        """
        Return the new value of a parameter, by key, while a change of parameters is in progress.

        Two listeners share the keys of a group. Except on Humble, the node has all new values before the first listener
        is called, so a change of several keys is never served half.
        """
        if hasattr(self._node, 'add_post_set_parameters_callback'):
            return self._node.get_parameter(self._prefix + key).value
        # rclpy of Humble: the listeners hear of a change before the node has it.
        owner = self._listeners[key not in KINEMATICS_FIELDS]
        return operator.attrgetter(key)(owner.get_params())

    def _changed_sources(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Return a mapping from each name in ``values`` whose value has changed to the source ``RUN_TIME``."""
        before = self.kinematics
        previous = {field: getattr(before, field) for field in KINEMATICS_FIELDS.values()}
        previous |= self._schema.complete(before.parameters)
        return {name: RUN_TIME for name, value in values.items() if value != previous[name]}
