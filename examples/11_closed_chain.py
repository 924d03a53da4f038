"""
The first example of closed-chain-ik-js in its own words, a goal with some degrees of freedom, and a worker.

Every method has both spellings: ``setDoF`` and ``set_dof``.
"""

import math

from ssik_ros.mechanisms import DOF, Goal, Joint, Link, SOLVE_STATUS_NAMES, Solver, WorkerSolver

# Links and joints.
link1, joint1, link2, joint2, link3 = Link('1'), Joint('j1'), Link('2'), Joint('j2'), Link('3')
for joint, dof in ((joint1, DOF.EZ), (joint2, DOF.EX)):
    joint.setDoF(dof)
    joint.setPosition(0, 1, 0)
    joint.setDoFValues(math.pi / 4)
link3.setPosition(0, 1, 0)
link1.addChild(joint1)
joint1.addChild(link2)
link2.addChild(joint2)
joint2.addChild(link3)

# The goal starts where the last link is.
goal = Goal('goal')
link3.getWorldPosition(goal.position)
link3.getWorldQuaternion(goal.quaternion)
goal.makeClosure(link3)

solver = Solver(link1)
joint1.setDoFValues(0.2)
results = solver.solve()
print([SOLVE_STATUS_NAMES[status] for status in results], f'{joint1.get_dof_value(DOF.EZ):.6f}')

# Two joints cannot reach any pose, but any height and depth: the rest is left free.
goal.set_goal_dof(DOF.Y, DOF.Z)
goal.mask_frame = 'world'
goal.position = (0.0, 1.6, 0.7)
(result,) = solver.solve()
print(result, link3.get_world_position().round(6))

# Too far: the nearest that there is, and how much is missing.
goal.set_goal_dof(DOF.X, DOF.Y, DOF.Z)
goal.position = (0.0, 4.0, 0.0)
(result,) = solver.solve()
print(f'{result.status.name}, {result.error[0]:.6f} m away')

# The same goal solved in another thread; the joints get their values when the future has its result.
worker = WorkerSolver(link1)
goal.set_goal_dof(DOF.Y, DOF.Z)
goal.position = (0.0, 1.7, 0.5)
print([result.status.name for result in worker.solve().result()], worker.running)
worker.dispose()
