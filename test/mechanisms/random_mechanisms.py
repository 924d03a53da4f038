"""Mechanisms drawn at random: trees, loops within and between them, goals in the world and on moving frames."""

import numpy as np
from scipy.spatial.transform import Rotation

from ssik_ros.mechanisms import DOF, Goal, Joint, Link

LARGEST_MISS = 2.5


def draw_dof(rng, most):
    count = rng.integers(0, most + 1)
    return [DOF(d) for d in sorted(rng.choice(6, count, replace=False))]


def place(frame, rng):
    frame.set_position(*rng.uniform(-0.6, 0.6, 3))
    frame.set_quaternion(*Rotation.from_rotvec(rng.uniform(-1.2, 1.2, 3)).as_quat())


def give_dof(joint, rng, most=6):
    """Give a joint degrees of freedom with values; now and then as a ball."""
    joint.set_dof(*draw_dof(rng, most))
    if len({DOF.EX, DOF.EY, DOF.EZ} & set(joint.dof)) == 3 and rng.random() < 0.5:
        joint.rotation = 'quaternion'
    joint.set_dof_values(*rng.uniform(-0.6, 0.6, len(joint.dof)))


def draw_tree(rng, number, size):
    """Return the links of a random tree of joints and links, the root first."""
    links = [Link(f't{number} l0')]
    for k in range(1, size):
        joint, link = Joint(f't{number} j{k}'), Link(f't{number} l{k}')
        place(joint, rng)
        place(link, rng)
        give_dof(joint, rng, 6 if rng.random() < 0.2 else 2)
        links[rng.integers(len(links))].add_child(joint)
        joint.add_child(link)
        links.append(link)
    return links


def misses_by_much(closure):
    """Return whether the rotation of a closure is near half a turn, where its logarithm jumps."""
    a, b = closure.matrix_world[:3, :3], closure.child.matrix_world[:3, :3]
    return np.linalg.norm(Rotation.from_matrix(a @ b.T).as_rotvec()) > LARGEST_MISS


def add_closing(rng, links, number):
    """Add a closure or a goal between random links; return it, or None where it would miss by half a turn."""
    goal = rng.random() < 0.5
    closing = Goal(f'g{number}') if goal else Joint(f'c{number}')
    place(closing, rng)
    if goal:
        dof = draw_dof(rng, 6)
        closing.set_goal_dof(*(dof or [DOF.Y, DOF.EZ]))
        closing.mask_frame = 'world' if rng.random() < 0.3 else 'goal'
    elif rng.random() < 0.5:
        give_dof(closing, rng)
    if not goal or rng.random() < 0.4:
        links[rng.integers(len(links))].add_child(closing)
    closing.make_closure(links[rng.integers(len(links))])
    if misses_by_much(closing):
        closing.remove_closure()
        return None
    return closing


def draw_mechanism(rng):
    """Return the roots of a random mechanism with at least one closure or goal."""
    while True:
        trees = [draw_tree(rng, n, rng.integers(2, 7)) for n in range(rng.integers(1, 4))]
        links = [link for tree in trees for link in tree]
        closings = [add_closing(rng, links, n) for n in range(rng.integers(1, 5))]
        if any(closings):
            return [tree[0] for tree in trees]
