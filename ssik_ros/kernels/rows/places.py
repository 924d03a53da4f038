"""
Places of parts in flat memory whose size depends on the number of joints.

A place is a pair of whole numbers (a, b): the part begins at a n + b for a chain of n joints. Each module that owns a
flat array names the places of its parts.
"""

from ssik_ros.kernels._jit import inline_kernel


def after(place: tuple[int, int], per_joint: int, more: int) -> tuple[int, int]:
    """
    Return the place (a, b) where the part after a given part begins.

    Modules call this at import to number their parts one after the other; kernels do not call it.

    :param place: pair (a, b) of the given part, which begins at a n + b.
    :param per_joint, more: size of the given part, ``per_joint`` n + ``more`` numbers.
    """
    return place[0] + per_joint, place[1] + more


@inline_kernel
def at(place, n):
    """
    Return the index in the flat array at which a part begins, for a chain of n joints: a n + b.

    :param place: pair (a, b) of the part.
    :param n: number of joints.
    """
    return place[0] * n + place[1]
