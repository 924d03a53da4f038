"""Artifacts of ``ssik build``: with numpy as their only import, they return the same sets as the library."""

import json
import math
import os
import subprocess
import sys

from test.cli.numpy_only import run_program

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.artifact.module_text import ArtifactSubject, write_module
from ssik_ros.artifact.trial import load_module, make_judge, try_module
from ssik_ros.cli.command import main
from ssik_ros.errors import TopologyMismatch
from ssik_ros.model.catalogue import arm_data, list_arms, load_arm
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL

BUILT = ('ur5e', 'irb6700', 'panda', 'gen3', 'xarm6')
POSES = 40

PROGRAM = """
import json, time
import numpy as np
import arm_ik
poses = np.load(sys.argv[2])
sets, times = [], []
for pose, seed, limits in zip(poses['pose'], poses['seed'], poses['limits']):
    start = time.perf_counter()
    found = arm_ik.solve(pose, q_seed=seed, respect_limits=bool(limits))
    times.append(1e3 * (time.perf_counter() - start))
    sets.append([[*solution.q.tolist(), solution.fk_residual] for solution in found])
others = [name for name in sys.modules if name.split('.')[0] in foreign]
print(json.dumps({'sets': sets, 'ms': sorted(times)[len(times) // 2], 'others': others}))
"""


def subject_of(name):
    """Return an arm of the catalogue and its robot; skip where it has no closed form."""
    data, robot = arm_data(name), load_arm(name)
    chain = SerialChain.from_robot(robot, data.base_link, data.tip_link)
    try:
        return ArtifactSubject(name, AnalyticArm(chain)), robot
    except TopologyMismatch as error:
        pytest.skip(str(error))


def postures(chain, rng, count):
    """Return random postures within the limits, free joints within a turn."""
    bounded = np.isfinite(chain.lower)
    lower = np.where(bounded, chain.lower, -math.pi)
    upper = np.where(bounded, chain.upper, math.pi)
    return rng.uniform(lower, upper, (count, len(lower)))


@pytest.mark.slow
@pytest.mark.parametrize('name', BUILT)
def test_an_artifact_alone_with_numpy_finds_the_sets_of_the_library_in_their_order(
    name, tmp_path, record_property
):
    path = tmp_path / 'arm_ik.py'
    words = ['build', '--robot', name, '--out', str(path), '--validate-poses', '5']
    assert main(words) == 0
    subject, _ = subject_of(name)
    chain = subject.chain
    rng = np.random.default_rng(list(name.encode()))
    q = postures(chain, rng, POSES)
    poses = np.array([chain.pose(posture) for posture in q])
    seeds = q + rng.normal(0.0, 0.1, q.shape)
    limits = np.arange(POSES) % 2 == 0
    np.savez(tmp_path / 'poses.npz', pose=poses, seed=seeds, limits=limits)
    done = run_program(tmp_path, PROGRAM, tmp_path / 'poses.npz')
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    record_property('ms_per_solve', result['ms'])
    print(f'{name}: {result["ms"]:.3g} ms a solve')
    assert result['others'] == []
    for pose, seed, within, rows in zip(poses, seeds, limits, result['sets'], strict=True):
        request = BranchRequest(seed=seed, mode=1 if within else KEEP_ALL)
        theirs = subject.arm.branches(pose, request).q
        ours = np.array(rows).reshape(-1, chain.axes.shape[0] + 1)
        assert len(ours) == len(theirs)
        assert np.abs(ours[:, :-1] - theirs).max(initial=0.0) < 1e-9
        residuals = [np.linalg.norm(chain.pose(row[:-1]) - pose) for row in ours]
        assert max(residuals, default=0.0) < 1e-9
        assert np.abs(ours[:, -1] - residuals).max(initial=0.0) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize('name', list_arms())
def test_every_arm_with_a_closed_form_can_be_built(name):
    subject, robot = subject_of(name)
    text = write_module(subject, 'none')
    report = try_module(load_module(text), subject, make_judge(robot, subject.chain), 2)
    assert report.passed, report.faults
    assert max(map(len, text.splitlines())) < 1000


@pytest.mark.sampled
@pytest.mark.parametrize('name', ['ur5e', 'puma560', 'panda', 'iiwa14'])
def test_singular_poses_have_the_sets_of_the_library(name):
    subject, _ = subject_of(name)
    module = load_module(write_module(subject, 'none'))
    rng = np.random.default_rng(7)
    for _ in range(60 if subject.arm.plan.held < 0 else 6):
        n = subject.arm.plan.size
        q = rng.choice([0.0, 0.5 * np.pi, -0.5 * np.pi, np.pi], n)
        q += rng.choice([0.0, 0.0, 1e-3, 1e-6, 1e-9], n)
        pose = subject.chain.pose(q)
        ours = [solution.q for solution in module.solve(pose, respect_limits=False)]
        theirs = subject.arm.branches(pose, BranchRequest(mode=KEEP_ALL)).q
        assert np.array(ours).reshape(theirs.shape) == pytest.approx(theirs, abs=1e-6)


@pytest.mark.slow
def test_an_elimination_is_exact_at_singular_poses():
    # How many solutions there are is decided by rounding there, in the library too.
    subject, _ = subject_of('jaco2')
    module = load_module(write_module(subject, 'none'))
    rng = np.random.default_rng(7)
    solved = 0
    for _ in range(20):
        q = rng.choice([0.0, 0.5 * np.pi, -0.5 * np.pi, np.pi], 6) + rng.choice([0.0, 1e-6], 6)
        pose = subject.chain.pose(q)
        solutions = module.solve(pose, respect_limits=False)
        solved += bool(solutions)
        for solution in solutions:
            assert np.linalg.norm(subject.chain.pose(solution.q) - pose) < 1e-9
    assert solved >= 19


def test_an_artifact_gives_the_results_of_the_manipulator(robots):
    subject, _ = subject_of('ur5e')
    module = load_module(write_module(subject, 'none'))
    arm = Manipulator(robots['ur5e'], robots['ur5e'].group('ur_manipulator'))
    for q in postures(subject.chain, np.random.default_rng(3), 10):
        for limits in (True, False):
            ours = module.solve(module.fk(q), q_seed=q, respect_limits=limits)
            theirs = arm.solve(arm.fk(q), q_seed=q, respect_limits=limits)
            assert [solution.q for solution in ours] == pytest.approx(
                np.array([solution.q for solution in theirs]), abs=1e-9
            )


# --- The module's own words -----------------------------------------------------------------------


@pytest.fixture(scope='module')
def module():
    """Return the artifact of the UR5e."""
    return load_module(write_module(subject_of('ur5e')[0], 'said so'))


def test_an_artifact_says_what_it_is(module):
    chain = subject_of('ur5e')[0].chain
    assert (module.BASE_LINK, module.EE_LINK, module.DOF) == ('base_link', 'tool0', 6)
    assert chain.joint_names == module.JOINT_NAMES
    assert module.LIMITS[0] == (chain.lower[0], chain.upper[0])
    assert (chain.home == module.T_HOME).all()
    assert (module.SOLVER_NAME, module.SOLVER_TIER) == ('ikgeo.three_parallel', 0)
    assert module.DISPATCH_REASON == 'axes 2, 3 and 4 are parallel'
    assert module.VALIDATION == 'said so' and 'said so' in module.__doc__
    assert 'BSD-3-Clause' in module.__doc__ and 'ssik build' in module.__doc__
    assert np.abs(module.fk(np.zeros(6)) - module.T_HOME).max() < 1e-15


@pytest.mark.parametrize(
    ('name', 'sentence'),
    [
        ('ur5e', 'All branches are found: the list is empty if there is none'),
        (
            'panda',
            "at 16 values of joint 7, and at the seed's value of it: an empty list does not prove",
        ),
    ],
)
def test_an_artifact_says_whether_an_empty_list_proves_that_there_is_no_solution(name, sentence):
    text = ' '.join(load_module(write_module(subject_of(name)[0], 'none')).solve.__doc__.split())
    assert sentence in text and 'no particular order without it' in text


def test_a_joint_without_limits_has_none():
    module = load_module(write_module(subject_of('jaco2')[0], ''))
    assert module.LIMITS[0] is None and module.LIMITS[1] is not None


def test_a_cap_a_seed_and_limits_mean_what_they_mean_in_the_library(module):
    q = [0.1, -1.2, 1.3, -0.4, 0.5, 0.6]
    pose = module.fk(q)
    every = module.solve(pose)
    assert len(every) == 8
    assert module.solve(pose, max_solutions=0) == []
    assert len(module.solve(pose, max_solutions=3)) == 3
    (nearest,) = module.solve(pose.tolist(), q_seed=q, max_solutions=1)
    assert nearest.q == pytest.approx(q, abs=1e-12)
    assert (nearest.refinement_used, nearest.fk_residual < 1e-12) == ('none', True)
    assert len(module.solve(pose, respect_limits='wrap')) == 8


def test_a_pose_out_of_reach_has_no_solution(module):
    for distance in (2.0, 1e6, 1e300):
        pose = np.eye(4)
        pose[0, 3] = distance
        assert module.solve(pose) == []


@pytest.mark.parametrize(
    ('words', 'error', 'message'),
    [
        ({'T': np.eye(3)}, ValueError, 'T has the shape'),
        ({'T': np.eye(4) * 2.0}, ValueError, 'no rigid transform'),
        ({'T': np.diag([1.0, 1.0, -1.0, 1.0])}, ValueError, 'no rigid transform'),
        ({'T': np.full((4, 4), np.nan)}, ValueError, 'not finite'),
        ({'T': [['a'] * 4] * 4}, TypeError, 'T holds'),
        ({'T': np.eye(4, dtype=bool)}, TypeError, 'T holds'),
        ({'T': np.eye(4), 'q_seed': [0.0]}, ValueError, 'q_seed has the shape'),
        ({'T': np.eye(4), 'q_seed': [np.inf] * 6}, ValueError, 'q_seed is not finite'),
        ({'T': np.eye(4), 'max_solutions': -1}, ValueError, 'negative'),
        ({'T': np.eye(4), 'max_solutions': 1.5}, TypeError, 'whole number'),
        ({'T': np.eye(4), 'max_solutions': True}, TypeError, 'whole number'),
        ({'T': np.eye(4), 'respect_limits': 'x'}, ValueError, 'respect_limits'),
        ({'T': np.eye(4), 'respect_limits': 2}, ValueError, 'respect_limits'),
    ],
)
def test_wrong_arguments_are_refused(module, words, error, message):
    with pytest.raises(error, match=message):
        module.solve(**words)


def test_forward_kinematics_refuses_what_is_no_posture(module):
    with pytest.raises(ValueError, match='q has the shape'):
        module.fk([0.0])


def test_arguments_are_left_as_they_are(module):
    pose, seed = module.fk([0.1] * 6), np.full(6, 7.0)
    before = pose.copy()
    module.solve(pose, q_seed=seed)
    assert (pose == before).all() and (seed == 7.0).all()


# --- Bytes ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_artifact_has_the_same_bytes_wherever_it_is_made(tmp_path):
    texts = []
    for number in ('1', '2'):
        folder = tmp_path / number
        folder.mkdir()
        words = ['build', '--robot', 'jaco2', '--out', 'arm_ik.py', '--validate-poses', '2']
        environment = {**os.environ, 'PYTHONHASHSEED': number}
        command = [sys.executable, '-m', 'ssik_ros.cli.command', *words]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        texts.append((folder / 'arm_ik.py').read_bytes())
    assert texts[0] == texts[1]
    assert str(tmp_path).encode() not in texts[0] and b'import numba' not in texts[0]


def test_only_what_the_class_needs_is_in_it():
    wrist = write_module(subject_of('puma560')[0], '')
    parallel = write_module(subject_of('ur5e')[0], '')
    assert 'spherical_wrist_solve' in wrist and 'three_parallel' not in wrist.partition('DOF')[2]
    assert 'three_parallel_solve' in parallel and 'spherical_wrist' not in parallel
    assert 'general_6r' not in wrist + parallel and 'np.linalg' not in wrist + parallel
