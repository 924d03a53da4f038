"""A C library in a controller: no allocation, no write outside of the caller's memory, any number of threads."""

from pathlib import Path
import shutil
import signal
import subprocess
import sys
import threading

from test.c_library.c_arm import CArm, package_arm, requests

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
GUARDED = r"""
/* Every buffer ends where a page begins that may not be touched; then each begins behind such a page. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "NAME.h"
#include "recorded.h"
enum { N = UPPER_JOINTS, MOST = 4096 };

static long allocations;
void *malloc(size_t size) { ++allocations; (void)size; return NULL; }
void *calloc(size_t count, size_t size) { ++allocations; (void)count; (void)size; return NULL; }
void *realloc(void *old, size_t size) { ++allocations; (void)old; (void)size; return NULL; }
void free(void *old) { (void)old; }

static void *guarded(size_t size, int at_end) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page;
  char *area = mmap(NULL, (pages + 2) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(area, page, PROT_NONE);
  mprotect(area + (pages + 1) * page, page, PROT_NONE);
  return at_end ? area + (pages + 1) * page - size : area + page;
}

int main(void) {
  for (int at_end = 0; at_end < 2; ++at_end) {
    NAME_solver *solver;
    const size_t size = (size_t)NAME_memory_size(50);
    if (size != UPPER_MEMORY_FOR(50) || NAME_memory_size(0) != UPPER_MEMORY_FOR(0)) return 5;
    double *pose = guarded(16 * 8, at_end), *seed = guarded(N * 8, at_end), *q = guarded(N * 8, at_end);
    double *rows = guarded(MOST * N * 8, at_end), *errors = guarded(MOST * 3 * 8, at_end);
    double *jacobian = guarded(6 * N * 8, at_end), *wound = guarded(50 * N * 8, at_end), *bounds = guarded(N * 8, at_end);
    if (NAME_init(&solver, 50, guarded(size, at_end), size) != 0) return 1;
    for (int k = 0; k < POSES; ++k) {
      memcpy(pose, RECORDED[k].pose, 16 * 8);
      memcpy(seed, RECORDED[k].seed, N * 8);
      memcpy(q, seed, N * 8);
      for (int i = 0; i < N; ++i) bounds[i] = 0.1;
      if (NAME_solve_all(solver, pose, seed, 1, MOST, rows, errors, NULL) <= 0) return 2;
      NAME_solve_all(solver, pose, NULL, 0, MOST, rows, errors, NULL);
      NAME_solve_nearest(solver, pose, seed, q, NULL);
      NAME_solve_windings(solver, pose, seed, 50, wound, NULL);
      if (NAME_solve(solver, pose, seed, NULL, q, NULL) != 1) return 3;
      NAME_track(solver, pose, bounds, seed, NULL);
      NAME_fk(solver, q, pose);
      NAME_jacobian(solver, q, jacobian);
      pose[3] += 100.0; /* out of reach */
      NAME_solve_all(solver, pose, NULL, 1, MOST, rows, NULL, NULL);
    }
  }
  return allocations ? 4 : 0;
}
"""


def compile_program(folder, robot, source, program, *flags):
    """Compile a program against the static library of a robot."""
    text = source.replace('NAME', robot).replace('UPPER', robot.upper())
    program.with_suffix('.c').write_text(text, encoding='utf-8')
    includes = f'-I{folder / "include"}', f'-I{folder / "share" / robot}'
    library = folder / 'lib' / f'lib{robot}.a'
    command = [
        'cc',
        '-std=c99',
        '-O1',
        '-fno-builtin',
        *includes,
        *flags,
        program.with_suffix('.c'),
        library,
    ]
    subprocess.run([*command, '-lm', '-o', program], check=True)


@pytest.mark.sampled
@pytest.mark.parametrize('robot', ['ur5e', 'panda', 'xarm6'])
def test_no_allocation_and_no_access_outside_of_buffers(build, tmp_path, robot):
    """All functions run with buffers between forbidden pages, where malloc returns nothing and is counted."""
    compile_program(build(robot), robot, GUARDED, tmp_path / 'guarded')
    subprocess.run([tmp_path / 'guarded'], check=True)


def test_examples_under_the_address_sanitizer(build, tmp_path):
    """The example and the self-test run clean under the address and undefined-behaviour sanitizers."""
    folder = build('ur5e')
    share, library = folder / 'share' / 'ur5e', folder / 'lib' / 'libur5e.a'
    for name in ('example.c', 'selftest.c'):
        command = ['cc', '-std=c99', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover']
        if name == 'selftest.c':
            # It looks at its own stack on purpose.
            command = ['cc', '-std=c99', '-g', '-fsanitize=undefined', '-fno-sanitize-recover']
        program = tmp_path / name.replace('.', '_')
        made = subprocess.run(
            [*command, f'-I{folder / "include"}', share / name, library, '-lm', '-o', program],
            capture_output=True,
            check=False,
        )
        if made.returncode and b'cannot find' in made.stderr:
            pytest.skip('the compiler has no sanitizers')
        subprocess.run([program], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize('robot', ['ur5e', 'panda'])
def test_eight_threads_get_the_same_bytes(build, robot):
    """Eight threads, each with a solver of its own, return the same bytes as one thread."""
    arm, folder = package_arm(robot), build(robot)
    asked = list(requests(arm, 30))

    def solve_everything():
        c = CArm(folder, robot, windings=0)
        return b''.join(
            part.tobytes()
            for pose, seed in asked
            for part in (*c.solve_all(pose, seed), c.solve(pose, seed)[1])
        )

    results = [b''] * 8

    def work(k):
        results[k] = solve_everything()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results) == {solve_everything()}


THREADS = 'fuzz/c/build.py', '--harness', 'threads', '--arms', 'ur5e', 'panda', 'xarm6'


@pytest.mark.slow
def test_eight_threads_under_the_thread_sanitizer(tmp_path):
    """Threads with a solver each and the same blocks share nothing that one of them writes."""
    program = tmp_path / 'threads'
    command = [sys.executable, *THREADS, '--sanitize', 'thread', program]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if made.returncode and 'cannot find' in made.stderr:
        pytest.skip('the compiler has no sanitizers')
    assert made.returncode == 0, made.stderr
    subprocess.run([program], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.slow
def test_kernels_of_eight_threads_under_helgrind(tmp_path):
    """The kernels, which no sanitizer was built into, do not race either."""
    if shutil.which('valgrind') is None:
        pytest.skip('valgrind is not installed')
    program = tmp_path / 'threads'
    subprocess.run([sys.executable, *THREADS, '--sanitize', '', program], cwd=ROOT, check=True)
    checked = 'valgrind', '--tool=helgrind', '--error-exitcode=9', '-q', program
    subprocess.run(checked, check=True, stdout=subprocess.DEVNULL)


@pytest.mark.slow
@pytest.mark.parametrize('robot', ['ur5e', 'panda', 'xarm6'])
def test_the_self_test_under_valgrind(build, tmp_path, robot):
    """No access outside of memory that is allocated, and no decision by a word that was never written."""
    if shutil.which('valgrind') is None:
        pytest.skip('valgrind is not installed')
    folder, program = build(robot, '--shared-kernels'), tmp_path / 'selftest'
    text = (folder / 'share' / robot / 'selftest.c').read_text(encoding='utf-8')
    # It looks at its own stack on purpose, which valgrind takes for a fault.
    text = text.replace('const int used = look();', 'const int used = 0 * (look != 0);')
    source = tmp_path / 'selftest.c'
    source.write_text(text, encoding='utf-8')
    includes = f'-I{folder / "include"}', f'-I{folder / "share" / robot}'
    command = ['cc', '-std=c99', '-g', '-O1', *includes, source, folder / 'lib' / f'lib{robot}.a']
    subprocess.run([*command, '-lm', '-o', program], check=True)
    checked = 'valgrind', '--error-exitcode=9', '--max-stackframe=4000000', '-q', program
    subprocess.run(checked, check=True, stdout=subprocess.DEVNULL)


def test_the_callers_clock_and_flag_end_a_search(c_arm):
    """A search reads no clock but the caller's, ends at its deadline, and at once with the flag."""
    import ctypes

    arm, c = package_arm('panda'), c_arm('panda')
    reads = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
    clock = kind(lambda context: reads.append(context) or 1_000_000 * len(reads))

    class Budget(ctypes.Structure):
        _fields_ = (
            *((name, ctypes.c_int64) for name in ('searches', 'iterations', 'timeout_ns')),
            ('clock', kind),
            ('context', ctypes.c_void_p),
            ('cancel', ctypes.c_void_p),
        )

    pose = arm.kinematics.pose(arm.group.upper - 0.01)
    seed = arm.group.lower + 0.01
    is_solved, _ = c.solve(pose, seed, ctypes.byref(Budget(0, 0, 3_000_000, clock, 7, None)))
    assert is_solved == 0 and (c.report.status, c.report.cause) == (2, 8)
    assert reads and set(reads) == {7} and len(reads) <= 6
    flag = np.ones(1, dtype=np.int64)
    is_solved, _ = c.solve(pose, seed, ctypes.byref(Budget(cancel=flag.ctypes.data)))
    assert is_solved == 0 and c.report.cause == 8 and c.report.iterations <= 1
    is_solved, _ = c.solve(pose, seed, ctypes.byref(Budget(searches=1)))
    assert c.report.searches <= 1


def test_aarch64_under_an_emulator(build):
    """The library for aarch64 returns the recorded bytes under qemu, within its sizes."""
    for program in ('aarch64-linux-gnu-gcc', 'qemu-aarch64'):
        if shutil.which(program) is None:
            pytest.skip(f'{program} is not installed')
    folder = build('ur5e', '--arch', 'aarch64')
    program = folder / 'selftest'
    command = ['aarch64-linux-gnu-gcc', '-std=c99', '-O1', f'-I{folder / "include"}']
    sources = folder / 'share' / 'ur5e' / 'selftest.c', folder / 'lib' / 'libur5e.a'
    subprocess.run([*command, *sources, '-lm', '-o', program], check=True)
    run = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu', program, '--bytes']
    said = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert int(said.partition('at most ')[2].split()[0]) <= 16 * 1024
    sizes = subprocess.run(
        ['aarch64-linux-gnu-size', '-A', folder / 'lib' / 'libur5e.a'], check=True, capture_output=True, text=True
    ).stdout  # fmt: skip
    assert int(sizes.partition('.text')[2].split()[0]) <= 120 * 1024


FREESTANDING = r"""
#include "ur5e.h"
static int64_t memory[UR5E_MEMORY / 8];
void *memset(void *to, int value, size_t size) { char *at = to; while (size--) *at++ = (char)value; return to; }
void *memcpy(void *to, const void *from, size_t size) {
  char *at = to; const char *source = from; while (size--) *at++ = *source++; return to; }
void _start(void) {
  ur5e_solver *solver;
  double q[6] = {0}, pose[16];
  ur5e_init(&solver, 0, memory, sizeof memory);
  ur5e_fk(solver, q, pose);
  ur5e_solve(solver, pose, q, NULL, q, NULL);
  for (;;) {}
}
"""


@pytest.mark.parametrize('options', [(), ('--arch', 'aarch64')])
def test_a_freestanding_program_links(build, tmp_path, options):
    """Without start-up code and without the C library, only libm is needed."""
    compiler = 'aarch64-linux-gnu-gcc' if options else 'cc'
    if shutil.which(compiler) is None:
        pytest.skip(f'{compiler} is not installed')
    folder, source = build('ur5e', *options), tmp_path / 'bare.c'
    source.write_text(FREESTANDING, encoding='utf-8')
    bare = '-std=c99', '-ffreestanding', '-nostartfiles', '-nodefaultlibs'
    library = folder / 'lib' / 'libur5e.a'
    command = [compiler, *bare, f'-I{folder / "include"}', source, library]
    subprocess.run([*command, '-lm', '-o', tmp_path / 'bare'], check=True)


def test_the_loop_of_the_page_runs(build, tmp_path):
    """The real-time loop of the how-to page compiles with all warnings, follows its target and ends."""
    page = Path(__file__).parents[2] / 'docs' / 'how_to' / 'link_a_c_library.md'
    code = page.read_text(encoding='utf-8').partition('`loop.c`:\n\n```c\n')[2].partition('```')[0]
    source, folder = tmp_path / 'loop.c', build('ur5e')
    source.write_text(code, encoding='utf-8')
    command = 'cc', '-std=c99', '-Wall', '-Wextra', '-Werror', f'-I{folder / "include"}', source
    library = folder / 'lib' / 'libur5e.a'
    subprocess.run([*command, library, '-lm', '-o', tmp_path / 'loop'], check=True)
    subprocess.run([tmp_path / 'loop'], check=True, timeout=60)


def test_the_program_of_the_page_in_cpp_compiles(build_generic, tmp_path):
    page = Path(__file__).parents[2] / 'docs' / 'how_to' / 'link_a_c_library.md'
    code = page.read_text(encoding='utf-8').partition('```cpp\n')[2].partition('```')[0]
    source = tmp_path / 'load.cpp'
    source.write_text(code, encoding='utf-8')
    flags = '-std=c++17', '-Wall', '-Wextra', '-Werror', f'-I{build_generic / "include"}'
    subprocess.run(['c++', *flags, '-c', source, '-o', tmp_path / 'load.o'], check=True)


def test_cmake_finds_the_package(build, tmp_path):
    """The folder's own CMake project configures, builds examples and self-test, and passes."""
    if shutil.which('cmake') is None or shutil.which('c++') is None:
        pytest.skip('cmake or a C++ compiler is not installed')
    share = build('ur5e') / 'share' / 'ur5e'
    quiet = {'check': True, 'stdout': subprocess.DEVNULL}
    subprocess.run(['cmake', '-S', share, '-B', tmp_path], **quiet)
    subprocess.run(['cmake', '--build', tmp_path], **quiet)
    subprocess.run(['ctest', '--test-dir', tmp_path], **quiet)


def test_pkg_config_names_the_flags(build):
    """pkg-config gives the flags of a folder that was moved."""
    if shutil.which('pkg-config') is None:
        pytest.skip('pkg-config is not installed')
    folder = build('ur5e')
    command = ['pkg-config', '--cflags', '--libs', 'ur5e']
    path = {'PKG_CONFIG_PATH': str(folder / 'lib' / 'pkgconfig'), 'PATH': '/usr/bin:/bin'}
    words = subprocess.run(
        command, check=True, capture_output=True, text=True, env=path
    ).stdout.split()
    assert '-lur5e' in words
    assert any(
        word.startswith('-I') and Path(word[2:]).samefile(folder / 'include') for word in words
    )


@pytest.mark.parametrize('how', [signal.SIGTERM, signal.SIGKILL])
def test_a_build_that_is_killed_leaves_the_folder_as_it_was(tmp_path, how):
    """A build that ends early leaves the old folder."""
    folder = tmp_path / 'arm'
    folder.mkdir()
    (folder / 'old').touch()
    program = 'from ssik_ros.cli.command import main; main()'
    options = '--robot', 'ur5e', '--target', 'c', '-o', folder, '--force'
    command = [sys.executable, '-u', '-c', program, 'build', *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        # A line says that the compiler is called; the new folder is in the making by then.
        line = next((line for line in process.stdout if 'compile' in line), '')
        process.send_signal(how)
    assert line and process.returncode == -how
    assert [path.name for path in folder.iterdir()] == ['old']


def test_a_header_compiles_in_no_time(build, tmp_path):
    """The header gives a user's file only declarations: no template, no large header."""
    folder, source = build('ur5e'), tmp_path / 'user.cpp'
    source.write_text('#include "ur5e.h"\nint main() { return 0; }\n', encoding='utf-8')
    command = ['cc', '-xc++', '-E', f'-I{folder / "include"}', source]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert text.count('\n') < 2000
