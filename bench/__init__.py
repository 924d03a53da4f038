"""Speed and quality of the solvers, compared with their peers. ``make bench`` runs it; it is never installed."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The repository."""
