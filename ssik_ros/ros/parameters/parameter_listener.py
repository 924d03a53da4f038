"""
Declare the parameters of a schema on a node, and follow their changes: :class:`ParamListener`.

A change takes effect as a whole, after every callback of the node has agreed to it. On Humble it takes effect as soon
as this listener agrees. See docs/adr/0005-parameter-library.md.
"""

from collections.abc import Callable, Iterable
import copy
import threading
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import InvalidParameterValueException
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from ssik_ros.ros.parameters.integer_parameters import accept_integers, promote
from ssik_ros.ros.parameters.parameter_descriptors import make_descriptor, ros_type
from ssik_ros.solvers.options.parameters import Parameter, ParameterSchema, REQUIRED

UserCallback = Callable[[Any], None]


class _Struct:
    """The values of parameters as attributes; a part of dotted names is an attribute that is a struct itself."""


def _plain(value: Any) -> Any:
    """Return a default in ROS types: a list instead of a tuple, None for a required parameter."""
    if value is REQUIRED:
        return None
    return list(value) if isinstance(value, tuple) else value


def _assign(params: Any, name: str, value: Any) -> None:
    """Set an attribute of ``params`` by its dotted name; missing nested structs are made."""
    *structs, leaf = name.split('.')
    for struct in structs:
        params = vars(params).setdefault(struct, _Struct())
    setattr(params, leaf, value)


class ParamListener:
    """Declares the parameters of a schema on a node and follows their changes."""

    def __init__(self, node: Node, schema: ParameterSchema, prefix: str = '') -> None:
        """
        Declare the parameters; their values come from the node's overrides, else from the defaults.

        :param node: the node.
        :param schema: the parameters; a parameter of type ``none`` is not declared.
        :param prefix: put before every name as it is, so it ends with a dot or is empty.
        :raises ParameterUninitializedException: when one without default is not given.
        :raises InvalidParameterTypeException: when a value has another type.
        :raises InvalidParameterValueException: when a value is out of range.
        """
        self._node = node
        self._params = _Struct()
        self._logger = get_logger(f'{schema.name}.{prefix}')
        self._user_callback: UserCallback | None = None
        self._change = threading.Lock()
        self._declared = {prefix + p.name: p for p in schema.parameters if p.type.scalar != 'none'}
        accept_integers(node, prefix, schema)
        self._declare_params()
        follow_changes(node, self._check, self._adopt)

    def get_params(self) -> Any:
        """Return a copy of the present values: an object with an attribute for each parameter, or struct of parameters."""
        # Published values are replaced and never written to, so this needs no lock.
        return copy.deepcopy(self._params)

    def set_user_callback(self, callback: UserCallback) -> None:
        """
        Set the function that is called with a copy of all values after each change.

        :param callback: replaces the callback before.
        """
        self._user_callback = callback

    def _declare_params(self) -> None:
        """Declare all parameters that the node does not have yet, then read and check all values."""
        for name, parameter in self._declared.items():
            if not self._node.has_parameter(name):
                _declare(self._node, name, parameter)
        updated = _Struct()
        for name, parameter in self._declared.items():
            given = self._node.get_parameter(name)
            self._log(given)
            reason = _out_of_range(parameter, given)
            if reason:
                raise InvalidParameterValueException(
                    parameter.name,
                    given.value,
                    f'Invalid value set during initialization for parameter {parameter.name}: {reason}',
                )
            _assign(updated, parameter.name, _value(given))
        self._params = updated

    def _select_declared(self, parameters: Iterable[RosParameter]) -> list[RosParameter]:
        """Return those parameters that this listener declared, with integers converted to doubles as declared."""
        return [
            promote(given, ros_type(self._declared[given.name]))
            for given in parameters
            if given.name in self._declared
        ]

    def _check(self, parameters: Iterable[RosParameter]) -> SetParametersResult:
        """
        Return whether values are in range, with the first reason if not; change nothing.

        rclpy has checked their types. Parameters of other listeners are skipped.
        """
        declared = self._select_declared(parameters)
        reasons = (_out_of_range(self._declared[given.name], given) for given in declared)
        reason = next(filter(None, reasons), '')
        return SetParametersResult(successful=not reason, reason=reason)

    def _adopt(self, parameters: Iterable[RosParameter]) -> None:
        """Take over values that the node has accepted, and call the user's callback; skip other listeners' parameters."""
        declared = self._select_declared(parameters)
        if not declared:
            return
        with self._change:
            updated = self.get_params()
            for given in declared:
                _assign(updated, self._declared[given.name].name, _value(given))
                self._log(given)
            self._params = updated
        if self._user_callback:
            self._user_callback(self.get_params())

    def _log(self, given: RosParameter) -> None:
        self._logger.debug(f'{given.name}: {given.type_.name} = {given.value}')


def follow_changes(
    node: Node,
    check: Callable[[Iterable[RosParameter]], SetParametersResult],
    adopt: Callable[[Iterable[RosParameter]], None],
) -> None:
    """
    Call ``check`` before parameters of a node change, and ``adopt`` after they have changed.

    rclpy of Humble has no callback after a change. There ``adopt`` is called as soon as ``check`` accepts the values,
    although another callback of the node may still refuse them.

    :param node: the node whose parameters are set.
    :param check: returns whether values are allowed.
    :param adopt: takes over values that every callback of the node has accepted, except on Humble.
    """
    if hasattr(node, 'add_post_set_parameters_callback'):
        node.add_on_set_parameters_callback(check)
        node.add_post_set_parameters_callback(adopt)
        return

    # rclpy of Humble says nothing after a change: take values over as soon as this callback agrees.
    def check_and_adopt(parameters: Iterable[RosParameter]) -> SetParametersResult:
        result = check(parameters)
        if result.successful:
            adopt(parameters)
        return result

    node.add_on_set_parameters_callback(check_and_adopt)


def _declare(node: Node, name: str, parameter: Parameter) -> None:
    """Declare one parameter with its default; one without default is declared by its type only."""
    default, kind = _plain(parameter.default), ros_type(parameter)
    by_type = default is None or default == []
    node.declare_parameter(name, kind if by_type else default, make_descriptor(parameter))
    # To rclpy an empty list is an array of bytes, unless it comes with its type.
    if default == [] and node.get_parameter_or(name).value is None:
        node.set_parameters([RosParameter(name, kind, [])])


def _out_of_range(parameter: Parameter, given: RosParameter) -> str:
    """Return the text of the first validator that refuses a value; empty if all accept it."""
    value = _value(given)
    reasons = (validator.reason(given.name, value) for validator in parameter.validators)
    return next(filter(None, reasons), '')


def _value(given: RosParameter) -> Any:
    """Return the value of a parameter, arrays as lists; through a service, rclpy gives ``array.array``."""
    is_array = given.value is not None and not isinstance(given.value, bool | int | float | str)
    return list(given.value) if is_array else given.value
