"""
Parameter files as classes for nodes: ``load_parameters('package:file.yaml').ParamListener(node)``.

Declarations and validation are done by code that generate_parameter_library generated from exactly this file, or else
by code of this package; the classes and their behaviour are the same (docs/adr/0005-parameter-library.md).
"""

import functools
from pathlib import PurePosixPath
from typing import Any

from ssik_ros.ros.parameters.generated_parameters import adapt_generated, find_generated
from ssik_ros.ros.parameters.parameter_listener import make_parameter_class
from ssik_ros.solvers.options.parameter_file import load_schema, read_resource


@functools.cache
def load_parameters(resource: str) -> Any:
    """
    Return the class for a parameter file, which holds the classes ``Params`` and ``ParamListener``.

    The same class is returned for each call with the same file.

    :param resource: ``package:relative/path`` of a file in generate_parameter_library syntax.
    :raises ConfigError: when the file is missing or malformed.
    """
    schema = load_schema(resource)
    file_name = PurePosixPath(resource.partition(':')[2]).name
    generated = find_generated(file_name, schema, read_resource(resource))
    if generated is None:
        return make_parameter_class(schema)
    return adapt_generated(generated, schema)
