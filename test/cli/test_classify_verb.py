"""``ssik classify``: class, reason and figures of an arm."""

import json

import numpy as np
import pytest

from ssik_ros.cli.axis_relations import find_relations
from ssik_ros.cli.command import main
from ssik_ros.model.catalogue import arm_data, make_urdf
from ssik_ros.model.topology import AxisGeometry


def classify(capsys, *words):
    """Return exit code and JSON of ``ssik classify``."""
    code = main(['classify', *words, '--json'])
    return code, json.loads(capsys.readouterr().out)


def write_arm(folder, name, change=lambda text: text):
    """Return the path of the URDF of an arm of the catalogue, its text changed."""
    path = folder / f'{name}.urdf'
    path.write_text(change(make_urdf(arm_data(name))), encoding='utf-8')
    return str(path)


def test_base_and_end_effector_are_found(capsys, tmp_path):
    code, content = classify(capsys, write_arm(tmp_path, 'ur5e'))
    assert (code, content['base'], content['ee']) == (0, 'base_link', 'wrist_3_joint_link')
    assert (content['dof'], len(content['joints'])) == (6, 6)
    assert content['joints'][2]['lower'] == -np.pi


@pytest.mark.parametrize(
    ('name', 'arm_class', 'solver', 'tier', 'held'),
    [
        ('ur5e', 'three_parallel', 'ikgeo.three_parallel', 0, None),
        ('irb6700', 'spherical_two_parallel', 'ikgeo.spherical_two_parallel', 0, None),
        ('jaco2', 'general_6r', 'ikgeo.general_6r', 2, None),
        ('panda', 'spherical_two_intersecting', 'seven_r.spherical_shoulder', 0, 'panda_joint7'),
    ],
)
def test_class_tier_and_held_joint_are_told(name, arm_class, solver, tier, held, capsys):
    code, content = classify(capsys, '--robot', name)
    assert code == 0
    assert (content['class'], content['solver']) == (arm_class, solver)
    assert (content['tier'], content['held_joint']) == (tier, held)
    assert content['drift'] == 0.0 and content['reason']


def test_branches_and_time_are_measured(capsys):
    _, content = classify(capsys, '--robot', 'irb6700')
    assert content['solved'] == content['poses'] == 50
    assert content['branches']['max'] == 8 and content['branches']['min'] >= 2
    assert 0.0 < content['worst_residual'] < 1e-9
    assert content['median_us'] > 0.0


def test_a_near_miss_is_measured(capsys):
    _, content = classify(capsys, '--robot', 'gen3')
    near = [entry for entry in content['axes'] if not entry['exact']]
    shoulder = next(entry for entry in near if entry['joints'] == [1, 2, 3])
    assert shoulder['relation'] == 'meet'
    assert shoulder['drift'] == pytest.approx(arm_data('gen3').near_miss.distance, rel=1e-4)
    assert content['drift'] > 1e-3


def test_a_calibrated_arm_is_no_longer_parallel_and_says_by_how_much(capsys, tmp_path):
    def tilt(text):
        return text.replace('rpy="0.0 0.0 0.0"', 'rpy="0.001 0.0 0.0"', 2)

    words = write_arm(tmp_path, 'ur5e', tilt), '--ee', 'tool0'
    code, content = classify(capsys, *words)
    near = [e for e in content['axes'] if e['relation'] == 'parallel' and not e['exact']]
    assert code == 0 and content['solved'] == content['poses']
    assert near and 5e-4 < near[0]['drift'] < 3e-3


def test_the_report_names_everything(capsys):
    assert main(['classify', '--robot', 'gen3']) == 0
    text = capsys.readouterr().out
    for words in (
        'gen3: base_link -> end_effector_link',
        'joint_7',
        'seven_r.srs_polished',
        'held joint: joint_7',
        'axes 1, 2 and 3 meet nearly, off by 5.88 mm',
        'axes 1 and 2 meet\n',
        'at 16 values of the held joint',
        'us for all branches',
    ):
        assert words in text


def test_an_arm_without_a_closed_form_ends_with_one_and_names_its_solver(capsys, tmp_path):
    def slide(text):
        elbow = '<joint name="elbow_joint" type="revolute">'
        return text.replace(elbow, elbow.replace('revolute', 'prismatic'))

    assert main(['classify', write_arm(tmp_path, 'ur5e', slide)]) == 1
    text = capsys.readouterr().err
    assert 'prismatic joints (elbow_joint)' in text and 'ssik_ros/PoseIK' in text
    assert text.count('\n') == 1


def test_slides_are_parallel_to_axes_and_meet_none(capsys):
    code, content = classify(capsys, '--robot', 'stanford')
    assert (code, content['class'], content['solver']) == (
        0,
        'spherical_rrp',
        'ikgeo.spherical_rrp',
    )
    relations = {(axes['relation'], tuple(axes['joints'])) for axes in content['axes']}
    assert ('meet', (4, 5, 6)) in relations and ('meet', (1, 2)) in relations
    assert ('meet', (2, 3)) not in relations and ('parallel', (3, 4)) in relations
    assert content['solved'] == content['poses']
    assert content['branches']['max'] == 8


def test_a_follower_in_the_chain_ends_with_one(capsys, tmp_path):
    def follow(text):
        return text.replace(
            '<axis xyz="0.0 0.0 1.0" />',
            '<axis xyz="0.0 0.0 1.0" />\n<mimic joint="elbow_joint"/>',
            1,
        )

    assert main(['classify', write_arm(tmp_path, 'ur5e', follow), '--ee', 'tool0']) == 1
    assert 'ssik_ros/PoseIK' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        ([], 'Name one robot'),
        (['a.urdf', '--robot', 'ur5e'], 'Name one robot'),
        (['gone.urdf'], 'gone.urdf'),
        (['--robot', 'panda_arn'], "Did you mean 'panda'"),
        (['--robot', 'ur5e', '--base', 'bas_link'], "Did you mean 'base_link'"),
        (['--robot', 'ur5e', '--base', 'tool0', '--ee', 'base_link'], 'tool0'),
        (['--robot', 'ur5e', '--robot-name', 'ur6'], "There is no robot 'ur5e'"),
        (['a.urdf', '--robot-name', 'ur6'], '--moveit-config PACKAGE'),
        (['--robot', 'iiwa14', '--xacro-arg', 'a:=1'], 'arm of the catalogue'),
    ],
)
def test_a_request_that_makes_no_sense_ends_with_two(words, message, capsys):
    assert main(['classify', *words]) == 2
    text = capsys.readouterr().err
    assert message in text and text.count('\n') == 1


def test_arguments_for_xacro_are_pairs(capsys, tmp_path):
    path = write_arm(tmp_path, 'ur5e')
    for words in (['--xacro-arg', 'a=1'], ['--xacro-arg', 'a:=1', '--xacro-arg', 'a:=2']):
        assert main(['classify', path, *words]) == 2
    assert 'twice' in capsys.readouterr().err


# --- Relations between axes -----------------------------------------------------------------------


def relations(axes, points):
    """Return (joints, relation, exact) of unit axes."""
    unit = np.array(axes, dtype=float)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    axis_relations = find_relations(AxisGeometry(unit, np.array(points, dtype=float)))
    return [(relation.joints, relation.relation, relation.is_exact) for relation in axis_relations]


def test_three_parallel_axes_are_one_relation_whatever_their_signs():
    axes, points = [[0, 0, 1], [0, 0, -1], [0, 0, 2]], [[0, 0, 0], [1, 0, 0], [2, 0, 5]]
    assert relations(axes, points) == [((1, 2, 3), 'parallel', True)]


def test_exact_pairs_within_a_near_triple_are_told_as_well():
    axes, points = [[0, 0, 1], [0, 1, 0], [1, 0, 0]], [[0, 0, 3], [0, 7, 0], [5, 0, 1e-3]]
    assert relations(axes, points) == [
        ((1, 2), 'meet', True),
        ((1, 2, 3), 'meet', False),
    ]


def test_axes_far_from_each_other_have_nothing_in_common():
    assert relations([[0, 0, 1], [0, 1, 0]], [[0, 0, 0], [0.5, 0, 0]]) == []
