"""Branches as rows of a table, and their HTML."""

import html.parser

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.view.branch_table import BranchRow, KEYS, list_branches
from ssik_ros.view.browser.panels.branch_panel import draw_table
from ssik_ros.view.browser.panels.joint_panel import draw_bars
from ssik_ros.view.sessions.session import Session

EVIL = '<script>alert(1)</script>'


@pytest.fixture(scope='module')
def session():
    files = find_moveit_config('ur5e')
    robot = load_robot(files.urdf_path, files.srdf_path)
    ur5e = Session(robot, robot.group('ur_manipulator'))
    ur5e.complete()
    return ur5e


@pytest.mark.parametrize('order', KEYS)
def test_rows_are_sorted_and_keep_the_ranks_of_their_ghosts(session, order):
    first, *rows = list_branches(session, order)
    assert first.rank == 0 and first.distance == 0.0
    assert sorted(row.rank for row in rows) == list(range(1, 8))
    values = {
        'distance': [row.distance for row in rows],
        'room to limits': [-row.room for row in rows],
        'manipulability': [-row.manipulability for row in rows],
    }[order]
    assert values == sorted(values)
    for row in rows:
        branch = session.branches[row.rank - 1]
        assert (row.distance, row.room) == (branch.distance, branch.limit_margin)


def test_the_manipulability_is_that_of_the_arm(session):
    arm = Manipulator(session.robot, session.group)
    for row in list_branches(session):
        q = session.branches[row.rank - 1].positions if row.rank else session.joints
        assert row.manipulability == pytest.approx(arm.manipulability(q), rel=1e-9)


class Tags(html.parser.HTMLParser):
    """The tags and texts of some HTML."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.rows = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == 'tr':
            self.rows.append(dict(attrs))

    def handle_data(self, data):
        self.texts.append(data)


def test_names_of_a_urdf_are_no_html():
    q = np.zeros(1)
    row = BranchRow(1, EVIL, EVIL, (), 1.0, 1.0, 1.0)
    for text in (draw_bars([EVIL], q, (q - 1.0, q + 1.0), ['rad']), draw_table([row], 'rad')):
        parser = Tags(text)
        assert 'script' not in parser.tags and EVIL in ''.join(parser.texts)


def test_a_bar_says_which_joint_is_at_its_limit_in_the_chosen_unit():
    q, limits = np.array([0.0, 0.98, 1.0]), (np.full(3, -1.0), np.full(3, 1.0))
    parser = Tags(draw_bars(list('abc'), q, limits, ['deg', 'm', 'rad']))
    assert [row['data-room'] for row in parser.rows] == ['FREE', 'NEAR', 'AT']
    assert {'0 deg', '0.98 m', '1 rad'} <= set(parser.texts)


def test_distances_of_a_table_are_shown_in_degrees():
    row = BranchRow(1, 'elbow +', '', (), np.pi, 0.5 * np.pi, 0.25)
    texts = Tags(draw_table([row], 'deg')).texts
    assert texts[-3:] == ['180', '90', '0.25'] and 'distance [deg]' in texts
