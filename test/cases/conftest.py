"""What the tests named by cases share: the robots and judges of other tests."""

from pathlib import Path
import sys

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / name) for name in ('server', 'solvers', 'ros_units', 'promises')]
