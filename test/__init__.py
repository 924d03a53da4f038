"""Tests, and helpers that tests import by their full names: ``from test.solvers import arms``. It is never installed."""
