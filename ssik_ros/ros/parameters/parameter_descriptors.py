"""How a parameter of a schema is declared in ROS: its type, and its descriptor with description and range."""

import sys
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.parameter import Parameter as RosParameter

from ssik_ros.solvers.options.parameters import Parameter
from ssik_ros.solvers.options.validators import Validator

_SCALARS = {
    'bool': RosParameter.Type.BOOL,
    'int': RosParameter.Type.INTEGER,
    'double': RosParameter.Type.DOUBLE,
    'string': RosParameter.Type.STRING,
}
_ARRAYS = {
    'bool': RosParameter.Type.BOOL_ARRAY,
    'int': RosParameter.Type.INTEGER_ARRAY,
    'double': RosParameter.Type.DOUBLE_ARRAY,
    'string': RosParameter.Type.STRING_ARRAY,
}
_BOTH_SIDES = {'bounds', 'element_bounds'}
_LOWER = {'gt_eq', 'lower_element_bounds'}
_UPPER = {'lt_eq', 'upper_element_bounds'}
# The numbers of generate_parameter_library: the step inside an excluded bound, and the open sides.
_INSIDE = {'double': sys.float_info.epsilon, 'int': 1}
_OPEN = {'double': (-float('inf'), float('inf')), 'int': (-(2**31) - 1, 2**31 - 1)}


def ros_type(parameter: Parameter) -> RosParameter.Type:
    """
    Return the type that a parameter is declared with.

    :param parameter: any parameter but one of type ``none``, which is not declared.
    """
    return (_ARRAYS if parameter.type.is_array else _SCALARS)[parameter.type.scalar]


def make_descriptor(parameter: Parameter) -> ParameterDescriptor:
    """
    Return the descriptor with description, read-only mark, constraints and the range of the validators.

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
    """Return the ends of the range that validators leave, or None where they leave everything."""
    scalar = parameter.type.scalar
    if scalar not in _OPEN:
        return None
    lower = upper = None
    for validator in parameter.validators:
        below, above = _ends(validator, _INSIDE[scalar])
        lower = lower if below is None else below
        upper = upper if above is None else above
    if lower is None and upper is None:
        return None
    open_below, open_above = _OPEN[scalar]
    return (open_below if lower is None else lower, open_above if upper is None else upper)


def _ends(validator: Validator, inside: Any) -> tuple[Any, Any]:
    """Return the lower and the upper end that one validator sets, None where it sets none."""
    name, arguments = validator.name, validator.arguments
    if name in _BOTH_SIDES:
        return arguments[0], arguments[1]
    if name in _LOWER:
        return arguments[0], None
    if name in _UPPER:
        return None, arguments[0]
    if name == 'gt':
        return arguments[0] + inside, None
    if name == 'lt':
        return None, arguments[0] - inside
    return None, None
