"""The numerical thresholds that several parts of the package share; a threshold of one part is in its module."""

from ssik_ros.value_class import dataclass


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Numerical thresholds that no user can change: which input is valid, and which solutions count as one."""

    rigid: float = 1e-6
    """Largest deviation of R^T R from identity accepted in a target [1]; beyond it the matrix is not
    a rotation but a mistake (a scaled or sheared transform), within it the matrix is projected."""
    quaternion_norm: float = 0.01
    """Largest deviation of a quaternion's norm from 1 at which it is accepted and normalised [1]."""
    same_solution: float = 1e-4
    """
    Two solutions nearer than this in every joint are one [rad or m].

    Searches compare angles modulo 2 pi; the solver of closed chains does not.
    """
    largest_length: float = 1e12
    """Longest part of a robot [m]; products of longer lengths may overflow."""


DEFAULT_TOLERANCES = Tolerances()
