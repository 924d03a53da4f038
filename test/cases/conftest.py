"""Paths to robots and judges of other tests, for the tests named by cases."""

from pathlib import Path
import sys

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / name) for name in ('server', 'solvers', 'ros_units', 'promises')]
