"""
Lines as fifteen numbers on which rigid motions act linearly.

The line with unit direction l through p is X = (1, l, p, p.p, p.l, l x p, (p.p) l - 2 (p.l) p). A motion x -> R x + b
maps X to rho(R, b) X, where rho is a homomorphism. A rotation about z mixes four pairs of the numbers and keeps the
other seven. Tables of lines have one line per column. The derivation is in docs/math/general_6r.md.
"""

from ssik_ros.kernels._jit import inline_kernel, kernel

LINE = 15
"""Number of numbers of a line, with the leading 1."""


@inline_kernel
def write_line(out, column, pose):
    """
    Write the z axis of a frame as a line, fifteen numbers in one column of a table.

    :param out: (15, .) table of lines.
    :param column: column to write.
    :param pose: (12,) pose of the frame.
    """
    l0, l1, l2 = pose[2], pose[5], pose[8]
    p0, p1, p2 = pose[9], pose[10], pose[11]
    pp = p0 * p0 + p1 * p1 + p2 * p2
    pl = p0 * l0 + p1 * l1 + p2 * l2
    out[0, column] = 1.0
    out[1, column], out[2, column], out[3, column] = l0, l1, l2
    out[4, column], out[5, column], out[6, column] = p0, p1, p2
    out[7, column], out[8, column] = pp, pl
    out[9, column] = l1 * p2 - l2 * p1
    out[10, column] = l2 * p0 - l0 * p2
    out[11, column] = l0 * p1 - l1 * p0
    out[12, column] = pp * l0 - 2.0 * pl * p0
    out[13, column] = pp * l1 - 2.0 * pl * p1
    out[14, column] = pp * l2 - 2.0 * pl * p2


@inline_kernel
def _rotated(pose, x, row, i):
    """
    Return (x, y, z), three components of a line, rotated by the rotation of a pose.

    :param pose: (12,) rotation row by row, then translation.
    :param x: (15, .) table of lines.
    :param row, i: first row of the three components, and column of the line.
    """
    a, b, c = x[row, i], x[row + 1, i], x[row + 2, i]
    return (
        pose[0] * a + pose[1] * b + pose[2] * c,
        pose[3] * a + pose[4] * b + pose[5] * c,
        pose[6] * a + pose[7] * b + pose[8] * c,
    )


@kernel
def transform_lines(out, pose, lines, count):
    """
    Write lines moved by a rigid motion: rho(pose) X for every line X, a column of fifteen numbers.

    :param out, lines: (15, .) tables, not the same.
    :param pose: (12,) the motion: rotation row by row, then translation.
    :param count: number of columns.
    """
    b0, b1, b2 = pose[9], pose[10], pose[11]
    bb = b0 * b0 + b1 * b1 + b2 * b2
    for i in range(count):
        one, pl = lines[0, i], lines[8, i]
        l0, l1, l2 = _rotated(pose, lines, 1, i)
        p0, p1, p2 = _rotated(pose, lines, 4, i)
        m0, m1, m2 = _rotated(pose, lines, 9, i)
        w0, w1, w2 = _rotated(pose, lines, 12, i)
        bl = b0 * l0 + b1 * l1 + b2 * l2
        factor = 2.0 * (bl + pl)
        out[0, i] = one
        out[1, i], out[2, i], out[3, i] = l0, l1, l2
        out[4, i], out[5, i], out[6, i] = p0 + one * b0, p1 + one * b1, p2 + one * b2
        out[7, i] = lines[7, i] + 2.0 * (b0 * p0 + b1 * p1 + b2 * p2) + bb * one
        out[8, i] = pl + bl
        out[9, i] = m0 - (b1 * l2 - b2 * l1)
        out[10, i] = m1 - (b2 * l0 - b0 * l2)
        out[11, i] = m2 - (b0 * l1 - b1 * l0)
        out[12, i] = w0 + 2.0 * (b1 * m2 - b2 * m1) + bb * l0 - factor * b0
        out[13, i] = w1 + 2.0 * (b2 * m0 - b0 * m2) + bb * l1 - factor * b1
        out[14, i] = w2 + 2.0 * (b0 * m1 - b1 * m0) + bb * l2 - factor * b2


@inline_kernel
def _expand_pair(out, lines, count, row):
    """
    Write two rows of lines that are rotated about z by an unknown angle, as coefficients of its sin, its cos and 1.

    :param out: (15, .) out: first ``count`` columns for sin, then for cos, then for 1.
    :param lines: (15, .) table of ``count`` lines.
    :param row: index of the first row; the rotation mixes it with the next row.
    """
    for j in range(count):
        x, y = lines[row, j], lines[row + 1, j]
        out[row, j], out[row + 1, j] = -y, x
        out[row, count + j], out[row + 1, count + j] = x, y
        out[row, 2 * count + j] = out[row + 1, 2 * count + j] = 0.0


@inline_kernel
def _expand_fixed(out, lines, count, row):
    """
    Write a row of lines that a rotation about z does not change: 0 for sin, 0 for cos, the row itself for 1.

    :param out: (15, .) out: first ``count`` columns for sin, then for cos, then for 1.
    :param lines: (15, .) table of ``count`` lines.
    :param row: index of the row.
    """
    for j in range(count):
        out[row, j] = out[row, count + j] = 0.0
        out[row, 2 * count + j] = lines[row, j]


@kernel
def expand_turn(out, lines, count):
    """
    Write lines that are rotated about z by an unknown angle q, as coefficients of sin q, cos q and 1.

    :param out: (15, .) out: first ``count`` columns for sin q, then for cos q, then for 1.
    :param lines: (15, .) table of ``count`` lines.
    :param count: number of columns of ``lines``.
    """
    for row in (1, 4, 9, 12):
        _expand_pair(out, lines, count, row)
    for row in (0, 3, 6, 7, 8, 11, 14):
        _expand_fixed(out, lines, count, row)
