"""A platform on six legs: 42 degrees of freedom that one goal moves, with the legs' lengths as they come out."""

import math
import time

import numpy as np

from ssik_ros.mechanisms import DOF, Goal, Joint, Link, Solver

HEIGHT = 0.0975


def hexagon(radius, shift):
    """Return six points in three pairs."""
    angles = [2 * math.pi * k / 3 + side + shift for k in range(3) for side in (-0.25, 0.25)]
    return np.array([(radius * math.cos(a), radius * math.sin(a), 0.0) for a in angles])


base, platform, top = Link('base'), Joint('platform'), Link('top')
platform.set_dof(*DOF)
platform.set_position(0, 0, HEIGHT)
platform.add_child(top)
slides = []
ends = hexagon(0.05, math.pi / 3)[[5, 0, 1, 2, 3, 4]]
for k, (start, end) in enumerate(zip(hexagon(0.07, 0.0), ends, strict=True)):
    # Foot and head are ball joints without their spin and with it; the slide is the length.
    foot, shaft, slide, rod = Joint(f'foot{k}'), Link(), Joint(f'slide{k}'), Link()
    foot.set_dof(DOF.EX, DOF.EY)
    foot.set_position(*start)
    slide.set_dof(DOF.Z)
    slide.set_dof_values(0.1)
    head, point, socket = Joint(f'head{k}'), Joint(), Link()
    head.set_dof(DOF.EX, DOF.EY, DOF.EZ)
    point.set_position(*end)
    for parent, child in ((base, foot), (foot, shaft), (shaft, slide), (slide, rod), (rod, head)):
        parent.add_child(child)
    top.add_child(point)
    point.add_child(socket)
    head.make_closure(socket)
    slides.append(slide)

goal = Goal('goal')
goal.set_position(0, 0, HEIGHT)
goal.make_closure(top)
solver = Solver(base)
print(solver.solve()[0])
times = []
for k in range(200):
    angle = 2 * math.pi * k / 100
    goal.set_position(0.012 * math.cos(angle), 0.012 * math.sin(angle), HEIGHT)
    before = time.perf_counter()
    (result,) = solver.solve()
    times.append(time.perf_counter() - before)
lengths = [round(1e3 * slide.get_dof_value(DOF.Z), 2) for slide in slides]
print(f'{result.status.name}, legs of {lengths} mm, {1e6 * np.median(times):.0f} us a frame')
