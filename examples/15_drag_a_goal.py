"""A goal that a user drags: the handle as data, a worker that follows it, and the frames drawn meanwhile."""

import numpy as np

from ssik_ros.mechanisms import DOF, Goal, load_mechanism, markers, WorkerSolver


def handle_of(goal, scale):
    """Return a goal as an interactive marker's data: one control along or about each axis that it fixes."""
    return {
        'name': goal.name,
        'scale': scale,
        'position': goal.get_world_position().tolist(),
        'quaternion': goal.get_world_quaternion().tolist(),
        'controls': [('rotate_' if d >= DOF.EX else 'move_') + 'xyz'[d % 3] for d in goal.dof],
    }


def drag(position, quaternion):
    """Move the goal to the pose of a viewer's handle; the worker continues from the current joint values."""
    goal.set_world_position(*position)
    goal.set_world_quaternion(*quaternion)
    worker.update_frame_state(goal)
    return worker.solve()


robot = load_mechanism('delta')
platform = robot.links['platform']
goal = Goal('platform')
# A delta robot never turns its platform: handles for turns would promise too much.
goal.set_goal_dof(DOF.X, DOF.Y, DOF.Z)
home = platform.matrix_world
goal.set_matrix(home)
goal.make_closure(platform)
print(handle_of(goal, scale=0.1))

frames = []
worker = WorkerSolver(robot.root)
worker.on_update(lambda results: frames.append(markers(robot.root, scale=0.05)))
for angle in np.linspace(0.0, 2.0 * np.pi, 60):
    place = home[:3, 3] + 0.06 * np.array([np.cos(angle), np.sin(angle), 0.0])
    (result,) = drag(place, (0, 0, 0, 1)).result()
worker.dispose()
miss = np.linalg.norm(platform.matrix_world[:3, 3] - place)
print(f'{result.status.name} behind the handle, {miss:.1e} m off, drawn {len(frames)} times')
