"""Labels of branches: factors of the determinant, kept by small motions, different within one pose."""

import numpy as np
import pytest

from ssik_ros.model.catalogue import list_arms, load_arm
from ssik_ros.model.loader import load_robot
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL
from ssik_ros.solvers.closed_form.labels import (
    BranchLabel,
    label_branch,
    label_branches,
    name_branches,
    NO_LABEL,
    number_branches,
)

ARMS = {
    'ur5e': 'three_parallel',
    'irb6700': 'spherical_two_parallel',
    # Reversed, and with one of seven joints held.
    'panda': 'spherical_two_intersecting',
}
"""Arms of the catalogue with the classes that they have exactly."""

# Six axes (direction, point) of the classes that no arm of the catalogue has.
WRIST = [
    ((0, 0, 1), (1.1, 0, 0.7)),
    ((0, 1, 0), (1.1, 0.2, 0.9)),
    ((1, 0, 0), (1.4, 0, 0.9)),
]
MADE = {
    'spherical_two_intersecting': [
        ((0, 0, 1), (0, 0, 0)),
        ((0, 1, 0), (0, 0, 0.4)),
        ((1, 0, 0), (0.3, 0.2, 0.7)),
        *WRIST,
    ],
    'spherical_base_parallel': [
        ((0, 0, 1), (0, 0, 0)),
        ((0, 0, 1), (0.4, 0.1, 0)),
        ((0, 1, 0), (0.7, 0, 0.3)),
        *WRIST,
    ],
    'spherical_elbow_intersecting': [
        ((0, 0, 1), (0, 0, 0)),
        ((0, 1, 0), (0.2, 0, 0.4)),
        ((1, 0, 0), (0.2, 0, 0.4)),
        *WRIST,
    ],
    'spherical': [
        ((0, 0, 1), (0, 0, 0)),
        ((0, 1, 0), (0.2, 0, 0.4)),
        ((1, 0, 0), (0.3, 0.2, 0.7)),
        *WRIST,
    ],
    'three_parallel_base': [
        ((0, 1, 0), (0, 0, 0)),
        ((0, 1, 0), (0.1, 0, 0.5)),
        ((0, 1, 0), (0.6, 0, 0.6)),
        ((1, 0, 0), (0.6, 0.1, 0.8)),
        ((0, 0.6, 0.8), (1.0, 0.1, 0.9)),
        ((1, 0, 0), (1.3, 0.1, 0.9)),
    ],
}


def made_urdf(lines):
    """Return a chain whose axes at zero are lines in the base frame."""
    names = ['base', *(f'l{i}' for i in range(1, 7)), 'tip']
    links = ''.join(f'<link name="{name}"/>' for name in names)
    joints, before = '', np.zeros(3)
    for i, (axis, point) in enumerate(lines):
        step = ' '.join(f'{value:.9g}' for value in np.array(point, dtype=float) - before)
        before = np.array(point, dtype=float)
        joints += (
            f'<joint name="j{i + 1}" type="continuous"><parent link="{names[i]}"/>'
            f'<child link="{names[i + 1]}"/><origin xyz="{step}"/>'
            f'<axis xyz="{" ".join(map(str, axis))}"/></joint>'
        )
    joints += (
        '<joint name="tool" type="fixed"><parent link="l6"/><child link="tip"/>'
        '<origin xyz="0.1 0.05 0.2" rpy="0.3 0.2 0.1"/></joint>'
    )
    return f'<robot name="made">{links}{joints}</robot>'


def arm_of(name):
    """Return the closed form of an arm of the catalogue, or of a class."""
    if name in MADE:
        robot = load_robot(made_urdf(MADE[name]))
        return AnalyticArm(SerialChain.from_robot(robot, 'base', 'tip'))
    robot = load_arm(name)
    (group,) = [robot.group_from_links(robot.tree.root_link, robot.tree.link_names[-1])]
    return AnalyticArm(SerialChain.from_group(robot, group))


@pytest.fixture(scope='module', params=[*ARMS, *MADE])
def arm(request):
    """Return one closed form of each class."""
    made = arm_of(request.param)
    assert made.plan.name == ARMS.get(request.param, request.param)
    return made


def branches_of(arm, count, seed=5):
    """Return the branches of random poses, with the posture that made each pose held where one is."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        posture = rng.uniform(-3.0, 3.0, arm.plan.size)
        values = posture[[arm.plan.held]] if arm.plan.held >= 0 else None
        request = BranchRequest(seed=posture, mode=KEEP_ALL, held_values=values)
        yield arm.branches(arm.chain.pose(posture), request).q


def determinant(arm, q, step=1e-6):
    """Return the determinant of the Jacobian without the held joint, by differences of poses."""
    columns = []
    for i in range(arm.plan.size):
        move = np.zeros(arm.plan.size)
        move[i] = step
        change = (arm.chain.pose(q + move) - arm.chain.pose(q - move)) / (2.0 * step)
        spin = change[:3, :3] @ arm.chain.pose(q)[:3, :3].T
        columns.append([*change[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]])
    jacobian = np.array(columns).T
    if arm.plan.held >= 0:
        jacobian = np.delete(jacobian, arm.plan.held, axis=1)
    return float(np.linalg.det(jacobian))


@pytest.mark.slow
def test_product_of_the_signs_is_that_of_the_determinant(arm):
    products = set()
    for q in branches_of(arm, 25):
        for row, label in zip(q, label_branches(arm.plan, q), strict=True):
            det = determinant(arm, row)
            if abs(det) > 1e-7:
                signs = [sign for sign in label if sign]
                assert len(signs) == (2 if arm.plan.name == 'spherical' else 3)
                products.add(np.prod(signs) * np.sign(det))
    assert len(products) == 1


def test_branches_of_a_pose_have_different_labels(arm):
    sizes = set()
    for q in branches_of(arm, 25):
        labels = label_branches(arm.plan, q)
        if arm.plan.name != 'spherical':
            assert len(set(labels)) == len(labels)
        names = name_branches(arm.plan, q)
        assert len(set(names)) == len(names)
        sizes.add(len(q))
    assert max(sizes) >= 4


@pytest.mark.slow
def test_small_motions_keep_the_label(arm):
    rng = np.random.default_rng(6)
    moved = 0
    for q in branches_of(arm, 25):
        for row in q:
            if abs(determinant(arm, row)) > 1e-3:
                near = row + rng.uniform(-1e-5, 1e-5, len(row))
                assert label_branch(arm.plan, near) == label_branch(arm.plan, row)
                moved += 1
    assert moved > 20


def test_labels_do_not_depend_on_turns_nor_on_the_order_of_rows(arm):
    (q,) = branches_of(arm, 1)
    names = name_branches(arm.plan, q)
    assert name_branches(arm.plan, q[::-1]) == names[::-1]
    turned = q + 2.0 * np.pi * np.random.default_rng(1).integers(-1, 2, q.shape)
    if arm.plan.held < 0:
        assert name_branches(arm.plan, turned) == names
    assert label_branches(arm.plan, turned) == label_branches(arm.plan, q)


def test_held_joint_is_part_of_the_name():
    arm = arm_of('panda')
    (q,) = branches_of(arm, 1)
    held = arm.chain.joint_names[arm.plan.held]
    assert all(
        f' at {held} {q[0, arm.plan.held]:.4f}' in name for name in name_branches(arm.plan, q)
    )


def test_wrist_flip_of_a_wrist_at_the_end():
    """Turning joint 5 of a FANUC-like arm to the other side changes the sign of the wrist and no other."""
    arm = arm_of('irb6700')
    q = np.array([0.3, 0.2, -0.4, 0.5, 0.9, 1.0])
    flipped = q * [1, 1, 1, 1, -1, 1]
    one, other = label_branch(arm.plan, q), label_branch(arm.plan, flipped)
    assert one == other._replace(wrist=-other.wrist)


def test_a_spherical_shoulder_is_called_shoulder():
    """The Panda's first three axes meet; turning joint 2 to the other side changes only the shoulder's sign."""
    arm = arm_of('panda')
    q = np.array([0.3, 0.6, -0.4, -1.5, 0.9, 1.7, 0.4])
    turned = q * [1, -1, 1, 1, 1, 1, 1]
    one, other = label_branch(arm.plan, q), label_branch(arm.plan, turned)
    assert one == other._replace(shoulder=-other.shoulder)


def test_a_singular_posture_lies_on_the_border():
    arm = arm_of('irb6700')
    assert label_branch(arm.plan, np.array([0.3, 0.2, -0.4, 0.5, 0.0, 1.0])).wrist == 0


def test_chains_without_factors_have_numbers():
    name = next(name for name in list_arms() if _is_general(name))
    arm = arm_of(name)
    (q,) = branches_of(arm, 1)
    assert set(label_branches(arm.plan, q)) == {NO_LABEL}
    assert sorted(name_branches(arm.plan, q)) == sorted(f'branch {i + 1}' for i in range(len(q)))


def _is_general(name):
    robot = load_arm(name)
    return len(robot.tree.joint_names) == 6 and arm_of(name).plan.name == 'general_6r'


def test_numbers_follow_the_wrapped_angles():
    q = np.array([[0.5, 0.0], [-0.5, 1.0], [0.5 + 2.0 * np.pi, -1.0]])
    assert number_branches(q) == [3, 1, 2]
    assert number_branches(np.empty((0, 2))) == []


def test_text_of_a_label():
    assert str(BranchLabel(1, -1, 0)) == 'shoulder +, elbow -, wrist 0'


def test_no_rows_no_labels(arm):
    assert label_branches(arm.plan, np.empty((0, arm.plan.size))) == []
    assert name_branches(arm.plan, np.empty((0, arm.plan.size))) == ()
