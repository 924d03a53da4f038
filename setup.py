"""Install rules of the package, for colcon and for pip alike."""

from pathlib import Path
import sys

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.develop import develop
from setuptools.command.install_scripts import install_scripts

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / 'tools'))
from early_scripts import WritesEarlyScripts  # noqa: E402
from native import provide  # noqa: E402

package_name = 'ssik_ros'


def installed_tree(folder):
    """
    List a folder for ``data_files``, each file below ``share/<package>/<folder>``.

    :param folder: path relative to this file; a missing one gives an empty list.
    """
    root = Path(__file__).resolve().parent
    files = {}
    for path in sorted((root / folder).rglob('*')):
        if path.is_file() and '__pycache__' not in path.parts:
            relative = path.relative_to(root)
            files.setdefault(str(relative.parent), []).append(str(relative))
    return [(f'share/{package_name}/{parent}', names) for parent, names in files.items()]


class PlatformDistribution(Distribution):
    """A package whose native library suits one kind of processor."""

    def has_ext_modules(self):
        """Return that it is no package of Python alone."""
        return True


class BuildWithLibrary(build_py):
    """Builds the package: the native library first."""

    command_name = 'build_py'  # in messages

    def run(self):
        """Provide the library, then build as usual."""
        provide.provide()
        super().run()


class InstallScripts(WritesEarlyScripts, install_scripts):
    """Installs scripts that signals end from their first line on."""

    command_name = 'install_scripts'


class DevelopWithLibrary(WritesEarlyScripts, develop):
    """Links the sources into an installation, once the native library lies beside them."""

    command_name = 'develop'

    def run(self):
        """Provide the library, then link."""
        provide.provide()
        super().run()


setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(include=[package_name, f'{package_name}.*']),
    package_data={
        '': ['*.yaml', 'py.typed'],
        f'{package_name}.kernels.native': ['_kernels.*.so', 'kernels.txt', 'c_kernels/*'],
        f'{package_name}.artifact.c': ['templates/*'],
        f'{package_name}.reach': ['page.html'],
        f'{package_name}.view.browser': ['page_script.html'],
    },
    # Of the tests alone.
    exclude_package_data={f'{package_name}.kernels.native': ['_kernels.checked.*']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{package_name}']),
        (f'share/{package_name}', ['package.xml']),
        *installed_tree('config'),
        *installed_tree('launch'),
    ],
    python_requires='>=3.10',
    # The same bounds as requirements/core.txt; a test compares the two.
    install_requires=[
        'numpy>=1.24,<3',
        'scipy>=1.10',
        'pin>=3.4,<5',
        'PyYAML>=6.0',
        'matplotlib>=3.6',
        'rich>=13.0',
    ],
    # colcon test runs pytest only in packages that declare it.
    extras_require={
        'test': ['pytest', 'hypothesis'],
        'view': ['viser>=1.1,<2'],
        'xacro': ['xacro>=2.0'],
        # Descriptions with meshes: the view draws shipped arms with them.
        'robots': ['example-robot-data>=4.4'],
        # The same bounds as requirements/reach.txt. zarr 3 needs Python 3.11.
        'reach': [
            'dask>=2024.12',
            'distributed>=2024.12',
            'zarr>=3.0,<4',
            'numcodecs>=0.15',
            'pyarrow>=14',
        ],
        # Reads the kernels' intermediate code, which the llvmlite of requirements/native.txt writes.
        'build': ['llvmlite>=0.50'],
    },
    distclass=PlatformDistribution,
    cmdclass={
        'build_py': BuildWithLibrary,
        'develop': DevelopWithLibrary,
        'install_scripts': InstallScripts,
    },
    # The native library keeps to Python's stable interface: one wheel for all versions.
    options={'bdist_wheel': {'py_limited_api': 'cp310'}},
    zip_safe=False,
    author='ssik_ros contributors',
    maintainer='ssik_ros contributors',
    maintainer_email='maintainers@ssik-ros.example',
    url='https://ssik-ros.example/ssik_ros',
    description='Inverse kinematics for any robot a URDF can describe, with and without ROS 2.',
    license='BSD-3-Clause',
    entry_points={
        'console_scripts': [
            'ik_benchmark = ssik_ros.ros.executables:ik_benchmark',
            'ik_server = ssik_ros.ros.executables:ik_server',
            'ik_stream = ssik_ros.ros.executables:ik_stream',
            'ik_view = ssik_ros.ros.executables:ik_view',
            'joint_state_relay = ssik_ros.ros.executables:joint_state_relay',
            'ssik = ssik_ros.cli.command:main',
        ],
    },
)
