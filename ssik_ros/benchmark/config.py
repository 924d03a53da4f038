"""The configuration of a benchmark, in the YAML format of the ROS package ik_benchmarking."""

from collections.abc import Iterable, Mapping
import dataclasses
from dataclasses import field
from pathlib import Path
from typing import Any

from ssik_ros.errors import ConfigError, describe_choices, InvalidParameter, reads_file
from ssik_ros.solvers.options.parameter_file import make_schema
from ssik_ros.strict_yaml import location, read_yaml
from ssik_ros.value_class import dataclass

_SCHEMA = make_schema(
    {
        'benchmark configuration': {
            'moveit_config_pkg': {'type': 'string', 'validation': {'not_empty<>': None}},
            'robot_name': {'type': 'string', 'validation': {'not_empty<>': None}},
            'planning_group': {'type': 'string', 'validation': {'not_empty<>': None}},
            'sample_size': {'type': 'int', 'validation': {'gt_eq<>': [1]}},
            'random_seed': {'type': 'int', 'validation': {'gt_eq<>': [0]}},
            'ik_timeout': {'type': 'double', 'validation': {'gt<>': [0.0]}},
            'ik_iteration_display_step': {'type': 'int', 'validation': {'gt_eq<>': [1]}},
        }
    },
    'benchmark configuration',
)
_ENTRY = make_schema(
    {
        'ik_solvers entry': {
            'name': {'type': 'string', 'validation': {'not_empty<>': None}},
            'kinematics_file': {'type': 'string', 'validation': {'not_empty<>': None}},
        }
    },
    'ik_solvers entry',
)
_KEYS = (*_SCHEMA.names, 'ik_solvers')


@dataclass(frozen=True, slots=True)
class SolverEntry:
    """A solver in the configuration of a benchmark: its label, and the kinematics file with its parameters."""

    name: str
    """Label of the solver in tables, plots and file names."""
    kinematics_file: str
    """File in the ``config`` folder of the MoveIt configuration package."""

    @property
    def csv_name(self) -> str:
        """Return the name of the CSV file with the solver's trials, as ik_benchmarking names it."""
        label = self.name.replace('/', '_').replace('\\', '_')
        return f'{label}_ik_benchmarking_data.csv'


@dataclass(frozen=True, slots=True)
class BenchmarkConfig:
    """The configuration of a benchmark: a group of a robot, the requests, and the solvers to compare."""

    name: str
    """Name of the file without suffix."""
    moveit_config_pkg: str
    """Name or folder of the MoveIt configuration package."""
    robot_name: str
    planning_group: str
    sample_size: int
    """Number of requests to each solver."""
    random_seed: int
    """Seed of the generator of random requests."""
    ik_timeout: float
    """Budget of each solve [s]."""
    ik_iteration_display_step: int
    """Number of trials between two reports of the progress."""
    ik_solvers: tuple[SolverEntry, ...]
    robot_description_file: str = ''
    """URDF that replaces the URDF of the package; not a key of the file."""
    xacro_args: Mapping[str, str] = field(default_factory=dict)
    """Arguments for xacro in addition to the arguments of the package; not a key of the file."""

    def with_robot_files(
        self, robot_description_file: str, xacro_args: Mapping[str, str]
    ) -> 'BenchmarkConfig':
        """
        Return a copy with another URDF and other arguments for xacro.

        :param robot_description_file: path of the URDF; empty for the URDF of the package.
        :param xacro_args: the arguments by name, which replace earlier ones.
        """
        return dataclasses.replace(
            self, robot_description_file=robot_description_file, xacro_args=dict(xacro_args)
        )

    def with_samples(self, sample_size: int) -> 'BenchmarkConfig':
        """
        Return a copy with another number of requests.

        :param sample_size: the number; a shorter run has the first requests of a longer one.
        :raises InvalidParameter: if it is less than one.
        """
        _SCHEMA.parameter('sample_size').check(sample_size)
        return dataclasses.replace(self, sample_size=sample_size)

    def with_solvers(self, names: Iterable[str]) -> 'BenchmarkConfig':
        """
        Return a copy with only some of the solvers, in the order of the configuration.

        :param names: labels of the solvers to keep.
        :raises InvalidParameter: for a label that the configuration does not have.
        """
        labels = [entry.name for entry in self.ik_solvers]
        wanted = list(names)
        for name in wanted:
            if name not in labels:
                raise InvalidParameter(
                    f"Benchmark '{self.name}' lists no solver '{name}'. "
                    + describe_choices(name, labels),
                    key='ik_solvers',
                    value=name,
                    allowed=labels,
                )
        chosen = tuple(entry for entry in self.ik_solvers if entry.name in wanted)
        return dataclasses.replace(self, ik_solvers=chosen)


@reads_file(ConfigError)
def read_benchmark_config(path: str | Path) -> BenchmarkConfig:
    """
    Return the benchmark configuration in a YAML file.

    :param path: a file with the keys of ik_benchmarking, at its top or below other keys such as ``ros__parameters``.
    :raises DescriptionNotFound: if the file does not exist.
    :raises InvalidParameter: for a missing or misspelt key, a wrong type or a value out of range.
    :raises ConfigError: if the file is malformed.
    """
    return parse_benchmark_config(read_yaml(path), Path(path).stem, str(path))


def parse_benchmark_config(content: Any, name: str, source: str) -> BenchmarkConfig:
    """
    Return the benchmark configuration in the parsed content of a YAML file.

    :param content: the parsed content.
    :param name: name of the benchmark.
    :param source: name of the file, for messages.
    :raises InvalidParameter: for a missing or misspelt key, a wrong type or a value out of range.
    :raises ConfigError: if the content is malformed.
    """
    body = _find_body(content, source)
    for key in body:
        if key not in _KEYS:
            raise InvalidParameter(
                f"{location(body, key, source)}: unknown key '{key}'. "
                + describe_choices(key, _KEYS),
                key=key,
                value=body[key],
                allowed=_KEYS,
            )
    missing = [key for key in _KEYS if body.get(key) is None]
    if missing:
        raise InvalidParameter(
            f'{source}: required but not given: {", ".join(missing)}.',
            key=missing[0],
            value=None,
            allowed=_KEYS,
        )
    values = {
        key: _SCHEMA.parameter(key).check(body[key], location(body, key, source))
        for key in _SCHEMA.names
    }
    place = location(body, 'ik_solvers', source)
    return BenchmarkConfig(name=name, **values, ik_solvers=_entries(body['ik_solvers'], place))


def _find_body(content: Any, source: str) -> Mapping[str, Any]:
    """
    Return the mapping that holds the keys of a configuration.

    While a mapping has only one key, and a mapping below it, the inner one is taken: ``ros__parameters`` is such a key.

    :raises ConfigError: if the content is not a mapping.
    """
    while isinstance(content, Mapping) and len(content) == 1:
        inner = next(iter(content.values()))
        if not isinstance(inner, Mapping):
            break
        content = inner
    if not isinstance(content, Mapping):
        raise ConfigError(
            f'{source}: a benchmark configuration is a mapping with the keys {", ".join(_KEYS)}. '
            'For a URDF alone there is `ssik recommend`.'
        )
    return content


def _entries(content: Any, where: str) -> tuple[SolverEntry, ...]:
    """
    Return the solvers in the list ``ik_solvers`` of a configuration.

    :param where: file and line, for messages.
    :raises ConfigError: for a malformed list, or if the data files of two solvers would have the same name.
    """
    if not isinstance(content, list) or not content:
        raise ConfigError(f'{where}: ik_solvers is a list of name and kinematics_file.')
    entries = tuple(_entry(item, where) for item in content)
    seen: dict[str, str] = {}
    for entry in entries:
        if entry.csv_name in seen:
            raise ConfigError(
                f"{where}: two solvers, '{seen[entry.csv_name]}' and '{entry.name}', would write "
                f"the file '{entry.csv_name}'; give each its own name."
            )
        seen[entry.csv_name] = entry.name
    return entries


def _entry(item: Any, where: str) -> SolverEntry:
    if not isinstance(item, Mapping):
        raise ConfigError(
            f'{where}: an entry of ik_solvers has name and kinematics_file, {item!r} has not.'
        )
    place = location(item, next(iter(item), ''), where)
    return SolverEntry(**_ENTRY.complete(_ENTRY.check(item, where=where), place))
