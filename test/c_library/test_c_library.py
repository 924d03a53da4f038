"""A C library of one arm: the package's own numbers, and nothing but libm."""

import ctypes
import math
import re
import shutil
import subprocess

from test.c_library.acceptance import check, compile_and_run, COMPILERS
from test.c_library.c_arm import CArm, compare, Cycle, doubles, package_arm, requests

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.artifact.c.toolchain import of_this_machine
from ssik_ros.cli.command import main
from ssik_ros.kernels.search import causes
from ssik_ros.results import Cause, CAUSE_ADVICE, CAUSE_TEXT
from ssik_ros.solvers.closed_form.branch_request import BranchRequest
from ssik_ros.solvers.closed_form.windings import enumerate_windings
from ssik_ros.solvers.search.newton.steps import OTHER_STEP, STEP_TEXT

ARMS = ('ur5e', 'irb6700', 'panda')
LIBM = {
    'acos',
    'asin',
    'atan',
    'atan2',
    'ceil',
    'cos',
    'fmod',
    'pow',
    'sin',
    'sincos',
    'sqrt',
    'tan',
}
BAD_ARGUMENT, BAD_MEMORY, BAD_BLOCKS = -1, -2, -3
VALIDATION = 14


@pytest.mark.sampled
@pytest.mark.parametrize('robot', ARMS)
def test_branches_have_the_bytes_of_the_package(c_arm, robot):
    """Closed form and search return the same bytes as in Python."""
    compare(package_arm(robot), c_arm(robot), 40)


def test_one_library_serves_many_arms(build_generic, tmp_path):
    """The generic library returns the package's bytes for each arm whose blocks it is given."""
    for robot, samples in (('ur5e', 16), ('panda', 16), ('panda', 4), ('xarm6', 16)):
        path = tmp_path / f'{robot}{samples}.blocks'
        options = (
            '--robot',
            robot,
            '--redundancy-samples',
            str(samples),
            '--blocks',
            '-o',
            str(path),
        )
        assert main(['build', *options]) == 0
        words = np.fromfile(path, dtype=np.int64)
        first = doubles(words), ctypes.c_size_t(words.nbytes)
        arm = package_arm(robot, samples)
        compare(arm, CArm(build_generic, 'ssik', first=first), 20)


BLOCKS_PROGRAM = """
#include <ssik.hpp>
#include <ssik_blocks.hpp>

#include <cstdio>

int main(int, char **arguments) {
  ssik::BlocksSource source;
  source.file = arguments[1];
  try {
    ssik::load_blocks(source, [](ssik::Blocks blocks) -> std::string {
      std::printf("%d", ssik::Solver(blocks.data(), 8 * blocks.size()).joints());
      return "";
    });
  } catch (const std::runtime_error &error) {
    std::printf("%s", error.what());
  }
}
"""


def test_the_header_for_blocks_is_part_of_the_generic_library(build, build_generic, tmp_path):
    """The header is plain C++17 without warnings; a library of one arm has no such header."""
    path, source, program = tmp_path / 'ur5e.blocks', tmp_path / 'main.cpp', tmp_path / 'main'
    assert main(['build', '--robot', 'ur5e', '--blocks', '-o', str(path)]) == 0
    source.write_text(BLOCKS_PROGRAM)
    flags = ['-std=c++17', '-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Werror']
    words = [source, f'-I{build_generic}/include', f'{build_generic}/lib/libssik.a', '-lm']
    subprocess.run(['c++', *flags, *words, '-o', program], check=True)
    for file, said in ((path, '6'), (tmp_path / 'none', f"'{tmp_path / 'none'}' has no blocks")):
        out = subprocess.run([program, file], capture_output=True, text=True).stdout
        assert out.startswith(said)
    assert not list(build('panda').rglob('*blocks*'))


def test_bad_blocks_are_refused(build_generic, tmp_path):
    """Blocks that are cut off, changed or from elsewhere are refused with a code."""
    path = tmp_path / 'ur5e.blocks'
    assert main(['build', '--robot', 'ur5e', '--blocks', '-o', str(path)]) == 0
    words = np.fromfile(path, dtype=np.int64)
    library = ctypes.CDLL(build_generic / 'lib' / 'libssik.so.1')
    library.ssik_memory_size.restype = ctypes.c_int64

    def size_for(data):
        return library.ssik_memory_size(
            doubles(data), ctypes.c_size_t(data.nbytes), ctypes.c_int64(0)
        )

    assert size_for(words) > 0
    for place in (0, 1, 2, 3, 4, 20, len(words) // 2, len(words) - 1):
        changed = words.copy()
        changed[place] ^= 4
        assert size_for(changed) == BAD_BLOCKS, place
    assert size_for(words[:-1]) == size_for(words[:9]) == BAD_BLOCKS
    assert library.ssik_memory_size(None, ctypes.c_size_t(0), ctypes.c_int64(0)) == BAD_BLOCKS


@pytest.mark.parametrize('robot', ['ur5e', 'panda'])
def test_kinematics_have_the_bytes_of_the_package(c_arm, robot):
    """Pose and Jacobian have the same bytes as the package's; the Jacobian agrees with finite differences."""
    arm, c = package_arm(robot), c_arm(robot)
    for _, q in requests(arm, 20):
        np.testing.assert_array_equal(c.fk(q), arm.kinematics.pose(q))
        jacobian = c.jacobian(q)
        np.testing.assert_array_equal(jacobian, arm.kinematics.jacobian(q))
        step = 1e-6 * np.eye(c.n)
        moves = np.array([c.fk(q + d)[:3, 3] - c.fk(q - d)[:3, 3] for d in step]).T / 2e-6
        np.testing.assert_allclose(jacobian[:3], moves, atol=1e-7)


@pytest.mark.parametrize('mode', [0, 2])
@pytest.mark.parametrize('robot', ['ur5e', 'panda'])
def test_modes_of_limits(c_arm, robot, mode):
    """Limits ignored and limits wrapped give the package's branches."""
    arm, c = package_arm(robot), c_arm(robot)
    for pose, seed in requests(arm, 10):
        branches = arm.form.arm.branches_refined(pose, BranchRequest(seed=seed, mode=mode))
        q, _ = c.solve_all(pose, seed, mode)
        np.testing.assert_array_equal(q, branches.q)


def test_nearest_is_the_first_of_all(c_arm):
    """The nearest branch is the first of all; fewer rows are a prefix."""
    arm, c = package_arm('irb6700'), c_arm('irb6700')
    for pose, seed in requests(arm, 20):
        rows, _ = c.solve_all(pose, seed)
        q = np.empty(c.n)
        assert c.call('solve_nearest', doubles(pose), doubles(seed), doubles(q), None) == 1
        np.testing.assert_array_equal(q, rows[0])
        np.testing.assert_array_equal(c.solve_all(pose, seed, capacity=2)[0], rows[:2])


@pytest.mark.parametrize('with_seed', [True, False])
def test_windings(c_arm, with_seed):
    """Every winding of every branch, the nearest first, as the package orders them."""
    arm, c = package_arm('ur5e'), c_arm('ur5e')
    for pose, seed in requests(arm, 10):
        start = seed if with_seed else None
        branches = arm.form.arm.branches(pose, BranchRequest(seed=start)).q
        limits = arm.group.lower, arm.group.upper
        for most in (1, 37, 1000):
            wanted = enumerate_windings(branches, *limits, start, 0, most).q
            q = np.empty((most, c.n))
            count = c.call(
                'solve_windings', doubles(pose), doubles(start), ctypes.c_int64(most), doubles(q), None
            )  # fmt: skip
            assert count == len(wanted)
            np.testing.assert_array_equal(q[:count], wanted)


def test_a_solver_without_room_for_windings_says_so(build):
    """No winding is written, and the response does not look like a pose without solutions."""
    arm, c = package_arm('ur5e'), CArm(build('ur5e'), 'ur5e', windings=0)
    pose, seed = next(iter(requests(arm, 1)))
    q = np.full((5, c.n), np.nan)
    arguments = doubles(pose), doubles(seed)
    count = c.call('solve_windings', *arguments, ctypes.c_int64(5), doubles(q), None)
    assert count == BAD_MEMORY and np.isnan(q).all()
    assert c.call('solve_windings', *arguments, ctypes.c_int64(0), doubles(q), None) == 0


def test_tracking_stays_within_its_bounds_and_arrives(c_arm):
    """Cycles of a control loop move no joint further than allowed, and reach the pose in the end."""
    arm, c = package_arm('panda'), c_arm('panda')
    start = 0.5 * (arm.group.lower + arm.group.upper)
    goal = start + 0.2
    pose, q, bounds = c.fk(goal), start.copy(), np.full(7, 0.05)
    codes = []
    for _ in range(20):
        before = q.copy()
        codes.append(
            c.call('track', doubles(pose), doubles(bounds), doubles(q), ctypes.byref(c.report))
        )
        assert np.abs(q - before).max() <= 0.05 + 1e-12
    assert codes[0] == 0 and codes[-1] == 1
    assert np.abs(c.fk(q) - pose).max() < 2e-3


@pytest.mark.parametrize('is_pulled', [False, True])
@pytest.mark.parametrize('robot', ['ur5e', 'panda', 'xarm6'])
def test_steps_are_those_of_the_tracker(c_arm, robot, is_pulled):
    """A step within velocities and accelerations, and its report, are the same as in Python up to rounding."""
    arm, c = package_arm(robot), c_arm(robot)
    rng, n = np.random.default_rng(70), c.n
    limits = {'velocity_limits': np.full(n, 2.0), 'acceleration_limits': np.full(n, 9.0)}
    start = np.clip(rng.uniform(-2.0, 2.0, n), arm.group.lower, arm.group.upper)
    posture = 0.5 * start
    objective = {'kp': 1.0, 'posture': tuple(posture)} if is_pulled else {}
    tracker = Manipulator(arm.robot, arm.group).tracker(start, dt=0.002, **limits, **objective)
    q, speeds, stopped_by = start.copy(), np.zeros(n), np.zeros(n, dtype=np.int32)
    condition = np.zeros(1)
    cycle = Cycle(
        0.002,
        velocity=limits['velocity_limits'],
        acceleration=limits['acceleration_limits'],
        speeds=speeds,
        stopped_by=stopped_by,
        condition=condition,
        **({'posture': posture} if is_pulled else {}),
    )
    pose, twist = c.fk(q), 1e-3 * rng.standard_normal(3)
    for number in range(300):
        if number % 50 == 49:
            twist = 1e-3 * rng.standard_normal(3)
        before = pose.copy()
        pose[:3, 3] += twist
        # A library ends within its own tolerance, which counts as reached; the motion is the same.
        is_moving = number // 100 % 2
        cycle.previous = before.ctypes.data if is_moving else None
        tracker.track(pose, before if is_moving else None)
        code = c.call(
            'step', doubles(pose), ctypes.byref(cycle), doubles(q), ctypes.byref(c.report)
        )
        assert code in (0, 1)
        # The tracker keeps motions; here they go by way of speeds, which rounds them.
        np.testing.assert_allclose(q, tracker.q, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(speeds, tracker.velocity, rtol=0.0, atol=1e-9)
        np.testing.assert_array_equal(stopped_by, tracker.stopped_by)
        assert condition[0] == pytest.approx(tracker.condition, rel=1e-9)
        if not code:
            assert cycle.scale == pytest.approx(tracker.scale, abs=1e-9)


def solve_accepted(c, pose, seed, judge, budget=None):
    """Return whether a candidate was accepted, the joint vector, and all candidates in their order."""
    seen = []

    def accept(candidate):
        seen.append(candidate)
        return judge(candidate)

    solutions = c.solve_several(pose, seed, accept=accept, budget=budget)
    return len(solutions), solutions[0] if len(solutions) else None, seen


@pytest.mark.parametrize('robot', ['ur5e', 'irb6700'])
def test_a_complete_closed_form_offers_its_branches_in_order(c_arm, robot):
    """The first one accepted is the solution; if all are refused, the cause says so."""
    arm, c = package_arm(robot), c_arm(robot)
    for pose, seed in requests(arm, 20):
        rows, _ = c.solve_all(pose, seed)
        least = rows[:, 1].min() + 1e-9
        count, q, seen = solve_accepted(c, pose, seed, lambda q, least=least: q[1] > least)
        if count:
            np.testing.assert_array_equal(q, seen[-1])
            np.testing.assert_array_equal(seen, rows[: len(seen)])
            assert (rows[: len(seen) - 1, 1] <= least).all()
        count, _, seen = solve_accepted(c, pose, seed, lambda q: False)
        np.testing.assert_array_equal(seen, rows)
        assert not count and (c.report.status, c.report.cause) == (2, VALIDATION)


@pytest.mark.parametrize('robot', ['panda', 'xarm5'])
def test_a_search_goes_on_after_a_refusal(c_arm, robot):
    """The first candidate is refused, another one is found, exact and within limits; refusing all ends, too."""
    arm, c = package_arm(robot), c_arm(robot)
    accepted = 0
    for pose, seed in requests(arm, 20):
        first = solve_accepted(c, pose, seed, lambda q: True)[1]
        count, q, seen = solve_accepted(
            c, pose, seed, lambda q, first=first: abs(q - first).max() > 0.1
        )
        accepted += count
        for candidate in seen:
            np.testing.assert_allclose(c.fk(candidate), pose, atol=2e-6)
            assert (arm.group.lower <= candidate).all() and (candidate <= arm.group.upper).all()
        if count:
            assert abs(q - first).max() > 0.1
    # An arm with five joints has few branches.
    assert accepted > (15 if robot == 'panda' else 3)
    count, _, seen = solve_accepted(c, pose, seed, lambda q: False)
    assert not count and seen and c.report.cause == VALIDATION


def test_a_search_with_verdicts_ends_where_a_search_does(c_arm):
    """Poses out of reach and malformed ones ask for no verdict; a cancel flag ends the search."""
    arm, c = package_arm('panda'), c_arm('panda')
    pose, seed = next(iter(requests(arm, 1)))
    far, bent = pose.copy(), pose.copy()
    far[:3, 3], bent[0, 0] = 9.0, 3.0
    for target, status, cause in ((far, 2, 1), (bent, 3, 9)):
        count, _, seen = solve_accepted(c, target, seed, lambda q: True)
        assert not count and not seen and (c.report.status, c.report.cause) == (status, cause)
    assert solve_accepted(c, pose, seed, lambda q: True)[0] == 1
    plain = c.solve(pose, seed)
    assert plain[0] == 1
    assert c.solve_several(pose, seed, consistency=np.full(7, -0.1)) == BAD_ARGUMENT
    assert (
        c.call('solve_several', doubles(pose), None, None, None, 1, doubles(seed), None)
        == BAD_ARGUMENT
    )


def test_wrong_cycles_return_codes(c_arm):
    """A period or a bound that is not positive, and speeds that are no numbers, come back as a code; nothing moves."""
    arm, c = package_arm('ur5e'), c_arm('ur5e')
    pose, q = next(iter(requests(arm, 1)))
    wrong, lost = np.zeros(6), np.full(6, math.nan)
    for cycle in (
        Cycle(0.0),
        Cycle(math.nan),
        Cycle(0.01, velocity=wrong),
        Cycle(0.01, acceleration=wrong),
        Cycle(0.01, posture=lost),
        Cycle(0.01, speeds=lost),
    ):
        moved = q.copy()
        assert (
            c.call('step', doubles(pose), ctypes.byref(cycle), doubles(moved), None)
            == BAD_ARGUMENT
        )
        np.testing.assert_array_equal(moved, q)
    assert c.call('step', doubles(pose), None, doubles(q), None) == BAD_ARGUMENT


@pytest.mark.parametrize('robot', ['ur5e', 'panda'])
def test_a_slow_target_moves_the_arm_in_every_cycle(c_arm, robot):
    """Targets that move by less than the tolerance in a cycle are followed, not waited for."""
    arm, c = package_arm(robot), c_arm(robot)
    q = 0.5 * (arm.group.lower + arm.group.upper) + 0.3
    pose, bounds = c.fk(q), np.full(c.n, 0.01)
    for _ in range(100):
        before = q.copy()
        pose[0, 3] += 1e-6
        assert c.call('track', doubles(pose), doubles(bounds), doubles(q), None) == 1
        assert (q != before).any()
        assert np.abs(c.fk(q) - pose).max() < 1e-6


def test_causes(c_arm):
    """A pose out of reach, a malformed pose and a seed with NaN are refused with their causes."""
    arm, c = package_arm('ur5e'), c_arm('ur5e')
    pose, seed = next(requests(arm, 1))
    far, bent, lost = pose.copy(), pose.copy(), seed.copy()
    far[:3, 3] = 9.0
    bent[0, 0] += 0.1
    lost[2] = math.nan
    for target, start, status, cause in (
        (far, seed, 2, 1),
        (bent, seed, 3, 9),
        (pose, lost, 3, 10),
    ):
        assert len(c.solve_all(target, start)[0]) == 0
        assert (c.report.status, c.report.cause) == (status, cause)
        assert c.solve(target, start)[0] == 0
        assert (c.report.status, c.report.cause) == (status, cause)
    assert c.solve(pose, seed)[0] == 1
    assert (c.report.status, c.report.cause) == (0, 0)


def test_texts_of_causes_are_those_of_the_package(c_arm, build):
    c = c_arm('ur5e')
    for name, expected in (('cause', CAUSE_TEXT), ('step', STEP_TEXT)):
        text_of = getattr(c.library, f'{c.name}_{name}_text')
        text_of.restype = ctypes.c_char_p
        for cause, text in expected.items():
            advice = CAUSE_ADVICE.get(cause, '') if name == 'cause' else ''
            assert text_of(int(cause)).decode() == text + advice
        assert text_of(-1).decode() == ('' if name == 'cause' else OTHER_STEP)
    header = (build('ur5e') / 'include' / f'{c.name}.h').read_text(encoding='utf-8')
    numbers = re.findall(r'_CAUSE_([A-Z_]+) = (\d+)', header)
    for cause, number in numbers:
        assert Cause[cause] == getattr(causes, cause) == int(number)
    assert {cause for cause, _ in numbers} == Cause.__members__.keys() & vars(causes).keys()


def test_wrong_arguments_return_codes(c_arm):
    """Null pointers, negative numbers and memory that does not fit come back as codes."""
    c = c_arm('ur5e')
    pose, seed = next(requests(package_arm('ur5e'), 1))
    assert c.solve_all(None) == BAD_ARGUMENT
    assert c.solve_all(pose, seed, mode=3) == BAD_ARGUMENT
    assert c.call('solve', doubles(pose), None, None, doubles(seed), None) == BAD_ARGUMENT
    assert c.library.ur5e_memory_size(ctypes.c_int64(-1)) == BAD_ARGUMENT
    solver, size = ctypes.c_void_p(), c.memory.nbytes
    start = ctypes.byref(solver), ctypes.c_int64(c.windings)
    assert (
        c.library.ur5e_init(*start, doubles(c.memory[:1]), ctypes.c_size_t(size - 8)) == BAD_MEMORY
    )
    aside = ctypes.c_void_p(c.memory.ctypes.data + 4)
    assert c.library.ur5e_init(*start, aside, ctypes.c_size_t(size)) == BAD_MEMORY
    assert c.library.ur5e_joints(doubles(np.zeros(80))) == BAD_MEMORY


def symbols_of(*command):
    """Return the names that nm prints last in each line."""
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1].partition('@')[0] for line in lines if line.split()[1:]}


def test_the_library_needs_libm_alone(build):
    """Static and shared library ask for libm's functions and export their own only."""
    folder = build('ur5e') / 'lib'
    assert symbols_of('nm', '-u', folder / 'libur5e.a') <= LIBM
    assert symbols_of('nm', '-D', '-u', folder / 'libur5e.so.1') <= LIBM
    exported = symbols_of('nm', '-D', '--defined-only', folder / 'libur5e.so.1')
    assert exported and all(name.startswith('ur5e_') for name in exported)


@pytest.mark.sampled
@pytest.mark.parametrize('robot', ['ur5e', 'panda'])
def test_examples_compile_without_warnings(build, robot):
    """Header, examples and self-test compile with all warnings as errors; the self-test finds the recorded bytes."""
    compile_and_run(robot, build(robot), of_this_machine())


@pytest.mark.slow
@pytest.mark.parametrize('architecture', COMPILERS)
@pytest.mark.parametrize('robot', ['hsr065', 'gantry'])
def test_arms_of_other_kinds(tmp_path, robot, architecture):
    """A SCARA and a gantry pass on both architectures; acceptance.py checks ten arms."""
    others = () if architecture == of_this_machine() else ('aarch64-linux-gnu-gcc', 'qemu-aarch64')
    for program in others:
        if shutil.which(program) is None:
            pytest.skip(f'{program} is not installed')
    check(robot, architecture, 500, tmp_path)


def test_wrong_options_are_one_line(tmp_path, monkeypatch, capsys):
    """An unknown architecture or target, a missing compiler and a folder that is there are errors of one line."""
    full = tmp_path / 'full'
    full.mkdir()
    (full / 'file').touch()
    monkeypatch.setenv('CC', 'no-such-compiler')
    start = 'build', '--robot', 'ur5e'
    for options, said in (
        (('--target', 'c', '--arch', 'aarch46'), 'aarch64'),
        (('--target', 'cc'), 'python'),
        (('--arch', 'aarch64'), '--target c'),
        (('--blocks', '--redundancy-samples', '0'), 'from 1 to 64'),
        (('--target', 'c', '-o', str(tmp_path / 'new')), 'no-such-compiler'),
        (('--blocks', '-o', str(full / 'file')), '--force'),
    ):
        assert main([*start, *options]) != 0
        error = capsys.readouterr().err
        assert said in error and error.count('\n') == 1, error
    assert sorted(path.name for path in tmp_path.iterdir()) == ['full']
