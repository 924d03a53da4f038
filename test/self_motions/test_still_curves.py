"""No pose is called complete that lacks a curve along which the held joint hardly moves."""

from test.self_motions.newton_oracle import solutions
from test.self_motions.test_curves import ON_CURVE, random_postures

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.errors import SolverError
from ssik_ros.manipulator.self_motion_arms import add_spin, TOOL_AXES
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.self_motions.still_curves import find_alignments

FREE_AXES = {'ur5e': 'x', 'ur10e': 'y', 'puma560': 'y', 'irb120': 'x'}
ALIGNED = [
    *(('panda', 1, 0.0), ('panda', 3, 0.0), ('fr3', 1, 0.0), ('xarm7', 1, 0.0)),
    *(('iiwa14', 1, 0.0), ('ur5e', 4, 0.0), ('ur10e', 4, np.pi)),
    *(('puma560', 4, 0.0), ('irb120', 4, 0.0)),
]
"""Arms, joints and their values at which other axes are in one line, or four are parallel."""


def chain_of(arm, axis=None):
    """Return the seven joints of an arm, the last one being the spin if it has six."""
    chain = SerialChain.from_group(arm.robot, arm.group)
    return chain if axis is None else add_spin(chain, np.array(TOOL_AXES[axis]))


def lies_on(motions, q):
    """Return whether a posture lies on a curve."""
    try:
        point = motions.nearest(q[: len(motions.joint_names)])
    except SolverError:
        return False
    return point is not None and point.value < ON_CURVE


def test_a_curve_on_which_the_spin_stands_still_is_found_or_named():
    arm, q = Manipulator.from_prebuilt('ur5e'), np.array([1.22, 1.23, 0.06, -0.86, 0.0, -0.47])
    motions = arm.self_motions(arm.fk(q), free_axis='x')
    assert lies_on(motions, q) or not motions.is_complete
    assert lies_on(motions, q) or "'spin'" in motions.reason
    assert 'not followed' in repr(motions)


@pytest.mark.parametrize('seed', range(4))
def test_seven_axes_of_which_four_become_parallel(seed):
    rng = np.random.default_rng(seed)
    axes = [{'x': (1, 0, 0), 'y': (0, 1, 0), 'z': (0, 0, 1)}[name] for name in 'xyzzzyx']
    arm = Manipulator.from_axes(axes, rng.uniform(-0.4, 0.4, (8, 3)))
    for _ in range(10):
        q = rng.uniform(-np.pi, np.pi, 7)
        q[rng.choice([1, 5])] = rng.choice([-0.5, 0.5]) * np.pi
        motions = arm.self_motions(arm.fk(q))
        assert lies_on(motions, q) or not motions.is_complete


@pytest.mark.sampled
@pytest.mark.parametrize(('name', 'joint', 'value'), ALIGNED)
def test_aligned_axes_leave_no_curve_out_of_a_proof(name, joint, value):
    arm, axis = Manipulator.from_prebuilt(name), FREE_AXES.get(name)
    rng, complete = np.random.default_rng(61), 0
    for q in random_postures(arm, 24, 61):
        # At the aligned value or close to it; if close, the held joint moves by as little.
        q[joint] = value + rng.choice([0.0, 1e-6, -1e-4])
        motions = arm.self_motions(arm.fk(q), free_axis=axis)
        is_on = lies_on(motions, q)
        assert is_on or not motions.is_complete, q.tolist()
        complete += is_on and motions.is_complete
    assert complete < 24


@pytest.mark.parametrize(('name', 'joint', 'value'), [('ur5e', 4, 0.0), ('panda', 3, 0.0)])
def test_solutions_with_another_joint_held_are_on_curves_of_complete_poses(name, joint, value):
    arm, axis = Manipulator.from_prebuilt(name), FREE_AXES.get(name)
    chain, count = chain_of(arm, axis), 0
    values = np.linspace(-2.5, 2.5, 12)
    for index, q in enumerate(random_postures(arm, 6, 62)):
        q[joint] = value
        target = arm.fk(q)
        motions = arm.self_motions(target, free_axis=axis)
        for row in solutions(chain, target, 2, values, 12, index):
            count += 1
            assert lies_on(motions, row) or not motions.is_complete, row.tolist()
    assert count > 10


def test_alignments_of_a_panda_are_those_of_its_straight_shoulder_and_elbow():
    alignments = find_alignments(chain_of(Manipulator.from_prebuilt('panda')))
    lines = {(each.first, each.between, each.last) for each in alignments if each.is_line}
    assert lines == {(0, 1, 2), (2, 3, 4)}
    for each in alignments:
        assert each.angle == pytest.approx(0.0, abs=1e-9) or not each.is_line
