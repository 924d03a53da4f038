"""The best joint path of a Panda along a line, past a post, and the reason why no path leads through a wall."""

import numpy as np

from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.paths.planner import plan_tool_path


def box(name, size, place):
    """Return a box in the base frame."""
    shape = ObjectShape(SolidKind.BOX, size, np.eye(4))
    return WorldObject(name, pose_matrix(np.array(place), np.eye(3)), (shape,))


def main():
    """Plan three paths."""
    files = find_moveit_config('panda')
    robot = load_robot(files.urdf_path, files.srdf_path, files.joint_limits_path)
    down = np.diag([1.0, -1.0, -1.0])
    line = np.array([pose_matrix([0.45, y, 0.4], down) for y in np.linspace(-0.2, 0.25, 40)])
    post = box('post', (0.08, 0.08, 0.5), (0.25, 0.02, 0.55))
    wall = box('wall', (1.0, 0.02, 2.0), (0.8, 0.1, 0.5))
    for name, obstacles in (('free', []), ('post', [post]), ('wall', [wall])):
        path = plan_tool_path(robot, 'panda_arm', line, obstacles=obstacles, clearance=0.005)
        if path.valid:
            print(f'{name}: sum of |dq| {path.cost:.3f} rad, at least {path.lower_bound:.3f} rad')
        else:
            print(f'{name}: {path.reason}')


if __name__ == '__main__':
    main()
