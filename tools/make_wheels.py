#!/usr/bin/env python3
"""
Build the distributions into dist/ and check them: a wheel for each processor family, and a source distribution.

"make wheels" runs it in .venv-wheels, after build_native.py has written the objects of the kernels. zig links them for each
target against the symbols of an old glibc. The source distribution is a copy of the tracked files with these objects; the
wheels are built from it, and the wheel of this machine is installed and solves a pose.
"""

from collections.abc import Iterator
import contextlib
import gzip
import io
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import threading
import time
import venv
import zipfile

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tools'))
from native import link, provide  # noqa: E402

OBJECTS = ROOT / 'build' / 'native_objects'
PORTABLE = link.NATIVE / 'c_kernels'
"""The kernels for C programs."""
WORK = ROOT / 'build' / 'wheels'
DIST = ROOT / 'dist'
FAMILIES = {'x86_64': ('x86_64_v2', 'x86_64_v3'), 'aarch64': ('aarch64',)}
"""The targets whose libraries go into one wheel."""
GLIBC = '2.17'
"""The oldest glibc that the libraries run with."""
LARGEST = 8_000_000
"""Size that no wheel may exceed [B]."""
REPORT_EVERY = 5.0
"""Time between two lines of progress [s]."""
OF_A_SHELL = ('PYTHONPATH', 'PYTHONHOME', 'VIRTUAL_ENV', 'AMENT_PREFIX_PATH', 'LD_LIBRARY_PATH')
"""Variables of an activated environment, which would lend its packages to a new one."""
POSE = ['--robot', 'ur5e', '--xyz-rpy', '0.4', '0.2', '0.3', '3.14', '0', '0']


@contextlib.contextmanager
def progress(title: str) -> Iterator[None]:
    """
    Print the title of a step, and every few seconds its duration so far.

    :param title: of the step.
    """
    start, done = time.monotonic(), threading.Event()

    def report() -> None:
        while not done.wait(REPORT_EVERY):
            print(f'wheels: {title}, {time.monotonic() - start:.0f} s', flush=True)

    print(f'wheels: {title}', flush=True)
    reporter = threading.Thread(target=report)
    reporter.start()
    try:
        yield
    finally:
        done.set()
        reporter.join()


def own_environment() -> dict[str, str]:
    """Return the environment of this process without the packages of an activated environment."""
    return {name: value for name, value in os.environ.items() if name not in OF_A_SHELL}


def run(*command: object, folder: Path = WORK, **environment: str) -> str:
    """
    Return the output of a command.

    :param command: with its arguments.
    :param folder: where it runs.
    :param environment: variables to add to the environment of this process.
    :raises SystemExit: if the command fails.
    """
    words = [str(word) for word in command]
    result = subprocess.run(
        words,
        cwd=folder,
        env={**own_environment(), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode:
        raise SystemExit(f'wheels: "{" ".join(words)}" failed:\n{result.stdout}')
    return result.stdout


def configured_headers() -> Path:
    """
    Return a folder with the configuration of Debian's Python for each family of processors.

    Debian keeps pyconfig.h in a folder for each family. The file of this machine serves the other families too: all
    types have the same sizes, and the limited API depends on nothing else.
    """
    version = 'python{}.{}'.format(*sys.version_info)
    include_folder = Path('/usr/include', sysconfig.get_config_var('MULTIARCH') or '', version)
    for family in FAMILIES:
        folder = WORK / 'headers' / f'{family}-linux-gnu'
        folder.mkdir(parents=True)
        (folder / version).symlink_to(include_folder)
    return WORK / 'headers'


def link_targets() -> dict[str, Path]:
    """Return the libraries by their targets, and add the extension's object to the objects of the kernels."""
    rows = link.read_rows(OBJECTS)
    include_folder = configured_headers()
    libraries = {}
    os.environ.setdefault('ZIG_GLOBAL_CACHE_DIR', str(ROOT / 'build' / 'zig'))
    for family, targets in FAMILIES.items():
        zig = sys.executable, '-m', 'ziglang', 'cc', '-target', f'{family}-linux-gnu.{GLIBC}'
        compiler = [*zig, f'-I{include_folder}']
        for target in targets:
            with progress(f'link for {target}'):
                link.compile_extension(compiler, target, rows, OBJECTS / target / link.EXTENSION)
                objects = sorted((OBJECTS / target).glob('*.o'))
                libraries[target] = link.join(compiler, objects, WORK / link.library_name(target))
    return libraries


def sdist_files() -> dict[str, Path]:
    """Return the files of the source distribution by their paths in it: the files that git tracks, and the objects."""
    listing = run('git', 'ls-files', '-z', folder=ROOT)
    tracked = (name for name in listing.split('\0') if name)
    files = {name: ROOT / name for name in tracked if (ROOT / name).is_file()}
    for path in OBJECTS.rglob('*'):
        if path.is_file() and path.name != link.ROWS:  # the extension's object holds the rows
            files[f'{provide.SHIPPED.name}/{path.relative_to(OBJECTS)}'] = path
    for path in sorted(PORTABLE.glob('*')):
        files[str(path.relative_to(ROOT))] = path
    return files


def build_sdist(epoch: int) -> Path:
    """
    Return the source distribution.

    :param epoch: the time that its files get [s].
    """
    setup = sys.executable, 'setup.py', '--quiet'
    run(*setup, 'egg_info', '--egg-base', WORK, folder=ROOT)
    (metadata,) = WORK.glob('*.egg-info/PKG-INFO')
    *_, version = run(*setup, '--version', folder=ROOT).split()
    files = {**sdist_files(), 'PKG-INFO': metadata}
    return pack(DIST / f'ssik_ros-{version}.tar.gz', files, epoch)


def pack(archive: Path, files: dict[str, Path], epoch: int) -> Path:
    """
    Return an archive of files in a folder of its name: the bytes do not depend on time and builder.

    :param archive: the file to write.
    :param files: by their paths in the folder.
    :param epoch: the time that they get [s].
    """
    folder = archive.name.removesuffix('.tar.gz')
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode='w') as tar:
        for name, path in sorted(files.items()):
            member = tarfile.TarInfo(f'{folder}/{name}')
            content = path.read_bytes()
            member.size, member.mtime = len(content), epoch
            member.mode = 0o755 if os.access(path, os.X_OK) else 0o644
            tar.addfile(member, io.BytesIO(content))
    archive.write_bytes(gzip.compress(data.getvalue(), mtime=epoch))
    return archive


def build_wheel(family: str, libraries: dict[str, Path], sdist: Path, epoch: int) -> Path:
    """
    Return the wheel for a family of processors, built from the source distribution.

    :param family: x86_64 or aarch64.
    :param libraries: by their targets.
    :param sdist: the source distribution.
    :param epoch: the time that its files get [s].
    """
    folder = WORK / family
    with tarfile.open(sdist) as archive:
        archive.extractall(folder)
    (source,) = folder.iterdir()
    native = source / link.NATIVE.relative_to(ROOT)
    for target in FAMILIES[family]:
        name = link.library_name(target)
        shutil.copy2(libraries[target], native / name)
    shutil.copy2(OBJECTS / link.MANIFEST, native)
    tag = f'manylinux_{GLIBC.replace(".", "_")}_{family}'
    command = 'setup.py', '--quiet', 'bdist_wheel', '--plat-name', tag, '--dist-dir', folder
    target = FAMILIES[family][0]
    run(
        sys.executable,
        *command,
        folder=source,
        SSIK_ROS_TARGET=target,
        SOURCE_DATE_EPOCH=str(epoch),
    )
    (built,) = folder.glob('*.whl')
    return Path(shutil.move(built, DIST / built.name))


def check_wheel(wheel: Path, family: str) -> None:
    """
    Check the size, the files and the symbols of a wheel.

    :param wheel: its file.
    :param family: of its processors.
    :raises SystemExit: if a check fails.
    """
    if wheel.stat().st_size > LARGEST:
        raise SystemExit(f'wheels: {wheel.name} has {wheel.stat().st_size} B, above {LARGEST} B.')
    with zipfile.ZipFile(wheel) as archive:
        native = {
            name.rpartition('/native/')[2] for name in archive.namelist() if '/native/' in name
        }
    wanted = {link.library_name(target) for target in FAMILIES[family]}
    wanted |= {f'{PORTABLE.name}/{path.name}' for path in PORTABLE.iterdir()}
    packed = {name for name in native if not name.endswith(('.py', '.txt'))}
    if packed != wanted:
        raise SystemExit(f'wheels: {wheel.name} has {sorted(packed)} instead of {sorted(wanted)}.')
    scripts = Path(sysconfig.get_path('scripts'))
    shown = ' '.join(run(scripts / 'auditwheel', 'show', wheel).split())
    tag = wheel.stem.rpartition('-')[2]
    if f'consistent with the following platform tag: "{tag}"' not in shown:
        raise SystemExit(f'wheels: {wheel.name} is not {tag}:\n{shown}')
    run(scripts / 'abi3audit', '--strict', wheel)


def solve_from(distribution: Path, python: Path, *options: str) -> str:
    """
    Return the output of ``ssik solve`` for one pose, installed from a distribution.

    :param distribution: a wheel or a source distribution.
    :param python: of a virtual environment.
    :param options: of pip.
    """
    run(python, '-m', 'pip', 'install', '--quiet', *options, distribution)
    output = run(python.with_name('ssik'), 'solve', *POSE)
    if 'solution; the first is off by' not in output:
        raise SystemExit(f'wheels: {distribution.name} is installed and solves nothing:\n{output}')
    return re.sub(r'\d+(\.\d+)? (ms|us|µs)', '', output)


def check_installed(wheel: Path, sdist: Path) -> None:
    """
    Install the wheel of this machine, then the source distribution without numba and registries; both solve a pose.

    :param wheel: its file.
    :param sdist: the source distribution.
    :raises SystemExit: when one does not, or they differ.
    """
    folder = WORK / 'venv'
    venv.create(folder, with_pip=True)
    python = folder / 'bin' / 'python'
    first = solve_from(wheel, python)
    run(python, '-m', 'pip', 'install', '--quiet', 'setuptools<80', 'wheel')
    alone = '--no-index', '--no-build-isolation', '--no-deps', '--force-reinstall'
    if solve_from(sdist, python, *alone) != first:
        raise SystemExit('wheels: wheel and source distribution give different solutions.')


def main() -> None:
    """Build all, check all."""
    epoch = int(
        os.environ.get('SOURCE_DATE_EPOCH') or run('git', 'log', '-1', '--format=%ct', folder=ROOT)
    )
    os.umask(0o022)  # of the files in the wheels
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    libraries = link_targets()
    with progress('source distribution'):
        sdist = build_sdist(epoch)
    wheels = {}
    for family in FAMILIES:
        with progress(f'wheel for {family}'):
            wheels[family] = build_wheel(family, libraries, sdist, epoch)
        with progress(f'audit {wheels[family].name}'):
            check_wheel(wheels[family], family)
    here = os.uname().machine
    if here in wheels:
        with progress('install and solve in a new environment'):
            check_installed(wheels[here], sdist)
    for path in (*wheels.values(), sdist):
        print(f'{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.2f} MB')


if __name__ == '__main__':
    main()
