"""Collision checks of postures, and of straight motions between them, with obstacles and of a robot with itself."""
