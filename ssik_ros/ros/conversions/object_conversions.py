"""Convert collision object messages of moveit_msgs to the objects of requests and of the world."""

from collections.abc import Iterator, Sequence
import itertools

from geometry_msgs.msg import Pose
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
import numpy as np
from shape_msgs.msg import Mesh, SolidPrimitive

from ssik_ros.arrays import FloatArray
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.ros.conversions.pose_conversions import read_pose
from ssik_ros.server.requests.ik_requests import ObjectGiven

KINDS = {
    SolidPrimitive.BOX: SolidKind.BOX,
    SolidPrimitive.SPHERE: SolidKind.SPHERE,
    SolidPrimitive.CYLINDER: SolidKind.CYLINDER,
    SolidPrimitive.CONE: SolidKind.CONE,
}


def read_vertices(message: Mesh) -> FloatArray:
    """
    Return the vertices (v, 3) of a mesh [m]; the triangles are not read.

    :param message: the mesh.
    """
    return np.array([(p.x, p.y, p.z) for p in message.vertices], dtype=np.float64).reshape(-1, 3)


def read_object(message: CollisionObject) -> WorldObject:
    """
    Return the object of a message, its pose in the frame of the header; sizes are not checked here.

    :param message: the object.
    """
    shapes = [
        _read_solid(solid, pose)
        for solid, pose in zip(message.primitives, padded(message.primitive_poses))
    ]
    shapes += [
        ObjectShape(
            SolidKind.MESH,
            (),
            read_pose(pose),
            read_vertices(mesh),
            np.array([t.vertex_indices for t in mesh.triangles], dtype=np.int64).reshape(-1, 3),
        )
        for mesh, pose in zip(message.meshes, padded(message.mesh_poses))
    ]
    shapes += [
        ObjectShape(SolidKind.PLANE, list(plane.coef), read_pose(pose))
        for plane, pose in zip(message.planes, padded(message.plane_poses))
    ]
    frames = zip(message.subframe_names, message.subframe_poses)
    return WorldObject(
        message.id,
        read_pose(message.pose),
        tuple(shapes),
        {name: read_pose(pose) for name, pose in frames},
    )


def read_attached(message: AttachedCollisionObject) -> ObjectGiven:
    """
    Return an object to be attached, or to be detached if the operation of the message is REMOVE.

    :param message: the object and the link.
    """
    return ObjectGiven(
        read_object(message.object),
        message.object.header.frame_id,
        message.link_name,
        frozenset(message.touch_links),
        message.object.operation == CollisionObject.REMOVE,
    )


def _read_solid(message: SolidPrimitive, pose: Pose) -> ObjectShape:
    kind = KINDS.get(message.type, SolidKind.UNKNOWN)
    return ObjectShape(kind, list(message.dimensions)[: max(kind.count, 0)], read_pose(pose))


def padded(poses: Sequence[Pose]) -> Iterator[Pose]:
    """Yield the poses, then identity poses without end, for shapes without a pose."""
    return itertools.chain(poses, itertools.repeat(Pose()))
