"""The façade for Python users, and the front page of the package."""

from pathlib import Path
import subprocess
import sys

import numpy as np
import pinocchio as pin
import pytest

import ssik_ros
from ssik_ros import Diagnostic, errors, Manipulator, Solution
from ssik_ros.errors import DimensionMismatch, InvalidOption, InvalidParameter, InvalidTarget
from ssik_ros.model.loader import load_robot
from ssik_ros.results import Cause

ROBOTS = Path(__file__).resolve().parents[1] / 'config' / 'robots'
FILES = {
    name: ROBOTS / f'{name}_moveit_config' / 'config' / f'{name}.urdf'
    for name in ('panda', 'fanuc', 'gen3', 'ur5e')
}
ENDS = {
    'panda': ('panda_link0', 'panda_link8'),
    'fanuc': ('base_link', 'tool0'),
    'gen3': ('base_link', 'end_effector_link'),
    'ur5e': ('base_link', 'tool0'),
}


def load(name, **options):
    """Return the façade of a shipped robot."""
    base, ee = ENDS[name]
    return Manipulator.from_urdf(FILES[name], base=base, ee=ee, **options)


@pytest.fixture(scope='module', params=FILES)
def arm(request):
    """Return the façade of each shipped robot."""
    return load(request.param)


@pytest.fixture(scope='module')
def panda():
    """Return the façade of panda."""
    return load('panda')


@pytest.fixture(scope='module')
def ur5e():
    """Return the façade of ur5e."""
    return load('ur5e')


def pinocchio_pose(arm, q):
    """Return the tip's pose in the base, read from the URDF by pinocchio on its own."""
    model = pin.buildModelFromUrdf(str(FILES[arm.robot.name]))
    full = pin.neutral(model)
    for name, value in zip(arm.joint_names, q, strict=True):
        joint = model.joints[model.getJointId(name)]
        angle = [np.cos(value), np.sin(value)] if joint.nq == 2 else [value]
        full[joint.idx_q : joint.idx_q + joint.nq] = angle
    data = model.createData()
    pin.framesForwardKinematics(model, data, full)
    base, tip = (data.oMf[model.getFrameId(link)] for link in ENDS[arm.robot.name])
    return (base.inverse() * tip).homogeneous


def samples(arm, count, seed=1):
    """Yield random postures."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield arm.robot.sample(arm.group, rng)


def test_forward_kinematics_is_that_of_pinocchio(arm):
    for q in samples(arm, 10):
        assert arm.fk(q) == pytest.approx(pinocchio_pose(arm, q), abs=1e-12)
        assert arm.fk(q.tolist()) == pytest.approx(arm.fk(q), abs=0.0)


def test_the_jacobian_is_the_derivative_of_forward_kinematics(arm):
    for q in samples(arm, 5):
        jacobian = arm.jacobian(q)
        assert jacobian.shape == (6, arm.dof)
        for k, h in enumerate(1e-6 * np.eye(arm.dof)):
            ahead, back = arm.fk(q + h), arm.fk(q - h)
            turn = pin.log3(ahead[:3, :3] @ back[:3, :3].T)
            slope = np.append(ahead[:3, 3] - back[:3, 3], turn) / 2e-6
            assert jacobian[:, k] == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize(
    'q', [[0.0] * 6, [0.0] * 8, [[0.0] * 6], [[[0.0] * 7]], [np.nan] * 7, [np.inf] * 7, 0.0]
)
def test_forward_kinematics_of_something_else_is_a_value_error(panda, q):
    with pytest.raises(DimensionMismatch, match='7') as caught:
        panda.fk(q)
    assert isinstance(caught.value, ValueError)


def test_dof_names_and_limits_belong_together(arm):
    assert arm.dof == len(arm.joint_names) == len(arm.joint_limits) == len(arm.neutral)
    assert arm.dof == (7 if arm.robot.name in ('panda', 'gen3') else 6)


def test_limits_are_those_of_the_urdf_and_none_where_a_joint_turns_without_end():
    model = pin.buildModelFromUrdf(str(FILES['gen3']))
    arm = load('gen3')
    for name, limit in zip(arm.joint_names, arm.joint_limits, strict=True):
        joint = model.joints[model.getJointId(name)]
        if joint.nq == 2:
            assert limit is None
        else:
            low, high = limit
            assert low >= model.lowerPositionLimit[joint.idx_q] - 1e-12
            assert high <= model.upperPositionLimit[joint.idx_q] + 1e-12
    assert None in arm.joint_limits


def test_joint_limits_of_a_file_tighten_those_of_the_urdf():
    limits = {'joint_limits': {'elbow_joint': {'min_position': -1.0, 'max_position': 1.5}}}
    limits['joint_limits']['elbow_joint']['has_position_limits'] = True
    arm = load('ur5e', joint_limits=limits)
    assert arm.joint_limits[arm.joint_names.index('elbow_joint')] == (-1.0, 1.5)


def test_the_neutral_posture_lies_in_the_limits(arm):
    for value, limit in zip(arm.neutral, arm.joint_limits, strict=True):
        assert limit is None or limit[0] <= value <= limit[1]


def test_a_robot_may_be_given_as_path_text_or_pathlib_path():
    base, ee = ENDS['ur5e']
    q = np.full(6, 0.3)
    poses = [
        Manipulator.from_urdf(source, base=base, ee=ee).fk(q)
        for source in (FILES['ur5e'], str(FILES['ur5e']), FILES['ur5e'].read_text())
    ]
    assert (poses[0] == poses[1]).all() and (poses[0] == poses[2]).all()


def test_a_missing_file_is_a_file_not_found_error():
    with pytest.raises(FileNotFoundError, match='no_such'):
        Manipulator.from_urdf('no_such_robot.urdf', base='a', ee='b')


@pytest.mark.parametrize(
    ('ends', 'nearest'),
    [
        ({'base': 'base_lnik', 'ee': 'tool0'}, "'base_link'"),
        ({'base': 'base_link', 'ee': 'tool_0'}, "'tool0'"),
    ],
)
@pytest.mark.parametrize('error', [ValueError, KeyError, ssik_ros.SsikError])
def test_an_unknown_link_is_an_error_that_names_the_nearest(ends, nearest, error):
    with pytest.raises(error, match=nearest):
        Manipulator.from_urdf(FILES['ur5e'], **ends)


def test_swapped_links_are_an_error_that_says_so():
    with pytest.raises(ValueError, match='swapped'):
        Manipulator.from_urdf(FILES['ur5e'], base='tool0', ee='base_link')


def test_text_that_is_no_urdf_is_a_value_error():
    with pytest.raises(ValueError, match="<link> has no 'name'"):
        Manipulator.from_urdf('<robot><link/></robot>', base='a', ee='b')


def test_a_group_of_an_srdf_is_an_arm_too():
    folder = FILES['panda'].parent
    arm = Manipulator.from_group(FILES['panda'], folder / 'panda.srdf', 'panda_arm')
    assert arm.joint_names == load('panda').joint_names
    q = np.array([0.2, 0.1, -0.3, -1.8, 0.2, 1.9, 0.4])
    assert arm.fk(q) == pytest.approx(load('panda').fk(q), abs=1e-15)


def test_a_group_with_two_tips_is_no_arm():
    folder = FILES['panda'].parent
    robot = load_robot(FILES['panda'], folder / 'panda.srdf')
    with pytest.raises(ValueError, match='2 tips'):
        Manipulator(robot, robot.group('hand'))


def test_solutions_reach_the_target_within_the_limits(arm):
    for q, seed in zip(samples(arm, 20), samples(arm, 20, seed=2), strict=True):
        (solution,) = arm.solve(arm.fk(q), q_seed=seed, method='ssik_ros/Auto')
        assert isinstance(solution, Solution) and solution.q.shape == (arm.dof,)
        residual = np.linalg.norm(pinocchio_pose(arm, solution.q) - arm.fk(q))
        assert residual <= 2e-3 and solution.fk_residual == pytest.approx(residual, abs=1e-12)
        low = [-np.inf if limit is None else limit[0] for limit in arm.joint_limits]
        high = [np.inf if limit is None else limit[1] for limit in arm.joint_limits]
        assert (solution.q >= low).all() and (solution.q <= high).all()


def test_a_seed_that_solves_is_the_solution(arm):
    for q in samples(arm, 3):
        assert (arm.solve(arm.fk(q), q_seed=q, method='ssik_ros/Auto')[0].q == q).all()
        assert arm.solve(arm.fk(q), q_seed=q)[0].q == pytest.approx(q, abs=1e-9)


def test_an_unreachable_target_has_no_solutions_and_explain_says_why(arm):
    target = np.eye(4)
    target[0, 3] = 10.0
    for method in (None, 'ssik_ros/Auto'):
        assert arm.solve(target, method=method) == []
        solutions, diagnostic = arm.solve(target, explain=True, method=method)
        assert solutions == [] and isinstance(diagnostic, Diagnostic)
        assert diagnostic.cause == Cause.UNREACHABLE and diagnostic.final_count == 0


def test_explain_comes_with_the_solutions_of_any_method(ur5e):
    q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    for method in (None, 'ssik_ros/PoseIK'):
        solutions, diagnostic = ur5e.solve(
            ur5e.fk(q), explain=True, max_solutions=3, method=method
        )
        assert diagnostic.final_count == len(solutions) == 3
        assert diagnostic.max_fk_residual == max(s.fk_residual for s in solutions)


def test_max_solutions_are_distinct_and_nearest_first(ur5e):
    q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    solutions = ur5e.solve(ur5e.fk(q), q_seed=q + 0.1, max_solutions=4)
    gaps = [np.linalg.norm(s.q - q - 0.1) for s in solutions]
    assert len(solutions) == 4 and gaps == pytest.approx(sorted(gaps))
    assert len({tuple(np.round(s.q, 3)) for s in solutions}) == 4


@pytest.mark.parametrize(
    'method', ['ssik_ros/Auto', 'ssik_ros/PoseIK', 'pose_ik_plugin/PoseIKPlugin']
)
def test_the_method_is_a_name_of_the_registry(panda, method):
    target = panda.fk(np.array([0.2, 0.1, -0.3, -1.8, 0.2, 1.9, 0.4]))
    assert len(panda.solve(target, method=method)) == 1


@pytest.mark.parametrize('error', [KeyError, RuntimeError, ssik_ros.SsikError])
def test_an_unknown_method_is_an_error_that_names_the_nearest(panda, error):
    with pytest.raises(error, match='ssik_ros/PoseIK'):
        panda.solve(np.eye(4), method='ssik_ros/PosIK')


def test_parameters_of_the_solver_are_keywords(panda):
    q = np.array([0.2, 0.1, -0.3, -1.8, 0.2, 1.9, 0.4])
    for parameters in ({'target_tolerance': 1e-8}, {'epsilon': 1e-8}):
        solutions = panda.solve(panda.fk(q), q_seed=q + 0.2, **parameters)
        assert solutions and all(solution.fk_residual < 3e-8 for solution in solutions)
        by_auto = {'method': 'ssik_ros/Auto', **parameters}
        (solution,) = panda.solve(panda.fk(q), q_seed=q + 0.2, **by_auto)
        assert solution.fk_residual < 3e-8


def test_a_misspelt_parameter_is_an_error_that_names_the_nearest(panda):
    with pytest.raises(InvalidOption, match='gd_max_iters'):
        panda.solve(np.eye(4), gd_max_iter=3)


def test_a_parameter_of_a_wrong_type_is_an_error_that_names_it(panda):
    with pytest.raises(InvalidParameter, match='target_tolerance'):
        panda.solve(np.eye(4), target_tolerance='small')


@pytest.mark.parametrize('value', [[1e-3], {'a': 1}])
def test_a_parameter_that_cannot_be_hashed_is_an_ordinary_error(panda, value):
    with pytest.raises(InvalidParameter, match='target_tolerance'):
        panda.solve(np.eye(4), target_tolerance=value)


@pytest.mark.parametrize('value', [5.0, np.float64(5.0)])
def test_a_parameter_of_a_wrong_type_is_an_error_whatever_was_asked_before(panda, value):
    panda.solver(gd_max_iters=5)
    with pytest.raises(InvalidParameter, match='gd_max_iters'):
        panda.solver(gd_max_iters=value)


def test_the_solver_of_equal_arguments_is_one_object(panda):
    assert panda.solver() is panda.solver()
    assert panda.solver('ssik_ros/PoseIK', epsilon=1e-4) is panda.solver(
        'ssik_ros/PoseIK', epsilon=1e-4
    )
    assert panda.solver(epsilon=1e-4) is not panda.solver(epsilon=1e-5)


def test_a_timeout_ends_the_search(panda):
    target = panda.fk(np.array([0.2, 0.1, -0.3, -1.8, 0.2, 1.9, 0.4]))
    solutions, diagnostic = panda.solve(
        target, timeout=1e-9, explain=True, method='ssik_ros/PoseIK'
    )
    assert solutions == [] and diagnostic.clock_ended and diagnostic.cause == Cause.DEADLINE


@pytest.mark.parametrize(
    'target',
    [np.full((4, 4), np.nan), np.diag([2.0, 2.0, 2.0, 1.0]), np.diag([-1.0, 1.0, 1.0, 1.0])],
    ids=['nan', 'scaled', 'reflected'],
)
def test_a_target_that_is_no_rigid_transform_is_a_value_error(panda, target):
    with pytest.raises(InvalidTarget, match='rigid') as caught:
        panda.solve(target)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    'options', [{'T_target': np.eye(3)}, {'q_seed': np.zeros(6)}, {'max_solutions': -1}]
)
def test_a_malformed_argument_is_a_value_error(panda, options):
    with pytest.raises(ValueError, match=r'\d'):
        panda.solve(**{'T_target': np.eye(4), **options})


def test_a_seed_that_is_not_finite_is_a_value_error(panda):
    with pytest.raises(ValueError, match='finite'):
        panda.solve(np.eye(4), q_seed=[np.nan] * 7)


def test_a_target_as_nested_lists_is_a_target(ur5e):
    q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    assert len(ur5e.solve(ur5e.fk(q).tolist(), q_seed=q.tolist())) == 8


# The front page.


@pytest.mark.parametrize('name', ssik_ros.__all__)
def test_every_public_name_is_there(name):
    assert getattr(ssik_ros, name) is not None
    assert name in dir(ssik_ros)


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match='no attribute'):
        _ = ssik_ros.no_such_name


def run(code):
    """Return the output of a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, '-c', code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).resolve().parents[1],
    )
    return done.stdout.strip()


def test_importing_the_package_imports_nothing_heavy():
    heavy = "('numba', 'pinocchio', 'coal', 'rclpy', 'scipy', 'numpy', 'matplotlib', 'yaml')"
    assert run(f'import sys, ssik_ros; print([m for m in {heavy} if m in sys.modules])') == '[]'


def test_listing_solvers_imports_no_kernel_and_no_ros():
    code = 'import sys, ssik_ros; ssik_ros.list_solvers(); print({} & sys.modules.keys())'
    assert run(code.replace('{}', "{'numba', 'rclpy', 'coal'}")) == 'set()'


def test_solving_needs_no_ros():
    code = (
        'import sys, ssik_ros\n'
        f"arm = ssik_ros.Manipulator.from_urdf({str(FILES['ur5e'])!r}, base='base_link', ee='tool0')\n"
        'q = [0.3, -1.2, 1.4, -0.8, 1.1, 0.5]\n'
        "print(len(arm.solve(arm.fk(q), q_seed=q)), 'rclpy' in sys.modules)"
    )
    assert run(code) == '8 False'


@pytest.mark.parametrize(
    ('name', 'bases'),
    [
        ('ModelError', (ValueError,)),
        ('FrameNotFound', (KeyError, ValueError)),
        ('JointNotFound', (KeyError, ValueError)),
        ('GroupNotFound', (KeyError, ValueError)),
        ('UnsupportedJoint', (NotImplementedError, ValueError)),
        ('InvalidLimits', (ValueError,)),
        ('InvalidClosure', (ValueError,)),
        ('DescriptionNotFound', (FileNotFoundError, OSError)),
        ('RequestError', (ValueError,)),
        ('InvalidTarget', (ValueError,)),
        ('DimensionMismatch', (ValueError,)),
        ('InvalidOption', (TypeError, ValueError)),
        ('SolverError', (RuntimeError,)),
        ('UnknownSolver', (KeyError, RuntimeError)),
        ('TopologyMismatch', (ValueError, RuntimeError)),
        ('PluginLoadError', (ImportError, RuntimeError)),
        ('NativeLibraryError', (ImportError,)),
        ('ConfigError', (ValueError,)),
        ('InvalidParameter', (ValueError,)),
        ('UnknownGroup', (KeyError, ValueError)),
    ],
)
def test_every_error_is_caught_as_the_built_in_classes_too(name, bases):
    error = getattr(errors, name)('What is wrong.', evidence_of=3)
    assert isinstance(error, errors.SsikError)
    assert all(isinstance(error, base) for base in bases)
    assert str(error) == 'What is wrong.' and error.evidence_of == 3


def test_every_error_class_stands_in_the_table_above():
    table = test_every_error_is_caught_as_the_built_in_classes_too.pytestmark[0].args[1]
    named = {name for name, _ in table} | {'SsikError'}
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    assert named == {c.__name__ for c in classes if issubclass(c, errors.SsikError)}
