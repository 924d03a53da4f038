"""Chains of ssik_control against pinocchio, and its solvers against the package."""

import itertools
import os
import sys

from test.control_plugin.chain_programs import ARMS, ChainProgram, COMMAND, urdf_of

import numpy as np
import pinocchio as pin
import pytest

from ssik_ros import load_robot
from ssik_ros.cli.command import main


def random_tree(rng, path, joints=9):
    """Write the URDF of a random tree with joints of all kinds that a chain may have."""
    text = ['<robot name="tree"><link name="l0"/>']
    for k in range(1, joints + 1):
        kind = rng.choice(['revolute', 'continuous', 'prismatic', 'fixed'])
        origin, turn, axis = (
            rng.uniform(-0.4, 0.4, 3),
            rng.uniform(-3, 3, 3),
            rng.standard_normal(3),
        )
        words = [
            '"' + ' '.join(map(repr, map(float, each))) + '"' for each in (origin, turn, axis)
        ]
        limits = '<limit lower="-2.5" upper="2.5" velocity="1" effort="1"/>'
        text.append(
            f'<link name="l{k}"/><joint name="j{k}" type="{kind}"><parent link="l{rng.integers(0, k)}"/>'
            f'<child link="l{k}"/><origin xyz={words[0]} rpy={words[1]}/><axis xyz={words[2]}/>'
            f'{"" if kind == "fixed" else limits}</joint>'
        )
    path.write_text('\n'.join([*text, '</robot>']))


class Oracle:
    """Poses and Jacobians of links by pinocchio."""

    def __init__(self, urdf):
        """Read a URDF."""
        self.model = pin.buildModelFromUrdf(str(urdf))
        self.data = self.model.createData()

    def state(self, names, values):
        """Return a whole state with these values; continuous joints are given by cosine and sine."""
        state = pin.neutral(self.model)
        for name, value in zip(names, values, strict=True):
            joint = self.model.joints[self.model.getJointId(name)]
            state[joint.idx_q : joint.idx_q + joint.nq] = (
                [np.cos(value), np.sin(value)] if joint.nq == 2 else [value]
            )
        return state

    def pose(self, state, base, tip):
        """Return the pose of a link in another one."""
        pin.framesForwardKinematics(self.model, self.data, state)
        placed = [self.data.oMf[self.model.getFrameId(link)] for link in (base, tip)]
        return placed[0].actInv(placed[1]).homogeneous


@pytest.mark.sampled
@pytest.mark.parametrize('seed', range(10))
def test_poses_and_jacobians_are_those_of_pinocchio(program, tmp_path, seed):
    """Any two links of a tree are base and tip, also upwards; any link between them has a pose and a Jacobian."""
    rng, urdf = np.random.default_rng(seed), tmp_path / 'tree.urdf'
    random_tree(rng, urdf)
    oracle = Oracle(urdf)
    links = [frame.name for frame in oracle.model.frames if frame.type == pin.FrameType.BODY]
    for _ in range(20):
        base, tip = rng.choice(links, 2, replace=False)
        with ChainProgram(program, urdf, base, tip) as chain:
            assert (chain.links[0], chain.links[-1]) == (base, tip)
            names = joints_between(oracle.model, chain.links)
            for link in (tip, rng.choice(chain.links)):
                q = rng.uniform(-2.0, 2.0, len(names))
                pose, jacobian = chain.link(link, q)
                expected = oracle.pose(oracle.state(names, q), base, link)
                np.testing.assert_allclose(pose, expected, atol=1e-12)
                for column, step in zip(jacobian.T, np.eye(len(names)), strict=True):
                    ends = [
                        oracle.pose(oracle.state(names, q + s * step), base, link)
                        for s in (-1e-6, 1e-6)
                    ]
                    np.testing.assert_allclose(
                        column[:3], (ends[1] - ends[0])[:3, 3] / 2e-6, atol=1e-8
                    )
                    turn = pin.log3(ends[1][:3, :3] @ ends[0][:3, :3].T) / 2e-6
                    np.testing.assert_allclose(column[3:], turn, atol=1e-8)


ODD_JOINTS = {
    'exchanged': 'revolute"><limit lower="2" upper="-1" velocity="1" effort="1"/>',
    'huge': 'revolute"><limit lower="-1e9" upper="1e12" velocity="1e9" effort="1"/>',
    'infinite': 'prismatic"><limit lower="-inf" upper="Infinity" velocity="inf" effort="1"/>',
    'signs and blanks': 'revolute"><limit lower=" -1.5 " upper="+2.5" velocity="+3" effort="1"/>',
    'one limit': 'revolute"><limit upper="2.5" velocity="1" effort="1"/>',
    'negative velocity': 'revolute"><limit lower="-1" upper="1" velocity="-2" effort="1"/>',
    'velocity zero': 'revolute"><limit lower="-1" upper="1" velocity="0" effort="1"/>',
    'no velocity': 'revolute"><limit lower="-1" upper="1" effort="1"/>',
    'continuous': 'continuous"><limit lower="-1" upper="1" velocity="2" effort="1"/>',
    'slide without limits': 'prismatic">',
    'no axis': 'revolute"><axis xyz="0 0 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/>',
    'long axis': 'revolute"><axis xyz="0 0 7"/><limit lower="-1" upper="1" velocity="1" effort="1"/>',
}


@pytest.mark.parametrize('joint', ODD_JOINTS)
def test_joints_of_odd_files_have_the_limits_that_the_package_reads(program, tmp_path, joint):
    """Otherwise the plugin refuses the solver that the package made of the same file."""
    ends = '<parent link="l{}"/><child link="l{}"/>'.format
    usual = '<limit lower="-2" upper="1" velocity="4" effort="1"/>'
    urdf = tmp_path / 'odd.urdf'
    urdf.write_text(
        '<robot name="odd"><link name="l0"/><link name="l1"/><link name="l2"/>'
        f'<joint name="odd" type="{ODD_JOINTS[joint]}{ends(0, 1)}</joint>'
        f'<joint name="usual" type="revolute">{usual}{ends(1, 2)}</joint></robot>'
    )
    robot = load_robot(urdf)
    group = robot.group_from_links('l0', 'l2')
    expected = np.array([group.lower, group.upper, robot.tree.velocity[group.idx_q]])
    with ChainProgram(program, urdf, 'l0', 'l2') as chain:
        assert not chain.error
        np.testing.assert_array_equal(chain.limits(), expected)


def test_a_limit_that_is_not_a_number_is_refused(program, tmp_path):
    urdf = tmp_path / 'odd.urdf'
    for text in ('nan', '1 m', '1,5', 'far'):
        urdf.write_text(
            '<robot name="odd"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
            f'<limit lower="-1" upper="{text}"/><parent link="a"/><child link="b"/></joint></robot>'
        )
        with ChainProgram(program, urdf, 'a', 'b') as chain:
            assert chain.error == f'upper="{text}" is not a number'


def joints_between(model, links):
    """Return the names of the moving joints between neighbouring links."""
    names = []
    for a, b in itertools.pairwise(links):
        # Link l3 is the child of joint j3.
        joints = [f'j{link[1:]}' for link in (a, b)]
        parents = {f'j{link[1:]}': parent_link(model, f'l{link[1:]}') for link in (a, b)}
        name = joints[1] if parents[joints[1]] == a else joints[0]
        if model.existJointName(name):
            names.append(name)
    return names


def parent_link(model, link):
    """Return the parent link of a link; empty for the root."""
    frame = model.frames[model.getFrameId(link)]
    above = model.frames[frame.parentFrame]
    return model.frames[above.parentFrame].name if above.name.startswith('j') else ''


def random_postures(arm, rng, count):
    """Yield joint vectors well within the limits."""
    lower = np.where(np.isfinite(arm.group.lower), arm.group.lower, -3.0)
    upper = np.where(np.isfinite(arm.group.upper), arm.group.upper, 3.0)
    for _ in range(count):
        yield rng.uniform(lower + 0.1 * (upper - lower), upper - 0.1 * (upper - lower))


def test_the_nearest_solution_is_exact_and_not_farther_than_the_posture(solved):
    arm, chain, _ = solved
    rng = np.random.default_rng(3)
    for q in random_postures(arm, rng, 30):
        pose, seed = arm.fk(q), q + rng.uniform(-0.1, 0.1, len(q))
        solution = chain.nearest(pose, seed)
        assert solution.size == len(q)
        np.testing.assert_allclose(arm.fk(solution), pose, atol=2e-6)
        assert (arm.group.lower <= solution).all() and (solution <= arm.group.upper).all()
        if len(q) <= 6:
            assert np.linalg.norm(solution - seed) <= np.linalg.norm(q - seed) + 1e-6
    far = np.eye(4)
    far[0, 3] = 50.0
    assert (
        not chain.nearest(far, q).size
        and not chain.all(far)
        and not chain.within(far, np.tile([-9, 9], (len(q), 1))).size
    )


def test_all_solutions_are_exact_and_different(solved):
    arm, chain, _ = solved
    for q in random_postures(arm, np.random.default_rng(4), 10):
        pose = arm.fk(q)
        solutions = chain.all(pose)
        assert solutions
        for row in solutions:
            np.testing.assert_allclose(arm.fk(row), pose, atol=2e-6)
            assert (arm.group.lower <= row).all() and (row <= arm.group.upper).all()
        if len(q) == 6:
            expected = arm.solve(pose, max_solutions=64)
            assert len(solutions) == len(expected)


def test_a_range_chooses_a_solution_or_none(solved):
    """Ranges around a posture give it back; a range far from all solutions gives none; NaN leaves a joint free."""
    arm, chain, _ = solved
    for q in random_postures(arm, np.random.default_rng(5), 10):
        pose, n = arm.fk(q), len(q)
        if n <= 6:
            ranges = np.column_stack([q - 0.01, q + 0.01])
            np.testing.assert_allclose(chain.within(pose, ranges), q, atol=1e-5)
            ranges[0] = np.nan
            assert chain.within(pose, ranges).size == n
        assert chain.within(pose, np.full((n, 2), np.nan)).size == n
        impossible = np.full((n, 2), np.nan)
        impossible[-1] = 50.0, 50.1
        assert not chain.within(pose, impossible).size


def test_wrong_requests_are_one_line_with_evidence(program, tmp_path):
    urdf, (base, tip) = urdf_of('ur5e'), ARMS['ur5e']
    blocks = tmp_path / 'other.blocks'
    other = ['build', str(urdf_of('fanuc')), '--base', 'base_link', '--ee', 'tool0', '--blocks']
    assert main([*other, '-o', str(blocks)]) == 0
    broken = tmp_path / 'broken.blocks'
    broken.write_bytes(blocks.read_bytes()[:-8])
    ring = tmp_path / 'ring.urdf'
    joint = '<joint name="{0}{1}" type="fixed"><parent link="{0}"/><child link="{1}"/></joint>'
    ring.write_text(
        f'<robot name="r"><link name="a"/><link name="b"/>{joint.format("a", "b")}{joint.format("b", "a")}</robot>'
    )
    text = tmp_path / 'text.urdf'
    text.write_text('no robot')
    for arguments, said in (
        ((text, '', 'a'), 'no URDF'),
        ((urdf, 'nowhere', tip), "no link 'nowhere'"),
        ((ring, 'a', 'b'), 'ring'),
        ((urdf, base, tip, [blocks]), 'another chain'),
        ((urdf, base, tip, [broken]), 'no blocks for this version'),
        ((urdf, base, tip, [tmp_path / 'none.blocks']), 'no blocks for this version'),
        ((urdf, base, tip, ['no-such-command']), 'does not start'),
    ):
        environment = {**os.environ, 'XDG_CACHE_HOME': str(tmp_path / 'cache')}
        with ChainProgram(program, *arguments, environment=environment) as chain:
            assert said in chain.error, (arguments, chain.error)
        assert chain.process.returncode == 1


def test_a_command_that_hangs_is_ended(program, tmp_path):
    sleeper = tmp_path / 'sleeper'
    sleeper.write_text('#!/bin/sh\nexec sleep 600\n')
    sleeper.chmod(0o755)
    environment = {**os.environ, 'XDG_CACHE_HOME': str(tmp_path / 'cache')}
    with ChainProgram(
        program, urdf_of('ur5e'), *ARMS['ur5e'], [sleeper, 0.2], environment
    ) as chain:
        assert 'has made no solver' in chain.error


def test_the_second_start_takes_the_solver_from_the_cache(program, tmp_path):
    """The command runs once for each robot; a damaged file of the cache is written anew."""
    urdf, command, calls = tmp_path / 'arm.urdf', tmp_path / 'command', tmp_path / 'calls'
    urdf.write_text(urdf_of('ur5e').read_text())
    text = COMMAND.format(python=sys.executable)
    command.write_text(text.replace('exec', f'echo >> {calls}\nexec', 1))
    command.chmod(0o755)
    cache = tmp_path / 'cache'
    environment = {**os.environ, 'XDG_CACHE_HOME': str(cache)}

    def count_calls():
        with ChainProgram(program, urdf, *ARMS['ur5e'], [command], environment) as chain:
            assert not chain.error, chain.error
        return len(calls.read_text())

    assert count_calls() == 1
    assert count_calls() == 1
    (kept,) = cache.rglob('*.blocks')
    kept.write_bytes(kept.read_bytes()[:-16])
    assert count_calls() == 2
    urdf.write_text(urdf.read_text().replace('<robot ', '<robot  ', 1))
    assert count_calls() == 3
