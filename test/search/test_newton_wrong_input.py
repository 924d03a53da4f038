"""Every wrong input is a named error or a clean failure: no hang, no NaN, no crash."""

from test.search.newton_arms import draw, load, within
from test.search.spatial_stub import Pose

import numpy as np
import pytest

from ssik_ros import ik_GN, ik_LM, ik_NR
from ssik_ros.errors import (
    DimensionMismatch,
    InvalidLimits,
    InvalidOption,
    InvalidTarget,
    JointNotFound,
    RequestError,
    SsikError,
)
from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.results import Cause

CALLS = (ik_NR, ik_GN, ik_LM)
RAIL = """
<robot name="rail"><link name="l0"/><link name="l1"/><link name="l2"/>
  <joint name="slide" type="prismatic"><parent link="l0"/><child link="l1"/><axis xyz="1 0 0"/>{limit}</joint>
  <joint name="turn" type="continuous"><parent link="l1"/><child link="l2"/><origin xyz="0.2 0 0"/>
    <axis xyz="0 0 1"/></joint>
</robot>"""


@pytest.fixture(params=CALLS, ids=lambda call: call.__name__)
def call(request):
    return request.param


@pytest.fixture
def panda():
    return load('panda')[0]


@pytest.fixture
def target():
    arm, oracle = load('panda')
    return oracle.pose(draw(arm, 1, 3)[0])


@pytest.mark.parametrize(
    'q0', [np.zeros(6), np.zeros(8), np.zeros((1, 7)), np.zeros((7, 7)), 0.0, []]
)
def test_a_start_of_a_wrong_shape_is_an_error(call, panda, target, q0):
    with pytest.raises(DimensionMismatch, match='7 joint variables'):
        call(panda, target, q0)


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
def test_a_start_that_is_not_finite_is_an_error(call, panda, target, value):
    with pytest.raises(RequestError, match='not finite'):
        call(panda, target, np.full(7, value))


def test_a_start_that_is_no_numbers_is_an_error(call, panda, target):
    with pytest.raises(InvalidOption, match='q0'):
        call(panda, target, ['a'] * 7)


@pytest.mark.parametrize('mask', [np.ones(5), np.ones(7), np.ones((1, 6)), 1.0])
def test_a_mask_of_a_wrong_length_is_an_error(call, panda, target, mask):
    with pytest.raises(DimensionMismatch, match='6 weights'):
        call(panda, target, mask=mask)


@pytest.mark.parametrize(
    'mask', [[1, 1, 1, 1, 1, -1], [0] * 6, [np.nan, 1, 1, 1, 1, 1], [np.inf, 1, 1, 1, 1, 1]]
)
def test_a_mask_without_meaning_is_an_error(call, panda, target, mask):
    with pytest.raises(InvalidOption, match='mask'):
        call(panda, target, mask=mask)


@pytest.mark.parametrize(
    'pose',
    [np.eye(3), np.zeros((4, 3)), np.zeros(16), np.zeros((2, 3, 4)), 1.0, np.zeros((1, 1, 4, 4))],
)
def test_a_pose_of_a_wrong_shape_is_an_error(call, panda, pose):
    with pytest.raises(DimensionMismatch, match='Tep'):
        call(panda, pose)


def spoilt(kind, pose):
    """Return a pose that is not a rigid transform."""
    pose = pose.copy()
    if kind == 'scaled':
        pose[:3, :3] *= 1.01
    elif kind == 'mirrored':
        pose[:3, 0] *= -1.0
    elif kind == 'zero':
        pose[:] = 0.0
    elif kind == 'last row':
        pose[3, 0] = 0.1
    else:
        pose[{'nan': (0, 1), 'nan position': (1, 3)}.get(kind, (2, 3))] = (
            np.inf if kind == 'infinite' else np.nan
        )
    return pose


@pytest.mark.parametrize(
    'kind', ['scaled', 'mirrored', 'zero', 'last row', 'nan', 'nan position', 'infinite']
)
def test_a_pose_that_is_no_rigid_transform_is_an_error(call, panda, target, kind):
    with pytest.raises(InvalidTarget, match='rigid'):
        call(panda, spoilt(kind, target))


def test_a_rotation_that_is_nearly_one_is_projected_when_that_is_asked_for(call, panda, target):
    rough = target.copy()
    rough[:3, :3] += 1e-3
    with pytest.raises(InvalidTarget):
        call(panda, rough)
    result = call(panda, rough, normalize=True)
    assert result.success == 1
    with pytest.raises(InvalidTarget, match='mirrored'):
        call(panda, spoilt('mirrored', target), normalize=True)
    with pytest.raises(InvalidTarget, match='not finite'):
        call(panda, spoilt('nan', target), normalize=True)


@pytest.mark.parametrize(
    'options',
    [
        {'ilimit': 0},
        {'ilimit': -3},
        {'ilimit': 2.5},
        {'ilimit': True},
        {'slimit': 0},
        {'slimit': '3'},
        {'tol': 0.0},
        {'tol': -1e-6},
        {'tol': np.nan},
        {'pos_tol': 0.0},
        {'rot_tol': -1.0},
        {'rot_tol': np.inf},
        {'seed': -1},
        {'seed': 1.5},
        {'joint_limits': 'yes'},
        {'max_step': 0.0},
        {'kq': -1.0},
        {'km': np.nan},
        {'kq': 1.0, 'ps': 0.4, 'pi': 0.3},
        {'joint_weights': np.zeros(7)},
        {'sample_range': (1.0, -1.0)},
        {'timeout': np.nan},
        {'hold': ['panda_joint1']},
        {'threads': 2},
        {'max_joint_step': 0.1},
        {'rows': 3, 'mask': np.ones(6)},
    ],
    ids=str,
)
def test_an_option_out_of_range_is_an_error(call, panda, target, options):
    with pytest.raises(SsikError):
        call(panda, target, **options)


def test_options_that_were_right_once_do_not_let_wrong_ones_pass(panda, target):
    assert ik_LM(panda, target, ilimit=1, slimit=100).searches >= 1
    with pytest.raises(InvalidOption):
        ik_LM(panda, target, ilimit=True, slimit=100)


def test_an_unknown_option_names_the_nearest_one(call, panda, target):
    with pytest.raises(InvalidOption, match="Did you mean 'pos_tol'"):
        call(panda, target, pos_toll=1e-3)


def test_an_unknown_method_names_the_known_ones(panda, target):
    with pytest.raises(InvalidOption, match='sugihara'):
        ik_LM(panda, target, method='newton')


def test_a_redundant_arm_needs_the_pseudo_inverse(panda, target):
    for call in (ik_NR, ik_GN):
        with pytest.raises(InvalidOption, match='7 joints and 6 rows'):
            call(panda, target, pinv=False)


def test_six_joints_may_use_the_plain_inverse(call):
    if call is ik_LM:
        pytest.skip('LM always damps, so that it has no such choice')
    arm, oracle = load('ur5e')
    for q in draw(arm, 50, 4):
        result = call(arm, oracle.pose(q), pinv=False, pos_tol=1e-6, rot_tol=1e-6)
        assert result.success == 1
        assert max(oracle.errors(result.q, oracle.pose(q))) < 1.1e-6


def test_a_plain_inverse_that_does_not_exist_is_a_clean_failure():
    arm, oracle = load('ur5e')
    q0 = np.zeros(6)
    result = ik_NR(arm, oracle.pose(draw(arm, 1, 5)[0]), q0, pinv=False, slimit=1)
    assert (result.success, result.cause) == (0, Cause.SINGULAR)
    assert np.isfinite(result.q).all()


def test_something_that_is_no_arm_is_an_error(call, target):
    with pytest.raises(InvalidOption, match='Manipulator'):
        call('panda.urdf', target)


def test_held_joints_must_exist_and_be_held_inside_their_limits(call, panda, target):
    with pytest.raises(JointNotFound, match='panda_joint1'):
        call(panda, target, hold={'panda_joint_1': 0.0})
    with pytest.raises(InvalidLimits, match='panda_joint1'):
        call(panda, target, hold={'panda_joint1': 9.0})


@pytest.mark.parametrize(
    'limit', ['', '<limit lower="-inf" upper="inf" effort="1" velocity="1"/>']
)
def test_a_slide_without_limits_is_named_when_starts_have_to_be_drawn(call, limit):
    if not limit:
        pytest.skip('a slide without a limit element is refused when the description is read')
    arm = Manipulator.from_urdf(RAIL.format(limit=limit), base='l0', ee='l2')
    assert call(arm, arm.fk([4.0, 1.0]), [3.0, 0.5]).success == 1
    unreachable = arm.fk([4.0, 1.0])
    unreachable[2, 3] = 1.0
    with pytest.raises(InvalidLimits, match='slide'):
        call(arm, unreachable)
    result = call(arm, unreachable, sample_range=(-1.0, 1.0), slimit=5)
    assert (result.success, result.searches) == (0, 5)
    assert np.isfinite(result.q).all()


def test_turning_joints_without_limits_need_no_range(call):
    arm, oracle = load('gen3')
    for q in draw(arm, 20, 6):
        assert call(arm, oracle.pose(q)).success == 1


def far_away(pose):
    """Return a pose out of reach of the links."""
    pose = pose.copy()
    pose[:3, 3] += 10.0
    return pose


def inside_the_base(pose):
    """Return a pose that the reach of the links does not exclude, but the limits of the Gen3 do."""
    pose = np.eye(4)
    pose[2, 3] = 0.02
    return pose


@pytest.mark.parametrize('move', [far_away, inside_the_base])
def test_an_unreachable_pose_returns_the_best_state_seen_with_its_own_residual(call, target, move):
    arm, oracle = load('gen3')
    wanted = move(target)
    result = call(arm, wanted, draw(arm, 1, 2)[0])
    measured = oracle.errors(result.q, wanted)
    assert result.success == 0
    assert result.cause == (Cause.UNREACHABLE if move is far_away else Cause.LIMITS)
    assert result.reason
    assert within(arm, result.q)
    assert result.residual == pytest.approx(0.5 * (measured[0] ** 2 + measured[1] ** 2), rel=1e-9)
    assert (result.position_error, result.rotation_error) == pytest.approx(measured, rel=1e-9)
    assert result.searches <= 100
    assert result.iterations <= 30 * result.searches


def test_the_best_state_of_many_searches_is_no_worse_than_that_of_one(call, target):
    arm, _ = load('gen3')
    wanted = inside_the_base(target)
    residuals = [call(arm, wanted, slimit=searches).residual for searches in (1, 5, 50)]
    assert residuals == sorted(residuals, reverse=True)


def test_a_held_joint_stays_where_it_is_held(call):
    arm, oracle = load('panda')
    for q in draw(arm, 20, 15):
        result = call(arm, oracle.pose(q), hold={'panda_joint7': q[6]})
        assert result.success == 1
        assert result.q[6] == q[6]


def test_objects_with_a_matrix_inside_are_poses(call, panda, target):
    plain, wrapped = call(panda, target), call(panda, Pose(target))
    assert plain.q.tobytes() == wrapped.q.tobytes()
    stack = call(panda, Pose([target, target]))
    assert stack.q.shape == (2, 7)


def test_a_timeout_ends_a_hopeless_search(call, target):
    result = call(load('gen3')[0], inside_the_base(target), slimit=10**8, timeout=0.02)
    assert (result.success, result.cause, result.clock_ended) == (0, Cause.DEADLINE, True)
    assert np.isfinite(result.q).all()


def test_a_validation_refuses_candidates_until_one_fits(call, panda, target):
    asked = []

    def elbow(q):
        asked.append(q)
        return len(asked) > 2

    result = call(panda, target, validate=elbow)
    assert result.success == 1
    assert result.q.tobytes() == asked[-1].tobytes()
    apart = [np.abs(a - b).max() for a in asked for b in asked if a is not b]
    assert min(apart) > 1e-4
    refused = call(panda, target, validate=lambda q: False, slimit=10)
    assert (refused.success, refused.cause) == (0, Cause.VALIDATION)
