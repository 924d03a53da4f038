"""Attacks on claims of the package: proved, complete, solved. :mod:`campaigns.postures.__main__` is the command."""
