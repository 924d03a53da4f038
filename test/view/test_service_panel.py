"""The panel of a running node without the node: requests, rows, causes and remedies."""

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.results import Cause
from ssik_ros.server.groups.explanations import Explanation
from ssik_ros.server.requests.ik_requests import Branch, FramedPose
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.view.branch_preview import make_preview
from ssik_ros.view.node_services import (
    FoundBranches,
    GroupOption,
    Posture,
    RobotSummary,
    ServiceFailure,
)
from ssik_ros.view.pose_text import read_pose
from ssik_ros.view.remedies import FREE_ORIENTATION
from ssik_ros.view.service_panel import (
    FRAME,
    IGNORE_COLLISIONS,
    MARKER,
    NUMBERS,
    ServicePanel,
    TAKE_NEAREST,
    TargetChoice,
    TIP,
)
from ssik_ros.view.sessions.posture_session import SolveOutcome

NODE = '/ssik_ros'
JOINTS = tuple(f'{name}_joint' for name in ('shoulder_pan', 'shoulder_lift', 'elbow'))
JOINTS += tuple(f'wrist_{number}_joint' for number in (1, 2, 3))
ARM = GroupOption('ur_manipulator', 'base_link', ('tool0',), JOINTS)
BROKEN = GroupOption('gripper', 'tool0', (), (), problem='Group gripper has no solver.')
POSE = '0.4 0.1 0.3 3.14 0 0'


def branch_of(number, distance, room):
    q = 0.1 * number + np.arange(6.0)
    return Branch(q, 0.0, 0.0, distance, room, f'elbow {number}', number, ())


BRANCHES = tuple(branch_of(*row) for row in ((0, 0.5, 0.1), (1, 0.9, 0.7), (2, 1.4, 0.3)))
FOUND = FoundBranches(SolveOutcome(True, Cause.NONE, '3 branches.'), JOINTS, BRANCHES)
MISSED = FoundBranches(SolveOutcome(False, Cause.LIMITS, 'No solution: limits.'), JOINTS, ())
WHY = Explanation(
    Refusal.NONE,
    Cause.LIMITS,
    'the report',
    joint_names=JOINTS,
    nearest=np.ones(6),
    distance=0.2,
    angle=0.1,
    advice=('Move it.', 'Move it.'),
)


class Services:
    """Services that keep requests until a test responds to them."""

    how_to_start = 'Start one.'

    def __init__(self):
        self.nodes, self.used, self.calls, self.shown = (NODE,), [], [], []

    def find_nodes(self):
        return self.nodes

    def use(self, node):
        self.used.append(node)

    def show(self, posture, markers, frame):
        self.shown.append((posture, markers, frame))

    def __getattr__(self, name):
        return lambda *arguments: self.calls.append((name, *arguments))

    def respond(self, name, response):
        """Respond to the oldest request, which is for the service of this name."""
        called, *arguments, done = self.calls.pop(0)
        assert called == name
        done(response)
        return arguments


@pytest.fixture
def services():
    return Services()


@pytest.fixture
def panel(services):
    """Return a panel that knows groups, and has a target in numbers."""
    panel = ServicePanel(services, lambda: None)
    panel.look()
    services.respond('describe', RobotSummary('ur5e', (BROKEN, ARM)))
    panel.choose_target(TargetChoice(NUMBERS, 'base_link', POSE))
    return panel


@pytest.fixture(scope='module')
def robot():
    files = find_moveit_config('ur5e')
    return load_robot(files.urdf_path, files.srdf_path)


def remedy_of(panel, label):
    return next(remedy for remedy in panel.list_remedies() if remedy.label == label)


def test_a_missing_node_is_one_line_with_what_to_do(services):
    services.nodes = ()
    panel = ServicePanel(services, lambda: None)
    panel.look()
    assert 'No node' in panel.status and panel.status.endswith('Start one.')
    panel.solve()
    assert services.calls == [] and 'no planning group' in panel.status


def test_the_first_group_with_a_solver_and_its_tip_are_chosen(panel):
    assert (panel.node, panel.group, panel.link) == (NODE, ARM, 'tool0')


def test_a_node_that_ends_is_forgotten_and_a_new_one_is_asked(services, panel):
    services.nodes = ()
    panel.look()
    assert panel.group is None and 'Start one.' in panel.status
    services.nodes = ('/a/ssik_ros',)
    panel.look()
    assert services.used[-1] == '/a/ssik_ros' and services.calls[-1][0] == 'describe'


def test_a_group_without_a_solver_says_why(panel):
    panel.choose_group('gripper')
    assert panel.status == BROKEN.problem


@pytest.mark.parametrize(
    'target, frame, pose',
    [
        (TargetChoice(TIP, 'ignored', 'ignored'), 'tool0', np.eye(4)),
        (TargetChoice(FRAME, ' camera ', 'ignored'), 'camera', np.eye(4)),
        (TargetChoice(NUMBERS, 'base_link', POSE), 'base_link', read_pose(POSE)),
    ],
)
def test_a_target_is_a_pose_in_a_frame(services, panel, target, frame, pose):
    panel.choose_target(target)
    panel.choose_options(avoids_collisions=True, wants_windings=True)
    panel.solve()
    (query,) = services.respond('solve_all', FOUND)
    assert query[:2] == ('ur_manipulator', 'tool0') and query[3:] == (True, True)
    assert query.target.frame == frame and np.array_equal(query.target.pose, pose)


def test_numbers_that_are_no_pose_are_told_and_not_sent(services, panel):
    panel.choose_target(TargetChoice(NUMBERS, '', '1 2 three'))
    panel.solve()
    assert services.calls == [] and "'three' is no number" in panel.status


def test_branches_are_rows_in_the_chosen_order(services, panel):
    panel.solve()
    assert panel.is_busy
    services.respond('solve_all', FOUND)
    assert not panel.is_busy and panel.status == 'At the target. 3 branches.'
    assert [row.rank for row in panel.list_rows()] == [1, 2, 3]
    panel.order = 'room to limits'
    rows = panel.list_rows()
    assert [row.rank for row in rows] == [2, 3, 1] and rows[0].signs == 'elbow 1'
    assert panel.unit == 'rad or m' and np.isnan(rows[0].manipulability)


def test_a_click_shows_the_branch_of_the_rank(services, panel):
    panel.solve()
    services.respond('solve_all', FOUND)
    for rank in (2, 0, 4, -1):
        panel.show_branch(rank)
    ((posture, markers, _),) = services.shown
    assert posture.joint_names == JOINTS and np.array_equal(
        posture.positions, BRANCHES[1].positions
    )
    assert markers == [] and panel.shown == 1


def test_a_response_to_an_earlier_request_is_dropped(services, panel):
    panel.solve()
    panel.solve()
    services.respond('solve_all', FOUND)
    assert panel.branches == () and panel.is_busy
    services.respond('solve_all', MISSED)
    assert panel.status == 'Not at the target. The joint limits keep the target out of reach.'


@pytest.mark.parametrize('change', ['node', 'group', 'link', 'target'])
def test_another_choice_forgets_branches_and_late_responses(services, panel, change):
    panel.solve()
    services.respond('solve_all', FOUND)
    panel.solve()
    change_panel = {
        'node': lambda: panel.choose_node('/b'),
        'group': lambda: panel.choose_group('gripper'),
        'link': lambda: panel.choose_link('flange'),
        'target': lambda: panel.choose_target(TargetChoice(TIP)),
    }[change]
    change_panel()
    assert panel.branches == () and not panel.is_busy
    services.respond('solve_all', FOUND)
    assert panel.branches == ()


def test_a_failed_call_is_told(services, panel):
    panel.solve()
    services.respond('solve_all', ServiceFailure('No response within 10 s.'))
    assert panel.status == 'No response within 10 s.' and not panel.is_busy


def test_the_marker_is_asked_first_and_followed(services, panel):
    panel.choose_target(TargetChoice(MARKER))
    panel.solve()
    panel.move_marker()
    panel.move_marker()
    assert services.respond('find_marker', FramedPose('world', np.eye(4))) == ['tool0']
    (query,) = services.respond('solve_all', FOUND)
    assert query.target.frame == 'world'
    # The marker has moved meanwhile: one more request, not two.
    services.respond('find_marker', FramedPose('world', np.eye(4)))
    services.respond('solve_all', FOUND)
    assert services.calls == []
    panel.choose_target(TargetChoice(TIP))
    panel.move_marker()
    assert services.calls == []


def test_a_cause_has_the_words_of_the_browser_and_each_detail_once(services, panel):
    panel.explain()
    services.respond('explain', WHY)
    assert panel.status == 'Not at the target. The joint limits keep the target out of reach.'
    assert panel.nearest_text == 'In the nearest posture the tip is 0.2 m from the target.'
    assert panel.details == ['the report', 'Move it.']
    assert [remedy.label for remedy in panel.list_remedies()] == [TAKE_NEAREST, FREE_ORIENTATION]
    assert np.array_equal(services.shown[-1][0].positions, WHY.nearest)


def test_a_pose_that_is_reached_needs_no_remedy(services, panel):
    panel.explain()
    services.respond('explain', WHY._replace(solved=True, cause=Cause.NONE))
    assert panel.status == 'At the target.' and not services.shown
    assert (panel.list_remedies(), panel.details, panel.nearest_text) == ([], [], '')


def test_a_group_that_ignores_orientations_is_not_offered_to_free_them(services, panel):
    panel.group = ARM._replace(position_only=True)
    panel.explain()
    services.respond('explain', WHY)
    assert [remedy.label for remedy in panel.list_remedies()] == [TAKE_NEAREST]


def test_the_nearest_posture_becomes_the_target_and_is_taken_back(services, panel):
    before = panel.target
    panel.explain()
    services.respond('explain', WHY)
    remedy_of(panel, TAKE_NEAREST).act()
    pose = read_pose('0.3 0.2 0.1 0 0 1')
    link, posture = services.respond('find_link', FramedPose('world', pose))
    assert link == 'tool0' and np.array_equal(posture.positions, WHY.nearest)
    (query,) = services.respond('solve_all', FOUND)
    assert query.target.frame == 'world' and np.allclose(query.target.pose, pose)
    assert panel.relaxed == ['The target is at the nearest posture.']
    panel.take_back()
    (query,) = services.respond('solve_all', MISSED)
    assert panel.target == before and panel.relaxed == [] and query.target.frame == 'base_link'


def test_a_free_orientation_is_found_with_other_joints_locked(services, panel, robot):
    panel.take_robot(robot)
    panel.explain()
    services.respond('explain', WHY)
    remedy_of(panel, FREE_ORIENTATION).act()
    query, names, locked = services.respond('reach_position', Posture(JOINTS, np.ones(6)))
    assert query.target.frame == 'base_link' and names == JOINTS and locked == ()
    services.respond('find_link', FramedPose('world', np.eye(4)))
    services.respond('solve_all', FOUND)
    assert panel.relaxed == ['The orientation is left free.'] and panel.target.source == NUMBERS


def test_a_remedy_that_does_not_help_changes_no_target(services, panel):
    before = panel.target
    panel.explain()
    services.respond('explain', WHY)
    remedy_of(panel, FREE_ORIENTATION).act()
    services.respond('reach_position', ServiceFailure('Not found.'))
    assert panel.target == before and panel.relaxed == [] and panel.status == 'Not found.'


def test_collisions_are_ignored_only_if_they_were_avoided(services, panel):
    collision = WHY._replace(cause=Cause.COLLISION)
    panel.explain()
    services.respond('explain', collision)
    assert panel.list_remedies() == []
    panel.choose_options(avoids_collisions=True, wants_windings=False)
    panel.explain()
    services.respond('explain', collision)
    remedy_of(panel, IGNORE_COLLISIONS).act()
    (query,) = services.respond('solve_all', FOUND)
    assert not query.avoids_collisions and panel.relaxed == ['Collisions do not count.']
    panel.take_back()
    assert panel.avoids_collisions


def test_the_robot_gives_units_manipulability_and_lines(services, panel, robot):
    panel.take_robot(robot)
    panel.solve()
    services.respond('solve_all', FOUND)
    assert panel.unit == 'rad'
    measure = make_preview(robot, ARM).manipulability(BRANCHES[0].positions)
    assert panel.list_rows()[0].manipulability == measure > 0.0
    panel.show_branch(1)
    posture, markers, frame = services.shown[-1]
    assert frame == robot.tree.root_link and len(markers[0].points) >= 10
    # The next request removes the lines.
    panel.solve()
    services.respond('solve_all', MISSED)
    posture, markers, _ = services.shown[-1]
    assert posture is None and not any(len(marker.points) for marker in markers)


@pytest.mark.parametrize(
    'group',
    [
        ARM._replace(tips=('tool0', 'flange')),
        ARM._replace(tips=('nowhere',)),
        ARM._replace(base='tool0', tips=('base_link',)),
        ARM._replace(joint_names=JOINTS[::-1]),
    ],
)
def test_a_robot_that_is_not_the_one_of_the_node_has_no_preview(robot, group):
    assert make_preview(robot, group) is None


def test_a_robot_of_another_name_is_not_used(services, panel, robot):
    panel.summary = panel.summary._replace(robot='other')
    panel.take_robot(robot)
    assert panel.preview is None


def test_lines_end_at_the_tip_of_the_posture(robot):
    preview = make_preview(robot, ARM)
    q = np.array([0.3, -1.2, 1.4, -1.8, -1.5, 0.5])
    lines, joints = preview.draw(q, (1.0, 0.0, 0.0, 1.0))
    tip = Manipulator(robot, robot.group(ARM.name)).fk(q)[:3, 3]
    for marker in (lines, joints):
        assert np.linalg.norm(marker.points - tip, axis=1).min() < 1e-9
