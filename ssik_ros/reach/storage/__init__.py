"""Files of maps and data sets: written whole, held by one run, and read without trust."""
