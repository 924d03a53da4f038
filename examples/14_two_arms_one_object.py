"""Two arms hold one object: the URDF is a tree, its loop comes from a file; goals, then passive joints from active ones."""

import math
import time

import numpy as np

from ssik_ros.mechanisms import DOF, Goal, load_mechanism, Solver

# Any robot: from_urdf('robot.urdf', loops='loop_closures.yaml', free_root=False).
robot = load_mechanism('dual_arm')
print(robot.complete_state().status.name, 'with the loops', *robot.closures)

# The object is asked to draw a circle; both hands keep their grasps.
goal = Goal('object goal')
goal.make_closure(robot.links['object'])
home = robot.links['object'].get_world_position()
goal.set_matrix(robot.links['object'].matrix_world)
solver = Solver(robot.root)
times, updates = [], []
for k in range(100):
    angle = 2 * math.pi * k / 100
    goal.set_position(*(home + 0.05 * np.array([math.cos(angle) - 1.0, math.sin(angle), 0.0])))
    before = time.perf_counter()
    (result,) = solver.solve()
    times.append(time.perf_counter() - before)
    updates.append(result.iterations)
    assert result.converged
print(f'{1e6 * np.median(times):.0f} us a pose, updates: {np.median(updates):.0f}')

# Only height and level are given; the robot chooses the rest, close to its current posture.
robot.save_rest_pose()
goal.set_goal_dof(DOF.Z, DOF.EX, DOF.EY)
goal.position[2] += 0.1
(result,) = solver.solve()
print(
    f'{result.status.name}: object raised to {robot.links["object"].get_world_position()[2]:.3f} m'
)

# Torso and left arm are measured; where is the right arm?
names, positions = robot.to_joint_state()
measured = dict(zip(names, positions, strict=True))
measured = {name: measured[name] + 0.02 for name in robot.active_joints}
done = robot.complete_state(measured)
right = [f'{done.positions[f"right_joint{k}"]:.3f}' for k in range(1, 8)]
print(
    f'{done.status.name}: {len(measured)} joints given, {len(done.positions)} known, right arm',
    *right,
)
