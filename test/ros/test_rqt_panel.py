"""The panel of rqt over the real node: its requests without Qt, and its widget where Qt and rqt are installed."""

from collections import deque
import os
import threading
import time
from types import SimpleNamespace

from test.ros.server_client import LATCHED, ready_server, WAIT

import numpy as np
import pytest
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import InteractiveMarkerFeedback

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.ros.conversions.pose_conversions import write_pose
from ssik_ros.ros.panel.node_client import NodeClient
from ssik_ros.view.pose_text import read_pose
from ssik_ros.view.remedies import FREE_ORIENTATION
from ssik_ros.view.service_panel import MARKER, NUMBERS, ServicePanel, TAKE_NEAREST, TargetChoice

pytestmark = pytest.mark.ros

POSE = '0.4 0.1 0.5 3.1416 0 0.4'
FAR = '0.95 0 0.2 3.1416 0 0'
TURNED = '0.75 0 0.5 0 -1.5708 0'
"""Reached in position only."""


@pytest.fixture(scope='module')
def node(tmp_path_factory):
    """Give (server, client) of a node with targets to drag, and publish its robot description."""
    parameters = {'moveit_config_package': 'panda', 'interactive_group': 'panda_arm'}
    with ready_server(tmp_path_factory.mktemp('panel'), parameters) as (server, client):
        urdf = load_robot(find_moveit_config('panda').urdf_path).urdf_xml
        latched = client.node.create_publisher(String, 'robot_description', LATCHED)
        latched.publish(String(data=urdf))
        yield server, client


@pytest.fixture
def panel(node):
    """Give a function that presses something on a panel, and returns the panel once it has its response."""
    _, client = node
    posted = deque()
    services = NodeClient(
        client.node,
        posted.append,
        take_robot=lambda robot: panel.take_robot(robot),
        move_marker=lambda: panel.move_marker(),
    )
    panel = ServicePanel(services, lambda: None)

    def is_idle():
        while posted:
            posted.popleft()()
        services.tick()
        return not panel.is_busy

    def press(act):
        act()
        client.spin_until(is_idle, 'the panel')
        return panel

    client.spin_until(services.find_nodes, 'the node')
    panel.look()
    client.spin_until(lambda: is_idle() and panel.preview, 'robot and groups')
    yield SimpleNamespace(press=press, panel=panel, is_idle=is_idle)
    services.close()


def target_of(text):
    return TargetChoice(NUMBERS, 'panda_link0', text)


def test_all_branches_of_a_pose_have_a_row(panel):
    panel.panel.choose_target(target_of(POSE))
    shown = panel.press(panel.panel.solve)
    rows = shown.list_rows()
    assert shown.group.name == 'panda_arm' and shown.status.startswith('At the target.')
    assert len(rows) > 4 and shown.unit == 'rad'
    assert all(row.manipulability > 0.0 and row.room >= 0.0 for row in rows)
    assert [row.distance for row in rows] == sorted(row.distance for row in rows)


def test_the_tip_as_it_is_now_is_reached(panel):
    shown = panel.press(panel.panel.solve)
    assert shown.link == 'panda_link8' and shown.branches


def test_the_marker_in_rviz_is_a_target(panel):
    panel.panel.choose_target(TargetChoice(MARKER))
    assert len(panel.press(panel.panel.solve).branches) > 4


def test_the_table_follows_a_drag_in_rviz(panel, node):
    _, client = node
    shown = panel.panel
    shown.choose_target(TargetChoice(MARKER))
    before = panel.press(shown.solve).response
    drag = InteractiveMarkerFeedback(
        client_id='rviz',
        marker_name='panda_link8',
        event_type=InteractiveMarkerFeedback.POSE_UPDATE,
    )
    drag.header.frame_id = 'panda_link0'
    write_pose(drag.pose, read_pose(POSE))
    topic = 'ssik_ros/interactive_target/feedback'
    client.publisher(InteractiveMarkerFeedback, topic, LATCHED).publish(drag)
    client.spin_until(lambda: panel.is_idle() and shown.response is not before, 'a new table')
    panel.press(shown.solve)
    followed = shown.branches[0].positions
    shown.choose_target(target_of(POSE))
    assert np.allclose(panel.press(shown.solve).branches[0].positions, followed)


@pytest.mark.parametrize('text, label', [(FAR, TAKE_NEAREST), (TURNED, FREE_ORIENTATION)])
def test_a_remedy_reaches_a_pose_that_was_not_reached(panel, text, label):
    shown = panel.panel
    shown.choose_target(target_of(text))
    panel.press(shown.solve)
    assert shown.status.startswith('Not at the target.') and not shown.branches
    panel.press(shown.explain)
    assert shown.nearest_text and shown.details
    remedy = next(remedy for remedy in shown.list_remedies() if remedy.label == label)
    panel.press(remedy.act)
    assert shown.status.startswith('At the target.') and shown.branches and shown.relaxed
    panel.press(shown.take_back)
    assert shown.target == target_of(text) and not shown.branches


def test_a_frame_that_the_node_does_not_know_is_told(panel):
    panel.panel.choose_target(TargetChoice(NUMBERS, 'moon', POSE))
    shown = panel.press(panel.panel.solve)
    assert 'moon' in shown.status and not shown.branches and '\n' not in shown.status


@pytest.fixture(scope='module')
def application():
    """Return the application of Qt, without a window on the screen; skip where Qt is missing."""
    os.environ.setdefault('QT_QPA_PLATFORM', 'offscreen')
    reason = 'no rqt on this machine: the widget of the panel is not tested'
    widgets = pytest.importorskip('python_qt_binding.QtWidgets', reason=reason)
    return widgets.QApplication.instance() or widgets.QApplication([])


@pytest.fixture
def spun(node):
    """Give a node that another thread spins, as rqt's is, in the domain of the server."""
    _, client = node
    rqt_node = Node('rqt', context=client.node.context, enable_rosout=False)
    executor = MultiThreadedExecutor(context=client.node.context)
    executor.add_node(rqt_node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield rqt_node
    executor.shutdown(WAIT)
    thread.join(WAIT)
    rqt_node.destroy_node()


@pytest.fixture
def widget(application, spun):
    """Give the widget, once it knows robot and groups."""
    from ssik_ros.ros.panel.panel_widget import PanelWidget

    shown = PanelWidget(spun)
    shown.show()
    wait_in_qt(application, lambda: shown.panel.preview is not None)
    yield shown
    shown.close_panel()
    shown.deleteLater()


def wait_in_qt(application, condition):
    """Let Qt work until a condition holds."""
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, 'not done in time'
        application.processEvents()
        time.sleep(0.01)


def enter(widget, text):
    """Type a pose into the widget."""
    widget.source.setCurrentText(NUMBERS)
    widget.source.textActivated.emit(NUMBERS)
    widget.numbers.setText(text)
    widget.numbers.editingFinished.emit()


def press(application, widget, button):
    """Press a button and wait for the response."""
    assert button.isEnabled() and button.isVisible()
    button.click()
    wait_in_qt(application, lambda: not widget.panel.is_busy)


def buttons(group):
    """Return the buttons of the remedies by their texts."""
    row = group.layout()
    shown = [row.itemAt(place).widget() for place in range(row.count())]
    return {button.text(): button for button in shown}


def test_a_click_on_a_row_of_the_widget_shows_the_branch(application, widget, node):
    heard = []
    _, client = node
    client.node.create_subscription(
        JointState, 'ssik_ros/goal_joint_states', heard.append, LATCHED
    )
    enter(widget, POSE)
    press(application, widget, widget.solve)
    table, panel = widget.table, widget.panel
    assert table.rowCount() == len(panel.branches) > 4
    titles = [table.horizontalHeaderItem(place).text() for place in range(1, 5)]
    assert titles == ['branch', 'distance [rad]', 'to limit [rad]', 'manipulability']
    widget.order.setCurrentText('manipulability')
    widget.order.textActivated.emit('manipulability')
    column = [float(table.item(row, 4).text()) for row in range(table.rowCount())]
    assert column == sorted(column, reverse=True)
    table.cellClicked.emit(1, 0)
    rank = int(table.item(1, 0).text())
    expected = panel.branches[rank - 1].positions
    client.spin_until(
        lambda: any(np.array_equal(message.position, expected) for message in heard), 'a posture'
    )


def test_why_not_offers_buttons_that_help(application, widget):
    enter(widget, FAR)
    press(application, widget, widget.solve)
    assert widget.table.rowCount() == 0 and not widget.help.isVisible()
    press(application, widget, widget.why_not)
    assert widget.nearest.text() == widget.panel.nearest_text != ''
    assert widget.report.isVisible() and 'proved' in widget.details.toPlainText()
    press(application, widget, buttons(widget.help)[TAKE_NEAREST])
    assert widget.table.rowCount() > 4 and widget.numbers.text() != FAR
    press(application, widget, widget.restore)
    assert widget.numbers.text() == FAR and widget.table.rowCount() == 0
    assert not widget.restore.isVisible()


def test_a_text_that_is_being_typed_stays_until_it_is_entered(application, widget):
    from python_qt_binding.QtTest import QTest

    enter(widget, FAR)
    widget.activateWindow()
    widget.numbers.setFocus()
    wait_in_qt(application, widget.numbers.hasFocus)
    widget.numbers.selectAll()
    QTest.keyClicks(widget.numbers, POSE)
    # The panel shows its state again.
    widget.panel.choose_link(widget.panel.link)
    assert widget.numbers.text() == POSE and widget.panel.target.numbers == FAR
    widget.numbers.editingFinished.emit()
    assert widget.panel.target.numbers == POSE
    # The line still has the focus, and shows the target of a remedy.
    widget.panel.choose_target(target_of(FAR))
    assert widget.numbers.text() == FAR


def test_texts_of_a_node_are_never_markup(application, widget):
    from python_qt_binding.QtCore import Qt

    for label in (widget.status, widget.nearest, widget.relaxed):
        assert label.textFormat() == Qt.TextFormat.PlainText


def test_rqt_gets_a_widget_and_ends_it(application, spun):
    plugin = pytest.importorskip('ssik_ros.ros.panel.plugin', reason='no rqt on this machine')
    from python_qt_binding.QtCore import QObject

    added, context = [], QObject()
    # The names of rqt's PluginContext that the plugin uses.
    context.node, context.serial_number, context.add_widget = spun, lambda: 2, added.append
    loaded = plugin.IkPanel(context)
    (shown,) = added
    assert shown.windowTitle().endswith('(2)') and 'No node' in shown.status.text()
    wait_in_qt(application, lambda: shown.panel.group is not None)
    loaded.shutdown_plugin()
    assert not list(spun.clients) and not list(spun.subscriptions)
