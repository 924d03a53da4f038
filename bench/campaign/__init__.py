"""Attacks on what the package calls proved, complete or solved; :mod:`bench.campaign.__main__` is the command."""
