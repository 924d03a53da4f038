"""Sequences of postures on grids of the free parameters: first coarse grids, then finer ones around the best."""
