"""
Take the picture of the rqt panel in docs/images, without a screen: ``python tools/shoot_panel.py``.

Needs an activated shell and python_qt_binding, which comes with rqt.
"""

from collections.abc import Callable
import os
from pathlib import Path
import sys
import tempfile
import threading
import time
from typing import Any

os.environ.setdefault('QT_QPA_PLATFORM', 'offscreen')

import numpy as np
from PIL import Image
from python_qt_binding.QtWidgets import QApplication
from std_msgs.msg import String

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.ros.inputs.robot_source import LATCHED
from ssik_ros.ros.panel.panel_widget import PanelWidget
from ssik_ros.view.service_panel import NUMBERS, TargetChoice

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'tools')]
from test.ros.server_client import ready_server  # noqa: E402

from make_pictures import save_small  # noqa: E402

SIZE = 750, 540
"""Of the widget."""
REACHED, MISSED = '0.4 0.2 0.3 3.1416 0 0', '0.75 0.2 0.6 3.1416 0 0'

POSTURE = 0.3, -1.2, 1.4, -1.8, -1.5, 0.5


def run_qt(application: Any, until: Callable[[], bool]) -> None:
    """Let Qt work until a condition holds."""
    while not until():
        application.processEvents()
        time.sleep(0.01)


def shoot(application: Any, widget: PanelWidget, path: Path, numbers: str) -> Image.Image:
    """Return the picture of the widget after a request for a pose, and for the cause if the pose is not reached."""
    panel = widget.panel
    panel.choose_target(TargetChoice(NUMBERS, 'base_link', numbers))
    panel.solve()
    run_qt(application, lambda: not panel.is_busy)
    if panel.branches:
        panel.show_branch(3)
    else:
        panel.explain()
        run_qt(application, lambda: not panel.is_busy)
    end = time.monotonic() + 0.5
    run_qt(application, lambda: time.monotonic() > end)
    widget.grab().save(str(path))
    return Image.open(path).convert('RGB')


def publish_robot(client: Any) -> None:
    """Publish the description of a UR5e and a posture."""
    robot = load_robot(find_moveit_config('ur5e').urdf_path)
    publisher = client.node.create_publisher(String, 'robot_description', LATCHED)
    publisher.publish(String(data=robot.urdf_xml))
    client.publish_joints(dict(zip(robot.variable_names, POSTURE)), LATCHED)


def take_pictures(folder: Path) -> list[Any]:
    """Start a node in a folder, and return the pictures of branches and of a cause as arrays."""
    application = QApplication([])
    with ready_server(folder, {'moveit_config_package': 'ur5e'}) as (_, client):
        publish_robot(client)
        threading.Thread(target=client._executor.spin, daemon=True).start()
        widget = PanelWidget(client.node)
        widget.resize(*SIZE)
        widget.show()
        run_qt(application, lambda: widget.panel.preview is not None)
        taken = [
            np.asarray(shoot(application, widget, folder / f'{place}.png', numbers))
            for place, numbers in enumerate((REACHED, MISSED))
        ]
        widget.close_panel()
    return taken


def main() -> None:
    """Write the pictures of branches and of a cause side by side."""
    with tempfile.TemporaryDirectory() as folder:
        save_small('view_panel.png', np.hstack(take_pictures(Path(folder))))


if __name__ == '__main__':
    main()
