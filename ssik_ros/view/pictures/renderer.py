"""
A renderer of surfaces in numpy and scipy: perspective, light, a shadow on the floor, and transparent ghosts.

Each layer of solids has its own depth buffer. All opaque solids are one layer. Each ghost is a layer, of which only the
front surface is drawn, so that its inside is not visible.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.value_class import dataclass
from ssik_ros.view.pictures.solids import join, Surface

OVERSAMPLING = 2
"""Samples along each edge of a pixel."""
SAMPLES_PER_BLOCK = 1 << 21
"""Samples that are compared with triangles at the same time."""
LIGHTS = (((-0.35, -0.5, 0.8), 0.75), ((0.8, 0.3, 0.4), 0.25))
"""Directions to the lights in the world, and their strengths."""
NEAREST_TRIANGLE = 1e-3
"""Distance from the camera below which triangles are left out [m]."""
SAME_DEPTH = 1.0 - 2e-4
"""A ghost shows only where it is nearer than this part of the depth of the opaque solids: equal surfaces do not mix."""
MARGIN = 1.04
"""Distance of a camera, as a multiple of the distance at which a box fills the picture."""
AMBIENT = 0.32
SHADOW = 0.28
"""Part of the light that the shadow takes away."""
BLUR = 0.006
"""Width of the shadow's edge, as a part of the picture's width."""

Colour = tuple[float, float, float]
"""Red, green and blue, each from 0 to 1."""


@dataclass(frozen=True, eq=False)
class Camera:
    """A camera: its position, the point at which it looks, field of view and picture size; z of the world is up."""

    eye: tuple[float, float, float]
    """Position in the world [m]."""
    target: tuple[float, float, float]
    """Point in the middle of the picture [m]."""
    angle: float = 32.0
    """Vertical field of view [degrees]."""
    size: tuple[int, int] = (960, 640)
    """Width and height of the picture [pixels]."""

    @classmethod
    def around(
        cls,
        points: FloatArray,
        direction: tuple[float, float, float] = (1.0, -0.9, 0.55),
        size: tuple[int, int] = (960, 640),
    ) -> 'Camera':
        """
        Return the camera that looks from a direction and is as near as it can be while it sees all points.

        :param points: (n, 3) points in the world [m].
        :param direction: vector from the points to the camera, in the world frame; not vertical.
        :param size: width and height of the picture [pixels].
        """
        middle = points.mean(axis=0)
        axes = cls(tuple(middle + direction), tuple(middle), size=size).axes()
        *edges, depth = axes @ points.T
        slopes = np.tan(np.radians(0.5 * cls.angle)) * np.array((size[0] / size[1], 1.0)) / MARGIN
        # A point is seen where |edge - eye| <= slope (depth - eye of the third axis), for both edges.
        lows = np.array([np.max(e - s * depth) for e, s in zip(edges, slopes, strict=True)])
        highs = np.array([np.min(e + s * depth) for e, s in zip(edges, slopes, strict=True)])
        back = np.min((highs - lows) / (2.0 * slopes))
        eye = np.array((*(0.5 * (lows + highs)), back)) @ axes
        seen = eye + (depth.mean() - back) * axes[2]
        return cls(tuple(eye), tuple(seen), size=size)

    def axes(self) -> FloatArray:
        """
        Return the unit vectors (3, 3) to the right, upwards and into the picture, one in each row, in the world frame.

        If the camera looks straight up or down, the first two rows are NaN.
        """
        forward = np.subtract(self.target, self.eye)
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        return np.stack((right, np.cross(right, forward), forward))


class Picture:
    """Collects opaque solids and ghosts, and draws them as one picture."""

    def __init__(self, camera: Camera, background: Colour = (1.0, 1.0, 1.0)) -> None:
        """
        Begin a picture without solids.

        :param camera: the camera.
        :param background: colour of pixels without a solid.
        """
        self._camera = camera
        self._axes = camera.axes()
        width, height = (OVERSAMPLING * edge for edge in camera.size)
        self._shape = height, width
        self._focal = 0.5 * height / np.tan(np.radians(0.5 * camera.angle))
        self._background = np.array(background)
        self._opaque: list[tuple[Surface, Colour]] = []
        self._ghosts: list[tuple[list[tuple[Surface, Colour]], float]] = []

    def add(self, solid: Surface, colour: Colour) -> None:
        """
        Add an opaque solid.

        :param solid: the solid in the world.
        :param colour: its colour.
        """
        self._opaque.append((solid, colour))

    def add_ghost(self, solids: list[tuple[Surface, Colour]], opacity: float) -> None:
        """
        Add a ghost: solids through which other solids are visible, but which hide one another.

        :param solids: the solids in the world with their colours.
        :param opacity: from 0 (invisible) to 1.
        """
        self._ghosts.append((solids, opacity))

    def draw(
        self, floor: float | None = 0.0, *, is_transparent: bool = False
    ) -> NDArray[np.uint8]:
        """
        Return the picture as bytes: (height, width, 3), or (height, width, 4) if it is transparent.

        :param floor: height of the floor on which a shadow is drawn [m]; None for no floor.
        :param is_transparent: leave the background transparent instead of coloured.
        """
        image = np.broadcast_to(self._background, (*self._shape, 3)).copy()
        alpha = np.zeros((*self._shape, 1))
        if floor is not None:
            alpha += SHADOW * self._shadow(floor)[..., None]
            image *= 1.0 - alpha
        depth, colour = self._layer(self._opaque)
        is_hit = np.isfinite(depth)
        image[is_hit] = colour[is_hit]
        alpha[is_hit] = 1.0
        layers = [(*self._layer(solids), opacity) for solids, opacity in self._ghosts]
        layers.sort(key=lambda layer: -_middle(layer[0]))
        for its_depth, its_colour, opacity in layers:
            shows = its_depth < SAME_DEPTH * depth
            image[shows] += opacity * (its_colour[shows] - image[shows])
            alpha[shows] += opacity * (1.0 - alpha[shows])
        image = _mean_of_samples(image)
        if is_transparent:
            alpha = _mean_of_samples(alpha)
            image -= (1.0 - alpha) * self._background
            image = np.concatenate((image / np.maximum(alpha, 1e-9), alpha), axis=2)
        return np.asarray(np.rint(255.0 * np.clip(image, 0.0, 1.0)), np.uint8)

    def project(self, points: ArrayLike) -> FloatArray:
        """
        Return the positions (k, 2) of points in the picture: column and row from the upper left corner [pixels].

        For a point that is not in front of the camera they mean nothing.

        :param points: (k, 3) points in the world [m].
        """
        return (
            self._project(np.atleast_2d(np.asarray(points, dtype=np.float64)))[:, :2]
            / OVERSAMPLING
        )

    def _project(self, points: NDArray[np.floating[Any]]) -> FloatArray:
        """
        Return (k, 3) for points in the world: column and row in the picture [samples], distance along the view [m].

        A pixel has OVERSAMPLING samples along each edge. If the distance is not positive, column and row mean nothing.
        """
        seen = (points - np.array(self._camera.eye)) @ self._axes.T
        distance = np.maximum(seen[:, 2:], 1e-6)
        height, width = self._shape
        flat = seen[:, :2] / distance * (self._focal, -self._focal) + (0.5 * width, 0.5 * height)
        return np.hstack((flat, seen[:, 2:]))

    def _layer(self, solids: list[tuple[Surface, Colour]]) -> tuple[FloatArray, FloatArray]:
        """
        Return depth (height, width) and colour (height, width, 3) of all samples for some solids.

        The depth is the distance along the view [m], infinite where a sample shows no solid.
        """
        whole = join([solid for solid, _ in solids])
        colours = np.concatenate(
            [np.zeros((0, 3)), *(np.tile(c, (len(s.corners), 1)) for s, c in solids)]
        )
        depth, triangle, weights = self._rasterise(whole.corners)
        normals = np.einsum('ki,kij->kj', weights, whole.normals[triangle])
        samples = np.flatnonzero(np.isfinite(depth))
        image = np.zeros((depth.size, 3))
        image[samples] = _shade(normals, colours[triangle], -self._axes[2])
        return depth.reshape(self._shape), image.reshape(*self._shape, 3)

    def _shadow(self, floor: float) -> FloatArray:
        """
        Return for each sample (height, width) how much it is in the shadow on the floor, from 0 to 1, with soft edges.

        Opaque solids and ghosts throw the same shadow.

        :param floor: height of the floor [m].
        """
        solids = [*self._opaque, *(pair for ghost, _ in self._ghosts for pair in ghost)]
        # SciPy's filters take a quarter of a second to import, and a page in the browser draws no picture.
        from scipy.ndimage import gaussian_filter

        whole = join([solid for solid, _ in solids]).corners
        light = np.array(LIGHTS[0][0])
        height = whole[..., 2:] - floor
        on_floor = whole - np.maximum(height, 0.0) * (light / light[2])
        on_floor[..., 2] = floor
        depth = self._rasterise(on_floor)[0].reshape(self._shape)
        return gaussian_filter(np.isfinite(depth).astype(np.float64), BLUR * self._shape[1])

    def _rasterise(
        self, corners: NDArray[np.floating[Any]]
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """
        Find for each sample of the picture the nearest triangle.

        :param corners: (k, 3, 3) corners of triangles in the world [m].
        :returns: depth of all samples (height x width,) [m], infinite without a triangle. For the s samples with a
            triangle also the index (s,) of the triangle, and the weights (s, 3) of its corners.
        """
        height, width = self._shape
        flat = self._project(corners.reshape(-1, 3)).reshape(-1, 3, 3)
        flat[flat[:, :, 2].min(axis=1) < NEAREST_TRIANGLE] = np.nan
        planes = _weight_planes(flat)
        inverse = planes.sum(axis=1)
        triangle, row = _spread(*_bounds(flat[:, :, 1], height))
        ends = _crossings(flat[triangle, :, :2], row + 0.5)
        first, count = _bounds(ends, width)
        depth = np.full(height * width, np.inf)
        owner = np.zeros(height * width, dtype=np.int64)
        for low, high in _pieces(count):
            line, column = _spread(first[low:high], count[low:high])
            line += low
            near = 1.0 / _at_samples(inverse[triangle[line]], column, row[line])
            _enter(row[line] * width + column, near, triangle[line], depth, owner)
        samples = np.flatnonzero(np.isfinite(depth))
        owners = owner[samples]
        places = (samples % width)[:, None], (samples // width)[:, None]
        weights = _at_samples(planes[owners], *places)
        return depth, owners, weights / weights.sum(axis=1, keepdims=True)


def _mean_of_samples(samples: FloatArray) -> FloatArray:
    """Return the picture in pixels: each pixel is the mean of its OVERSAMPLING x OVERSAMPLING samples."""
    height, width = (edge // OVERSAMPLING for edge in samples.shape[:2])
    fine = samples.reshape(height, OVERSAMPLING, width, OVERSAMPLING, -1)
    mean: FloatArray = fine.mean(axis=(1, 3))
    return mean


def _weight_planes(flat: FloatArray) -> FloatArray:
    """
    Return coefficients (k, 3, 3) that give, anywhere in the picture, the weights of a triangle's corners.

    For corner i the weight divided by the corner's distance is ``a x + b y + c``, with row i as (a, b, c). These
    functions are linear in perspective, too, and their sum is the inverse of the surface's distance.

    :param flat: (k, 3, 3) column, row and distance of the corners of k triangles.
    """
    x, y, distance = (flat[:, :, i] for i in range(3))
    next_x, next_y = np.roll(x, -1, axis=1), np.roll(y, -1, axis=1)
    last_x, last_y = np.roll(x, 1, axis=1), np.roll(y, 1, axis=1)
    planes = np.stack(
        (next_y - last_y, last_x - next_x, next_x * last_y - last_x * next_y), axis=2
    )
    area = planes[:, :, 2].sum(axis=1)[:, None, None]
    return planes / (np.where(area == 0.0, np.nan, area) * distance[:, :, None])


def _at_samples(planes: FloatArray, column: IntArray, row: IntArray) -> FloatArray:
    """
    Return the values of linear functions ``a x + b y + c`` at the centres of samples.

    :param planes: (..., 3) coefficients a, b, c.
    :param column, row: indices of the samples.
    """
    values: FloatArray = planes[..., 0] * (column + 0.5)
    values += planes[..., 1] * (row + 0.5)
    values += planes[..., 2]
    return values


def _bounds(values: FloatArray, most: int) -> tuple[IntArray, IntArray]:
    """
    Return (first, count) of the samples whose centres are between the least and the largest value of each row.

    Samples are numbered from 0 to ``most`` - 1. A row with a value that is not finite has the count 0.
    """
    is_seen = np.logical_and.reduce(np.isfinite(values), axis=1)
    finite = np.where(is_seen[:, None], values, 0.0)
    first = np.clip(np.ceil(finite.min(axis=1) - 0.5), 0, most)
    last = np.clip(np.ceil(finite.max(axis=1) - 0.5), 0, most)
    return first.astype(np.int64), np.where(is_seen, last - first, 0).astype(np.int64)


def _spread(first: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """
    List all numbers of some ranges, one range after the other.

    :param first, count: range i has the numbers ``first[i]`` to ``first[i] + count[i] - 1``.
    :returns: for each listed number the index of its range, and the number itself.
    """
    index = np.repeat(np.arange(len(count)), count)
    return index, np.arange(len(index)) - np.repeat(np.cumsum(count) - count - first, count)


def _crossings(flat: FloatArray, height: NDArray[Any]) -> FloatArray:
    """
    Return the least and the largest x (k, 2) at which the line y = ``height`` crosses the edges of each triangle.

    A triangle that the line does not cross has (inf, -inf).

    :param flat: (k, 3, 2) corners in the picture.
    :param height: (k,) height of the line for each triangle.
    """
    ends = np.tile((np.inf, -np.inf), (len(flat), 1))
    for i, j in ((0, 1), (1, 2), (2, 0)):
        (x, y), (to_x, to_y) = flat[:, i].T, flat[:, j].T
        is_met = (np.minimum(y, to_y) <= height) & (height < np.maximum(y, to_y))
        at = x + (height - y) / np.where(is_met, to_y - y, 1.0) * (to_x - x)
        ends[:, 0] = np.where(is_met, np.minimum(ends[:, 0], at), ends[:, 0])
        ends[:, 1] = np.where(is_met, np.maximum(ends[:, 1], at), ends[:, 1])
    return ends


def _pieces(counts: IntArray) -> Iterator[tuple[int, int]]:
    """
    Split the lines of all triangles into blocks of about SAMPLES_PER_BLOCK samples; yield first line and end of each.

    A line is the part of one row of samples that a triangle covers.

    :param counts: number of samples in each line.
    """
    sums = np.cumsum(counts)
    low = 0
    while low < len(counts):
        before = sums[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(sums, before + SAMPLES_PER_BLOCK)))
        yield low, high
        low = high


def _enter(
    sample: IntArray, near: FloatArray, triangle: IntArray, depth: FloatArray, owner: IntArray
) -> None:
    """
    Update depth buffers in place: where a new distance is less than the stored one, store it and its triangle.

    :param sample: index of the sample for each new distance; samples may repeat.
    :param near: the new distances.
    :param triangle: index of the triangle for each new distance.
    :param depth, owner: least distance and its triangle of all samples.
    """
    kept = np.flatnonzero(near < depth[sample])
    order = kept[np.argsort(-near[kept], kind='stable')]
    # Of several values for one sample the last one stays.
    depth[sample[order]], owner[sample[order]] = near[order], triangle[order]


def _middle(depth: FloatArray) -> float:
    """Return the mean of the finite depths, or 0 if no depth is finite."""
    seen = depth[np.isfinite(depth)]
    return float(seen.mean()) if seen.size else 0.0


def _shade(normals: FloatArray, colours: FloatArray, viewer: FloatArray) -> FloatArray:
    """
    Return the lit colours (s, 3) of points on surfaces; both sides of a surface are lit.

    :param normals: (s, 3) normals of any length.
    :param colours: (s, 3) colours of the surfaces.
    :param viewer: (3,) direction to the camera.
    """
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    normals = normals * np.where(normals @ viewer < 0.0, -1.0, 1.0)[:, None]
    light = np.full(len(normals), AMBIENT)
    gleam = np.zeros(len(normals))
    for direction, strength in LIGHTS:
        towards = np.array(direction) / np.linalg.norm(direction)
        half = (towards + viewer) / np.linalg.norm(towards + viewer)
        light += strength * np.maximum(normals @ towards, 0.0)
        gleam += 0.25 * strength * np.maximum(normals @ half, 0.0) ** 40
    lit: FloatArray = np.clip(colours * light[:, None] + gleam[:, None], 0.0, 1.0)
    return lit
