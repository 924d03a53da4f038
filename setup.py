"""Install rules of the package, for colcon and for pip alike."""

from pathlib import Path

from setuptools import find_packages
from setuptools import setup

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


setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(include=[package_name, f'{package_name}.*']),
    package_data={'': ['*.yaml', 'py.typed']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{package_name}']),
        (f'share/{package_name}', ['package.xml']),
        *installed_tree('config'),
        *installed_tree('launch'),
    ],
    python_requires='>=3.10',
    # The same bounds as requirements/core.txt; a test compares the two.
    install_requires=[
        'numpy>=1.26,<3',
        'scipy>=1.11',
        'numba>=0.59',
        'pin>=3.4,<5',
        'PyYAML>=6.0',
        'matplotlib>=3.7',
        'rich>=13.0',
    ],
    # colcon test runs pytest only in packages that declare it.
    extras_require={'test': ['pytest', 'hypothesis']},
    zip_safe=False,
    author='ssik_ros contributors',
    maintainer='ssik_ros contributors',
    maintainer_email='maintainers@ssik-ros.example',
    description='Inverse kinematics for any robot a URDF can describe, with and without ROS 2.',
    license='BSD-3-Clause',
    entry_points={
        'console_scripts': ['ssik = ssik_ros.cli.command:main'],
    },
)
