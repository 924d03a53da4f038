"""The ROS type and the ROS descriptor, with its range, of a parameter of a schema."""

from collections.abc import Callable, Sequence
import sys
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.parameter import Parameter as RosParameter

from ssik_ros.solvers.options.parameters import Parameter

_TYPES = {'bool': 'BOOL', 'int': 'INTEGER', 'double': 'DOUBLE', 'string': 'STRING'}
# The numbers of generate_parameter_library: the step inside an excluded bound, and the open sides.
_INSIDE = {'double': sys.float_info.epsilon, 'int': 1}
_OPEN = {'double': (-float('inf'), float('inf')), 'int': (-(2**31) - 1, 2**31 - 1)}
_ENDS: dict[str, Callable[[Sequence[Any], Any], tuple[Any, Any]]] = {
    'bounds': lambda ends, _: (ends[0], ends[1]),
    'element_bounds': lambda ends, _: (ends[0], ends[1]),
    'gt_eq': lambda ends, _: (ends[0], None),
    'lower_element_bounds': lambda ends, _: (ends[0], None),
    'lt_eq': lambda ends, _: (None, ends[0]),
    'upper_element_bounds': lambda ends, _: (None, ends[0]),
    'gt': lambda ends, inside: (ends[0] + inside, None),
    'lt': lambda ends, inside: (None, ends[0] - inside),
}
"""Lower and upper end that each validator sets, None where it sets none, from its arguments and the step inside."""


def ros_type(parameter: Parameter) -> RosParameter.Type:
    """
    Return the ROS type with which a parameter is declared.

    :param parameter: any parameter but one of type ``none``, which is not declared.
    """
    suffix = '_ARRAY' if parameter.type.is_array else ''
    return RosParameter.Type[_TYPES[parameter.type.scalar] + suffix]


def make_descriptor(parameter: Parameter) -> ParameterDescriptor:
    """
    Return the ROS descriptor: description, read-only mark, constraints, and the range of the validators.

    :param parameter: the parameter.
    """
    descriptor = ParameterDescriptor(
        description=parameter.description,
        read_only=parameter.read_only,
        additional_constraints=parameter.additional_constraints,
    )
    limits = _limits(parameter)
    if limits is None:
        return descriptor
    if parameter.type.scalar == 'double':
        ends = {'from_value': float(limits[0]), 'to_value': float(limits[1])}
        descriptor.floating_point_range = [FloatingPointRange(**ends)]
    else:
        ends = {'from_value': int(limits[0]), 'to_value': int(limits[1])}
        descriptor.integer_range = [IntegerRange(**ends)]
    return descriptor


def _limits(parameter: Parameter) -> tuple[Any, Any] | None:
    """
    Return the (lower, upper) bounds that validators set; None if they set none, or if the parameter is not a number.

    The last validator that sets a bound counts. An excluded bound is moved inside, by 1 or by the machine epsilon. A
    missing bound is infinite for doubles, and -2**31 - 1 or 2**31 - 1 for integers, as in generate_parameter_library.
    """
    scalar = parameter.type.scalar
    if scalar not in _OPEN:
        return None
    lower = upper = None
    for validator in parameter.validators:
        if validator.name in _ENDS:
            below, above = _ENDS[validator.name](validator.arguments, _INSIDE[scalar])
            lower = lower if below is None else below
            upper = upper if above is None else above
    if lower is None and upper is None:
        return None
    open_below, open_above = _OPEN[scalar]
    return (open_below if lower is None else lower, open_above if upper is None else upper)
