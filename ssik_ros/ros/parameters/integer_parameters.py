"""
Integers for double parameters: ``target_tolerance: 1`` means 1.0, in files and, but for Humble, at run time.

rclpy keeps the type in which a value was written. It refuses an integer for a parameter that was declared as a double,
before any callback that validates is called; so integers are converted before rclpy sees them.
"""

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from rclpy.node import Node
from rclpy.parameter import Parameter

from ssik_ros.solvers.options.parameters import ParameterSchema

_PROMOTED = {
    Parameter.Type.INTEGER: Parameter.Type.DOUBLE,
    Parameter.Type.INTEGER_ARRAY: Parameter.Type.DOUBLE_ARRAY,
}
_DECLARED_AS = {False: Parameter.Type.DOUBLE, True: Parameter.Type.DOUBLE_ARRAY}


def promote(parameter: Parameter, declared: Parameter.Type) -> Parameter:
    """
    Return the parameter as a double if an integer was given for a double, else unchanged.

    :param parameter: name, type and value as given.
    :param declared: the type that the parameter is declared with.
    """
    if _PROMOTED.get(parameter.type_) is not declared:
        return parameter
    if declared is Parameter.Type.DOUBLE:
        return Parameter(parameter.name, declared, float(parameter.value))
    return Parameter(parameter.name, declared, [float(entry) for entry in parameter.value])


class _Promotion:
    """
    The callback that a node calls before it sets parameters: converts integers for parameters declared as doubles.

    It must not refer to its node, which is its key in ``_PROMOTIONS``.
    """

    def __init__(self) -> None:
        """Start without declared parameters."""
        self.declared: dict[str, Parameter.Type] = {}

    def __call__(self, parameters: Iterable[Parameter]) -> list[Parameter]:
        """
        Return the parameters, with integers converted to doubles if doubles are declared.

        :param parameters: the parameters to set.
        """
        return [promote(p, self.declared.get(p.name, p.type_)) for p in parameters]


_PROMOTIONS: WeakKeyDictionary[Node, _Promotion] = WeakKeyDictionary()
"""
One callback for each node, however many listeners it has: rclpy hands every pre-set callback the original list and sets
all parameters that they return. With two callbacks the unconverted integer would be set again.
"""


def parameter_overrides(node: Node) -> dict[str, Any]:
    """
    Return the node's own mapping of values from files and the command line, by name; changes to it take effect.

    :param node: the node.
    """
    # rclpy offers no public access, and declare_parameter() takes the value from here. A test notices a change.
    overrides: dict[str, Any] = node._parameter_overrides
    return overrides


def accept_integers(node: Node, prefix: str, schema: ParameterSchema) -> None:
    """
    Accept integers for the double parameters of a schema: in overrides, which are converted, and in later changes.

    rclpy of Humble has no pre-set callbacks: there, only overrides are converted.

    :param node: the node that will declare the parameters.
    :param prefix: put before every name as it is, so it ends with a dot or is empty.
    :param schema: the parameters.
    """
    declared = {
        prefix + parameter.name: _DECLARED_AS[parameter.type.is_array]
        for parameter in schema.parameters
        if parameter.type.scalar == 'double'
    }
    overrides = parameter_overrides(node)
    for name in declared.keys() & overrides.keys():
        overrides[name] = promote(overrides[name], declared[name])
    if hasattr(node, 'add_pre_set_parameters_callback'):
        _promotion(node).declared.update(declared)


def _promotion(node: Node) -> _Promotion:
    """Return the pre-set callback of a node; the first call makes and registers it."""
    if node not in _PROMOTIONS:
        _PROMOTIONS[node] = _Promotion()
        node.add_pre_set_parameters_callback(_PROMOTIONS[node])
    return _PROMOTIONS[node]
