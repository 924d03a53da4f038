"""Mechanisms with loops, each with its closed form."""

from dataclasses import dataclass
import math

import numpy as np

from ssik_ros.kernels.geometry.rotations import matrix_of_rpy, quaternion_of_matrix
from ssik_ros.mechanisms import DOF, Goal, Joint, Link


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
        rotation = matrix_of_rpy(euler[0], 0, 0) @ matrix_of_rpy(0, euler[1], 0)
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


@dataclass
class FourBar:
    """Crank, coupler and rocker in a plane, closed by a pin."""

    root: Link
    crank: Joint
    coupler: Joint
    rocker: Joint
    lengths: tuple

    def rocker_angle(self, crank):
        """Return the rocker's angle for a crank's: the closed form of the open branch."""
        a, b, c, d = self.lengths
        x, y = a * math.cos(crank) - d, a * math.sin(crank)
        far = math.hypot(x, y)
        return math.atan2(y, x) - math.acos((c * c + far * far - b * b) / (2 * c * far))


def make_four_bar(lengths=(0.1, 0.35, 0.3, 0.4)):
    """Return a crank-rocker that is not closed yet: its joints are near the open branch."""
    a, b, c, d = lengths
    root = Link('ground')
    crank, arm = add_joint(root, [DOF.EZ], name='crank')
    coupler, rod = add_joint(arm, [DOF.EZ], (a, 0, 0), 'coupler')
    rocker, bar = add_joint(root, [DOF.EZ], (d, 0, 0), 'rocker')
    pin, end = Joint('pin'), add_rigid(bar, (c, 0, 0), 'end')
    pin.set_dof(DOF.EZ)
    pin.set_position(b, 0, 0)
    rod.add_child(pin)
    pin.make_closure(end)
    crank.set_dof_values(0.3)
    coupler.set_dof_values(0.6)
    rocker.set_dof_values(1.4)
    return FourBar(root, crank, coupler, rocker, lengths)


@dataclass
class Delta:
    """Three motors, each with an arm and a parallelogram of two rods, that carry a platform without turning it."""

    roots: list
    motors: list
    platform: Joint
    goal: Goal
    base_radius: float = 0.2
    platform_radius: float = 0.05
    arm: float = 0.2
    rod: float = 0.45

    def motor_angles(self, position):
        """Return the motors' angles for a position of the platform: the closed form, elbows out."""
        angles = []
        for k in range(3):
            turn = matrix_of_rpy(0, 0, 2 * math.pi * k / 3)
            x, y, z = turn.T @ np.asarray(position)
            x += self.platform_radius - self.base_radius
            # In the arm's plane a circle about the motor meets the sphere of the rods.
            reach = self.rod**2 - y * y
            far = math.hypot(x, z)
            inner = math.acos((self.arm**2 + far**2 - reach) / (2 * self.arm * far))
            angles.append(math.atan2(-z, x) - inner)
        return np.array(angles)

    def position(self, angles):
        """Return the platform's position for angles of the motors: three spheres meet, the lower point."""
        centres = []
        for k, angle in enumerate(angles):
            out = self.base_radius - self.platform_radius + self.arm * math.cos(angle)
            turn = matrix_of_rpy(0, 0, 2 * math.pi * k / 3)
            centres.append(turn @ [out, 0.0, -self.arm * math.sin(angle)])
        a, b, c = centres
        x = (b - a) / np.linalg.norm(b - a)
        across = (c - a) - x * (x @ (c - a))
        y = across / np.linalg.norm(across)
        u = np.linalg.norm(b - a) / 2
        i, j = x @ (c - a), y @ (c - a)
        v = (i * i + j * j) / (2 * j) - i * u / j
        height = math.sqrt(self.rod**2 - u * u - v * v)
        z = np.cross(x, y)
        return a + u * x + v * y + (height if z[2] < 0 else -height) * z


def make_delta(start=(0.0, 0.0, -0.4)):
    """Return a delta robot of 39 degrees of freedom near a position of its platform."""
    base, top, platform = Link('base'), Link('top'), Joint('platform')
    platform.set_dof(*DOF)
    platform.set_dof_values(*start, 0, 0, 0)
    platform.add_child(top)
    delta = Delta([base, platform], [], platform, Goal('goal'))
    wanted = delta.motor_angles(start)
    for k in range(3):
        turn = 2 * math.pi * k / 3
        frame = add_rigid(base, (0, 0, 0), f'sector{k}', (0, 0, turn))
        motor, arm = add_joint(frame, [DOF.EY], (delta.base_radius, 0, 0), f'motor{k}')
        motor.set_dof_values(wanted[k])
        delta.motors.append(motor)
        for side in (-0.04, 0.04):
            name = f'rod{k}{"+" if side > 0 else "-"}'
            elbow, rod = add_joint(arm, (DOF.EY, DOF.EZ), (delta.arm, side, 0), name)
            elbow.set_dof_values(1.2 - wanted[k], 0.0)
            ball = Joint(f'{name} ball')
            ball.set_dof(DOF.EX, DOF.EY, DOF.EZ)
            ball.set_position(delta.rod, 0, 0)
            ball.set_dof_values(0.0, -1.2, 0.0)
            rod.add_child(ball)
            sector = add_rigid(top, (0, 0, 0), f'{name} sector', (0, 0, turn))
            socket = add_rigid(sector, (delta.platform_radius, side, 0), f'{name} socket')
            ball.make_closure(socket)
    delta.goal.make_closure(top)
    delta.goal.set_position(*start)
    return delta


ARM = (
    (DOF.EZ, (0, 0, 0.333)),
    (DOF.EY, (0, 0, 0.0)),
    (DOF.EZ, (0, 0, 0.316)),
    (DOF.EY, (0.08, 0, 0.0)),
    (DOF.EZ, (-0.08, 0, 0.384)),
    (DOF.EY, (0, 0, 0.0)),
    (DOF.EZ, (0.088, 0, 0.1)),
)
BENT = (0.0, 0.5, 0.0, 1.6, 0.0, 0.9, 0.0)


def add_arm(parent, name, position, euler=(0.0, 0.0, 0.0), values=BENT):
    """Put a seven-joint arm on a link; return its joints and its hand."""
    link, joints = add_rigid(parent, position, f'{name} mount', euler), []
    for k, ((dof, offset), value) in enumerate(zip(ARM, values, strict=True)):
        joint, link = add_joint(link, [dof], offset, f'{name}{k}')
        joint.set_limits(dof, -2.8, 2.8)
        joint.set_dof_values(value)
        joints.append(joint)
    return joints, add_rigid(link, (0, 0, 0.1), f'{name} hand')


@dataclass
class TwoArms:
    """Two arms that hold one object, perhaps on a torso."""

    roots: list
    joints: list
    object: Joint
    goal: Goal


def make_two_arms(torso=True):
    """Return two arms whose hands are closed onto one free object, with a goal for it."""
    root = link = Link('world')
    joints = []
    if torso:
        for k, (dof, offset) in enumerate(((DOF.EZ, (0, 0, 0.2)), (DOF.EY, (0, 0, 0.3)))):
            joint, link = add_joint(link, [dof], offset, f'torso{k}')
            joint.set_limits(dof, -1.0, 1.0)
            joints.append(joint)
    left, left_hand = add_arm(link, 'left', (0, 0.25, 0.2), (0, 0, -0.4))
    right, right_hand = add_arm(link, 'right', (0, -0.25, 0.2), (0, 0, 0.4))
    item, box = Joint('object'), Link('box')
    item.set_dof(*DOF)
    middle = (left_hand.get_world_position() + right_hand.get_world_position()) / 2
    item.set_dof_values(*middle, 0, 0, 0)
    item.add_child(box)
    for name, hand in (('left', left_hand), ('right', right_hand)):
        grip, handle = Joint(f'{name} grip'), Joint(f'{name} handle')
        hand.add_child(grip)
        place = Link(f'{name} place')
        box.add_child(handle)
        handle.add_child(place)
        place.set_matrix_world(hand.matrix_world)
        grip.make_closure(place)
    goal = Goal('goal')
    goal.make_closure(box)
    goal.set_matrix_world(box.matrix_world)
    return TwoArms([root, item], joints + left + right, item, goal)
