"""
Make the venv of the running interpreter a usable ROS 2 underlay.

The wheels of the message packages export CMake targets with the include folders of the machine
that built them; this replaces them by the folders of this venv. It also writes down the library
folders, which ``activate`` exports: without them the first import of rclpy restarts the
interpreter, and a test runner loses its output with that. colcon takes a prefix for an underlay
when a ``local_setup`` file lies in it.
"""

from pathlib import Path
import re
import sys
import sysconfig

import numpy

EXPORTS = 'share/*/cmake/*rosidl_generator_pyExport.cmake'
BUILD_MACHINE = r'/opt/python/[^;"]*/'


def mend_exports(prefix: Path) -> int:
    """
    Replace the build machine's include folders.

    :returns: number of files that needed it.
    """
    folders = {
        re.compile(BUILD_MACHINE + r'include/python3\.\d+'): sysconfig.get_paths()['include'],
        re.compile(BUILD_MACHINE + r'numpy/_core/include'): numpy.get_include(),
    }
    mended = 0
    for path in prefix.glob(EXPORTS):
        text = before = path.read_text()
        for pattern, folder in folders.items():
            text = pattern.sub(folder.replace('\\', r'\\'), text)
        if text != before:
            path.write_text(text)
            mended += 1
    return mended


def library_folders(prefix: Path) -> list[str]:
    """List the folders that the loader must search, as the wheels' own start-up code does."""
    bundled = Path(sysconfig.get_paths()['purelib']).glob('ros_*.libs')
    return [str(prefix / 'lib'), *sorted(str(path) for path in bundled)]


def main() -> None:
    """Mend the venv and leave the files in it that activate and colcon look for."""
    prefix = Path(sys.prefix)
    print(f'setup: mended {mend_exports(prefix)} CMake exports of the ROS 2 wheels')
    (prefix / 'local_setup.sh').write_text('# Nothing to do: activate sets the environment.\n')
    (prefix / 'ros_library_path').write_text(':'.join(library_folders(prefix)) + '\n')


if __name__ == '__main__':
    main()
