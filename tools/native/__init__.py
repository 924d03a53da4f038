"""From the kernels to one native library for each target."""
