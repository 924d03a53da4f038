"""
Least squares within bounds, by an active set.

Problem
    Find the x that minimises |A x - b| among lower <= x <= upper, where lower <= 0 <= upper.

Method
    1. Begin at x = 0. Every variable is free, unless its bounds are equal.
    2. Solve for the free variables without bounds.
    3. If a free variable leaves its bounds, go only as far as the first one that does, and bind it there; repeat step 2.
    4. Otherwise release the bound variable that the remaining error pulls inside most, and repeat step 2. If the error
       pulls no variable inside, end.

    This is done twice. First with the normal equations, where a pass costs little, but which lose half of the digits.
    Then from the point and the bound variables found so, with a pivoted orthogonal factorisation, where a variable that
    the columns do not determine gets the value zero. The second time most problems take one pass.

Degeneracies
    Where rounding binds a variable again at once after its release, it stays bound. The number of passes is bounded: the
    last x is within the bounds, and no worse than zero.

Cost
    O(m n^2) for the normal equations and for each pass of the second time, O(n^3) for a pass of the first. The first
    time takes about as many passes as there are bound variables.

References
    [Stark1995]
"""

from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.rows import householder, linalg
from ssik_ros.kernels.rows.views import Floats, Memory

BETWEEN_BOUNDS, AT_LOWER, AT_UPPER, HELD = 0.0, 1.0, 2.0, 3.0
"""States of a variable."""
MOST_PASSES = 4
"""Most passes for each variable."""
RANK_SHARE = 1e-15
"""Diagonal entry of a factorisation, relative to the first, that ends the rank."""


class SquaresScratch(NamedTuple):
    """
    Scratch of :func:`solve_within` as named arrays, for m rows and n variables.

    ``copied``, ``right``, ``order`` and ``factors`` serve the orthogonal factorisation, ``gram`` and ``normal`` the
    normal equations; ``state`` says which variables are at a bound, ``trial`` has the values without bounds.
    """

    copied: Annotated[Floats, 'm', 'n']
    """Columns of the free variables, then their factorisation."""
    right: Annotated[Floats, 'm']
    """Right side, or the error that is left of it."""
    state: Annotated[Floats, 'n']
    """BETWEEN_BOUNDS, AT_LOWER, AT_UPPER or HELD."""
    trial: Annotated[Floats, 'n']
    """Values without bounds."""
    columns: Annotated[Floats, 'n']
    """Variables of the columns."""
    order: Annotated[Floats, 'n']
    """Order of the columns in the factorisation."""
    factors: Annotated[Floats, 'n']
    """Factors of the reflectors."""
    gram: Annotated[Floats, 'n + 1', 'n + 1']
    """Lower triangle of the normal equations, with the right side as the last row."""
    normal: Annotated[Floats, 'n', 'n']
    """Normal equations of the free variables, then their factors."""


SCRATCH = Memory(SquaresScratch, 'm, n', globals())
scratch_size = SCRATCH.size('scratch_size')
view_scratch = SCRATCH.kernel('view_scratch')


@kernel
def solve_within(x, table, lower, upper, scratch):
    """
    Write the x that minimises |A x - b| among lower <= x <= upper.

    The number of passes is bounded. If they are used up, x is within the bounds and no worse than zero.

    :param x: (n,) out.
    :param table: (m, n + 1) A, then b as the last column.
    :param lower, upper: (n,) bounds with lower <= 0 <= upper; a variable with equal bounds keeps this value.
    :param scratch: (scratch_size(m, n),) numbers, overwritten.
    """
    n = x.shape[0]
    room = view_scratch(scratch, table.shape[0], n)
    for v in range(n):
        x[v] = 0.0
        room.state[v] = BETWEEN_BOUNDS if lower[v] < upper[v] else HELD
    linalg.inner_gram(room.gram, table, 0.0)
    _descend(x, table, lower, upper, True, room)
    for v in range(n):
        if room.state[v] == HELD and lower[v] < upper[v]:
            room.state[v] = AT_LOWER if x[v] == lower[v] else AT_UPPER
    _descend(x, table, lower, upper, False, room)


@kernel
def _descend(x, table, lower, upper, is_quick, room):
    """
    Reduce |A x - b| step by step from a point within the bounds, until no step helps or the passes are used up.

    :param x: (n,) start in, result out.
    :param table: (m, n + 1) A, then b as the last column.
    :param lower, upper: (n,) bounds.
    :param is_quick: True solves with the normal equations, False with an orthogonal factorisation.
    :param room: a :class:`SquaresScratch`; its ``state`` says which variables are bound, and is updated.
    """
    n, state, trial = x.shape[0], room.state, room.trial
    released = -1
    for _ in range(MOST_PASSES * n):
        if is_quick:
            _solve_free_quickly(x, room)
        else:
            _solve_free(x, table, room)
        blocked, share = _first_beyond(x, trial, state, lower, upper)
        for v in range(n):
            if state[v] == BETWEEN_BOUNDS:
                x[v] += share * (trial[v] - x[v])
        if blocked >= 0:
            is_lower = trial[blocked] < lower[blocked]
            x[blocked] = lower[blocked] if is_lower else upper[blocked]
            state[blocked] = AT_LOWER if is_lower else AT_UPPER
            if blocked == released and share <= 0.0:
                state[blocked] = HELD
            continue
        released = _most_pulled_quickly(x, room) if is_quick else _most_pulled(x, table, room)
        if released < 0:
            break
        state[released] = BETWEEN_BOUNDS


@inline_kernel
def _most_pulled_quickly(x, room):
    """
    Return the variable at a bound whose release would reduce |A x - b| most steeply; -1 if no release would reduce it.

    The slopes at ``x`` come from the normal equations in ``room.gram``.

    :param room: a :class:`SquaresScratch`; its ``state`` says which variables are at a bound.
    """
    n, state, gram = x.shape[0], room.state, room.gram
    best, steepest = -1, 0.0
    for v in range(n):
        if state[v] == AT_LOWER or state[v] == AT_UPPER:
            pull = gram[n, v]
            for u in range(n):
                pull -= gram[max(u, v), min(u, v)] * x[u]
            pull = pull if state[v] == AT_LOWER else -pull
            if pull > steepest:
                best, steepest = v, pull
    return best


@inline_kernel
def _solve_free_quickly(x, room):
    """
    Write into ``room.trial`` the point that minimises |A x - b| over the free variables, by the normal equations.

    Variables at a bound keep their values of ``x``. The bounds of free variables are ignored.

    :param room: a :class:`SquaresScratch` with ``gram`` and ``state``.
    """
    n, columns, right, normal = x.shape[0], room.columns, room.factors, room.normal
    count = 0
    for v in range(n):
        room.trial[v] = x[v]
        if room.state[v] == BETWEEN_BOUNDS:
            columns[count] = v
            count += 1
    for i in range(count):
        row = int(columns[i])
        right[i] = room.gram[n, row]
        for v in range(n):
            if room.state[v] != BETWEEN_BOUNDS:
                right[i] -= room.gram[max(row, v), min(row, v)] * x[v]
        for j in range(i + 1):
            normal[i, j] = room.gram[row, int(columns[j])]
    linalg.factorise(normal, count)
    linalg.solve_factored(normal, right, count)
    for i in range(count):
        room.trial[int(columns[i])] = right[i]


@kernel
def _solve_free(x, table, room):
    """
    Write into ``room.trial`` the point that minimises |A x - b| over the free variables, by a factorisation.

    Variables at a bound keep their values of ``x``. The bounds of free variables are ignored. A free variable that the
    columns do not determine gets the value 0.

    :param table: (m, n + 1) A, then b as the last column.
    :param room: a :class:`SquaresScratch`; its ``state`` says which variables are free.
    """
    m, n = table.shape[0], x.shape[0]
    copied, right, trial, columns = room.copied, room.right, room.trial, room.columns
    count = 0
    for i in range(m):
        right[i] = table[i, n]
    for v in range(n):
        trial[v] = x[v]
        if room.state[v] == BETWEEN_BOUNDS:
            columns[count] = v
            for i in range(m):
                copied[i, count] = table[i, v]
            count += 1
        else:
            for i in range(m):
                right[i] -= table[i, v] * x[v]
    order = room.order
    rank = householder.factorise(copied, m, count, room.factors, order, RANK_SHARE)
    householder.solve_factorised(right, copied, m, room.factors, rank)
    for j in range(count):
        trial[int(columns[int(order[j])])] = right[j] if j < rank else 0.0


@inline_kernel
def _first_beyond(x, trial, state, lower, upper):
    """
    Return (variable, share): the free variable that is first to leave its bounds on the line from ``x`` to ``trial``.

    The share (0 to 1) is the part of the line up to its bound. If no variable leaves its bounds, this is (-1, 1.0).

    :param state: (n,) states; only variables in state BETWEEN_BOUNDS are free.
    :param lower, upper: (n,) bounds.
    """
    blocked, share = -1, 1.0
    for v in range(x.shape[0]):
        if state[v] != BETWEEN_BOUNDS or lower[v] <= trial[v] <= upper[v]:
            continue
        bound = lower[v] if trial[v] < lower[v] else upper[v]
        part = (bound - x[v]) / (trial[v] - x[v])
        if part < share or blocked < 0:
            blocked, share = v, max(0.0, part)
    return blocked, share


@kernel
def _most_pulled(x, table, room):
    """
    Return the variable at a bound whose release would reduce |A x - b| most steeply; -1 if no release would reduce it.

    The slopes come from the error of each row; ``room.right`` is overwritten by these errors.

    :param x: (n,) the present point.
    :param table: (m, n + 1) A, then b as the last column.
    :param room: a :class:`SquaresScratch`; its ``state`` says which variables are at a bound.
    """
    m, n = table.shape[0], x.shape[0]
    right, state = room.right, room.state
    for i in range(m):
        right[i] = table[i, n]
        for v in range(n):
            right[i] -= table[i, v] * x[v]
    best, steepest = -1, 0.0
    for v in range(n):
        if state[v] == AT_LOWER or state[v] == AT_UPPER:
            pull = 0.0
            for i in range(m):
                pull += table[i, v] * right[i]
            pull = pull if state[v] == AT_LOWER else -pull
            if pull > steepest:
                best, steepest = v, pull
    return best
