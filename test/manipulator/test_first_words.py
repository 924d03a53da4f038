"""Words that users guess: other names of arguments, and properties of an arm that need no solver."""

import inspect

import numpy as np
import pytest

import ssik_ros
from ssik_ros import find_moveit_config, Manipulator, pose
from ssik_ros.errors import InvalidOption

TARGET = pose(xyz=(0.55, 0.1, 0.15), rpy=(np.pi, 0.0, 0.0))
TABLE = ((0.7, 1.2, 0.04), (0.65, 0.0, -0.02))


@pytest.fixture(scope='module')
def arm():
    return Manipulator.from_prebuilt('ur5e')


def test_help_of_solve_shows_a_short_signature(arm):
    assert len(str(inspect.signature(arm.solve))) <= 300


@pytest.mark.parametrize('word', ['q_seed', 'seed', 'q0'])
def test_a_seed_has_three_names(arm, word):
    seed = arm.random(3)
    expected = arm.solve_q(TARGET, seed)
    assert (arm.solve(TARGET, **{word: seed})[0].q == expected[0]).all()
    assert (arm.solve_q(TARGET, **{word: seed}) == expected).all()
    assert (arm.solve_batch([TARGET], **{word: seed})[0] == expected).all()


def test_two_names_of_one_seed_are_refused(arm):
    with pytest.raises(ValueError, match='two names'):
        arm.solve(TARGET, q_seed=arm.neutral, seed=arm.neutral)


def test_a_whole_number_as_seed_stays_the_seed_of_random_numbers(arm):
    solutions = arm.solve(TARGET, method='ssik_ros/LevenbergMarquardt', seed=3)
    assert len(solutions) == 1


def test_tip_is_ee():
    urdf = find_moveit_config('panda').urdf_path
    arm = Manipulator.from_urdf(urdf, base='panda_link0', tip='panda_hand')
    assert arm.group.tip == 'panda_hand'
    with pytest.raises(ValueError, match='ee and tip'):
        Manipulator.from_urdf(urdf, ee='panda_hand', tip='panda_hand')


def test_many_postures_at_once_are_those_one_by_one(arm):
    q = np.array([arm.random(k) for k in range(4)])
    assert (arm.fk(q) == [arm.fk(row) for row in q]).all()
    assert (arm.jacobian(q) == [arm.jacobian(row) for row in q]).all()
    assert arm.manipulability(q) == pytest.approx([arm.manipulability(row) for row in q])
    assert arm.fk(q[:0]).shape == (0, 4, 4)
    assert arm.jacobian(q[:0]).shape == (0, 6, arm.dof)
    assert arm.manipulability(q[:0]).shape == (0,)


def test_manipulability_is_the_root_of_the_determinant(arm):
    q = arm.random(1)
    jacobian = arm.jacobian(q)
    expected = np.sqrt(np.linalg.det(jacobian @ jacobian.T))
    assert arm.manipulability(q) == pytest.approx(expected, rel=1e-6)


def test_random_postures_are_within_limits_and_repeat():
    first, second = (Manipulator.from_prebuilt('panda') for _ in range(2))
    drawn = [first.random() for _ in range(5)]
    assert (drawn == np.array([second.random() for _ in range(5)])).all()
    assert ((drawn >= first.lower) & (drawn <= first.upper)).all()
    assert (first.random(7) == first.random(np.random.default_rng(7))).all()
    with pytest.raises(ValueError, match='rng'):
        first.random('dice')


def test_solutions_keep_clear_of_a_scene(arm):
    scene = arm.scene(boxes={'table': TABLE})
    rows = arm.solve_q(TARGET)
    hit = arm.in_collision(rows, scene)
    assert 0 < hit.sum() < len(rows)
    assert not arm.in_collision(rows).any()
    assert (arm.solve_q(TARGET, scene=scene) == rows[~hit]).all()
    several = arm.solve(TARGET, method='ssik_ros/PoseIK', scene=scene, max_solutions=3)
    assert len(several) == 3
    assert not any(scene.colliding_pair(solution.q) for solution in several)
    assert arm.solve(TARGET, method='ssik_ros/PoseIK', scene=scene, max_solutions=0) == []
    searched = arm.solve(TARGET, method='ssik_ros/PoseIK', scene=scene)
    assert len(searched) == 1
    assert not arm.in_collision(searched[0].q, scene)


def test_spheres_and_objects_stand_where_they_are_put(arm):
    at_tip = arm.scene(spheres=[(0.05, TARGET[:3, 3])])
    assert arm.in_collision(arm.solve_q(TARGET)[0], at_tip)
    same = arm.scene(objects=at_tip.objects)
    assert same.colliding_pair(arm.solve_q(TARGET)[0])[1] == 'sphere 1'


def test_a_pose_whose_postures_all_collide_says_so(arm):
    scene = arm.scene(boxes={'block': ((3.0, 3.0, 3.0), (0.0, 0.0, 0.0))})
    solutions, diagnostic = arm.solve(TARGET, scene=scene, explain=True)
    assert solutions == []
    assert diagnostic.cause.name == 'COLLISION'
    assert 'block' in diagnostic.summary()


def test_the_cheapest_solution_comes_first(arm):
    costs = [s.q[1] ** 2 for s in arm.solve(TARGET, cost=lambda q: q[1] ** 2)]
    assert costs == sorted(costs)
    assert len(costs) == len(arm.solve(TARGET))
    best = arm.solve(TARGET, cost=lambda q: q[1] ** 2, max_solutions=1)
    assert best[0].q[1] ** 2 == costs[0]
    with pytest.raises(ValueError, match='NaN'):
        arm.solve(TARGET, cost=lambda q: float('nan'))


def test_a_cost_chooses_solutions_with_their_curves():
    arm = Manipulator.from_prebuilt('ur5e')
    singular = arm.fk(np.zeros(6))
    every = arm.solve(singular)
    last = arm.solve(singular, cost=lambda q: -np.linalg.norm(q - every[0].q), max_solutions=1)
    expected = max(every, key=lambda solution: np.linalg.norm(solution.q - every[0].q))
    assert any(solution.continuum for solution in every)
    assert last[0].q.tobytes() == expected.q.tobytes()
    assert repr(last[0].continuum) == repr(expected.continuum)


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ({'scene': 'table'}, 'arm.scene'),
        ({'cost': 3}, 'function'),
    ],
)
def test_what_is_no_scene_and_no_cost_is_refused(arm, options, words):
    with pytest.raises(TypeError, match=words):
        arm.solve(TARGET, **options)


def test_an_arm_without_shapes_says_what_it_needs():
    bare = Manipulator.from_prebuilt('puma560')
    with pytest.raises(ValueError, match='<collision>'):
        bare.in_collision(bare.neutral)


def test_a_position_leaves_the_orientation_free(arm):
    result = arm.solve_position([0.4, 0.1, 0.3])
    assert result.success is True
    assert arm.fk(result.q)[:3, 3] == pytest.approx([0.4, 0.1, 0.3], abs=2e-3)


def test_a_path_keeps_clear_of_a_scene(arm):
    line = [pose((0.55, y, 0.3), rpy=(np.pi, 0.0, 0.0)) for y in np.linspace(-0.2, 0.2, 12)]
    path = arm.plan(line, scene=arm.scene(boxes={'table': TABLE}))
    assert path.valid
    assert len(path.positions) == 12


def test_an_arm_shows_itself_as_a_picture(arm, tmp_path):
    scene = arm.scene(boxes={'table': TABLE})
    file = arm.show(arm.neutral, scene=scene, picture=tmp_path / 'arm.png')
    assert file.read_bytes().startswith(b'\x89PNG')


def test_success_is_a_truth_value_and_the_tuple_stays(arm):
    q, success, iterations, searches, residual = arm.ik_LM(TARGET)
    assert success is True and iterations >= 1 and searches == 1 and residual < 1e-6
    far = np.eye(4)
    far[:3, 3] = 9.0
    assert arm.ik_LM(far).success is False
    assert arm.ik_LM(np.array([TARGET, far])).success.tolist() == [True, False]
    assert q.shape == (6,)


@pytest.mark.parametrize(
    ('call', 'word', 'keyword'),
    [
        (lambda arm: arm.show(arm.neutral, save='arm.png'), 'save', 'picture'),
        (lambda arm: arm.scene(box=[TABLE]), 'box', 'boxes'),
        (lambda arm: arm.self_motions(TARGET, axis='z'), 'axis', 'free_axis'),
        (lambda _: Manipulator.from_prebuilt('ur5e', tolerance=None), 'tolerance', 'policy'),
        (lambda _: Manipulator.from_urdf('arm.urdf', base_link='base'), 'base_link', 'base'),
        (lambda _: Manipulator.from_group('', '', 'arm', limits={}), 'limits', 'joint_limits'),
        (lambda _: pose(position=(0.5, 0.0, 0.3)), 'position', 'xyz'),
        (lambda arm: Manipulator(arm.robot, arm.group, tips=['a', 'b']), 'tips', 'group'),
    ],
)
def test_the_error_for_an_unknown_keyword_names_the_right_one(arm, call, word, keyword):
    with pytest.raises(TypeError, match=f"has no keyword '{word}'.*{keyword}"):
        call(arm)


def test_a_picture_that_is_no_path_is_refused(arm):
    with pytest.raises(InvalidOption, match='picture'):
        arm.show(arm.neutral, picture=3)


def test_functions_that_name_their_keywords_keep_their_signature():
    assert 'picture' in inspect.signature(Manipulator.show).parameters
    assert 'tip' in inspect.signature(Manipulator.from_urdf).parameters


@pytest.mark.parametrize(
    ('word', 'name'),
    [
        ('Robot', 'Manipulator'),
        ('Arm', 'Manipulator'),
        ('load', 'load_robot'),
        ('Manipulater', 'Manipulator'),
    ],
)
def test_the_error_for_an_unknown_name_of_the_package_names_the_right_one(word, name):
    with pytest.raises(AttributeError, match=f"no attribute '{word}'. Did you mean '{name}'"):
        getattr(ssik_ros, word)


def test_the_error_for_an_unknown_attribute_names_one_or_all(arm):
    solution, scene = arm.solve(TARGET)[0], arm.scene(boxes=[TABLE])
    with pytest.raises(AttributeError, match=r"'position_error'\. Did you mean 'fk_residual'"):
        _ = solution.position_error
    with pytest.raises(AttributeError, match=r"'in_collision'\. Did you mean 'is_free'"):
        _ = scene.in_collision
    with pytest.raises(AttributeError, match=r"'cost'\. Known: continuum, fk_residual, q, "):
        _ = solution.cost
