"""
Checks of the installation from outside: Python, packages, native library, processor, ROS and MoveIt.

This module needs only the standard library, so that it works even if the kernels do not load. Required packages, the
native library and rclpy are imported in separate processes, because a package that does not fit the others may end its
process. Of other packages only the presence is checked.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
import importlib.metadata
import importlib.util
import operator
import os
from pathlib import Path
import platform
import re
import signal
import subprocess
import sys
from typing import NamedTuple

from ssik_ros.benchmark.machine import describe_machine
from ssik_ros.errors import counted
from ssik_ros.kernels.native import targets
from ssik_ros.server.findings import Finding, Level

ROOT = Path(__file__).resolve().parents[2]
"""Folder that the package lies in: of a clone, or of installed packages."""
OLDEST_PYTHON = (3, 10)
SECONDS = 60.0
"""After which an import is given up [s]."""
MESSAGES = (
    'action_msgs',
    'builtin_interfaces',
    'diagnostic_msgs',
    'geometry_msgs',
    'moveit_msgs',
    'rcl_interfaces',
    'sensor_msgs',
    'shape_msgs',
    'std_msgs',
    'tf2_msgs',
    'trajectory_msgs',
    'visualization_msgs',
)
"""Packages of messages that the node imports."""
DISTRIBUTIONS = ('humble', 'jazzy', 'kilted', 'lyrical', 'rolling')
"""Of ROS 2: wheels from PyPI carry one of these in their name."""


class Package(NamedTuple):
    """A required package, with its names for import, pip and apt."""

    name: str
    module: str
    """Name of the module to import."""
    pip: str
    """Name of the package for pip."""
    apt: str
    """Name of the package for apt; ``{}`` is the distribution of ROS."""


NEEDED = (
    Package('numpy', 'numpy', 'numpy', 'python3-numpy'),
    Package('scipy', 'scipy', 'scipy', 'python3-scipy'),
    Package('pinocchio', 'pinocchio', 'pin', 'ros-{}-pinocchio'),
    Package('collision library', 'coal', 'pin', 'ros-{}-pinocchio'),
    Package('PyYAML', 'yaml', 'PyYAML', 'python3-yaml'),
    Package('matplotlib', 'matplotlib', 'matplotlib', 'python3-matplotlib'),
    Package('rich', 'rich', 'rich', 'python3-rich'),
)
NUMBA = Package('numba', 'numba', 'numba', 'python3-numba')


class Extra(NamedTuple):
    """Packages that only a part of ssik_ros needs, with the name of the extra for pip."""

    name: str
    modules: tuple[str, ...]
    """Names of the modules that the packages provide."""
    use: str
    """Sentence that names the part of ssik_ros that needs them."""


EXTRAS = (
    Extra('view', ('viser',), 'the page in the browser needs it'),
    Extra(
        'reach',
        ('zarr', 'numcodecs', 'pyarrow', 'dask', 'distributed'),
        'reach maps and data sets need it',
    ),
    Extra('xacro', ('xacro',), 'xacro files need it'),
)

# Prints version and file of a module, then an expression on it as "module"; otherwise why it does not load.
_PROBE = """
import importlib, importlib.metadata, sys
name, distribution, expression = sys.argv[1:]
try:
    module = importlib.import_module(name)
    shown = eval(expression)
except ModuleNotFoundError as error:
    sys.exit('not found' if error.name == name else f'does not load: {error}')
except Exception as error:
    mend = getattr(error, 'mend', '')
    sys.exit(f'{error.what}\\n{mend}' if mend else f'does not load: {type(error).__name__}: {error}')
try:
    version = getattr(module, '__version__', None) or importlib.metadata.version(distribution)
except importlib.metadata.PackageNotFoundError:
    version = ''
place = module.__file__.removesuffix('/__init__.py')
print(f'\\n{version}\\n{place}\\n{shown}')
"""
LIBRARY = 'ssik_ros.kernels.native.library'
"""Module whose import loads the native library."""
_FIT = 'module.LIBRARY.TARGET, module.LIBRARY.__file__, module.MANIFEST.is_file()'
_COMPARE = {'>=': operator.ge, '<': operator.lt}


class Probe(NamedTuple):
    """Report of a separate process that imported a module."""

    error: str = ''
    """Why the module does not load; empty if it loads."""
    mend: str = ''
    """Advice of the module's error; empty without one."""
    version: str = ''
    """Version of the package; empty if it is unknown."""
    place: str = ''
    """File or folder of the module."""
    shown: str = ''
    """The value of the expression, as text."""


def examine_installation() -> list[Finding]:
    """
    Check the installation and return the findings: Python and required packages first, then the rest.

    Required packages, the native library and rclpy are imported in other processes, all at the same time.
    """
    wanted = {package.name: (package.module, package.pip, 'None') for package in NEEDED}
    wanted['library'] = (LIBRARY, 'ssik_ros', f'" ".join(map(str, ({_FIT})))')
    wanted['rclpy'] = ('rclpy.utilities', 'rclpy', 'module.get_rmw_implementation_identifier()')
    if _is_set('SSIK_ROS_JIT'):
        wanted[NUMBA.name] = (NUMBA.module, NUMBA.pip, 'None')
    with ThreadPoolExecutor(len(wanted)) as threads:
        probes = dict(zip(wanted, threads.map(lambda w: probe(*w), wanted.values()), strict=True))
    findings = [_examine_python()]
    findings += [_examine_package(package, probes[package.name]) for package in NEEDED]
    findings += [_examine_processor(), *_examine_variables(probes)]
    findings.append(_examine_library(probes['library']))
    findings += [_examine_extra(extra) for extra in EXTRAS]
    findings += _examine_ros(probes['rclpy'])
    findings += _examine_hosts()
    return findings


def probe(module: str, distribution: str = '', expression: str = 'None') -> Probe:
    """
    Import a module in a new Python process and return the report.

    The report has an error if the import or the expression fails, takes longer than 60 s, or ends the process.

    :param module: name of the module.
    :param distribution: name for pip, for the version of a module without ``__version__``.
    :param expression: Python expression about ``module`` whose value is reported too.
    """
    words = [sys.executable, '-c', _PROBE, module, distribution, expression]
    path = os.pathsep.join(dict.fromkeys(entry or os.getcwd() for entry in sys.path))
    try:
        done = subprocess.run(
            words,
            env={**os.environ, 'PYTHONPATH': path},
            capture_output=True,
            text=True,
            errors='replace',
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Probe(f'does not load within {SECONDS:g} s')
    if done.returncode < 0:
        return Probe(f'ends Python with {signal.Signals(-done.returncode).name} when imported')
    if done.returncode:
        error, _, mend = done.stderr.strip().rpartition('\n')
        messages = (
            error.splitlines()[-1:] if mend and not mend.startswith(('does', 'not ')) else []
        )
        return Probe(messages[0] if messages else mend, mend if messages else '')
    version, place, shown = done.stdout.rstrip('\n').split('\n')[-3:]
    return Probe('', '', version, place, shown)


def _is_set(variable: str) -> bool:
    """Return whether an environment variable has a value other than an empty text and 0, as the kernels read it."""
    return os.environ.get(variable, '') not in ('', '0')


def _examine_python() -> Finding:
    """Return a finding about the version of Python: FAULT if it is too old, else FINE."""
    shown = f'{platform.python_version()} ({sys.executable})'
    if sys.version_info >= OLDEST_PYTHON:
        return Finding(Level.FINE, 'Python', shown)
    oldest = '.'.join(map(str, OLDEST_PYTHON))
    return Finding(
        Level.FAULT, 'Python', f'{shown} is too old', f'install Python {oldest} or newer'
    )


def _examine_package(package: Package, report: Probe) -> Finding:
    """
    Return a finding about a package: FAULT if it does not load, NOTE if its version is not supported, else FINE.

    A version that cannot be read counts as supported. The version of coal is not checked, since pinocchio brings it.

    :param report: result of importing the package in another process.
    """
    bounds = _bounds().get(package.pip.lower(), '')
    if report.error:
        return Finding(Level.FAULT, package.name, report.error, _install(package, bounds))
    what = f'{report.version} ({report.place})'
    # The collision library comes with pinocchio: the bounds of pinocchio do not apply to its version.
    if package.module == 'coal' or _is_within(report.version, bounds):
        return Finding(Level.FINE, package.name, what)
    what = f'{what}; ssik_ros requires {package.pip}{bounds}'
    return Finding(Level.NOTE, package.name, what, _install(package, bounds))


def _examine_extra(extra: Extra) -> Finding:
    """Return a finding about the packages of an extra: NOTE if one is missing, else FINE; nothing is imported."""
    where = f'extra {extra.name}'
    missing = [name for name in extra.modules if importlib.util.find_spec(name) is None]
    if missing:
        what = f'{", ".join(missing)} not found; only {extra.use}'
        return Finding(Level.NOTE, where, what, f"pip install 'ssik_ros[{extra.name}]'")
    return Finding(Level.FINE, where, ', '.join(extra.modules))


def _bounds() -> dict[str, str]:
    """Return the version bounds of the requirements, such as ``<3,>=1.26``, by name for pip; empty if not installed."""
    try:
        lines = importlib.metadata.requires('ssik_ros') or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    parts = (re.fullmatch(r'([\w.-]+)\s*\(?([^;()]*)\)?', line) for line in lines)
    return {part[1].lower(): part[2].replace(' ', '') for part in parts if part}


def _is_within(version: str, bounds: str) -> bool:
    """
    Return whether a version is within bounds such as ``<3,>=1.26``.

    Only the bounds ``>=`` and ``<`` are compared. True for a version that does not begin with a number.
    """
    numbers = _numbers(version)
    limits = (re.match(r'(>=|<)(.+)', bound) for bound in bounds.split(','))
    return not numbers or all(
        _COMPARE[limit[1]](numbers, _numbers(limit[2])) for limit in limits if limit
    )


def _numbers(version: str) -> list[int]:
    """
    Return the leading numbers of a version such as ``1.26.0`` as a list, without zeros at the end.

    The list is empty if the version does not begin with a number.
    """
    begin = re.match(r'\d+(\.\d+)*', version)
    numbers = [int(part) for part in begin[0].split('.')] if begin else []
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return numbers


def _install(package: Package, bounds: str) -> str:
    """
    Return the command that installs a package.

    It is pip in a virtual environment, without apt, and for a ROS package if ``ROS_DISTRO`` is not set; else apt. With
    numpy 1, a clone has a requirements file for pinocchio, which pip installs without dependencies.
    """
    distribution = os.environ.get('ROS_DISTRO', '')
    is_venv = sys.prefix != sys.base_prefix
    alone = ROOT / 'requirements' / 'pinocchio.txt'
    if package.pip == 'pin' and alone.is_file() and _has_numpy_1():
        # The requirements that pip sees for pinocchio would replace the numpy of the system.
        return f'{sys.executable} -m pip install --no-deps -r {alone}'
    if is_venv or not Path('/usr/bin/apt').exists() or ('{}' in package.apt and not distribution):
        return f"{sys.executable} -m pip install '{package.pip}{bounds}'"
    return f'sudo apt install {package.apt.format(distribution)}'


def _has_numpy_1() -> bool:
    """Return whether numpy 1 is installed."""
    try:
        return importlib.metadata.version('numpy').startswith('1.')
    except importlib.metadata.PackageNotFoundError:
        return False


def _examine_processor() -> Finding:
    """
    Return a finding about the processor and the native library that suits it.

    It is a NOTE if no library is made for this kind of machine, else FINE.
    """
    machine = describe_machine()
    what = f'{machine.cpu}, {counted(machine.cores, "core")}'
    suited = targets.of_this_machine()
    if not suited:
        mend = _install(NUMBA, '') + ' && export SSIK_ROS_JIT=1'
        what = f'{what}; no native library is made for {platform.system()} {platform.machine()}'
        return Finding(Level.NOTE, 'processor', what, mend)
    what = f'{what}; {suited[0]} suits it'
    lacks = sorted(targets.X86_64_V3 - targets.processor_flags())
    if suited[0] == 'x86_64_v2' and lacks and 'SSIK_ROS_TARGET' not in os.environ:
        what = f'{what}, x86_64_v3 needs {", ".join(lacks)}'
    return Finding(Level.FINE, 'processor', what)


def _examine_variables(probes: dict[str, Probe]) -> Iterator[Finding]:
    """
    Yield a NOTE for each environment variable that is set and changes the kernels.

    With NUMBA_DISABLE_JIT, SSIK_ROS_JIT has no effect and gets no finding. If numba compiles the kernels, a finding
    about numba follows.

    :param probes: reports of imports by name of the package.
    """
    if os.environ.get('SSIK_ROS_TARGET'):
        what = f'is set: the library for {os.environ["SSIK_ROS_TARGET"]} is loaded, whatever the processor'
        yield Finding(Level.NOTE, 'SSIK_ROS_TARGET', what, 'unset SSIK_ROS_TARGET')
    if _is_set('NUMBA_DISABLE_JIT'):
        what = 'is set: kernels run as plain Python, a hundred times slower'
        yield Finding(Level.NOTE, 'NUMBA_DISABLE_JIT', what, 'unset NUMBA_DISABLE_JIT')
    elif _is_set('SSIK_ROS_JIT'):
        what = 'is set: numba compiles each kernel when it is first called'
        yield Finding(Level.NOTE, 'SSIK_ROS_JIT', what, 'unset SSIK_ROS_JIT')
        yield _examine_package(NUMBA, probes[NUMBA.name])


def _examine_library(report: Probe) -> Finding:
    """
    Return a finding about the native library: which one is loaded, and whether it fits the sources.

    If it does not load, this is a FAULT, or a NOTE if environment variables make the kernels run without it. It is also
    a NOTE if a faster library is possible here, else FINE.

    :param report: result of loading the library in another process.
    """
    is_needed = not _is_set('NUMBA_DISABLE_JIT') and not _is_set('SSIK_ROS_JIT')
    level = Level.FAULT if is_needed else Level.NOTE
    if report.error:
        return Finding(level, 'native library', report.error, _rebuild(report))
    target, file, is_compared = report.shown.split(' ')
    fits = 'fits the sources' if is_compared == 'True' else 'installed, without sources to compare'
    what = f'{target}, {fits} ({file})'
    suited = targets.of_this_machine()
    if target != suited[0]:
        what = f'{what}; {suited[0]}, which is faster here, is not built'
        return Finding(Level.NOTE, 'native library', what, _rebuild(report))
    return Finding(Level.FINE, 'native library', what)


def _rebuild(report: Probe) -> str:
    """
    Return the command that builds or reinstalls the native library.

    Outside a clone, on a machine for which no library is made, return the advice in ``report`` instead.

    :param report: result of loading the library in another process.
    """
    if (ROOT / 'tools' / 'build_native.py').is_file():
        return f'make -C {ROOT} setup'
    if not targets.of_this_machine():
        return report.mend
    return f'{sys.executable} -m pip install --force-reinstall --no-deps ssik_ros'


def _examine_ros(rclpy: Probe) -> Iterator[Finding]:
    """
    Yield findings about ROS 2 and the packages that the node needs: NOTE for missing ones, as other parts need no ROS.

    :param rclpy: result of importing rclpy in another process.
    """
    distribution = os.environ.get('ROS_DISTRO') or _distribution_of_wheels()
    if rclpy.error:
        what = f'rclpy: {rclpy.error}; only the node needs ROS'
        yield Finding(Level.NOTE, 'ROS', what, _find_ros())
        return
    release = distribution or 'unknown distribution (ROS_DISTRO is not set)'
    yield Finding(Level.FINE, 'ROS', f'{release}, {rclpy.shown} ({rclpy.place})')
    missing = [name for name in MESSAGES if importlib.util.find_spec(name) is None]
    if missing:
        what = f'not found: {", ".join(missing)}; the node needs them'
        yield Finding(Level.NOTE, 'messages', what, _install_messages(missing))
    else:
        yield Finding(Level.FINE, 'messages', f'all {len(MESSAGES)} packages that the node needs')
    if importlib.util.find_spec('ssik_msgs') is None:
        what = "not found: the node offers MoveIt's services alone"
        mend = 'colcon build --base-paths . interfaces/ssik_msgs && . install/setup.sh'
        yield Finding(Level.NOTE, 'ssik_msgs', what, mend)
    else:
        yield Finding(Level.FINE, 'ssik_msgs', 'found')


def _distribution_of_wheels() -> str:
    """Return the name and version of the ROS 2 distribution installed from wheels; empty without one."""
    for name in DISTRIBUTIONS:
        try:
            return f'{name} (wheels {importlib.metadata.version(f"ros-{name}-rclpy")})'
        except importlib.metadata.PackageNotFoundError:
            continue
    return ''


def _find_ros() -> str:
    """Return the command that makes ROS available in this shell, or the page about its installation."""
    installed = sorted(Path('/opt/ros').glob('*/setup.bash'))
    if installed:
        return f'source {installed[-1]}'
    if (ROOT / 'activate').is_file():
        return f'make -C {ROOT} setup && cd {ROOT} && . ./activate'
    return 'install ROS 2: https://docs.ros.org/en/rolling/Installation.html'


def _install_messages(missing: list[str]) -> str:
    """
    Return the command that installs ROS packages of messages: apt, or ``make setup`` in a clone without ``ROS_DISTRO``.

    :param missing: names of the packages.
    """
    distribution = os.environ.get('ROS_DISTRO', '')
    if not distribution and (ROOT / 'activate').is_file():
        return f'make -C {ROOT} setup && cd {ROOT} && . ./activate'
    names = (f'ros-{distribution or "$ROS_DISTRO"}-{name.replace("_", "-")}' for name in missing)
    return f'sudo apt install {" ".join(names)}'


class _Host(NamedTuple):
    """A program of ROS that loads solvers of this package by a plugin."""

    name: str
    package: str
    """A ROS package that is installed with the program."""
    plugin: str
    """ROS package of the plugin."""
    folder: str
    """Folder of the plugin in the repository."""
    use: str
    """Task that needs it."""
    effect: str
    """Effect of a missing plugin."""
    page: str
    """Page that describes the installation."""
    installed: str
    """Name of its Debian package, without the distribution."""


_HOSTS = (
    _Host(
        *('MoveIt', 'moveit_core', 'ssik_moveit', 'moveit_plugin'),
        *('planning with MoveIt', 'move_group cannot solve with ssik_ros'),
        *('https://moveit.ai/install-moveit2/binary/', 'moveit'),
    ),
    _Host(
        *('ros2_control', 'kinematics_interface', 'ssik_control', 'control_plugin'),
        *('a controller', 'controllers cannot use ssik_ros'),
        *('https://control.ros.org', 'kinematics-interface'),
    ),
)


def _examine_hosts() -> Iterator[Finding]:
    """
    Yield findings about MoveIt, ros2_control and the plugins for them: NOTE for missing ones, FINE for others.

    A plugin is examined only if its program is installed.
    """
    distribution = os.environ.get('ROS_DISTRO', '')
    for host in _HOSTS:
        core, plugin = _find_ament(host.package), _find_ament(host.plugin)
        if core is None:
            page = f'install {host.name}: {host.page}'
            mend = (
                f'sudo apt install ros-{distribution}-{host.installed}' if distribution else page
            )
            yield Finding(Level.NOTE, host.name, f'not found; only {host.use} needs it', mend)
            continue
        yield Finding(Level.FINE, host.name, str(core))
        if plugin is None:
            mend = f'colcon build --base-paths . {host.folder} && . install/setup.sh'
            yield Finding(Level.NOTE, host.plugin, f'not found: {host.effect}', mend)
        else:
            yield Finding(Level.FINE, host.plugin, str(plugin))


def _find_ament(package: str) -> Path | None:
    """Return the install prefix of a ROS package from the ament index; None if it is not installed."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix and Path(prefix, 'share/ament_index/resource_index/packages', package).is_file():
            return Path(prefix)
    return None
