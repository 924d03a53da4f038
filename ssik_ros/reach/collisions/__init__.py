"""Collision checks for reach maps: the geometry as arrays that a map stores, and checks of many postures."""
