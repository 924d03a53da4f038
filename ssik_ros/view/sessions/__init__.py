"""Sessions: a robot, its targets and the last solve, which a page or a panel shows."""
