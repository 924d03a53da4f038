"""Options of solvers: frozen data classes that are generated from the parameter files of the solvers."""

from collections.abc import Mapping
import functools
from typing import Any

from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.value_class import dataclass

TYPES = {'bool': bool, 'int': int, 'double': float, 'string': str}


def find_options(module: str, files: Mapping[str, str], name: str) -> Any:
    """
    Return a class of options, for the function ``__getattr__`` of a module.

    The parameter file is read at the first use of the class, so listing solvers reads no file.

    :param module: name of the module.
    :param files: parameter file of each class, by the name of the class.
    :param name: name of the attribute.
    :raises AttributeError: if ``files`` has no such class.
    :raises ConfigError: if the parameter file does not exist or is malformed.
    """
    if name not in files:
        raise AttributeError(f'module {module!r} has no attribute {name!r}')
    return _make_options(module, name, files[name])


@functools.cache
def _make_options(module: str, name: str, file: str) -> type:
    """
    Return the frozen data class with one field for each parameter of a file, which is read only once.

    An instance checks its values and raises InvalidParameter for a wrong one.

    :param module, name: module and name of the class.
    :param file: the file, as ``package:relative/path``.
    """
    schema = load_schema(file)

    def check(self: Any) -> None:
        """Convert each field of a new instance to its parameter's type; raise InvalidParameter for a wrong value."""
        for parameter in schema.parameters:
            value = parameter.check(getattr(self, parameter.name))
            object.__setattr__(self, parameter.name, value)

    members: dict[str, Any] = {
        '__annotations__': {p.name: TYPES[p.type.name] for p in schema.parameters},
        '__doc__': f'Parameters in {file.rpartition(":")[2]}.',
        '__module__': module,
        '__post_init__': check,
    }
    defaults = {parameter.name: parameter.default for parameter in schema.parameters}
    return dataclass(frozen=True, slots=True)(type(name, (), members | defaults))
