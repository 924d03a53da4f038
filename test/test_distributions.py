"""Inputs of the native library for pip and colcon: a clone with a compiler, a source distribution without one."""

import ast
import ctypes
import fcntl
import gzip
import io
import json
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tarfile
import termios
import time
import zipfile

from test.repository import needs_git

import pytest

ROOT = Path(__file__).resolve().parents[1]
NATIVE = Path('ssik_ros', 'kernels', 'native')
TARGET = 'x86_64_v2' if os.uname().machine == 'x86_64' else os.uname().machine
LIBRARY = NATIVE / f'_kernels.{TARGET}.abi3.so'

sys.path.insert(0, str(ROOT / 'tools'))
import build_native  # noqa: E402
import make_wheels  # noqa: E402
from native import link  # noqa: E402

needs_target = pytest.mark.skipif(TARGET not in link.TARGETS, reason='no library for this machine')


@pytest.fixture
def clone(tmp_path):
    """Return a tree with all that the build of a library reads, and one kernel module."""
    files = ('__init__.py', 'targets.py', 'sources.py', 'kernels.txt', 'extension.c')
    tree = tmp_path / 'tree'
    for name in files:
        (tree / NATIVE).mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / NATIVE / name, tree / NATIVE / name)
    (tree / NATIVE.parent / 'so3.py').write_text('angle = 1.0\n')
    (tree / 'tools' / 'native').mkdir(parents=True)
    for name in ('__init__', 'link', 'provide'):
        shutil.copy(ROOT / 'tools' / 'native' / f'{name}.py', tree / 'tools' / 'native')
    shutil.copy(ROOT / 'tools' / 'build_backend.py', tree / 'tools')
    (tree / 'requirements').mkdir()
    shutil.copy(ROOT / 'requirements' / 'native.txt', tree / 'requirements')
    (tree / 'setup.py').write_text("__import__('setuptools').setup(name='made', packages=[])\n")
    return tree


def manifest_of(tree):
    """Return the hashes of the sources of a tree."""
    code = f'import json, sys; sys.path.insert(0, {str(tree / NATIVE)!r}); import sources'
    table: dict[str, list] = json.loads(
        run(tree, f'{code}; print(json.dumps(sources.manifest()))').stdout
    )
    return table


@pytest.fixture
def sdist(clone):
    """Return a tree that brings compiled kernels: an object that stands for them."""
    folder = clone / 'native_objects' / TARGET
    folder.mkdir(parents=True)
    source = clone.parent / 'made.c'
    source.write_text('int PyInit__kernels(void) { return 7; }\n')
    subprocess.run(['cc', '-fPIC', '-c', source, '-o', folder / 'extension.o'], check=True)
    shipped = {name: hashes[:2] for name, hashes in manifest_of(clone).items()}
    link.write_manifest(folder.parent, shipped)
    return clone


def run(tree, code, *options, **environment):
    """Return the output of a Python without installed packages, run in a tree."""
    start = f'import sys; sys.path.insert(0, {str(tree / "tools")!r})'
    return subprocess.run(
        [sys.executable, *(options or ('-I', '-S')), '-c', f'{start}\n{code}'],
        cwd=tree,
        env={'PATH': os.environ['PATH'], 'SSIK_ROS_TARGET': TARGET, **environment},
        capture_output=True,
        text=True,
    )


PROVIDE = 'from native import provide; provide.provide()'


@needs_target
def test_a_source_distribution_is_linked_without_numba_and_without_headers(sdist):
    shown = run(sdist, PROVIDE)
    assert (shown.returncode, shown.stderr) == (0, '')
    library = ctypes.CDLL(str(sdist / LIBRARY))
    assert library.PyInit__kernels() == 7
    table = json.loads((sdist / NATIVE / link.MANIFEST).read_text())
    assert table == manifest_of(sdist)


@needs_target
def test_a_library_that_is_linked_already_stays(sdist):
    run(sdist, PROVIDE)
    before = (sdist / LIBRARY).stat()
    shown = run(sdist, PROVIDE, PATH='')
    assert (shown.returncode, (sdist / LIBRARY).stat().st_mtime_ns) == (0, before.st_mtime_ns)


@needs_target
def test_a_source_distribution_without_a_compiler_names_it(sdist):
    shown = run(sdist, PROVIDE, PATH='')
    assert shown.returncode == 1
    assert f'The library for {TARGET} needs a C compiler, and cc is not installed.' in shown.stderr


@needs_target
def test_the_library_of_edited_kernels_is_linked_anew_when_they_are_as_before(sdist):
    run(sdist, PROVIDE)
    (sdist / LIBRARY).write_bytes(b'another')
    (sdist / NATIVE / link.MANIFEST).write_text('{}')
    assert run(sdist, PROVIDE).returncode == 0
    assert (sdist / LIBRARY).read_bytes() != b'another'


@needs_target
def test_edited_kernels_of_a_source_distribution_need_the_compiler_of_a_clone(sdist):
    (sdist / NATIVE.parent / 'so3.py').write_text('angle = 2.0\n')
    shown = run(sdist, PROVIDE)
    assert shown.returncode == 1 and 'numba==' in shown.stderr
    assert not (sdist / LIBRARY).exists()


@needs_target
def test_a_clone_without_numba_stops_with_one_line_that_names_both_ways(clone):
    shown = run(clone, PROVIDE)
    assert shown.returncode == 1
    (line,) = shown.stderr.splitlines()
    assert 'numba==0' in line and 'llvmlite==0' in line
    assert 'unpack the source distribution of a release into src/' in line
    assert 'pip install -r requirements/native.txt' in line


def install_fake(folder, package, version):
    """Make a folder look as if a package were installed there."""
    info = folder / f'{package}-{version}.dist-info'
    info.mkdir(parents=True)
    (info / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n')


@needs_target
def test_a_clone_takes_no_other_numba_than_the_pinned_one(clone, tmp_path):
    pins = dict(line.split('==') for line in make_wheels.provide.requirements())
    install_fake(tmp_path / 'site', 'llvmlite', pins['llvmlite'])
    install_fake(tmp_path / 'site', 'numba', f'{pins["numba"]}1')
    code = f'sys.path.append({str(tmp_path / "site")!r})\nfrom native import provide\n'
    shown = run(clone, f'{code}print(provide.missing_requirements())')
    assert shown.stdout.strip() == str([f'numba=={pins["numba"]}'])


@needs_target
def test_a_clone_with_a_library_of_its_sources_needs_nothing(clone):
    (clone / LIBRARY).write_bytes(b'a library')
    link.write_manifest(clone / NATIVE, manifest_of(clone))
    shown = run(clone, PROVIDE, PATH='')
    assert (shown.returncode, shown.stderr) == (0, '')


def test_another_platform_gets_the_package_and_one_line(clone):
    shown = run(clone, f'sys.platform = "made"\n{PROVIDE}', SSIK_ROS_TARGET='')
    assert shown.returncode == 0
    assert shown.stderr == (
        f'ssik_ros: There is no native library of the kernels for made {os.uname().machine}:'
        ' install numba and set SSIK_ROS_JIT=1.\n'
    )


ASK = (
    'import build_backend as backend; print(sorted({line.split("==")[0] for hook in'
    ' ("wheel", "editable") for line in getattr(backend, f"get_requires_for_build_{hook}")()}))'
)


def test_pip_brings_the_compiler_to_a_clone(clone):
    assert {'llvmlite', 'numba'} <= set(printed_list(run(clone, ASK, '-I').stdout))


def test_pip_brings_no_compiler_to_a_source_distribution(sdist):
    assert not {'llvmlite', 'numba'} & set(printed_list(run(sdist, ASK, '-I').stdout))


def printed_list(text):
    """Return the list that a process printed last."""
    return ast.literal_eval(text.splitlines()[-1])


def test_pip_cannot_build_a_source_distribution_without_objects(clone):
    code = 'import build_backend; build_backend.build_sdist(".")'
    shown = run(clone, code, '-I')
    assert shown.returncode == 1
    assert shown.stderr.startswith('ssik_ros: "make wheels" builds the source distribution')


SHOW = f"""
import sys
sys.path.insert(0, {str(ROOT / 'tools')!r})
import build_native
output = build_native.open_output('/dev/tty')
output.write('progress')
output.flush()
"""


def test_progress_is_on_the_terminal_where_pip_shows_nothing():
    ours, theirs = os.openpty()
    os.set_blocking(ours, False)
    hidden = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    subprocess.run(
        [sys.executable, '-c', SHOW],
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
        pass_fds=[theirs],
        check=True,
        **hidden,
    )
    assert os.read(ours, 100) == b'progress'
    os.close(ours)
    os.close(theirs)


def test_progress_is_on_standard_error_without_a_terminal():
    shown = subprocess.run(
        [sys.executable, '-c', SHOW], start_new_session=True, capture_output=True, check=True
    )
    assert shown.stderr == b'progress'


class Lines(io.StringIO):
    """Keeps lines, and makes a file after two of them."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def write(self, text):
        count = super().write(text)
        if self.getvalue().count('\n') == 2:
            self.path.touch()
        return count


def test_a_long_step_shows_progress_while_it_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(build_native, 'REPORT_EVERY', 0.01)
    two_lines = tmp_path / 'two_lines'

    def work():
        end = time.monotonic() + 60.0
        while not two_lines.exists():
            assert time.monotonic() < end
            time.sleep(0.01)

    output, product = Lines(two_lines), (tmp_path / 'product',)
    step = build_native.Step('a long step', (), product, work)
    build_native.Scheduler(1, output).run('Title', [step])
    lines = output.getvalue().splitlines()
    assert lines[0].startswith('Title [') and lines[0].endswith('a long step')
    assert 'left' not in lines[0] and 'left' not in lines[-1]
    two_lines.unlink()
    later = Lines(two_lines)
    monkeypatch.setattr(build_native, 'REPORT_EVERY', 0.0)
    steps = [build_native.Step('a short step', (), product, lambda: None), step]
    build_native.Scheduler(1, later).run('Title', steps)
    (line, *_) = [line for line in later.getvalue().splitlines() if '1 of 2' in line]
    assert re.search(r'1 of 2, \d+ s, about \d+ s left  a long step$', line)


@needs_git
def test_a_source_distribution_has_every_tracked_file_and_the_objects(tmp_path, monkeypatch):
    (tmp_path / 'aarch64').mkdir()
    for name in ('aarch64/so3.o', link.MANIFEST, link.ROWS):
        (tmp_path / name).touch()
    monkeypatch.setattr(make_wheels, 'OBJECTS', tmp_path)
    files = make_wheels.sdist_files()
    objects = {name for name in files if name.startswith('native_objects/')}
    assert objects == {'native_objects/aarch64/so3.o', 'native_objects/sources.json'}
    for name in ('setup.py', 'package.xml', 'tools/build_backend.py', 'tools/native/link.py'):
        assert files[name] == ROOT / name
    for folder in ('interfaces/ssik_msgs', 'moveit_plugin', 'control_plugin'):
        name = f'{folder}/package.xml'
        assert files[name] == ROOT / name
    assert not [name for name in files if name.endswith(('.so', '.pyc'))]


def test_an_archive_has_the_same_bytes_whenever_it_is_packed(tmp_path):
    script = tmp_path / 'script'
    script.write_text('#!/bin/sh\n')
    script.chmod(0o750)
    packed = []
    for when in (1.0, 2.0):
        os.utime(script, (when, when))
        archive = make_wheels.pack(tmp_path / 'made-1.0.tar.gz', {'bin/script': script}, 1_000_000)
        packed.append(archive.read_bytes())
    assert packed[0] == packed[1]
    with tarfile.open(archive) as tar:
        (member,) = tar.getmembers()
    assert (member.name, member.mode) == ('made-1.0/bin/script', 0o755)
    assert gzip.decompress(packed[0])


def test_an_activated_environment_lends_no_packages_to_a_new_one(tmp_path, monkeypatch):
    (tmp_path / 'lent.py').touch()
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    code = 'import importlib.util; print(importlib.util.find_spec("lent"))'
    shown = make_wheels.run(sys.executable, '-c', code, folder=tmp_path.parent)
    assert shown == 'None\n'


def wheel_of(folder, *names):
    """Return a wheel that has files of these names among the native library's."""
    wheel = folder / 'ssik_ros-0.1.0-cp310-abi3-manylinux_2_17_aarch64.whl'
    with zipfile.ZipFile(wheel, 'w') as archive:
        for name in names:
            archive.writestr(f'{NATIVE}/{name}', '')
    return wheel


WHOLE = 'library.py', '_kernels.aarch64.abi3.so', 'c_kernels/kernels.bc.xz', 'c_kernels/stamp.json'


@pytest.fixture
def c_kernels(tmp_path, monkeypatch):
    """Replace the kernels for C programs by two empty files."""
    folder = tmp_path / 'c_kernels'
    folder.mkdir()
    for name in ('kernels.bc.xz', 'stamp.json'):
        (folder / name).touch()
    monkeypatch.setattr(make_wheels, 'PORTABLE', folder)


@pytest.mark.usefixtures('c_kernels')
@pytest.mark.parametrize(
    'more',
    [link.MANIFEST, 'extension.c', '_kernels.x86_64_v2.abi3.so', 'c_kernels/kernels.arm.o.xz'],
)
def test_a_wheel_with_more_than_its_libraries_is_refused(tmp_path, more):
    with pytest.raises(SystemExit, match=f'has .*{more}.* instead of'):
        make_wheels.check_wheel(wheel_of(tmp_path, *WHOLE, more), 'aarch64')


@pytest.mark.usefixtures('c_kernels')
@pytest.mark.parametrize('gone', WHOLE[1:])
def test_a_wheel_with_less_than_its_libraries_is_refused(tmp_path, gone):
    names = [name for name in WHOLE if name != gone]
    with pytest.raises(SystemExit, match=f'instead of .*{gone}'):
        make_wheels.check_wheel(wheel_of(tmp_path, *names), 'aarch64')


@pytest.mark.usefixtures('c_kernels')
def test_a_wheel_with_its_libraries_goes_to_the_auditors(tmp_path, monkeypatch):
    wheel, asked = wheel_of(tmp_path, *WHOLE), []

    def auditor(command, *arguments):
        asked.append(Path(command).name)
        return 'consistent with the following platform tag: "manylinux_2_17_aarch64"'

    monkeypatch.setattr(make_wheels, 'run', auditor)
    make_wheels.check_wheel(wheel, 'aarch64')
    assert asked == ['auditwheel', 'abi3audit']


def test_a_wheel_beyond_the_size_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(make_wheels, 'LARGEST', 10)
    with pytest.raises(SystemExit, match='above 10 B'):
        make_wheels.check_wheel(wheel_of(tmp_path), 'aarch64')
