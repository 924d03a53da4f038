"""Auto: the solver that suits a chain and a request."""
