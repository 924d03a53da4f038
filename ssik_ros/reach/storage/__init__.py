"""Files of reach maps and data sets: written whole or not at all, locked by one run, and checked when read."""
