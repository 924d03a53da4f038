"""
A rover with a rocker on either side settles on uneven ground: wheels touch it, the body is level on average.

The body floats. Each wheel's goal fixes its height only; the rockers turn against each other (a differential).
"""

import numpy as np

from ssik_ros.mechanisms import DOF, Goal, Joint, Link, Solver


def ground(x, y):
    """Return the height of the ground."""
    return 0.08 * np.sin(2.0 * x + y) + 0.05 * np.cos(3.0 * y - x)


body, chassis = Joint('body'), Link('chassis')
body.set_dof(*DOF)
body.set_dof_values(0, 0, 0.5, 0, 0, 0)
body.add_child(chassis)
wheels, goals, rockers = [], [], []
for side in (-0.4, 0.4):
    rocker, arm = Joint(f'rocker {side}'), Link()
    rocker.set_dof(DOF.EY)
    rocker.set_position(0, side, 0)
    chassis.add_child(rocker)
    rocker.add_child(arm)
    rockers.append(rocker)
    for forward in (-0.5, 0.5):
        mount, wheel, goal = Joint(), Link(f'wheel {side} {forward}'), Goal()
        mount.set_position(forward, 0, -0.3)
        arm.add_child(mount)
        mount.add_child(wheel)
        goal.set_goal_dof(DOF.Z)
        goal.make_closure(wheel)
        wheels.append(wheel)
        goals.append(goal)
rockers[1].follow(DOF.EY, rockers[0], DOF.EY, -1.0)

# The driver holds place and heading; the ground decides about height, roll and pitch.
body.lock(DOF.X, DOF.Y, DOF.EZ)
solver = Solver(body)
for x in np.linspace(0.0, 1.0, 5):
    body.set_dof_value(DOF.X, float(x))
    for _ in range(6):
        # Wheels move sideways a little as the rover tilts: the ground below them is another one then.
        for wheel, goal in zip(wheels, goals, strict=True):
            place = wheel.get_world_position()
            goal.set_position(0, 0, float(ground(place[0], place[1])))
        results = solver.solve()
    gaps = [w.get_world_position()[2] - ground(*w.get_world_position()[:2]) for w in wheels]
    state = body.dof_values.round(3)
    print(f'{results[0].status.name}: x {x:.2f} height {state[2]:.3f} roll {state[3]:.3f} '
          f'pitch {state[4]:.3f}, largest gap {1e6 * np.abs(gaps).max():.2f} um')  # fmt: skip
