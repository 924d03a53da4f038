"""Mechanisms with closed loops: independent chains, their packed arrays, the call of the kernel."""
