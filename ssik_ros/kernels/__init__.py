"""Numerical kernels: plain arrays in, plain arrays out; the only folder that imports numba."""
