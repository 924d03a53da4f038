"""Kernels for mechanisms with closed loops: residual rows, sparse normal equations, steps, and the loop of a solve."""
