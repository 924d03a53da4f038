"""A data set of poses with all postures, as batches for PyTorch; without torch as arrays of numpy."""

from collections.abc import Iterator
import importlib.util
from pathlib import Path
import sys
import tempfile

import numpy as np

from ssik_ros import Manipulator
from ssik_ros.model.serial_chain import SerialChain

if any(importlib.util.find_spec(name) is None for name in ('pyarrow', 'distributed', 'zarr')):
    print('skipped: pip install "ssik_ros[reach]"')
    sys.exit()

import pyarrow.parquet as parquet

from ssik_ros.reach.dataset import DatasetPlan, make_dataset
from ssik_ros.reach.engine import Workers


def batches(folder: Path, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield poses (size, 7) and whether each is reached (size,), file by file."""
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


arm = Manipulator.from_prebuilt('ur5e')
plan = DatasetPlan(SerialChain.from_group(arm.robot, arm.group), 'ur5e', samples=2000, seed=1)
with tempfile.TemporaryDirectory() as name:
    make_dataset(plan, Path(name), Workers(0))
    if importlib.util.find_spec('torch') is not None:
        samples, reached = count_with_torch(Path(name))
        print(f'{samples} samples by torch, {reached} are reached')
    else:
        own = [(len(poses), int(reached.sum())) for poses, reached in batches(Path(name), 256)]
        samples, reached = map(sum, zip(*own, strict=True))
        print(f'{samples} samples by numpy, {reached} are reached (torch is not installed)')
