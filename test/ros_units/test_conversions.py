"""Messages to requests and back: every field is read, or a table here gives the reason why it is ignored."""

from array import array
import copy
import xml.etree.ElementTree as ET

from test.ros_units import bare_nodes  # noqa: F401 - skips the module if ROS is not installed

from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, Transform, Twist, Wrench
from moveit_msgs.msg import (
    AttachedCollisionObject,
    JointConstraint,
    OrientationConstraint,
    PositionConstraint,
    PositionIKRequest,
    RobotState,
    VisibilityConstraint,
)
from moveit_msgs.srv import GetPositionIK
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from shape_msgs.msg import Mesh, MeshTriangle, Plane, SolidPrimitive

from ssik_ros.model.loader import load_robot
from ssik_ros.ros.conversions.messages import read_ik_request, read_state, StateWriter
from ssik_ros.ros.conversions.pose_conversions import read_pose, write_pose
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.scene.states import StateReader

pytestmark = pytest.mark.ros

READ = (
    'group_name',
    'avoid_collisions',
    'ik_link_name',
    'ik_link_names',
    'timeout.sec',
    'timeout.nanosec',
    'pose_stamped.header.frame_id',
    'pose_stamped.pose',
    'pose_stamped_vector.header.frame_id',
    'pose_stamped_vector.pose',
    'robot_state.joint_state.name',
    'robot_state.joint_state.position',
    'robot_state.multi_dof_joint_state.joint_names',
    'robot_state.multi_dof_joint_state.transforms',
    'constraints',
    'robot_state.is_diff',
    'robot_state.attached_collision_objects',
)
IGNORED = {
    'constraints.name': 'a label',
    'constraints.position_constraints.header.stamp': 'the latest transform counts, as in MoveIt',
    'constraints.position_constraints.constraint_region.meshes.triangles': 'the convex hull is meant',
    'constraints.orientation_constraints.header.stamp': 'the latest transform counts, as in MoveIt',
    'constraints.visibility_constraints': 'whether there are any is read: they are refused',
    'pose_stamped.header.stamp': 'the latest transform counts, as in MoveIt',
    'pose_stamped_vector.header.stamp': 'the latest transform counts, as in MoveIt',
    'robot_state.joint_state.header': 'joint values have no frame, and a state no age',
    'robot_state.joint_state.velocity': 'kinematics of positions',
    'robot_state.joint_state.effort': 'kinematics of positions',
    'robot_state.multi_dof_joint_state.header': 'poses count in the model frame; MoveIt would transform them',
    'robot_state.multi_dof_joint_state.twist': 'kinematics of positions',
    'robot_state.multi_dof_joint_state.wrench': 'kinematics of positions',
    'robot_state.attached_collision_objects.object.header.stamp': 'the latest transform counts, as in MoveIt',
    'robot_state.attached_collision_objects.object.type': 'what an object is called elsewhere',
    'robot_state.attached_collision_objects.detach_posture': 'nothing is let go here',
    'robot_state.attached_collision_objects.weight': 'kinematics of positions',
}
"""Fields of a message that do not change the request, each with the reason."""


def pose_message(seed=0):
    """Return a pose without any number that is special."""
    numbers = np.random.default_rng(seed).uniform(0.1, 0.9, 7).tolist()
    return Pose(
        position=Point(x=numbers[0], y=numbers[1], z=numbers[2]),
        orientation=Quaternion(x=numbers[3], y=numbers[4], z=numbers[5], w=numbers[6]),
    )


def stamped(frame, seed):
    message = PoseStamped(pose=pose_message(seed))
    message.header.frame_id = frame
    return message


def transform_message(seed=0):
    pose, message = pose_message(seed), Transform()
    for axis in 'xyz':
        setattr(message.translation, axis, getattr(pose.position, axis))
    message.rotation = pose.orientation
    return message


def position_constraint():
    """Return a constraint with a box and a tetrahedron."""
    message = PositionConstraint(link_name='tip')
    region = message.constraint_region
    region.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.1, 0.2, 0.3])]
    region.meshes = [Mesh(triangles=[MeshTriangle()])]
    corners = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    region.meshes[0].vertices = [Point(x=x, y=y, z=z) for x, y, z in corners]
    region.primitive_poses, region.mesh_poses = [pose_message(10)], [pose_message(11)]
    return message


def attached_object():
    """Return an object with a solid, a mesh, a plane and a frame."""
    message = AttachedCollisionObject(link_name='tip', touch_links=['finger'])
    item = message.object
    item.id, item.header.frame_id, item.pose = 'box', 'base', pose_message(12)
    region = position_constraint().constraint_region
    item.primitives, item.meshes = region.primitives, region.meshes
    item.primitive_poses, item.mesh_poses = region.primitive_poses, region.mesh_poses
    item.planes, item.plane_poses = [Plane(coef=[1.0, 2.0, 3.0, 4.0])], [pose_message(13)]
    item.subframe_names, item.subframe_poses = ['rim'], [pose_message(14)]
    return message


def read_ik(request):
    """Return the request in the inner message of ``compute_ik``."""
    return read_ik_request(GetPositionIK.Request(ik_request=request))


def filled_request(poses):
    """Return a request with something everywhere, and a number of poses in the vector."""
    request = PositionIKRequest(group_name='arm', ik_link_name='tip', avoid_collisions=True)
    request.pose_stamped = stamped('base', 1)
    request.pose_stamped_vector = [stamped(f'frame_{i}', 2 + i) for i in range(poses)]
    request.ik_link_names = ['left', 'right']
    request.timeout.sec, request.timeout.nanosec = 3, 500_000_000
    state = request.robot_state
    state.joint_state.name = ['j1', 'j2']
    for field in ('position', 'velocity', 'effort'):
        setattr(state.joint_state, field, [0.1, 0.2])
    multi = state.multi_dof_joint_state
    multi.joint_names = ['base']
    multi.transforms, multi.twist, multi.wrench = [transform_message(7)], [Twist()], [Wrench()]
    state.attached_collision_objects = [attached_object()]
    request.constraints.joint_constraints = [JointConstraint()]
    request.constraints.position_constraints = [position_constraint()]
    request.constraints.orientation_constraints = [OrientationConstraint()]
    request.constraints.orientation_constraints[0].orientation = pose_message(9).orientation
    request.constraints.visibility_constraints = [VisibilityConstraint()]
    return request


def leaves(message, path=''):
    """Yield (path, owner, field) of every field of plain values, by the message's own description."""
    for field in message.get_fields_and_field_types():
        value, name = getattr(message, field), f'{path}.{field}'.lstrip('.')
        entries = list(value) if isinstance(value, list | tuple) else [value]
        if entries and hasattr(entries[0], 'get_fields_and_field_types'):
            for entry in entries[:1]:
                yield from leaves(entry, name)
        else:
            yield name, message, field


def changed_value(value):
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float | np.integer):
        return value + 1
    if isinstance(value, str):
        return value + 'x'
    if isinstance(value, bytes):
        return b'\x01' if value != b'\x01' else b'\x02'
    entries = list(value)
    if not entries:
        return None
    return [changed_value(entries[0]), *entries[1:]]


def content(request):
    """Return everything in a request in a form that compares."""
    state = request.state
    return (
        request.group,
        tuple(request.links),
        [(pose.frame, pose.pose.tobytes()) for pose in request.poses],
        (tuple(state.names), tuple(state.positions), tuple(state.multi_dof_names)),
        [pose.tobytes() for pose in state.multi_dof_poses],
        request.timeout,
        (request.avoid_collisions, request.state.carried.forgets),
        [content_of_object(entry) for entry in request.state.carried.objects],
        repr(request.constraints),
    )


def content_of_object(given):
    """Return everything in a carried object in a form that compares."""
    item = given.object
    shapes = [
        (s.kind, tuple(s.sizes), s.pose.tobytes(), repr(s.vertices), repr(s.triangles))
        for s in item.shapes
    ]
    return item.name, item.pose.tobytes(), shapes, repr(item.subframes), repr(given[1:])


def paths_that_matter():
    """Return the paths of fields whose change changes the request, and the paths of the other fields."""
    matter, rest = set(), set()
    for poses in (0, 1, 2):
        for path, _, _ in list(leaves(filled_request(poses))):
            request = filled_request(poses)
            owner, field = next((o, f) for p, o, f in leaves(request) if p == path)
            other = changed_value(getattr(owner, field))
            if other is None:
                continue
            before = content(read_ik(filled_request(poses)))
            setattr(owner, field, other)
            (rest, matter)[content(read_ik(request)) != before].add(path)
    return matter, rest - matter


def test_every_field_is_read_or_ignored_for_a_reason():
    matter, rest = paths_that_matter()

    def below(path, starts):
        return any(path == start or path.startswith(f'{start}.') for start in starts)

    assert {path for path in matter if not below(path, READ)} == set()
    assert {path for path in rest if not below(path, IGNORED)} == set()
    for start in READ:
        assert any(below(path, [start]) for path in matter), start
    for start in IGNORED:
        assert any(below(path, [start]) for path in rest), start
    top = {path.partition('.')[0] for path in (*READ, *IGNORED)}
    assert top == set(PositionIKRequest.get_fields_and_field_types())


def test_every_kind_of_constraints_is_seen():
    fields = PositionIKRequest().constraints.get_fields_and_field_types()
    kinds = [name for name, kind in fields.items() if kind.startswith('sequence')]
    assert len(kinds) == 4
    for kind in kinds:
        request = PositionIKRequest()
        full = getattr(filled_request(0).constraints, kind)
        setattr(request.constraints, kind, full)
        assert not read_ik(request).constraints.are_none, kind
    assert read_ik(PositionIKRequest()).constraints.are_none


def test_a_state_that_says_all_forgets_what_was_carried():
    """As in MoveIt: naming joints without ``is_diff`` clears attached objects; an empty state does not."""
    assert not read_ik(PositionIKRequest()).state.carried.forgets
    assert read_ik(filled_request(0)).state.carried.forgets
    request = filled_request(0)
    request.robot_state.is_diff = True
    assert not read_ik(request).state.carried.forgets


@pytest.mark.parametrize(
    ('poses', 'names', 'links', 'frames'),
    [
        (0, [], ['tip'], ['base']),
        (0, ['left', 'right'], ['tip'], ['base']),
        (1, ['left'], ['left'], ['frame_0']),
        (1, ['left', 'right'], ['left'], ['frame_0']),
        (1, [], [''], ['frame_0']),
        (2, ['left', 'right'], ['left', 'right'], ['frame_0', 'frame_1']),
        (2, ['left'], ['left'], ['frame_0', 'frame_1']),
        (2, [], [], ['frame_0', 'frame_1']),
    ],
)
def test_poses_and_links_are_those_that_moveit_takes(poses, names, links, frames):
    request = filled_request(poses)
    request.ik_link_names = names
    parsed = read_ik(request)
    assert list(parsed.links) == links
    assert [pose.frame for pose in parsed.poses] == frames


@pytest.mark.parametrize(
    ('seconds', 'nanoseconds', 'expected'),
    [
        (0, 0, 0.0),
        (0, 900_000_000, 0.9),
        (1, 1, 1.000000001),
        (-1, 0, -1.0),
        (-1, 5 * 10**8, -0.5),
    ],
)
def test_nanoseconds_of_the_timeout_count(seconds, nanoseconds, expected):
    request = PositionIKRequest()
    request.timeout.sec, request.timeout.nanosec = seconds, nanoseconds
    assert read_ik(request).timeout == pytest.approx(expected, abs=1e-12)


def test_a_pose_is_what_scipy_makes_of_it():
    message = pose_message(3)
    q = message.orientation
    pose = read_pose(message)
    truth = Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix()
    assert pose[:3, :3] == pytest.approx(truth, abs=1e-14)
    assert pose[:3, 3].tolist() == [message.position.x, message.position.y, message.position.z]


def test_a_written_pose_reads_the_same():
    pose = read_pose(pose_message(4))
    message = Pose()
    write_pose(message, pose)
    assert read_pose(message) == pytest.approx(pose, abs=1e-15)
    assert all(
        type(getattr(part, axis)) is float
        for part in (message.position, message.orientation)
        for axis in 'xyz'
    )


def test_reading_changes_no_message():
    request, same = filled_request(2), filled_request(2)
    read_ik(request)
    assert request == same


# States that are written


def model_order(urdf, kinds):
    """Return the joints of some kinds depth first, children by joint name, from the plain XML."""
    joints = ET.fromstring(urdf).findall('joint')
    children = {joint.find('child').get('link') for joint in joints}
    parents = {joint.find('parent').get('link') for joint in joints}
    (root,) = parents - children

    def below(link):
        here = [j for j in joints if j.find('parent').get('link') == link]
        for joint in sorted(here, key=lambda j: j.get('name')):
            if joint.get('type') in kinds:
                yield joint.get('name')
            yield from below(joint.find('child').get('link'))

    return list(below(root))


SINGLE = ('revolute', 'continuous', 'prismatic')


def limb(kind):
    """Return a robot whose base a group moves on a planar or floating virtual joint."""
    text = ''.join(
        f'<joint name="{name}" type="{k}"><parent link="{a}"/><child link="{b}"/><axis xyz="0 1 0"/>'
        '<origin xyz="0.3 0 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
        for name, k, a, b in (
            ('b_knee', 'revolute', 'l0', 'l1'),
            ('a_loose', 'floating', 'l1', 'l2'),
            ('a_slide', 'prismatic', 'l1', 'l3'),
        )
    )
    links = ''.join(f'<link name="l{i}"/>' for i in range(4))
    srdf = (
        f'<robot name="limb"><virtual_joint name="base" type="{kind}" parent_frame="map" '
        'child_link="l0"/><group name="g"><joint name="base"/><joint name="b_knee"/></group></robot>'
    )
    return load_robot(f'<robot name="limb">{links}{text}</robot>', srdf)


def some_state(robot, seed):
    """Return a state with a unit quaternion everywhere and followers in their places."""
    reader, rng = StateReader(robot), np.random.default_rng(seed)
    message = RobotState()
    start = reader.default()
    StateWriter(robot).write(message, start)
    values = rng.uniform(0.0, 0.03, len(message.joint_state.name))
    state = reader.update(start, message.joint_state.name, values)
    given = read_state(message)._replace(
        names=(),
        positions=(),
        multi_dof_poses=[
            read_pose(pose_message(seed + i))
            for i in range(len(message.multi_dof_joint_state.joint_names))
        ],
    )
    return reader.merge(state, given)


def test_the_panda_s_state_is_written_as_moveit_does(robots):
    panda = robots['panda']
    state, message = some_state(panda, 1), RobotState()
    StateWriter(panda).write(message, state)
    joints = message.joint_state
    assert list(joints.name) == model_order(panda.urdf_xml, SINGLE)
    assert len(joints.name) == 9 and 'panda_finger_joint2' in joints.name
    expected = [state.positions[panda.variable_names.index(name)] for name in joints.name]
    assert list(joints.position) == expected
    assert isinstance(joints.position, array)
    assert not joints.velocity and not joints.effort
    assert joints.header.frame_id == 'world' and joints.header.stamp.sec == 0
    multi = message.multi_dof_joint_state
    assert list(multi.joint_names) == ['virtual_joint'] and multi.header.frame_id == 'world'
    assert read_pose_of(multi.transforms[0]) == pytest.approx(state.root_pose, abs=1e-14)
    assert not message.is_diff and not message.attached_collision_objects


def read_pose_of(transform):
    """Return the matrix of a transform, by scipy."""
    pose = np.eye(4)
    r, t = transform.rotation, transform.translation
    pose[:3, :3] = Rotation.from_quat([r.x, r.y, r.z, r.w]).as_matrix()
    pose[:3, 3] = t.x, t.y, t.z
    return pose


@pytest.mark.parametrize('name', ['fanuc', 'gen3', 'ur5e'])
def test_shipped_robots_are_written_in_model_order(robots, name):
    message = RobotState()
    StateWriter(robots[name]).write(message, some_state(robots[name], 2))
    assert list(message.joint_state.name) == model_order(robots[name].urdf_xml, SINGLE)
    frame = robots[name].model_frame
    assert (
        message.multi_dof_joint_state.header.frame_id
        == message.joint_state.header.frame_id
        == frame
    )


@pytest.mark.parametrize('kind', ['planar', 'floating'])
def test_a_base_that_a_group_moves_stands_among_the_joints(kind):
    robot = limb(kind)
    state, message = some_state(robot, 5), RobotState()
    StateWriter(robot).write(message, state)
    assert list(message.joint_state.name) == ['b_knee', 'a_slide']
    assert list(message.multi_dof_joint_state.joint_names) == ['base', 'a_loose']
    base = read_pose_of(message.multi_dof_joint_state.transforms[0])
    assert base[:2, 3] == pytest.approx(state.positions[:2], abs=1e-15)
    if kind == 'planar':
        turn = Rotation.from_matrix(base[:3, :3]).as_rotvec()
        assert turn == pytest.approx([0.0, 0.0, state.positions[2]], abs=1e-12)


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'planar', 'floating'])
@pytest.mark.parametrize('seed', range(3))
def test_a_written_state_reads_the_same(robots, name, seed):
    robot = robots[name] if name in robots else limb(name)
    state, message = some_state(robot, seed), RobotState()
    StateWriter(robot).write(message, state)
    reader = StateReader(robot)
    again = reader.merge(reader.default(), read_state(message))
    assert again.positions == pytest.approx(state.positions, abs=1e-14)
    assert again.root_pose == pytest.approx(state.root_pose, abs=1e-14)


def test_a_fixed_virtual_joint_is_not_written():
    urdf = limb('planar').urdf_xml
    srdf = (
        '<robot name="limb"><virtual_joint name="base" type="fixed" parent_frame="map" '
        'child_link="l0"/><group name="g"><joint name="b_knee"/></group></robot>'
    )
    robot, message = load_robot(urdf, srdf), RobotState()
    StateWriter(robot).write(message, StateReader(robot).default())
    assert list(message.multi_dof_joint_state.joint_names) == ['a_loose']
    assert message.joint_state.header.frame_id == 'l0'


def test_two_responses_share_nothing(robots):
    panda = robots['panda']
    writer, state = StateWriter(panda), some_state(panda, 1)
    first, second, third = RobotState(), RobotState(), RobotState()
    writer.write(first, state)
    writer.write(second, state)
    pristine = copy.deepcopy(second)
    assert first == second
    first.joint_state.name[0] = 'changed'
    first.joint_state.name.append('more')
    first.joint_state.position[0] = 99.0
    first.multi_dof_joint_state.joint_names[0] = 'changed'
    first.multi_dof_joint_state.transforms[0].translation.x = 99.0
    writer.write(third, state)
    assert second == pristine == third
    assert state.positions.max() < 90.0


def test_a_message_does_not_follow_its_state(robots):
    panda = robots['panda']
    state = some_state(panda, 3)
    copied = FullState(state.positions.copy(), state.root_pose.copy())
    message = RobotState()
    StateWriter(panda).write(message, copied)
    before = list(message.joint_state.position)
    copied.positions[:] = 5.0
    assert list(message.joint_state.position) == before
