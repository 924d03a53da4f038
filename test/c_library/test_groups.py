"""Groups in the C library: several tips, only positions, every solver of the registry, requests with conditions."""

import ctypes
from pathlib import Path

from test.c_library.c_arm import CArm

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.arrays import are_inside, TURN
from ssik_ros.artifact.c import blocks, library, recorded
from ssik_ros.cli.command import main
from ssik_ros.errors import InvalidOption, ModelError, TopologyMismatch
from ssik_ros.kernels.native import portable
from ssik_ros.manipulator.named_robot import load_named
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.solvers.registry import create_solver

SOLVERS = ('Auto', 'Analytic', 'PoseIK', 'NewtonRaphson', 'GaussNewton', 'LevenbergMarquardt')
CONSISTENCY, VALIDATION = int(Cause.CONSISTENCY), int(Cause.VALIDATION)
SIDES = {'left': 0.2, 'right': -0.2}
AXES = ('0 0 1', '0 1 0', '0 1 0', '1 0 0', '0 1 0', '1 0 0')


def joint(name, kind, parent, child, origin, axis='0 0 1'):
    """Return a joint with its child link as URDF."""
    limits = '<limit lower="-2.5" upper="2.5" effort="1" velocity="2"/>' * (kind != 'fixed')
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}"/><axis xyz="{axis}"/>{limits}</joint><link name="{child}"/>'
    )


def two_arms():
    """Return a robot with two arms on a torso that turns, and with a head."""
    parts = [joint('torso', 'revolute', 'pelvis', 'chest', '0 0 0.3')]
    parts.append(joint('neck', 'revolute', 'chest', 'head', '0 0 0.3'))
    names = {}
    for side, y in SIDES.items():
        links = ['chest', *(f'{side}_{k}' for k in range(6))]
        names[side] = [f'{side}_joint_{k}' for k in range(6)]
        origins = [f'0 {y} 0.1', *['0.05 0.02 0.2'] * 5]
        rows = zip(names[side], links, links[1:], origins, AXES, strict=False)
        for name, parent, child, origin, axis in rows:
            parts.append(joint(name, 'revolute', parent, child, origin, axis))
        parts.append(joint(f'{side}_mount', 'fixed', links[-1], f'{side}_tool', '0 0 0.1'))
    urdf = f'<robot name="two arms"><link name="pelvis"/>{"".join(parts)}</robot>'
    groups = {
        'body': ['torso', *names['left'], *names['right']],
        'arms': names['left'] + names['right'],
    }
    groups |= names
    groups['gap'] = [names['left'][1], names['left'][3]]
    text = ''.join(
        f'<group name="{group}">{"".join(f"<joint name={chr(34)}{each}{chr(34)}/>" for each in each_of)}</group>'
        for group, each_of in groups.items()
    )
    return load_robot(urdf, f'<robot name="two arms">{text}</robot>')


def narrow_arm():
    """Return a UR5e whose fifth joint never reaches the singular posture of its wrist."""
    files = find_moveit_config('ur5e')
    limits = {'min_position': 1.0, 'max_position': 1.3}
    return load_robot(
        files.urdf_path, files.srdf_path, {'joint_limits': {'wrist_2_joint': limits}}
    )


def scara():
    """Return an arm with two revolute joints, a slide, and a joint that turns the tool."""
    kinds = 'revolute', 'revolute', 'prismatic', 'revolute'
    joints = (
        joint(f'joint_{k}', kind, f'l{k}', f'l{k + 1}', '0.3 0 0') for k, kind in enumerate(kinds)
    )
    urdf = f'<robot name="scara"><link name="l0"/>{"".join(joints)}</robot>'
    group = '<group name="arm"><chain base_link="l0" tip_link="l4"/></group>'
    return load_robot(urdf, f'<robot name="scara">{group}</robot>')


ROBOTS = {
    'narrow': lambda: (narrow_arm(), 'ur_manipulator'),
    'panda': lambda: (load_named('panda').robot, 'panda_arm'),
    'ur5e': lambda: (load_named('ur5e').robot, 'ur_manipulator'),
    'two_arms': lambda: (two_arms(), 'body'),
    'scara': lambda: (scara(), 'arm'),
}


class Group:
    """A group, its solver in the package, and the same in C."""

    def __init__(self, folder, robot, group, solver='Auto', *, position_only=False, **parameters):
        """Write the blocks of the group and load them."""
        self.robot, self.group = robot, robot.group(group)
        name = f'ssik_ros/{solver}'
        kinematics = GroupKinematics(
            group, solver=name, parameters=parameters, position_only=position_only
        )
        self.words = blocks.pack(
            blocks.find_arm(robot, self.group, kinematics=kinematics), portable.digest()
        )
        first = self.words.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.words.nbytes)
        self.c = CArm(folder, 'ssik', 300, first)
        self.package = create_solver(
            name, robot, self.group, parameters, position_only=position_only
        )
        self.tips = [
            ChainKinematics(robot, self.group, self.group.base_link, tip)
            for tip in self.group.tips
        ]

    def draw(self, rng):
        """Return a joint vector within limits."""
        lower, upper = self.group.lower, self.group.upper
        low = np.where(np.isfinite(lower), lower, -np.pi)
        return rng.uniform(low, np.where(np.isfinite(upper), upper, np.pi))

    def poses(self, q):
        """Return the poses (t, 4, 4) of the tips."""
        return np.stack([tip.pose(q) for tip in self.tips])

    def requests(self, count, seed=4):
        """Yield poses of the tips, a seed, and a joint vector that reaches the poses."""
        rng = np.random.default_rng(seed)
        for _ in range(count):
            q = self.draw(rng)
            yield self.poses(q), self.draw(rng), q

    def reaches(self, q, poses, tolerance=2e-6):
        """Return whether a joint vector reaches poses within limits."""
        is_inside = (self.group.lower - 1e-9 <= q).all() and (q <= self.group.upper + 1e-9).all()
        return is_inside and np.abs(self.poses(q) - poses).max() < tolerance


@pytest.fixture(scope='module')
def group_of(build_generic):
    """Return a function that makes a group once."""
    made = {}

    def make(robot, solver='Auto', **parameters):
        key = robot, solver, *parameters.items()
        if key not in made:
            made[key] = Group(build_generic, *ROBOTS[robot](), solver, **parameters)
        return made[key]

    return make


CASES = [
    *((robot, solver, {}) for robot in ('panda', 'ur5e') for solver in SOLVERS),
    *(('two_arms', solver, {}) for solver in SOLVERS if solver != 'Analytic'),
    ('ur5e', 'Auto', {'solve_mode': 'optimize_distance'}),
    ('ur5e', 'PoseIK', {'solve_mode': 'optimize_distance', 'optimization_timeout': 60.0}),
    ('panda', 'LevenbergMarquardt', {'method': 'sugihara', 'kq': 0.1, 'slimit': 20}),
    *(('panda', solver, {'position_only': True}) for solver in ('Auto', 'PoseIK')),
]


@pytest.mark.parametrize(('robot', 'solver', 'parameters'), CASES)
def test_every_solver_has_the_bytes_of_the_package(group_of, robot, solver, parameters):
    """Also for poses out of reach, whose causes are the same."""
    group = group_of(robot, solver, **parameters)
    count = 4 if 'optimization_timeout' in parameters else 25
    solved = 0
    for number, (poses, seed, _) in enumerate(group.requests(count)):
        if number % 8 == 7:
            poses[-1, :3, 3] *= 5.0
        expected = group.package.solve(SolveRequest(targets=poses, seed=seed))
        is_solved, q = group.c.solve(poses, seed)
        assert bool(is_solved) is expected.solved
        if is_solved:
            np.testing.assert_array_equal(q, expected.q)
        else:
            assert group.c.report.cause == int(expected.cause)
        solved += is_solved
    assert solved >= 0.8 * count


@pytest.mark.parametrize('solver', ['Auto', 'Analytic'])
def test_a_singular_pose_has_the_cause_of_the_package(group_of, solver):
    """Branches outside the limits prove nothing there, since others may be missing."""
    group, rng = group_of('narrow', solver), np.random.default_rng(2)
    causes = set()
    for number in range(24):
        q = rng.uniform(-3.0, 3.0, 6)
        q[4] = 0.0 if number % 2 else q[4]
        poses, seed = group.poses(q), group.draw(rng)
        expected = group.package.solve(SolveRequest(targets=poses, seed=seed))
        is_solved, _ = group.c.solve(poses, seed)
        assert bool(is_solved) is expected.solved
        assert group.c.report.cause == int(expected.cause)
        causes.add(expected.cause)
    assert causes >= {Cause.LIMITS, Cause.NOT_FOUND}


def test_names_and_tips(group_of):
    group = group_of('two_arms')
    names = ctypes.string_at(group.c.call_text('names')).decode().split('\n')
    joints = [*group.group.joint_names]
    assert names == [
        'two arms',
        'ssik_ros/Auto',
        group.group.base_link,
        *group.group.tips,
        *joints,
    ]
    assert group.c.call('tips') == 2
    # Steps are for one tip.
    q = np.zeros(group.c.n)
    assert group.c.call('track', None, None, None, None) < 0
    assert (
        group.c.call(
            'track', *(each.ctypes.data_as(ctypes.c_void_p) for each in (np.eye(4), q, q)), None
        )
        < 0
    )


@pytest.mark.parametrize('robot', ['panda', 'ur5e', 'two_arms'])
def test_solutions_stay_near_the_seed(group_of, robot):
    """Consistency limits: solutions keep them, a solution inside is found, and the cause names them."""
    group, met = group_of(robot), 0
    rng = np.random.default_rng(1)
    for poses, far, q in group.requests(20):
        seed = np.clip(q + rng.uniform(-0.2, 0.2, len(q)), group.group.lower, group.group.upper)
        width = np.full(len(q), 0.25)
        solutions = group.c.solve_several(poses, seed, consistency=width)
        met += len(solutions)
        for each in solutions:
            assert (np.abs(each - seed) <= width + 1e-9).all()
            assert group.reaches(each, poses)
        if not len(group.c.solve_several(poses, far, consistency=np.full(len(q), 1e-3))):
            assert group.c.report.cause in (
                CONSISTENCY,
                int(Cause.UNREACHABLE),
                int(Cause.NOT_FOUND),
            )
    assert met >= 19
    # The next request has the limits of the group again.
    poses, seed, _ = next(iter(group.requests(1)))
    expected = group.package.solve(SolveRequest(targets=poses, seed=seed))
    np.testing.assert_array_equal(group.c.solve(poses, seed)[1], expected.q)


def test_the_ends_of_a_slide_are_the_cause_whatever_the_consistency(group_of):
    """A pose above the slide of a SCARA is proved to be beyond its limits, which no wider consistency mends."""
    group = group_of('scara', 'PoseIK')
    for poses, seed, _ in group.requests(4):
        poses[0, 2, 3] += 6.0
        width = np.full(group.c.n, 1e-2)
        request = SolveRequest(targets=poses, seed=seed, consistency_limits=width)
        assert not len(group.c.solve_several(poses, seed, consistency=width))
        assert group.package.solve(request).cause is Cause.LIMITS
        assert group.c.report.cause == int(Cause.LIMITS)


@pytest.mark.parametrize('robot', ['panda', 'two_arms'])
@pytest.mark.parametrize('solver', ['Auto', 'PoseIK'])
def test_held_joints_stay(group_of, robot, solver):
    """A joint of a redundant group is held at the seed's value, each joint in turn."""
    group = group_of(robot, solver)
    n, met = group.c.n, 0
    for number, (poses, seed, q) in enumerate(group.requests(2 * n)):
        seed[number % n] = q[number % n]
        width = np.full(n, np.inf)
        width[number % n] = 0.0
        solutions = group.c.solve_several(poses, seed, consistency=width)
        met += len(solutions)
        for each in solutions:
            assert each[number % n] == pytest.approx(seed[number % n], abs=1e-9)
            assert group.reaches(each, poses)
    # The package goes on after the starts of the blocks.
    assert met >= 1.8 * n


@pytest.mark.parametrize(
    ('robot', 'solver'),
    [('panda', 'Auto'), ('ur5e', 'Auto'), ('ur5e', 'PoseIK'), ('two_arms', 'Auto')],
)
def test_several_solutions_are_different(group_of, robot, solver):
    group = group_of(robot, solver)
    for poses, seed, _ in group.requests(4):
        solutions = group.c.solve_several(poses, seed, capacity=8)
        assert len(solutions) >= (2 if robot == 'ur5e' else 8)
        assert len(np.unique(solutions.round(6), axis=0)) == len(solutions)
        assert all(group.reaches(each, poses) for each in solutions)
        if solver == 'PoseIK' or robot == 'two_arms':
            request = SolveRequest(targets=poses, seed=seed, max_solutions=8)
            np.testing.assert_array_equal(solutions, group.package.solve(request).solutions)
            distances = [((each - seed) ** 2).sum() for each in solutions]
            assert distances == sorted(distances)
        refused = [tuple(each) for each in solutions[:2]]
        others = group.c.solve_several(
            poses, seed, accept=lambda q, bad=refused: tuple(q) not in bad
        )
        assert not len(others) or tuple(others[0]) not in refused


@pytest.mark.parametrize('robot', ['panda', 'ur5e', 'two_arms'])
def test_the_nearest_posture_of_a_pose_out_of_reach(group_of, robot):
    """It is as near as the package's, and the cause is the one of the proof."""
    group = group_of(robot)
    for poses, seed, _ in group.requests(6):
        poses[0, :3, 3] *= 1.5 * 2.0 / np.linalg.norm(poses[0, :3, 3])
        assert not len(group.c.solve_several(poses, seed, wants_nearest=True))
        expected = group.package.solve(SolveRequest(targets=poses, seed=seed, wants_nearest=True))
        assert group.c.report.cause == int(expected.cause)
        reached = np.linalg.norm((group.poses(group.c.nearest) - poses)[:, :3, 3])
        ideal = np.linalg.norm((group.poses(expected.nearest) - poses)[:, :3, 3])
        assert reached <= ideal + 0.05
        report = group.c.report
        assert report.position_error == pytest.approx(
            np.linalg.norm((group.poses(group.c.nearest) - poses)[:, :3, 3], axis=1).max(),
            abs=1e-9,
        )


@pytest.mark.parametrize('limits', [(4.0, np.inf), (-np.inf, -4.0), (-np.inf, np.inf), (4.0, 5.0)])
def test_random_joints_are_within_limits_of_which_one_may_be_missing(limits):
    axes, offsets = np.eye(3)[[2, 1, 1, 1, 2, 1]], np.full((7, 3), 0.1)
    made = Manipulator.from_axes(axes, offsets, [limits, *[None] * 5])
    arm = blocks.find_arm(made.robot, made.group)
    rows = np.array([recorded.random_joints(arm, np.random.default_rng(k)) for k in range(100)])
    assert are_inside(rows, arm.group.lower, arm.group.upper).all()
    assert np.ptp(rows, axis=0).max() <= TURN


def test_a_folder_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    path = tmp_path / 'made'
    path.mkdir()
    (path / 'kept').write_text('kept', encoding='utf-8')
    rename = Path.rename

    def refuse(self, target):
        if self.name == 'new':
            raise OSError(28, 'No space left on device')
        return rename(self, target)

    monkeypatch.setattr(Path, 'rename', refuse)
    with (
        pytest.raises(InvalidOption, match=r'made.* No space left on device'),
        library.new_folder(path, True) as folder,
    ):
        folder.mkdir()
    assert [entry.name for entry in tmp_path.iterdir()] == ['made']
    assert (path / 'kept').read_text(encoding='utf-8') == 'kept'


def test_a_group_that_c_cannot_hold_says_why():
    robot = two_arms()
    with pytest.raises(TopologyMismatch, match='left_joint_2'):
        blocks.find_arm(robot, robot.group('gap'))
    with pytest.raises(TopologyMismatch, match=r'2 tips.*blocks'):
        recorded.record(blocks.find_arm(robot, robot.group('body')))
    with pytest.raises(TopologyMismatch, match='ClosedChain has no form in C'):
        kinematics = GroupKinematics('body', solver='ssik_ros/ClosedChain')
        blocks.find_arm(robot, robot.group('body'), kinematics=kinematics)


def test_links_that_are_rigid_with_the_tips_may_be_named(group_of):
    robot = two_arms()
    body = robot.group('body')
    placed = blocks.place_tips(robot, body, ('/left_tool', 'right_5'))
    assert placed.tips == ('left_tool', 'right_5')
    assert blocks.place_tips(robot, body, ()) is body
    # MoveIt names the last link of a group that branches.
    assert blocks.place_tips(robot, body, ('head',)) is body
    with pytest.raises(ModelError, match='left_4'):
        blocks.place_tips(robot, robot.group('left'), ('left_4',))


KINEMATICS = 'panda_arm:\n  kinematics_solver: ssik_ros/PoseIK\n  epsilon: 1.0e-5\n'


def test_the_command_reads_a_kinematics_file(tmp_path, capsys):
    """A host knows a group by its URDF, SRDF and parameters, and by nothing else."""
    kinematics, out = tmp_path / 'kinematics.yaml', tmp_path / 'panda.blocks'
    kinematics.write_text(KINEMATICS)
    words = [
        'build',
        '--robot',
        'panda',
        '--group',
        'panda_arm',
        '--blocks',
        '-o',
        str(out),
        '--force',
    ]
    words += ['--kinematics', str(kinematics), '--tips', 'panda_hand']
    assert main(words) == 0
    names = (
        bytes(Path(out).read_bytes()).split(b'ssik_ros/PoseIK')[1].split(b'\0')[0].decode().split()
    )
    assert names[:2] == ['panda_link0', 'panda_hand']
    kinematics.write_text(KINEMATICS.replace('epsilon', 'epsilom'))
    assert main(words) == 2
    assert "Did you mean 'epsilon'?" in capsys.readouterr().err
    assert main(['build', '--robot', 'panda', '--tips', 'panda_hand']) == 2
    assert '--blocks' in capsys.readouterr().err
