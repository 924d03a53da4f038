"""Mechanisms with loops, each with what a closed form says about it."""

from dataclasses import dataclass
import math

import numpy as np

from ssik_ros.closed_chain import DOF
from ssik_ros.closed_chain import Goal
from ssik_ros.closed_chain import Joint
from ssik_ros.closed_chain import Link
from ssik_ros.closed_chain.rotations import matrix_of_euler
from ssik_ros.closed_chain.rotations import quaternion_of_matrix


def add_joint(parent, dof, position=(0.0, 0.0, 0.0), name='', euler=(0.0, 0.0, 0.0)):
    """Put a joint with a link below a link; return both."""
    joint = Joint(name)
    joint.set_dof(*dof)
    joint.set_position(*position)
    joint.set_euler(*euler)
    parent.add_child(joint)
    link = Link(f'{name} link')
    joint.add_child(link)
    return joint, link


def add_rigid(parent, position, name='', euler=(0.0, 0.0, 0.0)):
    """Put a link rigidly below a link; return it."""
    return add_joint(parent, (), position, name, euler)[1]


def add_serial(parent, motions, name):
    """Put joints of one degree of freedom each, without distances, below a link; return them and the last link."""
    joints = []
    for k, dof in enumerate(motions):
        joint, parent = add_joint(parent, [dof], name=f'{name}{k}')
        joints.append(joint)
    return joints, parent


@dataclass
class Hexapod:
    """A platform on six legs of variable length."""

    roots: list
    platform: Joint
    goal: Goal
    slides: list
    base_points: np.ndarray
    platform_points: np.ndarray
    offset: float

    def place_goal(self, position, euler):
        self.goal.set_position(*position)
        self.goal.set_euler(*euler)

    def leg_lengths(self):
        """Return the lengths that the goal asks for: the closed form."""
        pose = self.goal.matrix_world
        ends = self.platform_points @ pose[:3, :3].T + pose[:3, 3]
        return np.linalg.norm(ends - self.base_points, axis=1)

    def slide_lengths(self):
        return np.array([slide.get_dof_value(DOF.Z) for slide in self.slides]) + self.offset


BASE_RADIUS, PLATFORM_RADIUS, HEIGHT, LEG_OFFSET = 0.07, 0.05, 0.0975, 0.05


def hexagon(radius, spread, shift):
    """Return six points in three pairs on a circle."""
    angles = [2 * math.pi * k / 3 + side * spread + shift for k in range(3) for side in (-1, 1)]
    return np.array([[radius * math.cos(a), radius * math.sin(a), 0.0] for a in angles])


def make_hexapod(serial=True, limits=True):
    """
    Return a hexapod of 48 degrees of freedom: a free platform, six legs of three turns, a slide, three turns.

    :param serial: joints of one degree of freedom each; else universal and ball joints with several.
    """
    base = Link('base')
    platform, top = Joint('platform'), Link('top')
    platform.set_dof(*DOF)
    platform.set_position(0.0, 0.0, HEIGHT)
    platform.add_child(top)
    base_points = hexagon(BASE_RADIUS, 0.25, 0.0)
    platform_points = hexagon(PLATFORM_RADIUS, 0.25, math.pi / 3)
    # Each leg leads to the nearer point of the neighbouring pair.
    platform_points = platform_points[[5, 0, 1, 2, 3, 4]]
    slides = []
    for k, (start, end) in enumerate(zip(base_points, platform_points, strict=True)):
        along = end + np.array([0.0, 0.0, HEIGHT]) - start
        length = np.linalg.norm(along)
        # The mount has its z axis along the leg at rest.
        euler = (math.atan2(-along[1], along[2]), math.asin(along[0] / length), 0.0)
        rotation = matrix_of_euler(euler[0], 0, 0) @ matrix_of_euler(0, euler[1], 0)
        foot = Joint(f'foot{k}')
        foot.set_position(*start)
        foot.set_quaternion(*quaternion_of_matrix(rotation))
        base.add_child(foot)
        mount = Link(f'mount{k}')
        foot.add_child(mount)
        if serial:
            _, shaft = add_serial(mount, (DOF.EX, DOF.EY, DOF.EZ), f'lower{k}.')
        else:
            _, shaft = add_joint(mount, (DOF.EX, DOF.EY), name=f'lower{k}')
        slide, rod = add_joint(shaft, [DOF.Z], (0, 0, LEG_OFFSET), f'slide{k}')
        if limits:
            slide.set_limits(DOF.Z, 0.035, 0.08)
        slide.set_dof_values(min(max(length - LEG_OFFSET, 0.035), 0.08))
        slides.append(slide)
        rest = rotation.T
        if serial:
            _, last = add_serial(rod, (DOF.EZ, DOF.EY, DOF.EX), f'upper{k}.')
            closing = Joint(f'closing{k}')
            closing.set_quaternion(*quaternion_of_matrix(rest))
            last.add_child(closing)
        else:
            closing = Joint(f'upper{k}')
            closing.set_dof(DOF.EX, DOF.EY, DOF.EZ)
            closing.rotation = 'quaternion'
            closing.dof_quaternion = quaternion_of_matrix(rest)
            rod.add_child(closing)
        point = Joint(f'point{k}')
        point.set_position(*end)
        top.add_child(point)
        socket = Link(f'socket{k}')
        point.add_child(socket)
        closing.make_closure(socket)
    goal = Goal('goal')
    goal.set_position(0.0, 0.0, HEIGHT)
    goal.make_closure(top)
    return Hexapod(
        [base, platform], platform, goal, slides, base_points, platform_points, LEG_OFFSET
    )
