"""Search for the best sequence of postures along waypoints: on coarse grids of the free parameters, then on finer ones."""
