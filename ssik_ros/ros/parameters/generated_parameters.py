"""
Find and use the parameter code that generate_parameter_library generated from a file when the package was built.

Generated code declares and validates parameters. This package's listener follows changes, because the generated one has
two faults. It changes its values before the other callbacks of a node have agreed, and its copies are not thread-safe.
"""

from collections.abc import Iterable
import copy
import hashlib
import importlib
import logging
from typing import Any

from rclpy.parameter import Parameter as RosParameter

from ssik_ros.ros.parameters.parameter_listener import ParamListener
from ssik_ros.solvers.options.parameters import ParameterSchema

_LOGGER = logging.getLogger('ssik_ros.ros.parameters.generated_parameters')

GENERATED_PACKAGE = 'ssik_ros.ros.generated'
"""Where setup.py puts the modules; it exists in builds on machines with the generator."""


def find_generated(file_name: str, schema: ParameterSchema, text: str) -> Any:
    """
    Return the class that was generated from exactly this text; None without such a class.

    :param file_name: the name of the parameter file, such as ``my_parameters.yaml``.
    :param schema: the parameters in it.
    :param text: the content of the file.
    """
    try:
        module = importlib.import_module(f'{GENERATED_PACKAGE}.{file_name.removesuffix(".yaml")}')
    except ImportError as error:
        _LOGGER.debug('%s is read without generated code: %s', file_name, error)
        return None
    if getattr(module, 'SOURCE_SHA256', '') != hashlib.sha256(text.encode()).hexdigest():
        _LOGGER.debug('%s has changed since its code was generated, which is not used', file_name)
        return None
    return getattr(module, schema.name)


class _GeneratedListener(ParamListener):
    """This package's listener, with declarations and validation by generated code."""

    generated: Any

    def declare_params(self) -> None:
        """
        Declare all parameters that the node does not have yet, then read and check all values.

        :raises ParameterUninitializedException: when a required parameter has no value.
        :raises InvalidParameterTypeException: when a value has another type.
        :raises InvalidParameterValueException: when a value is out of range.
        """
        self.generated.ParamListener.declare_params(self)

    def _refusal(self, parameters: Iterable[RosParameter]) -> str:
        """
        Return the reason why generated code refuses one of the values; empty if it accepts all.

        The check works on a copy, so that the values of this listener stay unchanged.
        """
        # Generated code stores the values that it checks: it gets a copy of this object.
        judge = copy.copy(self)
        judge.clear_user_callback()
        result = self.generated.ParamListener.update(judge, parameters)
        return str(result.reason)


def adapt_generated(generated: Any, schema: ParameterSchema) -> type:
    """
    Return a class with ``Params`` and ``ParamListener``: generated declarations and checks, but this package's updates.

    :param generated: the generated class.
    :param schema: the parameters, read from the same file.
    """
    members = {'schema': schema, 'params_type': generated.Params, 'generated': generated}
    listener = type('ParamListener', (_GeneratedListener,), members)
    return type(schema.name, (), {'Params': generated.Params, 'ParamListener': listener})
