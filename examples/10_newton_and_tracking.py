"""
The Robotics Toolbox's ``ik_LM`` on an arm, the trajectory of a line, and a control loop that follows a target.

``ik_NR`` and ``ik_GN`` take the same arguments. Every call is also a function: ``ssik_ros.ik_LM(arm, Tep)``.
"""

import numpy as np

from ssik_ros import Manipulator, TrackStatus

arm = Manipulator.from_prebuilt('panda')
start = np.array([0.1, 0.3, -0.2, -1.8, 0.1, 2.0, 0.6])
target = arm.fk(start)
target[:3, 3] += [0.05, -0.1, 0.08]

q, success, iterations, searches, residual = arm.ik_LM(target, start)
print(f'solved: {success}, {iterations} updates, {searches} searches, E = {residual:.1e}')

# Tighter tolerances, away from the joint limits, and with more fields than the five values have.
solution = arm.ik_LM(target, start, pos_tol=1e-9, rot_tol=1e-9, kq=1.0, pi=0.6)
print(f'{solution.position_error:.0e} m, {solution.rotation_error:.0e} rad, {solution.cause.name}')

# Only the position counts; then one joint is held.
print(arm.ik_LM(target, start, mask=[1, 1, 1, 0, 0, 0]).success, end=' ')
print(arm.ik_LM(target, start, hold={'panda_joint7': 0.6}).success)

# A failure is a value: the nearest state seen, with its own errors.
far = target.copy()
far[0, 3] += 3.0
print(arm.ik_LM(far, start))

# A line as a stack of poses: each starts at the solution before it, and no joint moves further than the bound.
line = np.repeat(target[None], 50, axis=0)
line[:, 1, 3] += np.linspace(0.0, 0.3, 50)
path = arm.ik_LM(line, q, max_joint_step=0.1)
print(path, f'longest step {path.steps.max():.3f} rad')

# The same poses on their own, over all processors.
print(arm.ik_LM(line, independent=True))

# A control loop: one call for each cycle, bounded by the velocity of the joints.
tracker = arm.tracker(start, dt=0.01, velocity_limits=1.0)
for cycle in range(200):
    status = tracker.track(target)
    if cycle == 0 or status != TrackStatus.LIMITED:
        print(cycle, status.name, tracker.cause.name, f'{tracker.position_error:.4f} m')
    if status == TrackStatus.OK:
        break
