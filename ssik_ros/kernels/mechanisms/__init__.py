"""Mechanisms with closed loops: rows, sparse normal equations, steps, the loops of a solve."""
