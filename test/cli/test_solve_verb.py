"""``ssik solve``: targets, solvers, solutions with errors, and exit codes."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.cli.command import main
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.solvers.auto.plain_requests import PlainRequests

JOINTS = ['0.1', '-1.2', '1.3', '-0.4', '0.5', '0.6']
POSE = ['0.4', '0.2', '0.3', '1', '0', '0', '0']


def solve(*words):
    """Return the exit code of ``ssik solve`` for the UR5e."""
    return main(['solve', '--robot', 'ur5e', *words])


def solve_to_json(capsys, *words):
    """Return exit code and JSON of ``ssik solve``."""
    code = solve(*words, '--json')
    return code, json.loads(capsys.readouterr().out)


def test_a_pose_is_solved_within_tolerance(capsys):
    code, content = solve_to_json(capsys, '--pose', *POSE)
    (solution,) = content['solutions']
    assert (code, content['status'], content['cause']) == (0, 'SOLVED', 'NONE')
    assert np.hypot(solution['position_error'], solution['orientation_error']) <= 1e-3
    assert solution['limit_margin'] >= 0.0


def test_roll_pitch_yaw_mean_the_same_pose_as_the_quaternion(capsys):
    _, by_quaternion = solve_to_json(capsys, '--pose', *POSE)
    _, by_angles = solve_to_json(capsys, '--xyz-rpy', '0.4', '0.2', '0.3', str(np.pi), '0', '0')
    assert by_angles['solutions'][0]['positions'] == pytest.approx(
        by_quaternion['solutions'][0]['positions'], abs=1e-6
    )


def test_the_pose_of_joint_positions_is_reached_from_themselves_at_once(capsys):
    code, content = solve_to_json(capsys, '--joints', *JOINTS, '--seed', *JOINTS)
    assert code == 0
    assert content['solutions'][0]['positions'] == [float(joint) for joint in JOINTS]


def test_several_solutions_are_distinct_and_all_have_errors(capsys):
    code, content = solve_to_json(
        capsys, '--pose', *POSE, '--max-solutions', '4', '--param', 'target_tolerance=1e-9'
    )
    vectors = np.array([solution['positions'] for solution in content['solutions']])
    assert (code, vectors.shape) == (0, (4, 6))
    assert len({tuple(vector.round(3)) for vector in vectors}) == 4
    assert max(solution['position_error'] for solution in content['solutions']) <= 1e-3


def test_a_pose_out_of_reach_ends_with_one_and_says_why(capsys):
    code, content = solve_to_json(capsys, '--pose', '4', '0', '0', '0', '0', '0', '1')
    assert (code, content['solutions']) == (1, [])
    assert content['cause'] != 'NONE'
    # The geometry proves it without a search, so that no nearest state is known.
    assert content['nearest'] is None


def test_the_nearest_state_of_a_closed_form_is_searched(capsys, blocked):
    numbers = [*blocked[:3, 3], *Rotation.from_matrix(blocked[:3, :3]).as_euler('xyz')]
    pose = ['--xyz-rpy', *(str(number) for number in numbers)]
    words = ['solve', '--robot', 'panda', '--group', 'panda_arm', '--json', *pose]
    assert main([*words, '--solver', 'ssik_ros/Analytic']) == 1
    content = json.loads(capsys.readouterr().out)
    assert content['nearest']['position_error'] < 0.02
    assert content['nearest']['orientation_error'] < 0.02


def test_the_table_names_joints_errors_and_margin(capsys):
    assert solve('--pose', *POSE) == 0
    text = capsys.readouterr().out
    for word in ('shoulder_pan_joint', 'position error [m]', 'margin to limits', '#1'):
        assert word in text


def test_the_table_of_a_proof_shows_no_nearest_state_but_the_advice(capsys):
    assert solve('--pose', '4', '0', '0', '0', '0', '0', '1') == 1
    text = capsys.readouterr().out
    assert 'nearest' not in text and 'position error' not in text
    assert 'move it closer' in text
    assert 'No solution' in text


def test_numbers_with_exponent_and_sign_are_numbers(capsys):
    code, content = solve_to_json(capsys, '--joints', '-1e-1', *JOINTS[1:])
    assert (code, content['robot']) == (0, 'ur5e')


def test_a_parameter_changes_the_result(capsys):
    _, content = solve_to_json(capsys, '--pose', *POSE, '--param', 'target_tolerance=1e-9')
    assert content['solutions'][0]['position_error'] <= 1e-9


def test_a_kinematics_file_gives_solver_and_parameters(capsys, tmp_path):
    path = tmp_path / 'kinematics.yaml'
    path.write_text('ur_manipulator: {epsilon: 1e-9}\n', encoding='utf-8')
    _, content = solve_to_json(capsys, '--pose', *POSE, '--kinematics', str(path))
    assert content['solutions'][0]['position_error'] <= 1e-9


def test_a_parameter_of_the_command_line_overrides_the_file_even_by_its_alias(capsys, tmp_path):
    path = tmp_path / 'kinematics.yaml'
    path.write_text('ur_manipulator: {target_tolerance: 0.1}\n', encoding='utf-8')
    words = ['--kinematics', str(path), '--param', 'epsilon=1e-9']
    code, content = solve_to_json(capsys, '--pose', *POSE, *words)
    assert (code, content['solutions'][0]['position_error'] <= 1e-9) == (0, True)


def test_a_chain_is_given_by_base_and_tip_of_a_bare_urdf(capsys, tmp_path):
    path = tmp_path / 'slider.urdf'
    path.write_text(
        '<robot name="slider"><link name="a"/><link name="b"/>'
        '<joint name="j" type="prismatic"><parent link="a"/><child link="b"/>'
        '<axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>',
        encoding='utf-8',
    )
    words = ['solve', '--urdf', str(path), '--base', 'a', '--tip', 'b', '--json']
    assert main([*words, '--pose', '0.25', '0', '0', '0', '0', '0', '1']) == 0
    content = json.loads(capsys.readouterr().out)
    assert content['solutions'][0]['positions'] == pytest.approx([0.25], abs=1e-3)


def test_the_group_of_the_kinematics_file_is_meant_when_none_is_named(capsys):
    words = ['solve', '--robot', 'panda', '--json', '--joints', '0', '0', '0', '-1.5', '0', '1.5']
    assert main([*words, '0']) == 0
    assert json.loads(capsys.readouterr().out)['group'] == 'panda_arm'


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['--pose', '1', '2', '3'], 'takes 7 finite numbers'),
        (['--pose', '0', '0', '0', '0', '0', '0', '2'], 'length 2, not 1'),
        (['--xyz-rpy', '1'], 'takes 6 finite numbers'),
        (['--joints', '1'], 'shoulder_pan_joint'),
        (['--pose', *POSE, '--seed', '1'], '--seed takes 6'),
        (['--pose', *POSE, '--param', 'gd_max_iters'], 'KEY=VALUE'),
        (['--pose', *POSE, '--param', 'gd_max_itres=3'], "Did you mean 'gd_max_iters'"),
        (['--pose', *POSE, '--param', 'gd_max_iters=0'], 'int >= 1'),
        (['--pose', *POSE, '--param', 'epsilon=1', '--param', 'epsilon=2'], 'twice'),
        (['--pose', *POSE, '--solver', 'ssik_ros/PosIK'], "Did you mean 'ssik_ros/PoseIK'"),
        (['--pose', *POSE, '--group', 'arm'], 'ur_manipulator'),
        (['--pose', *POSE, '--srdf', 'x.srdf'], "'x.srdf' is neither a file nor XML"),
        (['--pose', *POSE, '--xacro-arg', 'x'], 'NAME:=VALUE'),
        (['--pose', *POSE, '--kinematics', 'gone.yaml'], 'gone.yaml'),
    ],
)
def test_a_request_that_makes_no_sense_ends_with_two_and_says_what_is_wrong(
    words, message, capsys
):
    assert solve(*words) == 2
    assert message in capsys.readouterr().err


def test_a_robot_with_several_arms_asks_which_one(capsys, tmp_path):
    groups = ''.join(
        f'<group name="{name}"><chain base_link="panda_link0" tip_link="{tip}"/></group>'
        for name, tip in (('arm', 'panda_link8'), ('forearm', 'panda_link4'))
    )
    srdf = tmp_path / 'two.srdf'
    srdf.write_text(f'<robot name="panda">{groups}</robot>')
    words = ['--urdf', str(find_moveit_config('panda').urdf_path), '--srdf', str(srdf)]
    assert main(['solve', *words, '--joints', '0']) == 2
    assert '--group (arm, forearm)' in capsys.readouterr().err


def test_the_hand_of_a_robot_is_not_asked_about(capsys):
    files = find_moveit_config('panda')
    words = ['--urdf', str(files.urdf_path), '--srdf', str(files.srdf_path)]
    assert main(['solve', *words, '--joints', *'0000000', '--json']) == 0
    assert json.loads(capsys.readouterr().out)['group'] == 'panda_arm'


@pytest.mark.parametrize(('words', 'expected'), [([], 0.25), (['--timeout', '0.5'], 0.5)])
def test_the_timeout_of_a_kinematics_file_holds_unless_another_is_given(
    monkeypatch, tmp_path, words, expected
):
    asked = []
    original = PlainRequests.solve

    def watch(self, request):
        asked.append(request.timeout)
        return original(self, request)

    monkeypatch.setattr(PlainRequests, 'solve', watch)
    path = tmp_path / 'kinematics.yaml'
    path.write_text('ur_manipulator: {kinematics_solver_timeout: 0.25}\n', encoding='utf-8')
    assert solve('--pose', *POSE, '--kinematics', str(path), *words) == 0
    assert asked[-1] == expected


def test_a_plain_solve_loads_no_view():
    code = "import sys, ssik_ros.cli.verb.solve; print([name for name in sys.modules if 'ssik_ros.view' in name])"
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == '[]', run.stderr


@pytest.mark.parametrize(('yaw', 'asks'), [('6.28', False), ('90', True)])
def test_angles_in_degrees_are_asked_about(yaw, asks, capsys):
    solve('--xyz-rpy', '0.4', '0.2', '0.3', '3.14', '0', yaw)
    assert ('are these degrees?' in capsys.readouterr().err) is asks
