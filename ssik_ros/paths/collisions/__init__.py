"""Collision checks of postures, and of straight motions between them, among obstacles."""
