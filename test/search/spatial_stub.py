"""A double of other libraries' pose objects, which keep their matrices in ``.A``."""


class Pose:
    """One pose or several."""

    def __init__(self, matrices):
        """Keep the matrices."""
        self.A = matrices
