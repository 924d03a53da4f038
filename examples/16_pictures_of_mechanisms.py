"""Pictures of the mechanisms that come along, drawn from marker data into a folder (a temporary one by default)."""

from pathlib import Path
import sys
import tempfile

import matplotlib

matplotlib.use('Agg')

import matplotlib.pyplot as plt
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from ssik_ros.mechanisms import load_mechanism, markers, mechanism_names


def draw(root, path):
    """Write one picture."""
    figure = plt.figure(figsize=(3.6, 3.6), dpi=90)
    axes = figure.add_subplot(projection='3d', proj_type='ortho')
    links = next(m for m in markers(root) if m.namespace == 'ik/links')
    low, high = links.points.min(axis=0), links.points.max(axis=0)
    size = (high - low).max()
    for marker in markers(root, scale=0.07 * size):
        points = marker.points
        if marker.shape in ('line_list', 'cylinder'):
            width = 5.0 if marker.shape == 'cylinder' else 1.5
            lines = Line3DCollection(points.reshape(-1, 2, 3), colors=[marker.color], lw=width)
            axes.add_collection3d(lines)
        elif marker.shape == 'triangle_list':
            axes.add_collection3d(Poly3DCollection(points.reshape(-1, 3, 3), fc=marker.color))
        else:
            axes.scatter(*points.T, color=marker.color, s=60)
    for axis, centre in zip('xyz', 0.5 * (low + high), strict=True):
        getattr(axes, f'set_{axis}lim')(centre - 0.55 * size, centre + 0.55 * size)
    axes.set_box_aspect((1, 1, 1), zoom=1.25)
    axes.set_position((0.0, 0.0, 1.0, 1.0))
    axes.view_init(elev=18, azim=-55)
    axes.set_axis_off()
    figure.savefig(path)
    plt.close(figure)


folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
for name in mechanism_names():
    draw(load_mechanism(name).root, folder / f'{name}.png')
    print(f'{name}.png of {(folder / f"{name}.png").stat().st_size // 1000} kB')
