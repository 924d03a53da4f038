"""Frames, joints and goals: the ancestor's interface under both spellings, and its errors."""

import math
import time

from test.mechanisms.mechanisms import add_joint, make_four_bar, make_hexapod

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.errors import InvalidClosure, InvalidLimits, InvalidOption, SsikError
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms import (
    DOF,
    DOF_NAMES,
    find_roots,
    findRoots,
    Frame,
    Goal,
    Joint,
    Link,
    markers,
    SOLVE_STATUS,
    SOLVE_STATUS_NAMES,
    Solver,
    WorkerSolver,
)
from ssik_ros.mechanisms.mechanism import Mechanism
from ssik_ros.tasks.pose_formats import read_quaternion


def test_the_ancestors_first_example_runs_in_its_own_spelling():
    link1, joint1, link2, joint2, link3 = Link(), Joint(), Link(), Joint(), Link()
    joint1.setDoF(DOF.EZ)
    joint1.setPosition(0, 1, 0)
    joint1.setDoFValues(math.pi / 4)
    joint2.setDoF(DOF.EX)
    joint2.setPosition(0, 1, 0)
    joint2.setDoFValues(math.pi / 4)
    link3.setPosition(0, 1, 0)
    link1.addChild(joint1)
    joint1.addChild(link2)
    link2.addChild(joint2)
    joint2.addChild(link3)
    goal = Goal()
    link3.getWorldPosition(goal.position)
    link3.getWorldQuaternion(goal.quaternion)
    assert np.allclose(goal.position, link3.matrix_world[:3, 3])
    assert np.allclose(goal.matrixWorld, link3.matrixWorld)
    goal.makeClosure(link3)
    solver = Solver(link1)
    assert solver.solve() == [SOLVE_STATUS.CONVERGED]
    joint1.setDoFValues(0.5)
    solver.maxIterations = 50
    assert solver.solve() == [SOLVE_STATUS.CONVERGED]
    assert joint1.getDoFValue(DOF.EZ) == pytest.approx(math.pi / 4, abs=1e-6)


EVERY_NAME = {
    Frame: 'position quaternion matrix matrixWorld parent children setPosition setWorldPosition '
    'getWorldPosition setQuaternion setWorldQuaternion getWorldQuaternion traverseParents traverse '
    'addChild removeChild attachChild detachChild updateMatrix updateMatrixWorld '
    'setMatrixNeedsUpdate setMatrixWorldNeedsUpdate',
    Link: 'closureJoints',
    Joint: 'child isClosure dof dofFlags dofValues dofTarget dofRestPose minDoFLimit maxDoFLimit '
    'matrixDoF targetSet restPoseSet setDoF clearDoF setDoFValues setRestPoseValues '
    'setTargetValues setMinLimits setMaxLimits setDoFValue setRestPoseValue setTargetValue '
    'setMinLimit setMaxLimit getDoFValue getRestPoseValue getTargetValue getMinLimit getMaxLimit '
    'makeClosure',
}
EVERY_OPTION = (
    'useSVD maxIterations stallThreshold divergeThreshold dampingFactor restPoseFactor '
    'translationConvergeThreshold rotationConvergeThreshold translationFactor rotationFactor '
    'translationStep rotationStep translationErrorClamp rotationErrorClamp roots'
)


@pytest.mark.parametrize('kind', EVERY_NAME)
def test_every_name_of_the_ancestor_exists(kind):
    frame = kind()
    for name in EVERY_NAME[kind].split():
        getattr(frame, name)
    for solver in (Solver(frame), WorkerSolver(frame)):
        for name in EVERY_OPTION.split():
            getattr(solver, name)
    for name in [
        'results',
        'updateSolverSettings',
        'updateFrameState',
        'updateStructure',
        'solve',
        'stop',
        'dispose',
    ]:
        assert hasattr(solver, name)
    assert DOF_NAMES == ('X', 'Y', 'Z', 'EX', 'EY', 'EZ')
    assert SOLVE_STATUS_NAMES == ('CONVERGED', 'STALLED', 'DIVERGED', 'TIMEOUT')
    assert findRoots is find_roots


def test_unknown_attributes_are_errors_that_name_the_nearest():
    with pytest.raises(AttributeError, match='max_iterations'):
        Solver(Link()).maxIteration = 3
    with pytest.raises(AttributeError, match='target_set'):
        Joint().targetset = True
    with pytest.raises(AttributeError, match='position'):
        _ = Frame().postion


def test_a_joint_moves_by_translation_then_turns_about_z_y_x():
    joint = Joint()
    joint.set_dof(*DOF)
    joint.set_dof_values(1, 2, 3, 0.3, 0.4, 0.5)
    assert np.allclose(joint.matrix_dof[:3, 3], [1, 2, 3])
    turn = Rotation.from_euler('ZYX', [0.5, 0.4, 0.3]).as_matrix()
    assert np.allclose(joint.matrix_dof[:3, :3], turn)
    joint.rotation = 'quaternion'
    assert np.allclose(joint.matrix_dof[:3, :3], turn)
    assert np.allclose(Rotation.from_quat(joint.dof_quaternion).as_matrix(), turn)


@pytest.mark.parametrize('dof', [(1, 0), (0, 0), (6,), (-1,), ('X',), (True,)])
def test_degrees_of_freedom_out_of_order_are_refused(dof):
    with pytest.raises(InvalidOption):
        Joint().set_dof(*dof)


@pytest.mark.parametrize('length', [1e-8, 1.0, 1e200, 1.7e308])
def test_a_quaternion_may_have_any_length(length):
    turn = np.array([0.5, -0.5, 0.5, -0.5])
    frame = Frame()
    frame.set_quaternion(*length * turn)
    assert np.allclose(frame.quaternion, turn)
    assert np.allclose(read_quaternion(length * turn), turn)


def test_choosing_degrees_of_freedom_resets_everything():
    joint = Joint()
    joint.set_dof(DOF.X, DOF.EZ)
    joint.set_min_limits(1.0, -1.0)
    joint.set_dof_values(2.0, 0.5)
    joint.set_target_values(3.0, 0.1)
    joint.set_dof(DOF.X)
    assert joint.dof_flags.tolist() == [1, 0, 0, 0, 0, 0]
    assert joint.dof_values.tolist() == [0] * 6 == joint.dof_target.tolist()
    assert np.isinf(joint.min_dof_limit).all()


def test_values_are_clamped_and_say_whether_they_hit():
    joint = Joint()
    joint.set_dof(DOF.Z)
    assert joint.set_dof_value(DOF.Z, 5.0) is False
    assert joint.set_max_limit(DOF.Z, 2.0) is True
    assert joint.get_dof_value(DOF.Z) == 2.0
    assert joint.set_dof_value(DOF.Z, 1.0) is False
    assert joint.set_dof_value(DOF.Z, 2.0) is True
    joint.set_target_values(9.0)
    assert joint.get_target_value(DOF.Z) == 9.0
    with pytest.raises(InvalidOption, match='not free'):
        joint.set_dof_value(DOF.X, 1.0)
    with pytest.raises(InvalidLimits):
        joint.set_min_limit(DOF.Z, 3.0)
    for value in (math.nan, math.inf):
        with pytest.raises(SsikError):
            joint.set_dof_value(DOF.Z, value)
    with pytest.raises(SsikError):
        joint.set_dof_values(1.0, 2.0)


def test_structures_that_make_no_sense_are_refused():
    link, joint, other = Link(), Joint(), Link()
    link.add_child(joint)
    joint.add_child(other)
    for parent, child in [(joint, Link()), (link, Link()), (Joint(), Joint()), (link, joint)]:
        with pytest.raises(InvalidClosure):
            parent.add_child(child)
    with pytest.raises(InvalidClosure, match='below itself'):
        other.add_child(Joint()) or other.children[0].add_child(link)
    with pytest.raises(InvalidClosure):
        joint.make_closure(Link())
    with pytest.raises(InvalidClosure):
        Joint().make_closure(Joint())
    with pytest.raises(InvalidClosure):
        Goal().add_child(Link())
    with pytest.raises(InvalidClosure):
        link.remove_child(Joint())
    with pytest.raises(InvalidOption):
        Goal().set_dof_values(1, 2, 3, 4, 5, 6)


def test_attaching_and_detaching_keep_the_pose_in_the_world():
    root, joint, link = Link(), Joint(), Link()
    joint.set_dof(DOF.X, DOF.EY)
    joint.set_dof_values(0.5, 0.7)
    joint.set_euler(0.1, 0.2, 0.3)
    root.add_child(joint)
    link.set_position(1, 2, 3)
    before = link.matrix_world
    joint.attach_child(link)
    assert np.allclose(link.matrix_world, before)
    assert not np.allclose(link.matrix, before)
    joint.detach_child(link)
    assert np.allclose(link.matrix, before) and link.parent is None
    link.set_world_position(4, 5, 6)
    joint.add_child(link)
    link.set_world_position(4, 5, 6)
    link.set_world_quaternion(0, 0, 0, 1)
    assert np.allclose(link.matrix_world[:3, 3], [4, 5, 6])
    assert np.allclose(link.get_world_quaternion(), [0, 0, 0, 1])


def test_walks_prune_find_and_stop():
    bars = make_four_bar()
    seen = []
    bars.root.traverse(lambda frame: seen.append(frame.name) or frame is bars.crank)
    assert 'rocker' in seen and 'coupler' not in seen
    assert bars.root.find(lambda frame: frame.name == 'pin').name == 'pin'
    above = []
    bars.coupler.traverse_parents(lambda frame: above.append(frame) or frame is bars.crank)
    assert above[-1] is bars.crank and bars.root not in above


def test_roots_are_found_through_closures_from_any_frame():
    hexapod = make_hexapod()
    anywhere = hexapod.slides[3]
    roots = find_roots([anywhere])
    assert set(roots) == {*hexapod.roots, hexapod.goal}
    assert roots[0] is hexapod.roots[0]
    assert len(Solver(anywhere).solve()) == 1


def test_numbers_of_a_frame_can_be_set_in_place_and_after_a_solve():
    root, _, goal = Link(), None, Goal()
    joint, tip = add_joint(root, [DOF.X], name='j')
    goal.set_goal_dof(DOF.X)
    goal.make_closure(tip)
    position = goal.position
    solver = Solver(root)
    position[0] = 0.5
    solver.solve()
    assert joint.get_dof_value(DOF.X) == pytest.approx(0.5)
    position[0] = 0.7
    goal.position += [0.1, 0, 0]
    solver.solve()
    assert joint.get_dof_value(DOF.X) == pytest.approx(0.8)
    with pytest.raises(ValueError, match='read-only'):
        joint.dof_values[0] = 3.0


def test_changes_of_the_structure_are_noticed():
    root, goal = Link(), Goal()
    joint, tip = add_joint(root, [DOF.X], name='j')
    goal.set_goal_dof(DOF.X, DOF.Y)
    goal.set_position(1, 1, 0)
    goal.make_closure(tip)
    solver = Solver(root)
    assert solver.solve() == [SOLVE_STATUS.STALLED]
    joint.set_dof(DOF.X, DOF.Y)
    assert solver.solve() == [SOLVE_STATUS.CONVERGED]
    goal.set_goal_dof(DOF.Z)
    goal.set_position(0, 0, 1)
    assert solver.solve() == [SOLVE_STATUS.STALLED]
    goal.remove_closure()
    assert solver.solve() == []
    other = Solver(root)
    goal.make_closure(tip)
    assert other.solve() == [SOLVE_STATUS.STALLED]
    joint.set_dof(DOF.Z)
    assert solver.solve() == [SOLVE_STATUS.CONVERGED]
    # Each of two solvers starts from the joint values that the other one has left.
    for height, one in ((2.0, other), (3.0, solver), (4.0, other)):
        goal.set_position(0, 0, height)
        assert one.solve() == [SOLVE_STATUS.CONVERGED]
        assert joint.get_dof_value(DOF.Z) == pytest.approx(height)


def test_a_ball_refuses_limits_and_leaders():
    joint = Joint()
    joint.set_dof(DOF.EX, DOF.EY, DOF.EZ)
    joint.rotation = 'quaternion'
    with pytest.raises(InvalidOption, match='euler'):
        joint.set_min_limit(DOF.EX, -1.0)
    joint.rotation = 'euler'
    joint.set_min_limit(DOF.EX, -1.0)
    with pytest.raises(InvalidOption):
        joint.rotation = 'quaternion'
    pair = [Joint(), Joint()]
    for one in pair:
        one.set_dof(DOF.X)
    pair[0].follow(DOF.X, pair[1], DOF.X)
    with pytest.raises(InvalidOption, match='follow itself'):
        pair[1].follow(DOF.X, pair[0], DOF.X)


def test_a_worker_solves_beside_and_applies_all_values_at_once():
    hexapod = make_hexapod()
    worker = WorkerSolver(hexapod.roots, max_iterations=1, escapes=0)
    updates = []
    worker.on_update(lambda results: updates.append([r.status for r in results]))
    hexapod.goal.position[0] += 0.012
    results = worker.solve().result(60)
    assert results == [SOLVE_STATUS.CONVERGED] == worker.results
    assert len(updates) > 1 and not worker.running
    assert Solver(hexapod.roots).solve()[0].iterations == 0
    worker.dispose()
    with pytest.raises(InvalidClosure):
        worker.solve()


def test_a_worker_stops_takes_changes_and_hands_on_errors():
    hexapod = make_hexapod()
    worker = WorkerSolver(hexapod.roots, method='dls', max_iterations=1, stall_threshold=0.0)
    hexapod.goal.position[2] += 1.0
    future = worker.solve()
    assert worker.solve() is future
    deadline = time.monotonic() + 60
    while not worker.results and time.monotonic() < deadline:
        time.sleep(0.001)
    hexapod.goal.position[2] -= 1.0
    worker.update_frame_state(hexapod.goal)
    assert future.result(60) == [SOLVE_STATUS.CONVERGED]
    hexapod.goal.position[2] += 1.0
    future = worker.solve()
    worker.stop()
    assert future.result(60) == [SOLVE_STATUS.TIMEOUT] and not worker.running
    worker.update_solver_settings({'maxIterations': 7}, method='lm')
    assert worker.max_iterations == 7
    mechanism = Mechanism(hexapod.roots)
    mechanism.storage.reals[mechanism.frames.index(hexapod.goal), layout.POSITION] = np.nan
    with pytest.raises(SsikError, match='goal'):
        worker.solve().result(60)
    worker.dispose()


def test_markers_show_links_joints_limits_and_goals():
    root, goal = Link('root'), Goal('goal')
    turn, link = add_joint(root, [DOF.EZ], name='turn')
    turn.set_limits(DOF.EZ, 0.0, 1.0)
    slide, link = add_joint(link, [DOF.X], name='slide')
    slide.locked = True
    _ball, link = add_joint(link, [DOF.EX, DOF.EY, DOF.EZ], (1, 0, 0), 'ball')
    goal.make_closure(link)
    _spare, _ = add_joint(root, [DOF.EX], name='spare')
    shown = {(m.namespace, m.number): m for m in markers(root, scale=0.2)}
    assert len(shown) == len(markers(root))
    turns = [shown['ik/turns', 0], shown['ik/turns', 1]]
    assert turns[0].color[:3] == (1.0, 0.0, 0.0)
    assert turns[1].color[:3] == (0.0, 0.3, 1.0)
    assert np.allclose(turns[0].points[:, 2], [-0.1, 0.1])
    assert shown['ik/slides', 0].color[:3] == (0.35, 0.35, 0.35)
    assert np.allclose(shown['ik/balls', 0].points, [[1, 0, 0]])
    wedge = shown['ik/limits', 0].points.reshape(-1, 3, 3)
    area = np.linalg.norm(np.cross(wedge[:, 1], wedge[:, 2]), axis=1).sum() / 2
    assert area == pytest.approx(0.2**2 / 2 * 1.0, rel=0.01)
    assert wedge[:, 1, 1].min() >= 0 and wedge[:, 2, 0].max() <= 0.2
    assert ('ik/goals', 0) in shown and ('ik/closures', 0) in shown
    assert markers(root, draw_through=True)[0].color[3] == pytest.approx(0.1)
    with pytest.raises(InvalidOption):
        markers(root, scale=0.0)


@pytest.mark.parametrize(('frame', 'axis'), [('goal', 1), ('world', 0)])
def test_the_lines_of_a_goal_follow_the_axes_of_its_mask(frame, axis):
    root, goal = Link('root'), Goal('goal')
    _joint, link = add_joint(root, [DOF.X, DOF.Y, DOF.EZ], name='plane')
    goal.set_goal_dof(DOF.X)
    goal.mask_frame = frame
    goal.set_euler([0.0, 0.0, np.pi / 2])
    goal.make_closure(link)
    points = next(m.points for m in markers(root, scale=0.2) if m.namespace == 'ik/goals')
    line = points[1] - points[0]
    assert np.abs(line).argmax() == axis and np.linalg.norm(line) > 0.01
