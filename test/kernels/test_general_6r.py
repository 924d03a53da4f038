"""The elimination for general chains of six, against multi-start Newton and against its own algebra."""

import json
import os
from pathlib import Path
import subprocess
import sys

from test import complete_oracle
from test.complete_oracle import wrap
from test.kernels.chains_6r import (
    all_chains,
    ARMS,
    chain_of,
    IIWA,
    lock,
    pose_of,
    random_chain,
    rounded_differently,
    SIXTEEN_POINT,
    SIXTEEN_ROTATION,
    target,
)

import numpy as np
import pytest

from ssik_ros.kernels.closed_form.elimination import general_6r, line_representation as lines
from ssik_ros.kernels.geometry import se3
from ssik_ros.model.catalogue import arm_data, list_arms, load_arm
from ssik_ros.model.serial_chain import SerialChain

ROOT = Path(__file__).resolve().parents[2]
CHAINS = all_chains()
CATALOGUE = tuple(name for name in list_arms() if arm_data(name).expected_class == 'general_6r')
SHIPPED = {'panda': ('panda_link0', 'panda_link8'), 'gen3': ('base_link', 'bracelet_link')}
SAME = 1e-5
"""Solutions nearer than this in every joint are one [rad]."""
SINGULAR = 1e-3
"""Smallest singular value of the Jacobian below which a posture counts as singular here."""


def catalogue_chain(name):
    """Return the chain of an arm of the catalogue."""
    data = arm_data(name)
    return SerialChain.from_robot(load_arm(name), data.base_link, data.tip_link)


class Solver:
    """One chain, prepared."""

    def __init__(self, chain, start=None):
        self.chain = chain
        self.start = start
        if start is None:
            self.start, _ = general_6r.choose_start(chain.axes, chain.points)
        self.constants = general_6r.prepare(chain.axes, chain.points, self.start)
        self.work, self.ints = general_6r.workspace()

    def candidates(self, g):
        """Return the raw candidates (m, 6) for a target."""
        out = np.full((general_6r.CANDIDATE_ROWS, 6), np.nan)
        count = general_6r.solve(out, self.constants, g, self.work, self.ints, False)
        return out[:count]

    def solutions(self, g):
        """Return the candidates that Newton certifies."""
        return certify(self.chain, self.candidates(g), g)


def certify(chain, candidates, g):
    """Return the different solutions that Newton finds from candidates (m, 6)."""
    return complete_oracle.refined(chain, wrap(candidates), pose_of(g))


def find_all(chain, g, starts=complete_oracle.STARTS, seed=0):
    """Return all solutions (m, 6) of twelve numbers."""
    return complete_oracle.find_all(chain, pose_of(g), np.random.default_rng(seed), starts)


def difference(solutions, expected):
    """Return the solutions that one set lacks and that it has too many."""
    return (
        complete_oracle.without(expected, solutions, SAME),
        complete_oracle.without(solutions, expected, SAME),
    )


def oracle(chain, g, solutions):
    """Return all solutions; when the solver under test has more, from ten times as many starts."""
    expected = find_all(chain, g)
    if len(difference(solutions, expected)[1]):
        more = find_all(chain, g, 10 * complete_oracle.STARTS, seed=1)
        expected = complete_oracle.distinct(np.vstack([expected, more]))
    return expected


def check_sets(chain, poses, seed):
    """Assert that solver and oracle agree on random targets; return raw errors and how many solutions there were."""
    solver, generator = Solver(chain), np.random.default_rng(seed)
    errors = []
    for _ in range(poses):
        g = target(chain, generator.uniform(-np.pi, np.pi, 6))
        raw = solver.candidates(g)
        solutions = certify(chain, raw, g)
        expected = oracle(chain, g, solutions)
        missing, extra = difference(solutions, expected)
        assert len(missing) == 0, f'{len(missing)} of {len(expected)} missing'
        assert len(extra) == 0, f'{len(extra)} more than {len(expected)}'
        assert len(solutions) == len(expected) > 0
        errors += [np.abs(wrap(raw - q)).max(axis=1).min() for q in expected]
    return np.array(errors)


@pytest.fixture(scope='module')
def seven(robots):
    """Return chains of seven by name."""
    chains = {'iiwa': IIWA}
    for name, (base, tip) in SHIPPED.items():
        chain = SerialChain.from_robot(robots[name], base, tip)
        chains[name] = chain_of(chain.axes, chain.points)
    return chains


@pytest.mark.sampled
@pytest.mark.parametrize('name', CHAINS)
def test_finds_every_solution_and_no_other(name):
    errors = check_sets(CHAINS[name], poses=3, seed=11)
    assert np.median(errors) < 1e-10


@pytest.mark.sampled
@pytest.mark.parametrize('joint', range(7))
@pytest.mark.parametrize('name', SHIPPED)
def test_finds_every_solution_of_an_arm_of_seven_with_one_joint_held(name, joint, seven):
    check_sets(lock(seven[name], joint, 0.4 + 0.1 * joint), poses=2, seed=joint)


@pytest.mark.slow
@pytest.mark.parametrize('name', CHAINS)
def test_finds_every_solution_of_many_targets(name):
    errors = check_sets(CHAINS[name], poses=12, seed=12)
    assert np.quantile(errors, 0.9) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize('joint', range(7))
@pytest.mark.parametrize('name', SHIPPED)
def test_finds_every_solution_of_arms_of_seven_at_many_values(name, joint, seven):
    generator = np.random.default_rng(13)
    for value in generator.uniform(-np.pi, np.pi, 8):
        check_sets(lock(seven[name], joint, value), poses=4, seed=joint)


def test_finds_the_sixteen_postures_of_manseur_and_doty():
    chain = ARMS['manseur_doty']
    home = np.eye(4)
    for alpha, a, d in zip(
        np.radians([90, 1, 90, 1, 90, 1]),
        [0.3, 1, 0, 1.5, 0, 0],
        [0, 0, 0.2, 0, 0, 0],
        strict=True,
    ):
        c, s = np.cos(alpha), np.sin(alpha)
        home = home @ np.array([[1, 0, 0, a], [0, c, -s, 0], [0, s, c, d], [0, 0, 0, 1]])
    left, _, right = np.linalg.svd(SIXTEEN_ROTATION.reshape(3, 3))
    target = np.eye(4)
    target[:3, :3], target[:3, 3] = left @ right, SIXTEEN_POINT
    motion = target @ np.linalg.inv(home)
    g = np.concatenate([motion[:3, :3].ravel(), motion[:3, 3]])
    solutions = Solver(chain).solutions(g)
    assert len(solutions) == 16
    assert [len(d) for d in difference(solutions, oracle(chain, g, solutions))] == [0, 0]


def special_postures(count, seed):
    """Return postures with every joint at 0, +-90 or 180 degrees, or within 1e-3 of these."""
    generator = np.random.default_rng(seed)
    exact = generator.choice([0.0, np.pi / 2, -np.pi / 2, np.pi], (count, 6))
    return exact + generator.choice([0.0, 1e-3, 1e-6], (count, 6)) * generator.random((count, 6))


def distances_from_singular(chain, postures):
    """Return the smallest singular values (m,) of the Jacobian at postures (m, 6)."""
    columns = chain.linearise(postures, np.eye(4))[1]
    return np.linalg.svd(columns, compute_uv=False)[:, -1]


def check_special(chain, poses, seed):
    """Assert that no regular solution of special targets is missing, and that regular targets have a solution."""
    solver = Solver(chain)
    for q in special_postures(poses, seed):
        g = target(chain, q)
        solutions, expected = solver.solutions(g), find_all(chain, g, starts=300)
        if len(expected):
            regular = expected[distances_from_singular(chain, expected) > SINGULAR]
            assert len(difference(solutions, regular)[0]) == 0
        if distances_from_singular(chain, q[None])[0] > SINGULAR:
            assert len(solutions) > 0


@pytest.mark.sampled
@pytest.mark.parametrize('name', ['jaco2', 'xarm6', 'xarm6_calibrated', 'random_0', 'ur5e'])
def test_loses_no_regular_solution_at_special_poses(name):
    check_special(CHAINS[name], poses=10, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize('name', ['jaco2', 'xarm6', *[n for n in CHAINS if n.endswith('ated')]])
def test_loses_no_regular_solution_at_many_special_poses(name):
    check_special(CHAINS[name], poses=60, seed=3)


@pytest.mark.parametrize('joint', range(6))
@pytest.mark.parametrize('value', [np.pi, np.pi - 1e-9, 0.0])
def test_finds_postures_with_a_joint_at_a_half_turn(joint, value):
    chain = ARMS['jaco2']
    q = np.array([0.3, 2.1, -1.2, 0.8, 1.7, -2.2])
    q[joint] = value
    g = target(chain, q)
    solutions = Solver(chain).solutions(g)
    assert np.abs(wrap(solutions - q)).max(axis=1).min() < 1e-7


@pytest.mark.parametrize('cut', range(general_6r.CUTS))
def test_every_cut_serves_a_chain_without_structure(cut):
    chain = random_chain(20)
    g = target(chain, np.array([0.1, -2.0, 1.1, 0.7, 2.5, -1.4]))
    solutions = Solver(chain, cut).solutions(g)
    assert [len(d) for d in difference(solutions, oracle(chain, g, solutions))] == [0, 0]


@pytest.mark.parametrize('name', ['jaco2', 'xarm6', 'random_3'])
def test_has_no_candidates_out_of_reach(name):
    chain, generator = CHAINS[name], np.random.default_rng(4)
    solver = Solver(chain)
    for _ in range(20):
        g = target(chain, generator.uniform(-np.pi, np.pi, 6))
        g[9:] += 20.0 * chain.unit * np.array([0.6, -0.64, 0.48])
        assert len(solver.candidates(g)) == 0


@pytest.mark.slow
def test_candidates_within_the_reach_sphere_but_out_of_reach_are_none_or_refused():
    chain, generator = ARMS['jaco2'], np.random.default_rng(5)
    solver, empty = Solver(chain), 0
    for _ in range(60):
        g = target(chain, generator.uniform(-np.pi, np.pi, 6))
        g[:9] = target(chain, generator.uniform(-np.pi, np.pi, 6))[:9]
        g[9:] *= 1.2
        raw = solver.candidates(g)
        solutions = certify(chain, raw, g)
        assert len(difference(solutions, oracle(chain, g, solutions))[0]) == 0
        empty += len(raw) == 0
    assert empty >= 5


def test_the_place_of_points_on_their_axes_and_the_sense_of_axes_do_not_matter():
    chain, generator = ARMS['xarm6'], np.random.default_rng(6)
    signs = np.array([1, -1, -1, 1, -1, 1])
    shifts = generator.uniform(-1.0, 1.0, (6, 1))
    other = chain_of(chain.axes * signs[:, None], chain.points + shifts * chain.axes)
    g = target(chain, generator.uniform(-np.pi, np.pi, 6))
    expected, solutions = Solver(chain).solutions(g), Solver(other).solutions(g)
    assert [len(d) for d in difference(solutions * signs, expected)] == [0, 0]


def test_an_arm_whose_elbow_is_held_between_spherical_joints_has_no_cut():
    chain = lock(IIWA, 3, 0.9)
    assert general_6r.choose_start(chain.axes, chain.points) == (-1, False)


@pytest.mark.parametrize('name', [*CHAINS, *(f'shipped/{name}' for name in CATALOGUE)])
def test_the_last_bits_of_a_chain_do_not_change_where_the_loop_is_cut(name):
    chain = CHAINS[name] if name in CHAINS else catalogue_chain(name.removeprefix('shipped/'))
    generator = np.random.default_rng(9)
    choice = general_6r.choose_start(chain.axes, chain.points)
    for _ in range(6):
        other = rounded_differently(chain, generator)
        assert general_6r.choose_start(other.axes, other.points) == choice


def test_the_same_pose_has_the_same_bytes_whatever_the_workspace_holds():
    chain = ARMS['jaco2']
    solver = Solver(chain)
    g = target(chain, np.array([0.3, 2.1, -1.2, 0.8, 1.7, -2.2]))
    first = solver.candidates(g).tobytes()
    solver.work[:] = np.nan
    assert solver.candidates(g).tobytes() == first


def test_a_target_that_is_not_finite_has_no_candidates():
    solver = Solver(ARMS['xarm6'])
    assert len(solver.candidates(np.full(12, np.nan))) == 0


def test_the_line_representation_is_a_homomorphism():
    generator = np.random.default_rng(7)
    first, second, product = (np.empty(12) for _ in range(3))
    chain = random_chain(21)
    first[:], second[:] = (target(chain, generator.uniform(-3, 3, 6)) for _ in range(2))
    se3.compose(product, first, second)
    unit = np.eye(lines.LINE)
    once, twice, inner = (np.empty((lines.LINE, lines.LINE)) for _ in range(3))
    lines.transform_lines(inner, second, unit, lines.LINE)
    lines.transform_lines(twice, first, inner, lines.LINE)
    lines.transform_lines(once, product, unit, lines.LINE)
    assert np.abs(twice - once).max() < 1e-14 * np.abs(once).max()


def test_a_turn_expands_into_sine_cosine_and_one():
    generator = np.random.default_rng(8)
    table, angle = generator.normal(size=(lines.LINE, 2)), 0.7
    pose = target(chain_of([[0.0, 0.0, 1.0]], np.zeros((1, 3))), np.array([angle]))
    expected, parts = np.empty((lines.LINE, 2)), np.empty((lines.LINE, 6))
    lines.transform_lines(expected, pose, table, 2)
    lines.expand_turn(parts, table, 2)
    summed = np.sin(angle) * parts[:, :2] + np.cos(angle) * parts[:, 2:4] + parts[:, 4:]
    assert np.abs(summed - expected).max() < 1e-14


CODE = """
import json
import numpy as np
from test.kernels.chains_6r import ARMS, lock, IIWA, target
from ssik_ros.kernels.closed_form.elimination import general_6r
sets = []
for chain, start in ((ARMS['jaco2'], 97), (lock(IIWA, 2, 0.5), 3)):
    constants = general_6r.prepare(chain.axes, chain.points, start)
    out = np.zeros((16, 6))
    g = target(chain, np.array([0.3, 2.1, -1.2, 0.8, 1.7, -2.2]))
    count = general_6r.solve(out, constants, g, *general_6r.workspace(), False)
    sets.append(out[:count].tolist())
print(json.dumps(sets))
"""


def run_python(disabled):
    """Return the output of the code, compiled or interpreted."""
    done = subprocess.run(
        [sys.executable, '-c', CODE],
        cwd=ROOT,
        env={**os.environ, 'NUMBA_DISABLE_JIT': disabled},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [np.array(part) for part in json.loads(done.stdout)]


def test_interpreted_and_compiled_kernels_agree():
    for compiled, interpreted in zip(run_python('0'), run_python('1'), strict=True):
        assert compiled.shape == interpreted.shape
        assert [len(d) for d in difference(compiled, interpreted)] == [0, 0]
