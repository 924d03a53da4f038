"""
Drag a target without a browser, in the session that ``ssik view`` displays.

The posture follows the target, and the session lists the other branches. A target out of reach has a cause and the
nearest posture. The last state is drawn into a file without a window.
"""

from pathlib import Path
import tempfile

from ssik_ros import load_robot
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.view.recordings import take_snapshot
from ssik_ros.view.remedies import find_remedies
from ssik_ros.view.sessions.session import Session

robot = load_robot(find_moveit_config('ur5e').urdf_path)
session = Session(robot, robot.group_from_links('base_link', 'tool0'))
session.set_joints([0.3, -1.2, 1.4, -0.9, 1.1, 0.2])
target = session.targets['tool0'].copy()

target[:3, 3] += (0.05, 0.0, -0.05)
session.move_target('tool0', target)
session.complete()
print(f'follows: {session.outcome.solved}, {len(session.branches)} other branches')

session.take(session.branches[0])
print(f'branch taken: {session.branches == ()}, undone: {session.undo()}')

target[:3, 3] += (2.0, 0.0, 0.0)
session.move_target('tool0', target)
session.complete()
print(session.outcome.cause.name, f'{session.explanation.distance:.2f} m away')
print([remedy.label for remedy in find_remedies(session)])

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / 'unreached.png'
    take_snapshot(session, path)
    print(f'{path.name} of {path.stat().st_size // 1000} kB')
