"""Long attacks on promises of the package. They measure nothing; helpers come from :mod:`bench`. It is never installed."""
