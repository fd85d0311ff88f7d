"""TurboLoader's loaders, which are mldf's: DataLoader, FastDataLoader and their factories. tbl.py has the one for
files of raw images.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import images, ops
from ...batch import to_torch
from ...dataset import open as open_dataset
from ...errors import ArgumentError, NotFoundError, UnsupportedError
from ...loader import Loader as Base
from ...pipeline import Operation, Steps
from ...suggest import choice
from .cache import DecodedCache, resumed
from .sequence import ArrayDataLoader, MapDataLoader, TokenDataLoader
from .transforms import Compose, ImageNetNormalize, Normalize, applied

__all__ = [
    "DataLoader",
    "FastDataLoader",
    "Loader",
    "MemoryEfficientDataLoader",
    "SmartBatchConfig",
    "create_loader",
    "decode_jpeg",
    "decode_jpeg_region",
    "decode_jpeg_scaled",
]

FORMATS = ("dict", "numpy", "numpy_chw", "tensorflow", "pytorch", "torch", "jax")
IGNORED = ("cache", "enable_cache", "auto_smart", "enable_smart", "distributed_seed")
SIZED = (ops.Resize, ops.RandomResizedCrop, ops.CenterCrop, ops.RandomCrop, ops.CenterResizedCrop)


class DataLoader:
    """TurboLoader's arguments for mldf.Loader, which is ``.loader``.

    output_format "pytorch", "numpy_chw" (N, 3, H, W), "numpy", "tensorflow" (N, H, W, 3) give (images, meta): float32
    arrays of NumPy, as in TurboLoader ("torch", or pin_memory, gives tensors), and a dict with "indices", "filenames"
    (where samples have keys), "batch_size", "height", "width", "channels", "decode_failures" and, which TurboLoader has
    not, the other fields, such as "label". "dict" gives a list with a dict for each sample, whose images may have
    different sizes. An image that cannot be decoded is counted and warned about: arrays have an image of zeros for it,
    at the end of its batch; dicts lack it. on_error="skip" leaves it out of arrays, too, and "raise" makes it an error.
    worker_id gives one of num_shards parts, or of num_workers. cache_decoded keeps all images in memory after the first
    epoch (cache.py); other cache arguments are accepted and do nothing.

    modality "tokens" (with seq_len), "array" (arrays=) and "map" (dataset=): batches of those loaders (sequence.py).
    """

    def __init__(
        self,
        data_path: Any = None,
        batch_size: int = 32,
        num_workers: int = 4,
        shuffle: bool = False,
        transform: Any = None,
        image_size: Any = None,
        output_format: str = "dict",
        modality: str | None = None,
        seq_len: int | None = None,
        token_dtype: Any = "uint16",
        arrays: Any = None,
        dataset: Any = None,
        collate_fn: Any = None,
        seed: int = 42,
        enable_distributed: bool = False,
        world_rank: int = 0,
        world_size: int = 1,
        drop_last: bool = False,
        train_aug: bool = False,
        hflip_prob: float = 0.5,
        pin_memory: bool = False,
        prefetch_batches: int = 4,
        dtype: str = "float32",
        antialias: bool = False,
        channels_last: bool = False,
        field: str | None = None,
        worker_id: int | None = None,
        num_shards: int | None = None,
        on_error: str = "zeros",
        cache_decoded: bool = False,
        **ignored: Any,
    ) -> None:
        unknown = [n for n in ignored if not n.startswith(IGNORED)]
        if unknown:
            raise UnsupportedError(
                f"DataLoader({unknown[0]}=...): mldf.Loader has no such thing, or another name for it"
            )
        self._running: Iterator[Any] | None = None
        self._finished, self._taken = False, 0
        self.batch_size, self.num_workers, self.prefetch_batches = batch_size, num_workers, prefetch_batches
        self.transform, self.decode_failures, self._epoch = transform, 0, 0
        given = {"seq_len": seq_len, "token_dtype": token_dtype, "collate_fn": collate_fn}
        more = {"batch_size": batch_size, "shuffle": shuffle, "seed": seed}
        threads = {"num_workers": num_workers, "prefetch_batches": prefetch_batches}
        self._delegate = _other_loader(
            _modality(modality, arrays, dataset), data_path, arrays, dataset, given, more, threads, drop_last
        )
        ranks = (world_rank, world_size) if enable_distributed else (0, 1)
        if self._delegate is None and field is None and worker_id is None:
            layout = {"dtype": dtype, "channels_last": channels_last, "pin_memory": pin_memory, "drop_last": drop_last}
            flip = hflip_prob if train_aug else 0.0
            crop = {"train_aug": train_aug, "hflip_prob": flip, "prefetch_batches": prefetch_batches}
            place = {"world_rank": ranks[0], "world_size": ranks[1]}
            self._delegate = _raw_loader(data_path, transform, image_size, {**more, **layout, **crop, **place})
        if self._delegate is not None:
            return
        kind = FORMATS[choice("output_format", output_format, FORMATS)]
        _agree(transform, image_size)
        if cache_decoded and ranks[1] > 1:
            warnings.warn(
                "cache_decoded with distributed ranks: the cache has the first epoch's part of this rank, so the parts "
                "are no longer dealt again every epoch",
                RuntimeWarning,
                stacklevel=2,
            )
        dataset = _opened(data_path)
        found = [name for name, f in dataset.schema.items() if f.is_image]
        if field is None and len(found) != 1:
            raise ArgumentError(f"these files have {len(found)} images in a sample; say which with field=")
        self.field = field or found[0]
        steps = _steps(transform, image_size, train_aug, hflip_prob, antialias)
        first, self._late = _divided(steps)
        planar = kind in ("pytorch", "torch", "numpy_chw", "jax") and not channels_last
        self._pads = kind == "dict" and not any(isinstance(s, SIZED) for s in first)
        if self._late and kind != "dict":
            self._late = _floats(self._late, planar, dtype)
            if any(isinstance(s, (ops.ToFloat, ops.Normalize)) for s in first):
                self._late = [s for s in self._late if not isinstance(s, ops.ToFloat)]
        elif kind != "dict":
            first = _floats(first, planar, dtype)
        if self._pads:
            first = [*first, ops.Pad()]
        self.kind, self.shuffle, self.seed, self.drop_last = kind, shuffle, seed, drop_last
        shards = (0, 1) if worker_id is None else (worker_id, num_workers if num_shards is None else num_shards)
        if enable_distributed:
            shards = (world_rank * shards[1] + shards[0], world_size * shards[1])
        self.loader = Base(
            dataset,
            batch_size,
            shuffle,
            pipelines={self.field: first},
            seed=seed,
            threads=num_workers,
            drop_last=drop_last,
            rank=shards[0],
            world_size=shards[1],
            output=self._output(kind, pin_memory) if not self._late else "numpy",
            pin_memory=pin_memory,
            batches_ahead=prefetch_batches + 2,
            index=True,
            key=dataset.has_keys,
            on_error="skip" if on_error == "zeros" else on_error,
        )
        self._zeros = on_error == "zeros" and kind != "dict"
        self._cache = DecodedCache(self) if cache_decoded and kind != "dict" else None
        self._ending = f".{self.field}" if dataset._view.files.infos[0]["format"] == "tar" else ""
        self._planar = kind != "dict" and planar

    @staticmethod
    def _output(kind: str, pin_memory: bool) -> str:
        return "torch" if kind == "torch" or (pin_memory and kind != "dict") else "jax" if kind == "jax" else "numpy"

    def __len__(self) -> int:
        return len(self.loader if self._delegate is None else self._delegate)

    def num_samples(self) -> int:
        """Of this rank, in an epoch."""
        return len(range(self.loader.rank, len(self.loader.dataset), self.loader.world_size))

    def __iter__(self) -> Iterator[Any]:
        """An epoch; of cache_decoded, the first one decodes all images and later ones do not."""
        if self._delegate is not None:
            return iter(self._delegate)
        return self._decoded() if self._cache is None else self._cache.batches(self._epoch)

    def _decoded(self) -> Iterator[Any]:
        before, warned, place = self.loader.stats().bad_samples, False, 0
        size = self.loader.batch_size
        for batch in self.loader:
            # Batches to come may have been counted already; this one lacks what it is shorter by.
            failures = min(size - len(batch["index"]), self.loader.stats().bad_samples - before)
            before += failures
            self.decode_failures += failures
            bad: list[dict[str, Any]] = []
            if failures:
                epoch = max(entry["epoch"] for entry in self.loader.bad_samples())
                known = [entry for entry in self.loader.bad_samples() if entry["epoch"] == epoch]
                bad = sorted(known, key=lambda entry: entry["position"])[place : place + failures]
                place += failures
            if failures and not warned:
                warned = True
                kept = "zeros are in their place" if self._zeros else "they are left out"
                last = self.loader.bad_samples()[-1]
                warnings.warn(
                    f"{failures} sample(s) failed to decode, {kept}: {last['message']}", RuntimeWarning, stacklevel=2
                )
            yield self._handed_over(batch, failures, bad if self._zeros else [])
        self._finished = True

    def _handed_over(self, batch: Any, failures: int, bad: list[dict[str, Any]]) -> Any:
        pictures, index = batch[self.field], batch["index"].tolist()
        hidden = (self.field, "index", "key", f"{self.field}_length" if self._pads else "")
        rest = {n: batch[n] for n in batch.names if n not in hidden}
        names = [key + self._ending for key in batch["key"]] if "key" in batch.names else None
        if self._pads and f"{self.field}_length" in batch.names:
            sizes = np.asarray(batch[f"{self.field}_length"]).tolist()
            pictures = [image[: size[0], : size[1]] for image, size in zip(pictures, sizes)]
        if self._late:
            pictures = [applied(self._late, image, self) for image in pictures]
            if self.kind != "dict":
                pictures = np.stack(pictures)
                pictures = to_torch(None, False, True)(pictures) if self.kind == "torch" else pictures
        if self.kind == "dict":
            return list(self._samples(index, names, {"image": pictures, **rest}))
        if bad:
            pictures, rest = self._with_zeros(pictures, rest, [entry["item"] for entry in bad])
            index = [*index, *(entry["item"] for entry in bad)]
            keys = self.loader.dataset.keys
            if names is not None and keys is not None:
                names = [*names, *(keys[entry["item"]] + self._ending for entry in bad)]
        height, width, channels = (*pictures.shape[2:], pictures.shape[1]) if self._planar else pictures.shape[1:]
        told = {"indices": index} if names is None else {"indices": index, "filenames": names}
        meta = {**told, "batch_size": len(index), "decode_failures": failures}
        return pictures, {**meta, "height": height, "width": width, "channels": channels, **rest}

    def _with_zeros(self, pictures: Any, rest: dict[str, Any], bad: list[int]) -> tuple[Any, dict[str, Any]]:
        """With an image of zeros for each of these samples, and their other fields as they are stored."""
        empty = np.zeros((len(bad), *pictures.shape[1:]), np.float32)
        if hasattr(pictures, "new_zeros"):  # torch's
            import torch

            pictures = torch.cat([pictures, pictures.new_zeros(empty.shape)])
        else:
            pictures = np.concatenate([np.asarray(pictures), empty.astype(np.asarray(pictures).dtype)])
        dataset = self.loader.dataset
        for name, values in rest.items():
            if name in dataset.schema and isinstance(values, np.ndarray) and dataset.schema[name].is_fixed:
                more = np.stack([np.asarray(dataset[i, name]) for i in bad]).astype(values.dtype)
                rest[name] = np.concatenate([values, more.reshape(len(bad), *values.shape[1:])])
        return pictures, rest

    _calls = 0  # of what runs in Python

    @staticmethod
    def _samples(index: list[int], names: list[str] | None, arrays: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for i, n in enumerate(index):
            told: dict[str, Any] = {"index": n} if names is None else {"index": n, "filename": names[i]}
            height, width, *channels = arrays["image"][i].shape
            told |= {"height": height, "width": width, "channels": channels[0] if channels else 1}
            yield {**told, **{name: (a[i] if np.ndim(a[i]) else a[i].item()) for name, a in arrays.items()}}

    # ---- batch by batch ----

    @property
    def _fast(self) -> bool:
        """Arrays of batches? TurboLoader's own tests and some programs ask for it."""
        return self._delegate is None and self.kind != "dict"

    @property
    def _impl(self) -> Any:
        """What makes the arrays: the loader itself."""
        return self if self._fast else None

    def next_batch(self) -> Any:
        """The next batch; StopIteration at an epoch's end, and the call after it begins the next."""
        if self._running is None:
            self._running, self._finished, self._taken = iter(self), False, 0
        try:
            batch = next(self._running)
        except StopIteration:
            self._running = None
            raise
        self._taken += 1
        self._finished = self._finished or self._taken == len(self)
        return batch

    def next_batch_tf(self, device: Any = None, dtype: Any = None) -> Any:
        """The next batch as (TensorFlow's tensor, meta); the tensor is (N, H, W, 3). TensorFlow is needed."""
        tf: Any = importlib.import_module("tensorflow")
        pictures, meta = self._tensors()
        with tf.device(device or "/CPU:0"):
            tensor = tf.convert_to_tensor(np.ascontiguousarray(pictures.transpose(0, 2, 3, 1)))
            return (tensor if dtype is None else tf.cast(tensor, dtype)), meta

    def next_batch_torch(self, device: Any = None, non_blocking: bool = True, dtype: Any = None) -> Any:
        """The next batch as (tensor, meta); the tensor is (N, 3, H, W)."""
        pictures, meta = self._tensors()
        tensor = to_torch(device, None, non_blocking)(pictures)
        return (tensor if dtype is None else tensor.to(dtype)), meta

    def _tensors(self) -> Any:
        if self.kind == "dict":
            raise UnsupportedError("next_batch_torch: output_format='pytorch' is needed, or a FastDataLoader")
        found, meta = self.next_batch()
        found = np.asarray(found)
        if not self._planar:
            found = np.ascontiguousarray(found.transpose(0, 3, 1, 2))
        return (found.astype(np.float32) / 255 if found.dtype == np.uint8 else found), meta

    def is_finished(self) -> bool:
        """Was the epoch's last batch handed over?"""
        return self._finished

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch."""
        self._epoch = int(epoch)
        (self.loader if self._delegate is None else self._delegate).set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the run is: TurboLoader's "epoch" and "batches_served", and what mldf's loader says besides."""
        if self._delegate is not None:
            return dict(_able(self._delegate, "state_dict")())
        if self._cache is not None:
            return {"version": 1, "epoch": self._epoch, "batches_served": self._cache.served}
        state = self.loader.state_dict()
        return {**state, "batches_served": state["consumed"] // (self.batch_size * self.loader.world_size)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on there. A state of TurboLoader's ("epoch" and "batches_served" alone) will do."""
        if self._delegate is not None:
            _able(self._delegate, "load_state_dict")(state)
        elif self._cache is not None:
            self._epoch, self._cache.resume = int(state["epoch"]), int(state["batches_served"])
        else:
            self._epoch = int(state["epoch"])
            self.loader.load_state_dict(resumed(self.loader, state))

    def close(self) -> None:
        """Ends the epoch that is under way, and its threads. The loader may be iterated again."""
        running, self._running = getattr(self, "_running", None), None
        if running is not None and hasattr(running, "close"):
            running.close()

    stop = close

    def to_jax(self, **options: Any) -> Any:
        """Batches as jax.Array, copied to the device ahead of use (jax_adapter.py)."""
        from .jax_adapter import JaxDeviceLoader

        return JaxDeviceLoader(self, **options)

    # ---- images that were decoded once ----

    @property
    def cache_populated(self) -> bool:
        """Are all images decoded and kept?"""
        return self._cache is not None and self._cache.images is not None

    @property
    def cache_size_mb(self) -> float:
        """What is kept, in MiB."""
        return 0.0 if self._cache is None or self._cache.images is None else self._cache.images.nbytes / 2**20

    def clear_cache(self) -> None:
        """Forgets the images; the next epoch decodes them again."""
        if self._cache is not None:
            self._cache.images = None

    def smart_batching_enabled(self) -> bool:
        """Never: images of a batch have one size."""
        return False

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


MODALITIES = {
    "image": ("auto", "image", "images"),
    "tokens": ("tokens", "token", "text"),
    "array": ("array", "arrays", "tensor", "tabular"),
    "map": ("map", "dataset", "python"),
}


def _modality(word: str | None, arrays: Any, dataset: Any) -> str:
    """Which kind of loader is wanted."""
    if word in (None, "auto", "image"):
        word = "map" if dataset is not None else "array" if arrays is not None else "image"
    kind = next((name for name, words in MODALITIES.items() if word in words), None)
    if kind is None:
        known = ", ".join(repr(w) for m in MODALITIES.values() for w in m)
        raise ArgumentError(f"modality must be one of {known}, not {word!r}")
    return kind


def _other_loader(
    kind: str,
    data: Any,
    arrays: Any,
    dataset: Any,
    given: dict[str, Any],
    more: dict[str, Any],
    threads: dict[str, Any],
    drop_last: bool,
) -> Any:
    """Of what is not images; None of images."""
    if kind == "tokens":
        if given["seq_len"] is None:
            raise ArgumentError("modality='tokens' requires seq_len=")
        return TokenDataLoader(data, given["seq_len"], dtype=given["token_dtype"], **more)
    if kind == "array":
        arrays = data if arrays is None else arrays
        arrays = list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]
        return ArrayDataLoader(*arrays, drop_last=drop_last, **more)
    if kind == "map":
        source = data if dataset is None else dataset
        return MapDataLoader(source, collate_fn=given["collate_fn"], drop_last=drop_last, **threads, **more)
    return None


def _raw_loader(path: Any, transform: Any, image_size: Any, options: dict[str, Any]) -> Any:
    """TurboLoader's TblRawImageLoader of a TBL file of raw images; None for other files and transforms."""
    from .tbl import TblRawImageLoader, is_raw

    steps = list(_listed(transform))
    plain = all(isinstance(s, (ops.Resize, ops.Normalize)) for s in steps)
    if not isinstance(path, (str, os.PathLike)) or not str(path).lower().endswith(".tbl") or not plain:
        return None
    if not is_raw(path):
        return None
    _agree(transform, image_size)
    resized = next((s._values[0] for s in steps if isinstance(s, ops.Resize)), image_size)
    normal = next((s for s in steps if isinstance(s, ops.Normalize)), None)
    mean, std = (normal.mean, normal.std) if isinstance(normal, (ImageNetNormalize, Normalize)) else (None, None)
    return TblRawImageLoader(path, mean=mean, std=std, image_size=resized, **options)


def _agree(transform: Any, image_size: Any) -> None:
    """A Resize of the transform and image_size say one size, where both are there."""
    if image_size is None:
        return
    size = (image_size, image_size) if isinstance(image_size, int) else tuple(image_size)
    for step in _listed(transform):
        if isinstance(step, ops.Resize) and tuple(step._values[0]) != size:
            height, width = step._values[0]
            raise ArgumentError(
                f"Conflicting sizes (height x width): the transform resizes to {height} x {width}, and image_size is "
                f"{size[0]} x {size[1]}"
            )


def _able(loader: Any, method: str) -> Any:
    found = getattr(loader, method, None)
    if found is None:
        raise UnsupportedError(f"{type(loader).__name__} has no {method}()")
    return found


class SmartBatchConfig:
    """Of TurboLoader's batches of images of like sizes, which are not here: it is kept, and does nothing."""

    def __init__(self) -> None:
        self.bucket_width_step = self.bucket_height_step = 32
        self.min_bucket_size, self.max_bucket_size, self.max_buckets = 16, 128, 100
        self.enable_dynamic_buckets, self.strict_sizing = True, False


class FastDataLoader(DataLoader):
    """Arrays of batches. "numpy" gives uint8, (N, H, W, 3), unless a transform makes floats; the others float32.

    target_height and target_width are the size; 0: that of the first image of the files.
    """

    def __init__(
        self,
        data_path: Any,
        batch_size: int = 32,
        num_workers: int = 4,
        output_format: str = "numpy",
        target_height: int = 0,
        target_width: int = 0,
        transform: Any = None,
        shuffle: bool = False,
        **options: Any,
    ) -> None:
        if output_format == "dict":
            raise ArgumentError(
                "FastDataLoader gives arrays: 'numpy', 'numpy_chw', 'pytorch' or 'tensorflow', not 'dict'"
            )
        seed = options.pop("distributed_seed", options.pop("seed", 42))
        size = (target_height, target_width)
        if not all(size) and not any(isinstance(s, SIZED) for s in _listed(transform)):
            size = _first_size(data_path, options.get("field"), size)
        sized = any(isinstance(s, (ops.Resize, ops.RandomResizedCrop)) for s in _listed(transform))
        image_size = size if all(size) and not sized else None
        if output_format in ("numpy", "tensorflow") and "dtype" not in options:
            options["dtype"] = "same"
        super().__init__(
            data_path, batch_size, num_workers, shuffle, transform, image_size, output_format, seed=seed, **options
        )


def _first_size(path: Any, field: str | None, size: tuple[int, int]) -> tuple[int, int]:
    """Of the first image that can be decoded."""
    with _opened(path) as dataset:
        name = field or next((n for n, f in dataset.schema.items() if f.is_image), None)
        for i in range(len(dataset)) if name is not None else ():
            value = dataset[i, str(name)]
            if isinstance(value, np.ndarray) and value.ndim == 3:
                return size[0] or value.shape[0], size[1] or value.shape[1]
    return size


class MemoryEfficientDataLoader(FastDataLoader):
    """A FastDataLoader with few threads and batches ahead: as many as max_memory_mb suggests.

    It is a suggestion: memory is bounded by the batches that wait, `prefetch_batches` of them.
    """

    def __init__(
        self,
        data_path: Any,
        batch_size: int = 32,
        num_workers: int | None = None,
        max_memory_mb: int = 512,
        output_format: str = "numpy",
        target_height: int = 0,
        target_width: int = 0,
        transform: Any = None,
        shuffle: bool = False,
        **options: Any,
    ) -> None:
        self.max_memory_mb = max_memory_mb
        steps = ((256, 2, 1), (512, 4, 1), (1024, 6, 2))  # up to these megabytes: threads, batches ahead
        threads, ahead = next(((t, a) for most, t, a in steps if max_memory_mb <= most), (8, 2))
        options.setdefault("prefetch_batches", ahead)
        super().__init__(
            data_path,
            batch_size,
            threads if num_workers is None else num_workers,
            output_format,
            target_height,
            target_width,
            transform,
            shuffle,
            **options,
        )


KINDS = ("fast", "memory_efficient", "standard")


def create_loader(
    data_path: Any,
    loader_type: str = "fast",
    batch_size: int = 32,
    num_workers: int | None = None,
    output_format: str = "numpy",
    target_height: int = 0,
    target_width: int = 0,
    transform: Any = None,
    max_memory_mb: int = 512,
    **options: Any,
) -> DataLoader:
    """ "fast": a FastDataLoader; "memory_efficient": a MemoryEfficientDataLoader; "standard": a DataLoader of dicts."""
    kind = KINDS[choice("loader_type", loader_type, KINDS)]
    threads = 4 if num_workers is None else num_workers
    if kind == "standard":
        return DataLoader(data_path, batch_size, threads, transform=transform, **options)
    size = {"target_height": target_height, "target_width": target_width, "transform": transform}
    if kind == "memory_efficient":
        return MemoryEfficientDataLoader(
            data_path, batch_size, num_workers, max_memory_mb, output_format, **size, **options
        )
    return FastDataLoader(data_path, batch_size, threads, output_format, **size, **options)


def Loader(
    data_path: Any, batch_size: int = 32, num_workers: int = 4, fast: bool = False, **options: Any
) -> DataLoader:
    """A FastDataLoader, or a DataLoader of dicts."""
    if fast:
        return FastDataLoader(data_path, batch_size, num_workers, **options)
    for name in ("output_format", "target_height", "target_width"):
        options.pop(name, None)  # of the fast one, as in TurboLoader
    return DataLoader(data_path, batch_size, num_workers, **options)


class MissingDataError(NotFoundError, RuntimeError):
    """No such file: a RuntimeError too, as TurboLoader raises."""


def _opened(path: Any) -> Any:
    try:
        return open_dataset(path)
    except NotFoundError as error:
        raise MissingDataError(f"Failed to open TAR, TBL or other file: {error}") from error


def decode_jpeg(data: Any) -> np.ndarray[Any, Any]:
    """mldf.images.decode(channels=3)."""
    return images.decode(data, channels=3)


def decode_jpeg_scaled(data: Any, target_w: int, target_h: int) -> np.ndarray[Any, Any]:
    """At 1/8, 2/8 ... 16/8 of its size: the smallest that covers the target; where none does, all of it."""
    about = images.probe(data)
    for eighths in range(1, 17):
        if -(-about["width"] * eighths // 8) >= target_w and -(-about["height"] * eighths // 8) >= target_h:
            return images.decode(data, channels=3, eighths=eighths)
    return decode_jpeg(data)


def decode_jpeg_region(
    data: Any, target_w: int, target_h: int, x: int, y: int, w: int, h: int
) -> tuple[np.ndarray[Any, Any], int, int, int]:
    """Rows y to y + h of what decode_jpeg_scaled gives: (strip, its first column, width, height of the whole).

    The strip has the columns x to x + w exactly; TurboLoader's may have more on both sides.
    """
    whole = decode_jpeg_scaled(data, target_w, target_h)
    height, width = whole.shape[:2]
    if x < 0 or y < 0 or w < 1 or h < 1 or x + w > width or y + h > height:
        raise ArgumentError(f"{w} x {h} pixels at {x}, {y} leave the image of {width} x {height}")
    return whole[y : y + h, x : x + w].copy(), x, width, height


# ---- steps ----


def _listed(transform: Any) -> Steps:
    return Compose(transform if isinstance(transform, (list, tuple)) else [] if transform is None else [transform])


def _steps(transform: Any, image_size: Any, train_aug: bool, hflip_prob: float, antialias: bool) -> list[Any]:
    """As the batches have them; without a transform that resizes, image_size does."""
    given = _listed(transform)
    if image_size is not None and not any(isinstance(s, (ops.Resize, ops.RandomResizedCrop)) for s in given):
        size = (image_size, image_size) if isinstance(image_size, int) else tuple(image_size)
        crop = [ops.RandomResizedCrop(size), ops.HorizontalFlip(hflip_prob)]
        given = Steps(crop if train_aug else [ops.Resize(size, antialias=False)]) | given
    if antialias:
        given = Steps(_antialiased(step) if isinstance(step, ops.Resize) else step for step in given)
    return list(given) or [ops.Decode(channels=3)]


def _divided(steps: list[Any]) -> tuple[list[Any], list[Any]]:
    """What runs in C, and what runs in Python: from the first step that mldf has no operation for."""
    at = next((i for i, s in enumerate(steps) if not isinstance(s, Operation)), len(steps))
    return steps[:at] or [ops.Decode(channels=3)], steps[at:]


def _antialiased(step: ops.Resize) -> ops.Resize:
    size, filter, _, max_size = step._values
    return ops.Resize(size, filter, True, max_size)


def _floats(steps: list[Any], planar: bool, dtype: str) -> list[Any]:
    """What every batch of TurboLoader's is; dtype "same": bytes stay bytes."""
    out = list(steps)
    if dtype == "same":
        return out
    if not any(isinstance(s, (ops.ToFloat, ops.Normalize)) for s in out):
        out.append(ops.ToFloat())
    if planar and not any(isinstance(s, ops.CHW) for s in out):
        out.append(ops.CHW(dtype if dtype != "float32" else "same"))
    elif dtype != "float32":
        out.append(ops.Cast(dtype))
    return out
