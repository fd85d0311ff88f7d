"""Under TurboLoader's path ``turboloader.tbl``, files of decoded images: preprocess_to_tbl makes one, TblRawImageLoader
trains from it. tbl_file.py reads and writes samples.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import ops
from ...dataset import open as open_dataset
from ...errors import ArgumentError
from ...loader import Loader as Base
from .loader import DataLoader
from .tbl_file import SampleFormat, TblReaderV2, TblWriterV2

__all__ = ["TblRawImageLoader", "preprocess_to_tbl"]

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def preprocess_to_tbl(
    source: Any,
    dst: Any,
    image_size: Any = 160,
    *,
    batch_size: int = 64,
    num_workers: int = 8,
    compression: bool = False,
) -> int:
    """Decodes and resizes every image of `source` once, into a TBL file of raw images. Gives their number."""
    count = 0
    options: dict[str, Any] = {"output_format": "tensorflow", "dtype": "same", "on_error": "raise"}
    with (
        TblWriterV2(dst, bool(compression)) as writer,
        DataLoader(source, batch_size, num_workers, image_size=image_size, **options) as loader,
    ):
        for images, _ in loader:
            for image in images:
                height, width = image.shape[:2]
                writer.add_sample(image.tobytes(), SampleFormat.RAW_U8, width, height)
                count += 1
    return count


class TblRawImageLoader:
    """Batches (images, {"indices": ...}) of a TBL file of raw images: float32 or float16, normalised unless mean and
    std are None. ``.loader`` is mldf.Loader; it opens any other file, too.
    """

    def __init__(
        self,
        path: Any,
        batch_size: int = 64,
        *,
        mean: Any = MEAN,
        std: Any = STD,
        shuffle: bool = True,
        seed: int = 42,
        drop_last: bool = False,
        pin_memory: bool = False,
        ring: int = 4,
        hflip_prob: float = 0.0,
        prefetch_batches: int = 2,
        train_aug: bool = False,
        scale: Any = (0.08, 1.0),
        ratio: Any = (3 / 4, 4 / 3),
        image_size: Any = None,
        dtype: str = "float32",
        channels_last: bool = False,
        world_rank: int = 0,
        world_size: int = 1,
    ) -> None:
        del ring
        if (mean is None) != (std is None):
            raise ArgumentError("TblRawImageLoader: mean and std, or neither")
        if dtype not in ("float32", "float16"):
            raise ArgumentError(f"TblRawImageLoader: dtype={dtype!r}: 'float32' or 'float16'")
        self.path, self.batch_size = os.fspath(path), batch_size
        height, width = _one_size(self.path)
        size = (height, width) if image_size is None else image_size
        size = (size, size) if isinstance(size, int) else tuple(size)
        steps: list[Any] = []
        if train_aug:
            steps.append(ops.RandomResizedCrop(size, scale, ratio))
        elif size != (height, width):
            steps.append(ops.Resize(size, antialias=False))
        steps += [ops.HorizontalFlip(hflip_prob)] if hflip_prob else []
        steps.append(ops.ToFloat() if mean is None else ops.Normalize(list(mean), list(std)))
        steps += [] if channels_last else [ops.CHW()]
        steps += [ops.Cast(dtype)] if dtype != "float32" else []
        self.loader = Base(
            self.path,
            batch_size,
            shuffle,
            pipelines={"image": steps, "format": None},
            fields=["image"],
            seed=seed,
            drop_last=drop_last,
            rank=world_rank,
            world_size=world_size,
            output="torch" if pin_memory else "numpy",
            pin_memory=pin_memory,
            batches_ahead=prefetch_batches + 1,
            index=True,
        )
        self.num_samples = len(self.loader.dataset)

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        """An epoch."""
        for batch in self.loader:
            yield batch["image"], {"indices": np.asarray(batch["index"]).astype(np.int64)}

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch."""
        self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the run is."""
        return self.loader.state_dict()

    def load_state_dict(self, sd: dict[str, Any]) -> None:
        """Goes on there."""
        self.loader.load_state_dict(sd)

    def close(self) -> None:
        """Ends the threads."""
        self.loader.close()

    def __enter__(self) -> TblRawImageLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _one_size(path: str) -> tuple[int, int]:
    """(height, width) of a file of raw images."""
    with open_dataset(path) as dataset:
        if dataset.format != "tbl2" or not len(dataset):
            raise ArgumentError(f"{path}: a TBL file with raw images is needed; preprocess_to_tbl makes one")
    index: Any = TblReaderV2(path, verify_checksums=False)._index
    sizes = np.unique(np.stack([index["height"], index["width"], index["format"]], 1), axis=0)
    if len(sizes) != 1 or sizes[0, 2] != SampleFormat.RAW_U8:
        raise ArgumentError(f"{path}: the samples are not raw images of one size; preprocess_to_tbl makes such files")
    return int(sizes[0, 0]), int(sizes[0, 1])
