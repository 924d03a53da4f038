"""A data set of poses with all postures, as batches for PyTorch; without torch as arrays of numpy."""

from collections.abc import Iterator
import importlib.util
from pathlib import Path
import tempfile

import numpy as np

from ssik_ros import Manipulator
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.dataset import DatasetPlan, make_dataset
from ssik_ros.reach.engine import Workers


def batches(folder: Path, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield poses (size, 7) and whether each is reached (size,), file by file."""
    import pyarrow.parquet as parquet

    for file in sorted(folder.glob('part-*.parquet')):
        for batch in parquet.ParquetFile(file).iter_batches(size, columns=['pose', 'cause']):
            poses = np.array(batch['pose'].to_pylist(), dtype=np.float32)
            reached = np.array([cause == 'NONE' for cause in batch['cause'].to_pylist()])
            yield poses, reached


def count_with_torch(folder: Path) -> tuple[int, int]:
    """Return samples and reached ones, read by a DataLoader."""
    import torch

    class Samples(torch.utils.data.IterableDataset):
        def __iter__(self) -> Iterator:
            for poses, reached in batches(folder, 256):
                yield torch.from_numpy(poses), torch.from_numpy(reached)

    loader = torch.utils.data.DataLoader(Samples(), batch_size=None)
    both = [(len(poses), int(reached.sum())) for poses, reached in loader]
    return tuple(map(sum, zip(*both, strict=True)))


def show_samples(folder: Path) -> None:
    """Make a data set in a folder and print the number of samples and of reachable poses."""
    arm = Manipulator.from_prebuilt('ur5e')
    chain = SerialChain.from_group(arm.robot, arm.group)
    make_dataset(DatasetPlan(chain, 'ur5e', samples=2000, seed=1), folder, Workers(0))
    if importlib.util.find_spec('torch') is not None:
        samples, reached = count_with_torch(folder)
        print(f'{samples} samples by torch, {reached} are reached')
        return
    counts = [(len(poses), int(reached.sum())) for poses, reached in batches(folder, 256)]
    samples, reached = map(sum, zip(*counts, strict=True))
    print(f'{samples} samples by numpy, {reached} are reached (torch is not installed)')


if all(importlib.util.find_spec(name) for name in ('pyarrow', 'zarr')):
    with tempfile.TemporaryDirectory() as name:
        show_samples(Path(name))
else:
    print('skipped: pip install "ssik_ros[reach]"')
