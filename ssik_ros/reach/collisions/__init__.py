"""Collisions of the cells of a map: the geometry as arrays, and postures checked."""
