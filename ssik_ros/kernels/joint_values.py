"""Which joint values mean something: the bound of seeds and states, for kernels and for those who call them."""

LARGEST = 1e150
"""Largest value of a joint in a seed or a state [rad or m]: the square of a larger one is no finite number."""
