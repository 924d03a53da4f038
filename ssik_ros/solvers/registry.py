"""
Find solvers by name: built-in solvers, and solvers that other packages offer by entry points.

A package adds a solver with an entry point in the group ``ssik_ros.solvers``. The name of the entry point is the name
in a kinematics.yaml; its object is a :class:`SolverSpec` or a callable that returns a SolverSpec::

    'ssik_ros.solvers': ['my_package/MySolver = my_package.solver:SPEC']

A solver is imported at its first use, so a broken package harms only its own users.
"""

from collections.abc import Callable, Iterable, Mapping
import functools
import importlib
import logging
from typing import Any, TYPE_CHECKING

from ssik_ros.arguments import check_kind
from ssik_ros.errors import (
    InvalidParameter,
    PluginLoadError,
    quote,
    SsikError,
    TopologyMismatch,
    UnknownSolver,
)
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import IkSolver, SolverSpec
from ssik_ros.solvers.closed_form.options import (
    PARAMETERS_FILE as ANALYTIC_PARAMETERS_FILE,
)
from ssik_ros.solvers.mechanisms.group_options import (
    GROUP_PARAMETER_ALIASES,
    GROUP_PARAMETERS_FILE,
)
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.solvers.options.parameters import ParameterSchema
from ssik_ros.solvers.search.newton.options import (
    GAUSS_FILE,
    INVERSE_ALIASES,
    LEVENBERG_ALIASES,
    LEVENBERG_FILE,
    NEWTON_FILE,
)
from ssik_ros.solvers.search.pose_ik.options import (
    PARAMETER_ALIASES,
    PARAMETERS_FILE,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_LOGGER = logging.getLogger('ssik_ros.solvers.registry')

ENTRY_POINT_GROUP = 'ssik_ros.solvers'
DEFAULT_SOLVER = 'ssik_ros/Auto'


def _newton(method: str, call: str, file: str, aliases: Mapping[str, str]) -> SolverSpec:
    """
    Return the registry entry of a Newton solver.

    :param method: its name, such as ``Gauss-Newton``.
    :param call: the Robotics Toolbox function that does the same, such as ``ik_GN``.
    :param file: its parameter file.
    :param aliases: other names of its parameters.
    """
    name = method.replace('-', '')
    return SolverSpec(
        name=f'ssik_ros/{name}',
        description=f'{method} with restarts, as {call} of the Robotics Toolbox; several tips.',
        options_type=f'ssik_ros.solvers.search.newton.options:{name}Options',
        parameters_file=file,
        factory='ssik_ros.solvers.search.newton.solver:make_newton',
        parameter_aliases=aliases,
        position_only=True,
    )


SOLVERS: tuple[SolverSpec, ...] = (
    SolverSpec(
        name=DEFAULT_SOLVER,
        description='The method that suits the chain and the request: closed form, Levenberg-Marquardt or PoseIK.',
        options_type='ssik_ros.solvers.search.pose_ik.options:PoseIkOptions',
        parameters_file=PARAMETERS_FILE,
        factory='ssik_ros.solvers.auto.solver:AutoSolver',
        parameter_aliases=PARAMETER_ALIASES,
        position_only=True,
    ),
    SolverSpec(
        name='ssik_ros/Analytic',
        description='Branches in closed form: all of six joints, those at samples of the seventh for seven.',
        options_type='ssik_ros.solvers.closed_form.options:AnalyticOptions',
        parameters_file=ANALYTIC_PARAMETERS_FILE,
        factory='ssik_ros.solvers.closed_form.solver:AnalyticSolver',
    ),
    SolverSpec(
        name='ssik_ros/PoseIK',
        description='Damped least squares from a deterministic sequence of starts; several tips.',
        options_type='ssik_ros.solvers.search.pose_ik.options:PoseIkOptions',
        parameters_file=PARAMETERS_FILE,
        factory='ssik_ros.solvers.search.pose_ik.solver:PoseIkSolver',
        aliases=('pose_ik_plugin/PoseIKPlugin',),
        parameter_aliases=PARAMETER_ALIASES,
        position_only=True,
    ),
    _newton('Newton-Raphson', 'ik_NR', NEWTON_FILE, INVERSE_ALIASES),
    _newton('Gauss-Newton', 'ik_GN', GAUSS_FILE, INVERSE_ALIASES),
    _newton('Levenberg-Marquardt', 'ik_LM', LEVENBERG_FILE, LEVENBERG_ALIASES),
    SolverSpec(
        name='ssik_ros/ClosedChain',
        description='Levenberg-Marquardt with the loops of the robot closed; several tips, trees and chains too.',
        options_type='ssik_ros.solvers.mechanisms.group_options:ClosedChainGroupOptions',
        parameters_file=GROUP_PARAMETERS_FILE,
        factory='ssik_ros.mechanisms.closed_chain_solver:ClosedChainSolver',
        parameter_aliases=GROUP_PARAMETER_ALIASES,
        position_only=True,
    ),
)


def _built_in() -> dict[str, SolverSpec]:
    """Return the specs of the built-in solvers by name and by alias."""
    return {name: spec for spec in SOLVERS for name in (spec.name, *spec.aliases)}


def entry_points(group: str) -> 'Iterable[EntryPoint]':
    """
    Return the entry points of a group; this reads the metadata of all installed packages.

    :param group: name of the group.
    """
    import importlib.metadata

    return importlib.metadata.entry_points(group=group)


def _third_party() -> 'dict[str, list[EntryPoint]]':
    """
    Return the entry points of third-party solvers by name; several packages may offer one name.

    An entry point with a built-in name is left out with a warning.
    """
    entries: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        if entry.name in _built_in():
            _warn_taken(entry.name, _provider(entry))
        elif entry not in entries.setdefault(entry.name, []):
            entries[entry.name].append(entry)
    return entries


@functools.cache
def _warn_taken(name: str, provider: str) -> None:
    _LOGGER.warning("%s offers a solver '%s': ignored, the name is built in.", provider, name)


def _provider(entry: 'EntryPoint') -> str:
    """Return a text for messages about an entry point: its package and the path of its object."""
    distribution = entry.dist.name if entry.dist else 'unknown distribution'
    return f'{quote(distribution)} ({entry.value})'


def list_solvers() -> tuple[str, ...]:
    """Return the names of all solvers, built-in ones first; imports none of them."""
    return (*(spec.name for spec in SOLVERS), *sorted(_third_party()))


def is_known(name: str) -> bool:
    """
    Return whether a solver or an alias of that name exists.

    :param name: the name in a kinematics.yaml.
    """
    return name in _built_in() or name in _third_party()


def known_names() -> tuple[str, ...]:
    """Return every name that :func:`solver_spec` accepts: solvers and the built-in aliases."""
    return (*_built_in(), *_third_party())


def solver_spec(name: str) -> SolverSpec:
    """
    Return the spec of a solver.

    :param name: name or alias of the solver.
    :raises UnknownSolver: if no solver has this name; the text has a similar name, if any.
    :raises PluginLoadError: if a third-party solver fails to import, is not a SolverSpec or has another name in its
        spec. Also if two packages offer the name. An exception of the import is the cause.
    :raises InvalidOption: for a name that is not a text.
    """
    check_kind('The name of a solver', name, str, 'a text')
    built_in = _built_in().get(name)
    if built_in is not None:
        return built_in
    entries = _third_party().get(name)
    if entries is None:
        raise UnknownSolver.unknown(f'There is no solver {quote(name)}', name, known_names())
    if len(entries) > 1:
        providers = ' and '.join(_provider(entry) for entry in entries)
        raise PluginLoadError(f'The solver {quote(name)} is offered by {providers}; remove one.')
    return _load_entry_point(entries[0])


def _load_entry_point(entry: 'EntryPoint') -> SolverSpec:
    """
    Return the spec that an entry point holds, or that the callable in it returns.

    Raise PluginLoadError if loading fails, or if the object is not a SolverSpec with the name of the entry point.
    """
    try:
        loaded = entry.load()
        spec = loaded() if callable(loaded) else loaded
    except Exception as error:
        raise PluginLoadError(
            f'The solver {quote(entry.name)} of {_provider(entry)} failed to load: '
            f'{type(error).__name__}: {error}',
            name=entry.name,
        ) from error
    if not isinstance(spec, SolverSpec):
        raise PluginLoadError(
            f'The entry point {quote(entry.name)} of {_provider(entry)} is a {type(spec).__name__}, '
            'not a SolverSpec.'
        )
    if spec.name != entry.name:
        raise PluginLoadError(
            f'The entry point {quote(entry.name)} of {_provider(entry)} holds the solver {quote(spec.name)}; '
            'both names must be the same.'
        )
    return spec


def _load_object(path: str, solver: str) -> Any:
    """
    Return the object at ``module:attribute``; raise PluginLoadError, which names the solver, if it is missing.

    Its cause is the ImportError or AttributeError. Any other exception of the module's import passes through.
    """
    module, _, attribute = path.partition(':')
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise PluginLoadError(
            f'The solver {quote(solver)} failed to load: {type(error).__name__}: {error}',
            name=solver,
        ) from error


def solver_schema(spec: SolverSpec) -> ParameterSchema:
    """
    Return the parameters of a solver with types, ranges and descriptions.

    :param spec: entry of the solver in the registry.
    :raises ConfigError: if the parameter file of the solver does not exist or is malformed.
    """
    return load_schema(spec.parameters_file)


def make_options(spec: SolverSpec, parameters: Mapping[str, Any] | None = None) -> Any:
    """
    Return the options of a solver; missing values get their defaults.

    :param spec: entry of the solver in the registry.
    :param parameters: values by parameter name or alias.
    :raises InvalidParameter: for an unknown name, a wrong type or a value out of range.
    :raises PluginLoadError: if the class of the options cannot be imported.
    :raises ConfigError: if the parameter file of the solver does not exist or is malformed.
    """
    options_type = spec.options_type
    if isinstance(options_type, str):
        options_type = _load_object(options_type, spec.name)
    return solver_schema(spec).resolve(parameters or {}, options_type, spec.parameter_aliases)


def create_solver(
    name: str,
    robot: RobotModel,
    group: JointGroup,
    parameters: Mapping[str, Any] | None = None,
    *,
    position_only: bool = False,
) -> IkSolver:
    """
    Return a solver for a group of a robot.

    :param name: the solver's name or an alias.
    :param robot: the robot.
    :param group: the group whose joints are the unknowns.
    :param parameters: values by parameter name or alias; missing values get their defaults.
    :param position_only: whether targets leave the orientation free (``position_only_ik``).
    :raises UnknownSolver: if no solver has this name.
    :raises PluginLoadError: if the solver fails to import, or its constructor raises an error that is not a SsikError.
    :raises InvalidParameter: for an unknown name, a wrong type or a value out of range, or if the solver does not offer
        ``position_only``.
    :raises TopologyMismatch: when no joint of the group moves, or the solver does not support the chain.
    :raises SsikError: any other one that the constructor raises, such as ModelError for a group with several tips.
    """
    spec = solver_spec(name)
    if not group.joint_names:
        fixed = ', '.join(group.all_joint_names) or 'it has no joint'
        raise TopologyMismatch(
            f"Group '{group.name}' has no moving joint ({fixed}), so there is nothing to solve for. "
            'Name a group with a moving joint, or remove the solver of this one.'
        )
    if position_only and not spec.position_only:
        raise InvalidParameter(f'The solver {quote(name)} does not offer position_only_ik.')
    options = make_options(spec, parameters)
    factory: Callable[..., IkSolver] = (
        _load_object(spec.factory, spec.name) if isinstance(spec.factory, str) else spec.factory
    )
    try:
        keywords = {'position_only': True} if position_only else {}
        return factory(robot, group, options, **keywords)
    except SsikError:
        raise
    except Exception as error:
        raise PluginLoadError(
            f'The solver {quote(name)} could not be made for group {quote(group.name)}: '
            f'{type(error).__name__}: {error}',
            name=name,
        ) from error
