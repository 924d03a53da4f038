"""The latest joint states of several publishers, merged on demand."""

import itertools
import threading

from test.ros_units.bare_nodes import NodeDouble

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from ssik_ros.ros.inputs import live_state
from ssik_ros.ros.inputs.aged_state import AgedState
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.server.requests.ik_requests import StateGiven
from ssik_ros.server.scene.states import StateReader

pytestmark = pytest.mark.ros


def state_message(**values):
    """Return a message with values by joint."""
    return JointState(name=list(values), position=[float(v) for v in values.values()])


@pytest.fixture
def live():
    return LiveState(NodeDouble())


@pytest.fixture(scope='module')
def reader(robots):
    return StateReader(robots['panda'])


def values(live, reader, *names):
    """Return the current values of joints."""
    positions = live.current(reader).positions
    return [positions[reader.robot.variable_names.index(name)] for name in names]


def test_it_listens_to_the_relative_topic_as_sensors_are_heard(reader):
    node = NodeDouble()
    live = LiveState(node)
    assert list(node.callbacks) == ['joint_states']
    node.callbacks['joint_states'](state_message(panda_joint1=0.1))
    assert values(live, reader, 'panda_joint1') == [0.1]
    assert node.qos['joint_states'].reliability.name == 'BEST_EFFORT'


def test_nothing_heard_is_the_default_posture(live, reader):
    assert live.current(reader).positions.tobytes() == reader.default().positions.tobytes()


def test_several_publishers_are_put_together(live, reader):
    live.take(state_message(panda_joint1=0.1, panda_joint2=0.2))
    live.take(state_message(panda_finger_joint1=0.03))
    live.take(state_message(elevator=7.0))
    positions = values(live, reader, 'panda_joint1', 'panda_joint2', 'panda_finger_joint2')
    assert positions == [0.1, 0.2, 0.03]


def test_the_newest_value_of_a_joint_counts(live, reader):
    live.take(state_message(panda_joint1=0.1, panda_joint2=0.2))
    live.take(state_message(panda_joint1=0.5))
    assert values(live, reader, 'panda_joint1', 'panda_joint2') == [0.5, 0.2]
    live.take(state_message(panda_joint1=0.7, panda_joint2=0.8))
    assert values(live, reader, 'panda_joint1', 'panda_joint2') == [0.7, 0.8]


def test_a_message_without_positions_takes_none_away(live, reader):
    live.take(state_message(panda_joint1=0.4))
    live.take(JointState(name=['panda_joint1'], velocity=[1.0]))
    assert values(live, reader, 'panda_joint1') == [0.4]


def test_a_value_that_is_not_finite_takes_none_away(live, reader):
    live.take(state_message(panda_joint1=0.4, panda_joint2=0.5))
    live.take(state_message(panda_joint1=float('nan'), panda_joint2=0.6))
    assert values(live, reader, 'panda_joint1', 'panda_joint2') == [0.4, 0.6]


@pytest.mark.parametrize('message', [JointState(), JointState(name=['panda_joint1'])])
def test_an_empty_message_is_none(live, reader, message):
    live.take(message)
    assert live.current(reader).positions.tobytes() == reader.default().positions.tobytes()


def test_the_memory_is_bounded_and_keeps_the_newest(live, reader):
    live.current(reader)
    for count in range(10 * live_state.PUBLISHERS):
        live.take(state_message(**{'panda_joint1': count * 1e-3, f'other_{count}': 1.0}))
    others = live.reported() - {'panda_joint1'}
    assert len(others) <= live_state.PUBLISHERS
    assert values(live, reader, 'panda_joint1') == [(10 * live_state.PUBLISHERS - 1) * 1e-3]


def test_an_unchanged_state_is_read_once(live, reader):
    live.take(state_message(panda_joint1=0.1))
    assert live.current(reader) is live.current(reader)
    first = live.current(reader)
    live.take(state_message(panda_joint1=0.1))
    assert live.current(reader) is not first


def test_another_robot_reads_the_same_messages(live, robots):
    live.take(state_message(panda_joint1=0.1, shoulder_pan_joint=0.2))
    panda, arm = StateReader(robots['panda']), StateReader(robots['ur5e'])
    assert values(live, panda, 'panda_joint1') == [0.1]
    assert values(live, arm, 'shoulder_pan_joint') == [0.2]
    assert values(live, panda, 'panda_joint1') == [0.1]
    again = StateReader(robots['panda'])
    assert values(live, again, 'panda_joint1') == [0.1]


def test_a_message_that_comes_while_the_state_is_read_is_not_lost(live, robots):
    class Interrupted(StateReader):
        """Hears one more message while it reads."""

        late = state_message(panda_joint1=0.9)

        def update(self, current, names, positions):
            if self.late is not None:
                message, self.late = self.late, None
                live.take(message)
            return super().update(current, names, positions)

    reader = Interrupted(robots['panda'])
    live.take(state_message(panda_joint1=0.1))
    assert values(live, reader, 'panda_joint1') == [0.1]
    assert values(live, reader, 'panda_joint1') == [0.9]


def test_threads_see_whole_messages(live, reader):
    names = ('panda_joint1', 'panda_joint2', 'panda_joint3')
    done, torn = threading.Event(), []

    def publish():
        for count in range(2000):
            live.take(state_message(**dict.fromkeys(names, count / 10_000)))
        done.set()

    def ask():
        while not done.is_set():
            seen = values(live, reader, *names)
            if len(set(seen)) != 1:
                torn.append(seen)

    threads = [threading.Thread(target=work) for work in (publish, ask, ask)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert done.is_set() and not torn
    assert values(live, reader, *names) == [0.1999] * 3


def test_no_request_can_spoil_the_state(live, reader):
    live.take(state_message(panda_joint1=0.1))
    state = live.current(reader)
    changed = reader.update(state, ['panda_joint1'], [0.5])
    changed.positions[:] = 9.0
    assert np.abs(live.current(reader).positions).max() < 9.0
    assert values(live, reader, 'panda_joint1') == [0.1]


def given(**positions):
    """Return a request's state with joint positions."""
    return StateGiven(list(positions), list(positions.values()))


def test_an_assumed_posture_is_told_with_the_joints_that_were_not_named(live, reader):
    assert live.assumption(reader, given()) == (
        'No joint states of this robot came on /ns/joint_states, and the request does not name '
        'panda_joint1, panda_joint2, panda_joint3 and 5 more: default positions were used.'
    )
    arm = {f'panda_joint{number}': 0.0 for number in range(1, 8)}
    assert 'does not name panda_finger_joint1:' in live.assumption(reader, given(**arm))


def test_a_request_that_names_every_joint_assumes_nothing(live, reader):
    arm = {f'panda_joint{number}': 0.0 for number in range(1, 8)}
    for finger in ('panda_finger_joint1', 'panda_finger_joint2'):
        assert not live.assumption(reader, given(**arm, **{finger: 0.0}))


def test_joints_of_another_robot_say_nothing_about_this_one(live, reader):
    live.take(state_message(elevator=7.0))
    assert live.assumption(reader, given())
    live.take(state_message(panda_joint1=0.1))
    assert not live.assumption(reader, given())


def test_what_was_heard_of_another_source_is_forgotten(live, reader):
    live.take(state_message(panda_joint1=0.1))
    live.forget()
    assert values(live, reader, 'panda_joint1') == [0.0]
    assert live.is_silent and live.assumption(reader, given())


# Unusable values are reported, and never taken for a posture.

NAN, INF = float('nan'), float('inf')


def warnings(caplog):
    """Return the lines of the log."""
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize('value', [NAN, INF, -INF, 1e308, -1e10])
def test_a_value_that_cannot_be_used_leaves_the_last_one_and_is_told(live, reader, caplog, value):
    live.take(state_message(panda_joint1=0.4, panda_joint2=0.5))
    live.take(state_message(panda_joint1=value, panda_joint2=0.6))
    assert values(live, reader, 'panda_joint1', 'panda_joint2') == [0.4, 0.6]
    (warning,) = warnings(caplog)
    assert "Joint 'panda_joint1'" in warning and '/ns/joint_states' in warning
    assert not live.assumption(reader, given())


@pytest.mark.parametrize('value', [NAN, 1e308])
def test_a_joint_without_any_usable_value_is_told_in_the_responses(live, reader, value):
    live.take(state_message(panda_joint1=value, panda_joint2=0.6))
    assert values(live, reader, 'panda_joint1', 'panda_joint2') == [0.0, 0.6]
    text = live.assumption(reader, given())
    assert 'No usable position' in text and '(panda_joint1)' in text
    assert not live.assumption(reader, given(panda_joint1=0.0))
    live.take(state_message(panda_joint1=0.1))
    assert not live.assumption(reader, given())


def test_a_message_of_absurd_values_alone_is_no_report(live, reader):
    live.take(state_message(panda_joint1=1e308))
    assert 'No joint states of this robot came' in live.assumption(reader, given())


@pytest.mark.parametrize('positions', [[0.1], [0.1, 0.2, 0.3]])
def test_a_message_of_wrong_sizes_is_told_with_its_joints(live, reader, caplog, positions):
    live.take(state_message(panda_joint1=0.4))
    live.take(JointState(name=['panda_joint1', 'panda_joint2'], position=positions))
    assert values(live, reader, 'panda_joint1') == [0.4]
    (warning,) = warnings(caplog)
    assert f'2 joints (panda_joint1, panda_joint2) {len(positions)} positions' in warning


def test_velocities_alone_are_no_fault(live, caplog):
    live.take(JointState(name=['panda_joint1'], velocity=[1.0]))
    assert not warnings(caplog)


def test_unknown_joints_are_told_once_with_their_names(live, reader, caplog):
    for value in (0.1, 0.2, 0.3):
        live.take(state_message(panda_joint1=value, elevator=7.0))
        assert values(live, reader, 'panda_joint1') == [value]
    (warning,) = warnings(caplog)
    assert "robot 'panda' does not have (elevator)" in warning


def test_a_flood_of_made_up_names_does_not_make_the_robot_forgotten(live, reader):
    live.take(state_message(panda_joint1=0.4, panda_joint2=0.5))
    live.current(reader)
    for count in range(10 * live_state.PUBLISHERS):
        live.take(state_message(**{f'other_{count}': 1.0}))
    assert values(live, reader, 'panda_joint1', 'panda_joint2') == [0.4, 0.5]
    live.take(state_message(panda_joint1=0.7))
    assert values(live, reader, 'panda_joint1', 'panda_joint2') == [0.7, 0.5]


def test_what_a_flood_leaves_behind_is_bounded(live, reader):
    each = live_state.MOST_OLDER // 3
    for count in range(live_state.PUBLISHERS + 4):
        live.take(state_message(**{f'other_{count}_{i}': 1.0 for i in range(each)}))
    latest = live_state.PUBLISHERS * each
    assert len(live.reported()) == latest + live_state.MOST_OLDER
    live.current(reader)
    assert len(live.reported()) == latest


def test_a_message_of_very_long_names_is_ignored_and_told(live, caplog):
    live.take(state_message(**{'x' * (live_state.MOST_CHARACTERS + 1): 1.0}))
    assert live.is_silent
    (warning,) = warnings(caplog)
    assert 'is ignored' in warning and len(warning) < 1000


def test_an_absurd_value_does_not_make_a_joint_look_fresh():
    aged = AgedState(NodeDouble())
    aged.take(state_message(panda_joint1=1e308, panda_joint2=0.1))
    assert aged.too_old(['panda_joint1', 'panda_joint2'], 60.0) == ['panda_joint1']


def test_ages_are_kept_for_a_bounded_number_of_joints():
    aged = AgedState(NodeDouble())
    lists = [[f'j{count}_{i}' for i in range(live_state.MOST_OLDER // 2)] for count in range(4)]
    for names in lists:
        aged.take(state_message(**dict.fromkeys(names, 0.0)))
    assert aged.too_old(itertools.chain(*lists), 60.0) == lists[0] + lists[1]
