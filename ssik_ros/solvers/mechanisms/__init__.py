"""Solve mechanisms with closed loops: independent chains, their packed arrays, and the calls of the kernel."""
