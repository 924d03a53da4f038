"""Speed and quality of the solvers, compared with their peers. ``make bench`` runs it; it is never installed."""
