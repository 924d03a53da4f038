"""
Declare the parameters of a schema on a node, and follow their changes.

:class:`ParamListener` does this; :class:`Params` has a copy of the values, with nested structs. Both have the interface
    that generate_parameter_library gives such classes. A change takes effect as a whole, after every callback of the
    node has agreed to it.
"""

from collections.abc import Callable, Iterable, Mapping
import copy
import threading
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock
from rclpy.exceptions import InvalidParameterValueException
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter, PARAMETER_SEPARATOR_STRING
from rclpy.time import Time

from ssik_ros.errors import quote
from ssik_ros.ros.parameters.integer_parameters import accept_integers, promote
from ssik_ros.ros.parameters.parameter_descriptors import make_descriptor, ros_type
from ssik_ros.solvers.options.parameters import Parameter, ParameterSchema, REQUIRED

UserCallback = Callable[[Any], None]


class _Struct:
    """A nested struct; its attributes are parameters and further structs."""


def declared_parameters(schema: ParameterSchema) -> tuple[Parameter, ...]:
    """
    Return the parameters that a node declares: all except type ``none``.

    :param schema: the parameters.
    """
    return tuple(p for p in schema.parameters if p.type.scalar != 'none')


class Params:
    """The values of all parameters as attributes; a required one has the value None until it is read from the node."""

    schema: ParameterSchema

    def __init__(self) -> None:
        """Set all attributes to the defaults."""
        self.stamp_ = Time()
        for parameter in declared_parameters(self.schema):
            _assign(self, parameter.name, _plain(parameter.default))


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

    schema: ParameterSchema
    params_type: type[Params]

    def __init__(self, node: Node, prefix: str = '') -> None:
        """
        Declare the parameters; their values come from the node's overrides, else from the defaults.

        :param node: the node.
        :param prefix: put before every name as it is, so it ends with a dot or is empty.
        :raises ParameterUninitializedException: when one without default is not given.
        :raises InvalidParameterTypeException: when a value has another type.
        :raises InvalidParameterValueException: when a value is out of range.
        """
        self.prefix_ = prefix
        self.node_ = node
        self.params_ = self.params_type()
        self.logger_ = get_logger(f'{self.schema.name}.{prefix}')
        self.clock_ = Clock()
        self.user_callback: UserCallback | None = None
        self._change = threading.Lock()
        self._declared = {prefix + p.name: p for p in declared_parameters(self.schema)}
        accept_integers(node, prefix, self.schema)
        self.declare_params()
        follow_changes(node, self._check, self._adopt)

    def get_params(self) -> Any:
        """Return a copy of the present values, as ``Params``."""
        # Published values are replaced and never written to, so this needs no lock. A Time cannot be
        # copied and does not change: the copy shares it.
        params = self.params_
        return copy.deepcopy(params, {id(params.stamp_): params.stamp_})

    def is_old(self, other_param: Any) -> bool:
        """
        Return whether the parameters have changed since a copy was taken.

        :param other_param: the result of :meth:`get_params`.
        """
        return bool(self.params_.stamp_ != other_param.stamp_)

    def set_user_callback(self, callback: UserCallback) -> None:
        """
        Set the function that is called with a copy of all values after each change.

        :param callback: replaces the callback before.
        """
        self.user_callback = callback

    def clear_user_callback(self) -> None:
        """Remove the function that is called after changes."""
        self.user_callback = None

    def refresh_dynamic_parameters(self) -> None:
        """Do nothing: only maps (``__map_...``) have dynamic parameters, and a schema has no maps."""

    def unpack_parameter_dict(
        self, namespace: str, parameter_dict: Mapping[str, Any]
    ) -> list[RosParameter]:
        """
        Return the leaves of nested dictionaries as ROS parameters with dotted names.

        :param namespace: put before every name as it is.
        :param parameter_dict: values by name, or dictionaries of them.
        """
        parameters = []
        for name, value in parameter_dict.items():
            full_name = namespace + name
            if isinstance(value, dict):
                inner = full_name + PARAMETER_SEPARATOR_STRING
                parameters += self.unpack_parameter_dict(inner, value)
            else:
                parameters.append(RosParameter(full_name, value=value))
        return parameters

    def set_params_from_dict(self, param_dict: Mapping[str, Any]) -> SetParametersResult:
        """
        Change values in this listener, all or none, without setting the node's parameters; return the result.

        The result is not successful and has a reason if a type or value is wrong.

        :param param_dict: values by full name, prefix included; nested or dotted.
        """
        return self.update(self.unpack_parameter_dict('', param_dict))

    def update(self, parameters: Iterable[RosParameter]) -> SetParametersResult:
        """
        Change values in this listener, all or none, without setting the node's parameters; return the result.

        The result is not successful and has a reason if a type or value is wrong.

        :param parameters: parameters by their full names; parameters of other listeners are skipped.
        """
        parameters = list(parameters)
        result = self._check(parameters)
        if result.successful:
            self._change_to(self._select_declared(parameters))
        return result

    def update_internal_params(self, updated_params: Params) -> None:
        """
        Replace the present values, without a check.

        :param updated_params: must not be written to afterwards.
        """
        self.params_ = updated_params

    def declare_params(self) -> None:
        """
        Declare all parameters that the node does not have yet, then read and check all values.

        :raises ParameterUninitializedException: when a required parameter has no value.
        :raises InvalidParameterTypeException: when a value has another type.
        :raises InvalidParameterValueException: when a value is out of range.
        """
        for name, parameter in self._declared.items():
            if not self.node_.has_parameter(name):
                _declare(self.node_, name, parameter)
        updated = self.get_params()
        for name, parameter in self._declared.items():
            given = self.node_.get_parameter(name)
            self._log(given)
            reason = _out_of_range(parameter, given)
            if reason:
                raise InvalidParameterValueException(
                    parameter.name,
                    given.value,
                    f'Invalid value set during initialization for parameter {parameter.name}: {reason}',
                )
            _assign(updated, parameter.name, _value(given))
        self.update_internal_params(updated)

    def _select_declared(self, parameters: Iterable[RosParameter]) -> list[RosParameter]:
        """Return those parameters that this listener declared, with integers converted to doubles as declared."""
        return [
            promote(given, ros_type(self._declared[given.name]))
            for given in parameters
            if given.name in self._declared
        ]

    def _check(self, parameters: Iterable[RosParameter]) -> SetParametersResult:
        """
        Return whether types and values are allowed, with the first reason if not; change nothing.

        Parameters of other listeners are skipped.
        """
        declared = self._select_declared(parameters)
        wrong = (_wrong_type(self._declared[given.name], given) for given in declared)
        reason = next(filter(None, wrong), '') or self._refusal(declared)
        return SetParametersResult(successful=not reason, reason=reason)

    def _refusal(self, parameters: Iterable[RosParameter]) -> str:
        """
        Return the reason why one of the given values is out of range; empty if all are accepted.

        Types are checked before.
        """
        reasons = (_out_of_range(self._declared[given.name], given) for given in parameters)
        return next(filter(None, reasons), '')

    def _adopt(self, parameters: Iterable[RosParameter]) -> None:
        """Take over values that the node has accepted; without a parameter of this listener, do nothing."""
        declared = self._select_declared(parameters)
        if declared:
            self._change_to(declared)

    def _change_to(self, parameters: Iterable[RosParameter]) -> None:
        """Replace the values of the given parameters, note the time of the change, and call the user's callback."""
        with self._change:
            updated = self.get_params()
            for given in parameters:
                _assign(updated, self._declared[given.name].name, _value(given))
                self._log(given)
            updated.stamp_ = self.clock_.now()
            self.update_internal_params(updated)
        if self.user_callback:
            self.user_callback(self.get_params())

    def _log(self, given: RosParameter) -> None:
        self.logger_.debug(f'{given.name}: {given.type_.name} = {given.value}')


def follow_changes(
    node: Node,
    check: Callable[[Iterable[RosParameter]], SetParametersResult],
    adopt: Callable[[Iterable[RosParameter]], None],
) -> None:
    """
    Call ``check`` before parameters of a node change, and ``adopt`` after they have changed.

    :param node: the node whose parameters are set.
    :param check: returns whether values are allowed.
    :param adopt: takes over values that every callback of the node has accepted.
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


def _wrong_type(parameter: Parameter, given: RosParameter) -> str:
    """Return why the type of a value is refused; empty if it is right."""
    expected = ros_type(parameter)
    if given.type_ is expected:
        return ''
    return f'Wrong parameter type, expected {quote(expected)} got {quote(given.type_)}'


def _out_of_range(parameter: Parameter, given: RosParameter) -> str:
    """Return the text of the first validator that refuses a value; empty if all accept it."""
    value = _value(given)
    reasons = (validator.reason(given.name, value) for validator in parameter.validators)
    return next(filter(None, reasons), '')


def _value(given: RosParameter) -> Any:
    """Return the value of a parameter, arrays as lists; through a service, rclpy gives ``array.array``."""
    is_array = given.value is not None and not isinstance(given.value, bool | int | float | str)
    return list(given.value) if is_array else given.value


def make_parameter_class(schema: ParameterSchema) -> type:
    """
    Return a class named after the root of a parameter file, with the classes ``Params`` and ``ParamListener`` in it.

    generate_parameter_library makes a class of the same form.

    :param schema: the parameters.
    """
    params = type('Params', (Params,), {'schema': schema})
    listener = type('ParamListener', (ParamListener,), {'schema': schema, 'params_type': params})
    return type(schema.name, (), {'Params': params, 'ParamListener': listener})
