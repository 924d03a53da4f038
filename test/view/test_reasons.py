"""Why a pose is not reached: one order, one number, no sentence twice."""

import re

import numpy as np
import pytest

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.results import Cause
from ssik_ros.view.reasons import describe_cause, find_reason
from ssik_ros.view.sessions.posture_session import SolveOutcome
from ssik_ros.view.sessions.session import Session


def session_of(name='ur5e', group='ur_manipulator'):
    files = find_moveit_config(name)
    robot = load_robot(files.urdf_path, files.srdf_path)
    return Session(robot, robot.group(group))


def shift(session, *by):
    pose = session.targets[session.tips[0]].copy()
    pose[:3, 3] += by
    session.move_target(session.tips[0], pose)
    session.complete()


def test_a_target_out_of_reach_has_one_number_and_no_sentence_twice():
    session = session_of()
    shift(session, -0.7, 0.0, 0.8)
    reason, cause = find_reason(session), describe_cause(session.outcome)
    assert not session.outcome.solved and len(re.findall(r'[.!?](?:\s|$)', cause)) == 1
    (number,) = re.findall(r'\d+\.\d+', reason.nearest)
    gap = session.tip_pose('tool0')[:3, 3] - session.targets['tool0'][:3, 3]
    assert float(number) == pytest.approx(np.linalg.norm(gap), abs=1e-3)
    said = [cause, reason.nearest, *reason.details]
    assert len(set(said)) == len(said) and session.outcome.text in reason.details
    assert [remedy.label for remedy in reason.remedies] == ['Leave the orientation free']


@pytest.mark.parametrize('unit, number', [('rad', '0.5'), ('deg', '28.65')])
def test_a_posture_at_the_place_of_its_target_is_told_by_its_angle(unit, number):
    session = session_of()
    shift(session, -0.7, 0.0, 0.8)
    session.explanation = session.explanation._replace(distance=1e-4, angle=0.5)
    assert f'turned by {number} {unit}' in find_reason(session, unit).nearest


def test_a_pose_that_is_reached_has_no_reason():
    session = session_of()
    session.complete()
    assert find_reason(session) == ('', [], [])


@pytest.mark.parametrize('cause', [c for c in Cause if c is not Cause.NONE])
def test_each_cause_has_a_sentence(cause):
    text = describe_cause(SolveOutcome(False, cause, 'the report'))
    assert (text.endswith('.') and text[0].isupper()) or text == 'the report'


def test_a_cause_without_a_sentence_shows_the_report():
    assert describe_cause(SolveOutcome(False, Cause.NONE, 'the report')) == 'the report'
