"""How fast and how good the solvers are beside their peers; run by ``make bench``, never installed."""
