"""Attacks on claims of the package: proved, complete, solved. :mod:`bench.campaign.__main__` is the command."""
