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
from ...errors import ArgumentError, FileError
from ...loader import Loader as Base
from .cache import resumed
from .crops import crop_resize_normalize_u8_gather, pick_crop
from .loader import DataLoader
from .tbl_file import SampleFormat, TblReaderV2, TblWriterV2

__all__ = ["TblRawImageLoader", "open_raw_view", "preprocess_to_tbl"]

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


def open_raw_view(path: Any) -> tuple[np.ndarray[Any, Any], int, int]:
    """The raw images of a TBL file as one array (N, H, W, 3) over its mapped memory, and (H, W): nothing is copied.

    For files of one size without compression, such as preprocess_to_tbl writes.
    """
    name = os.fspath(path)
    height, width = _one_size(name)
    index: Any = TblReaderV2(name, verify_checksums=False)._index
    size = height * width * 3
    if np.any(index["flags"] & 1):
        raise ArgumentError(f"{name}: the samples are compressed (LZ4): write it with compression=False")
    first = int(index["offset"][0])
    if np.any(index["size"] != size) or np.any(
        index["offset"] != first + np.arange(len(index), dtype=np.uint64) * size
    ):
        raise ArgumentError(f"{name}: the samples do not follow each other without gaps")
    whole = np.memmap(name, np.uint8, "r", first, (len(index), height, width, 3))
    return whole, height, width


class TblRawImageLoader:
    """Batches (images, {"indices": ...}) of a TBL file of raw images: float32 or float16, normalised unless mean and
    std are None. ``.loader`` is mldf.Loader; it opens any other file, too.

    Each rank has as many samples as the others: what is left over is not loaded in that epoch. With train_aug the
    crops and flips are TurboLoader's own (meta["crops"], meta["flips"]), made from the mapped file by NumPy;
    mldf.Loader with mldf.RandomResizedCrop does it in C threads.
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
        if not 0 <= world_rank < world_size:
            raise ArgumentError(f"TblRawImageLoader: world_rank={world_rank} of world_size={world_size}")
        self.path, self.batch_size = os.fspath(path), batch_size
        height, width = _one_size(self.path)
        self._view = open_raw_view(self.path)[0]  # refuses what is compressed, as TurboLoader does
        size = (height, width) if image_size is None else image_size
        size = (size, size) if isinstance(size, int) else tuple(size)
        self.num_samples = len(self._view)
        self.samples_per_rank = self.num_samples // world_size
        if not self.samples_per_rank:
            raise ArgumentError(f"{self.path}: {self.num_samples} samples are fewer than {world_size} ranks")
        self.mean, self.std, self.shuffle, self.seed, self.drop_last = mean, std, shuffle, seed, drop_last
        self.train_aug, self.scale, self.ratio, self.hflip_prob = train_aug, scale, ratio, hflip_prob
        self.dtype, self.channels_last, self._size = dtype, channels_last, size
        self.world_rank, self.world_size = world_rank, world_size
        self._epoch, self._served, self._resume = 0, 0, 0
        steps: list[Any] = []
        if size != (height, width):
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

    def __len__(self) -> int:
        count = self.samples_per_rank
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        """An epoch."""
        if self.train_aug:
            yield from self._cropped()
            return
        left = self.samples_per_rank
        for batch in self.loader:
            indices = np.asarray(batch["index"]).astype(np.int64)[:left]
            left -= len(indices)
            if len(indices):
                yield batch["image"][: len(indices)], {"indices": indices}

    def _cropped(self) -> Iterator[Any]:
        """With train_aug: TurboLoader's order, crops and flips."""
        every = np.random.default_rng(self.seed + self._epoch).permutation(self.num_samples)
        order = every if self.shuffle else np.arange(self.num_samples)
        order = order[self.world_rank :: self.world_size][: self.samples_per_rank]
        draws = np.random.default_rng((self.seed, self._epoch, 2, self.world_rank))
        height, width = self._view.shape[1:3]
        crops = np.array([pick_crop(width, height, draws, self.scale, self.ratio) for _ in order], np.float32)
        coins = np.random.default_rng((self.seed, self._epoch, 1, self.world_rank)).random(len(order))
        flips = (coins < self.hflip_prob).astype(np.uint8)
        self._served, self._resume = self._resume, 0
        for b in range(self._served, len(self)):
            part = slice(b * self.batch_size, (b + 1) * self.batch_size)
            chosen = order[part]
            shape = (*self._size, 3) if self.channels_last else (3, *self._size)
            out = np.empty((len(chosen), *shape), self.dtype)
            crop_resize_normalize_u8_gather(self._view, chosen, crops[part], flips[part], out, self.mean, self.std)
            self._served += 1
            yield out, {"indices": chosen.copy(), "crops": crops[part].copy(), "flips": flips[part].copy()}

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch."""
        self._epoch = int(epoch)
        self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the run is: TurboLoader's "epoch" and "batches_served", and what mldf's loader says besides."""
        if self.train_aug:
            return {"version": 1, "epoch": self._epoch, "batches_served": self._served}
        state = self.loader.state_dict()
        return {**state, "batches_served": state["consumed"] // (self.batch_size * self.world_size)}

    def load_state_dict(self, sd: dict[str, Any]) -> None:
        """Goes on there."""
        if self.train_aug:
            self._epoch, self._resume = int(sd["epoch"]), int(sd["batches_served"])
        else:
            self.loader.load_state_dict(resumed(self.loader, sd))

    def close(self) -> None:
        """Ends the threads."""
        self.loader.close()

    def __enter__(self) -> TblRawImageLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_raw(path: Any) -> bool:
    """Is it a TBL file of raw images of one size, without compression?"""
    try:
        open_raw_view(path)
    except (ArgumentError, FileError):
        return False
    return True


def _one_size(path: str) -> tuple[int, int]:
    """(height, width) of a file of raw images."""
    with open_dataset(path) as dataset:
        if dataset.format != "tbl2" or not len(dataset):
            raise ArgumentError(f"{path}: a TBL file with raw images is needed; preprocess_to_tbl makes one")
    index: Any = TblReaderV2(path, verify_checksums=False)._index
    sizes = np.unique(np.stack([index["height"], index["width"], index["format"]], 1), axis=0)
    if len(sizes) != 1 or sizes[0, 2] != SampleFormat.RAW_U8:
        raise ArgumentError(
            f"{path}: the samples are not RAW_U8 images of one size; preprocess_to_tbl makes such files"
        )
    return int(sizes[0, 0]), int(sizes[0, 1])
