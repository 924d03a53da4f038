"""Arguments of a wrong type: every public method of frames and solvers raises the error that its class names."""

import numpy as np
import pytest

from ssik_ros.errors import InvalidClosure, InvalidOption
from ssik_ros.mechanisms import DOF, find_roots, Goal, Joint, Link, markers, Solver, WorkerSolver
from ssik_ros.mechanisms.frame import Frame

METHODS = {
    **dict.fromkeys(('set_position', 'set_world_position', 'set_euler'), (1.0, 2.0, 3.0)),
    **dict.fromkeys(('set_quaternion', 'set_world_quaternion'), (0.0, 0.0, 0.0, 1.0)),
    **dict.fromkeys(('set_matrix', 'set_matrix_world'), (np.eye(4),)),
    **dict.fromkeys(('get_world_position', 'get_world_quaternion'), (None,)),
    **dict.fromkeys(('traverse', 'traverse_parents', 'find'), (lambda frame: None,)),
    **dict.fromkeys(('set_dof_value', 'set_target_value', 'set_rest_pose_value'), (DOF.X, 0.5)),
    **dict.fromkeys(('set_dof_values', 'set_target_values', 'set_rest_pose_values'), (0.5, 0.1)),
    **dict.fromkeys(('get_dof_value', 'get_target_value', 'get_rest_pose_value'), (DOF.X,)),
    **dict.fromkeys(('get_min_limit', 'get_max_limit', 'lock', 'unlock'), (DOF.X,)),
    **{'set_min_limit': (DOF.X, -1.0), 'set_max_limit': (DOF.X, 1.0), 'set_dof': (DOF.X,)},
    **{'set_limits': (DOF.X, -1.0, 1.0), 'set_min_limits': (-1.0, -1.0)},
    **{'set_max_limits': (1.0, 1.0), 'set_rest_pose_weights': (1.0, 1.0)},
}
"""Valid arguments of methods of a joint with the degrees of freedom X and EZ."""
SETTINGS = {
    **{'position': [1.0, 2.0, 3.0], 'quaternion': [0.0, 0.0, 0.0, 1.0], 'rotation': 'euler'},
    **{'target_set': True, 'rest_pose_set': True, 'track_wrap': True, 'locked': True},
    'target_weight': 2.0,
}
WRONG = b'x'


@pytest.fixture
def joint():
    """Return a joint with the degrees of freedom X and EZ between two links."""
    base, joint = Link('base'), Joint('joint')
    base.add_child(joint)
    joint.add_child(Link('end'))
    joint.set_dof(DOF.X, DOF.EZ)
    return joint


def each_wrong(arguments):
    """Yield the arguments with one of them of a wrong type."""
    for index in range(len(arguments)):
        yield (*arguments[:index], WRONG, *arguments[index + 1 :])


@pytest.mark.parametrize('name', METHODS)
def test_a_method_of_a_frame_refuses_a_wrong_type(joint, name):
    getattr(joint, name)(*METHODS[name])
    for arguments in each_wrong(METHODS[name]):
        with pytest.raises(InvalidOption):
            getattr(joint, name)(*arguments)


@pytest.mark.parametrize('name', SETTINGS)
def test_a_setting_of_a_joint_refuses_a_wrong_type(joint, name):
    setattr(joint, name, SETTINGS[name])
    with pytest.raises(InvalidOption):
        setattr(joint, name, WRONG)


def test_the_other_methods_of_frames_refuse_a_wrong_type(joint):
    ball, goal, base = Joint(), Goal(), joint.parent
    ball.set_dof(DOF.EX, DOF.EY, DOF.EZ)
    with pytest.raises(InvalidOption):
        ball.dof_quaternion = WRONG
    for arguments in each_wrong((DOF.EX, joint, DOF.X, 1.0, 0.0)):
        with pytest.raises(InvalidOption):
            ball.follow(*arguments)
    for change in (goal.set_goal_dof, goal.set_free_dof, Frame().add_child, base.add_child):
        with pytest.raises(InvalidOption):
            change(WRONG)
    for change in (base.attach_child, base.remove_child, base.detach_child):
        with pytest.raises(InvalidOption):
            change(WRONG)
    with pytest.raises(InvalidOption):
        goal.mask_frame = WRONG
    for change in (joint.add_child, joint.make_closure):
        with pytest.raises(InvalidClosure):
            change(WRONG)


def test_solvers_refuse_a_wrong_type(joint):
    solver = Solver(joint)
    for call in (solver.residual, solver.jacobian, solver.check_jacobian):
        with pytest.raises(InvalidOption):
            call(WRONG)
    for kind in (Solver, WorkerSolver):
        with pytest.raises(InvalidOption, match='compatible'):
            kind(joint, compatible=np.zeros(2))
    worker = WorkerSolver(joint)
    for call in (worker.on_update, worker.update_frame_state):
        with pytest.raises(InvalidOption):
            call(WRONG)
    for call in (solver.exclude, solver.include, Solver, WorkerSolver, find_roots, markers):
        with pytest.raises(InvalidClosure):
            call([3])


def test_the_colour_of_markers_may_be_an_array(joint):
    color = 0.2, 0.4, 0.6, 1.0
    drawn = markers(joint, color=np.array(color))
    assert [marker.color for marker in drawn] == [m.color for m in markers(joint, color=color)]
    for wrong in (WRONG, 3.0, color[:3]):
        with pytest.raises((TypeError, ValueError), match='color'):
            markers(joint, color=wrong)
