"""The report of a solve: counts of candidates, and the cause if it found nothing. It holds plain values only."""

from ssik_ros.errors import counted
from ssik_ros.results import Cause, CAUSE_TEXT
from ssik_ros.value_class import dataclass


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """The report of one solve: solver, counts of candidates, and cause of a failure; safe to log and to pickle."""

    solver_name: str
    """Dotted name of the solver, such as ``ikgeo.three_parallel``."""
    solver_tier: int
    """
    0 closed form, 1 closed form at samples of a held joint, 2 numeric elimination, 3 iteration.

    Arms in a class of seven joints, such as ``seven_r.srs``, have tier 0 although a joint is held.
    """
    dispatch_reason: str
    """Reason for the choice of the solver."""
    raw_candidates: int
    """Different candidates that reach the target, before limits; of a search the solutions that it found."""
    dropped_by_limits: int
    """Raw candidates outside the limits at every winding; 0 for a search, and unless ``respect_limits`` is True."""
    dropped_by_max_solutions: int
    """Solutions that ``max_solutions`` cut off; a search stops at this number of solutions, unless a cost is given."""
    final_count: int
    """Number of returned solutions."""
    max_fk_residual: float
    """Largest residual of the solutions, the Frobenius norm of FK(q) - T; NaN without solutions."""
    refinement_engaged: int
    """Candidates that the rescue of ``allow_refinement`` iterated on."""
    fk_atol: float
    """Largest residual that a solution of a closed form may have; a search has its own tolerance."""
    warnings: tuple[str, ...] = ()
    """Sentences about tolerances that had no effect, and about arms with too few joints for the pose."""
    geometric_branches: int = 0
    """
    Branches that pass limits, held joints, arm angle and seed tolerance.

    With a scene, at most the number of postures without collision.
    """
    winding_representatives: int = 0
    """
    Postures of the geometric branches with all windings of joints; without ``enumerate_windings``, one for each.

    With a scene, at most the postures without collision.
    """
    dropped_by_seed_tolerance: int = 0
    """Branches further from the seed than ``seed_tolerance``."""
    dropped_by_hold: int = 0
    """Branches in which a held joint, or the arm angle, has another value than requested."""
    cause: Cause = Cause.NONE
    """Why the solve failed; NONE if it found a solution, and if only ``max_solutions`` left none."""
    clock_ended: bool = False
    """Whether the wall clock ended the search."""
    detail: str = ''
    """Message of a search, or about a collision of all solutions; empty otherwise."""

    def summary(self) -> str:
        """
        Return one or more sentences: the outcome of the solve, then its warnings.

        The outcome gives the number of solutions. Without solutions it is ``detail``, or if this is empty the reason
        for it.
        """
        parts = [self._outcome(), *self.warnings]
        return ' '.join(parts)

    def _outcome(self) -> str:
        """
        Return sentences that say how many solutions were found by which solver, or why none is returned.

        Without solutions this is ``detail``, unless it is empty.
        """
        by = f'by {self.solver_name} (tier {self.solver_tier}: {self.dispatch_reason})'
        if self.final_count:
            capped = self.dropped_by_max_solutions
            cut = f', {capped} more cut off by max_solutions' if capped else ''
            return (
                f'Reachable: {counted(self.final_count, "solution")}{cut}, largest residual '
                f'{self.max_fk_residual:.2g}, {by}.'
            )
        if self.detail:
            return self.detail
        if self.dropped_by_max_solutions:
            return f'Capped: max_solutions cut off all {counted(self.dropped_by_max_solutions, "solution")}, {by}.'
        if not self.raw_candidates and self.cause in (Cause.NONE, Cause.UNREACHABLE):
            return (
                'Unreachable: move the target closer, or check its frame and its unit. No candidate closes within '
                f'{self.fk_atol:.2g}, {by}.'
            )
        if not self.raw_candidates and self.cause == Cause.NOT_FOUND:
            return (
                f'Not found: no candidate closes within {self.fk_atol:.2g}, neither at the values of the '
                f'redundancy that were tried nor from the starts of a search; that is no proof, {by}.'
            )
        if self.cause == Cause.NOT_FOUND:
            return (
                f'Not found: {self._filters()}. The pose may have others: it is singular, or samples of the '
                f'redundancy missed them, {by}.'
            )
        what = self._filters() if self.raw_candidates else 'no candidate at the requested values'
        return f'All filtered: {what} ({CAUSE_TEXT[self.cause]}), {by}.'

    def _filters(self) -> str:
        """
        Return a phrase with the number of candidates, and how many the limits, holds and the seed tolerance dropped.

        Filters that dropped no candidate are left out.
        """
        dropped = (
            (self.dropped_by_limits, 'outside the joint limits'),
            (self.dropped_by_hold, 'at other values of held joints'),
            (self.dropped_by_seed_tolerance, 'further from the seed than seed_tolerance'),
        )
        named = ', '.join(f'{count} {where}' for count, where in dropped if count)
        return f'{counted(self.raw_candidates, "candidate")}: {named}'
