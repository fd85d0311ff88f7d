"""TurboLoader's names: its transforms and its DataLoader (TurboLoader 2.39).

>>> from mldf.compat.turboloader import DataLoader, ImageNetNormalize, Resize
>>> Resize(224, 160) | ImageNetNormalize()
[Resize((160, 224), antialias=False), Normalize('imagenet')]

A ``DataLoader`` opens .tbl files, tar archives and all else that mldf reads. What differs: a batch that somebody keeps
is never written again, so pin_memory has no ring; caches are the page cache's business; seeds are the loader's, not
each transform's. docs/migrate-turboloader.md has all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from .. import images, ops
from ..errors import ArgumentError, UnsupportedError
from ..loader import Loader as Base
from ..pipeline import Operation, Steps
from ..suggest import choice

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "CutMix",
    "DataLoader",
    "FastDataLoader",
    "GaussianBlur",
    "Grayscale",
    "ImageNetNormalize",
    "InterpolationMode",
    "Loader",
    "MixUp",
    "Normalize",
    "PaddingMode",
    "RandAugment",
    "RandomAffine",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomPosterize",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "TensorFormat",
    "ToTensor",
    "create_loader",
    "decode_jpeg",
    "decode_jpeg_scaled",
]


class InterpolationMode(Enum):
    """How pixels are weighed."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    LANCZOS = "lanczos"


class TensorFormat(Enum):
    """Of ToTensor."""

    NONE = 0
    PYTORCH_CHW = 1
    TENSORFLOW_HWC = 2


class PaddingMode(Enum):
    """Of RandomCrop: CONSTANT alone is there."""

    CONSTANT = 0
    EDGE = 1
    REFLECT = 2


def Compose(transforms: Sequence[Any]) -> Steps:
    """A list, as ``|`` makes one."""
    out = Steps()
    for transform in transforms:
        out = out | transform
    return out


def Resize(width: int, height: int, interpolation: InterpolationMode = InterpolationMode.BILINEAR) -> Operation:
    """Width first, as TurboLoader has it; and not antialiased, unless the DataLoader is told to."""
    return ops.Resize((height, width), interpolation.value, False)


def CenterCrop(width: int, height: int) -> Operation:
    """Width first."""
    return ops.CenterCrop((height, width))


def RandomCrop(
    width: int, height: int, padding: int = 0, pad_mode: Any = None, pad_value: int = 0, seed: int = 0
) -> Operation:
    """Width first; padding of one value."""
    del seed
    if pad_mode is not None and getattr(pad_mode, "name", pad_mode) not in ("CONSTANT", "constant"):
        raise UnsupportedError(f"RandomCrop(pad_mode={pad_mode!r}): only a constant is there")
    return ops.RandomCrop((height, width), padding, fill=pad_value)


def Normalize(mean: Any, std: Any, to_float: bool = True) -> Operation:
    """The same, always to floats."""
    if not to_float:
        raise UnsupportedError("Normalize(to_float=False): floats alone are there")
    return ops.Normalize(mean, std)


def ImageNetNormalize(to_float: bool = True) -> Operation:
    """mldf.Normalize("imagenet")."""
    if not to_float:
        raise UnsupportedError("ImageNetNormalize(to_float=False): floats alone are there")
    return ops.Normalize("imagenet")


def ToTensor(format: TensorFormat = TensorFormat.PYTORCH_CHW, normalize: bool = True) -> Steps:
    """Floats from 0 to 1, channels first or last."""
    layout = [ops.HWC()] if format is TensorFormat.TENSORFLOW_HWC else [ops.CHW()]
    return Steps([*([ops.ToFloat()] if normalize else []), *layout])


def Grayscale(num_output_channels: int = 1) -> Operation:
    """mldf.Grayscale."""
    return ops.Grayscale(num_output_channels)


def MixUp(alpha: float = 0.4, seed: int = 0) -> Operation:
    """For ``{"image, label": [MixUp()]}`` of mldf.Loader, behind ``{"label": [mldf.OneHot(classes)]}``."""
    del seed
    return ops.MixUp(alpha)


def CutMix(alpha: float = 1.0, seed: int = 0) -> Operation:
    """As MixUp."""
    del seed
    return ops.CutMix(alpha)


def RandomHorizontalFlip(p: float = 0.5, seed: int = 0) -> Operation:
    """mldf.HorizontalFlip."""
    del seed
    return ops.HorizontalFlip(p)


def RandomVerticalFlip(p: float = 0.5, seed: int = 0) -> Operation:
    """mldf.VerticalFlip."""
    del seed
    return ops.VerticalFlip(p)


def ColorJitter(
    brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0, seed: int = 0
) -> Operation:
    """The same."""
    del seed
    return ops.ColorJitter(brightness, contrast, saturation, hue)


def GaussianBlur(kernel_size: int, sigma: float = 0.0) -> Operation:
    """sigma 0: from the kernel's size, as OpenCV does."""
    return ops.GaussianBlur(kernel_size, sigma or 0.3 * ((kernel_size - 1) * 0.5 - 1) + 0.8)


def RandomErasing(
    p: float = 0.5,
    scale_min: float = 0.02,
    scale_max: float = 0.33,
    ratio_min: float = 0.3,
    ratio_max: float = 3.3,
    value: int = 0,
    seed: int = 0,
) -> Operation:
    """mldf.Erasing."""
    del seed
    return ops.Erasing(p, (scale_min, scale_max), (ratio_min, ratio_max), value)


def RandomRotation(degrees: float, expand: bool = False, fill: int = 0, seed: int = 0) -> Operation:
    """mldf.Rotate."""
    del seed
    return ops.Rotate(degrees, expand=expand, fill=fill)


def RandomAffine(
    degrees: float = 0.0,
    translate_x: float = 0.0,
    translate_y: float = 0.0,
    scale_min: float = 1.0,
    scale_max: float = 1.0,
    shear: float = 0.0,
    fill: int = 0,
    seed: int = 0,
) -> Operation:
    """mldf.Affine."""
    del seed
    return ops.Affine(degrees, (translate_x, translate_y), (scale_min, scale_max), shear, fill=fill)


def RandomPerspective(distortion_scale: float, p: float = 0.5, fill: int = 0, seed: int = 0) -> Operation:
    """mldf.Perspective."""
    del seed
    return ops.Perspective(distortion_scale, p, fill=fill)


def RandomPosterize(bits: int, p: float = 1.0, seed: int = 0) -> Operation:
    """mldf.Posterize; p is 1 here."""
    del seed
    return ops.Posterize(bits, p)


def RandomSolarize(threshold: int, p: float = 1.0, seed: int = 0) -> Operation:
    """mldf.Solarize; p is 1 here."""
    del seed
    return ops.Solarize(threshold, p)


def RandAugment(num_ops: int = 2, magnitude: int = 9, seed: int = 0) -> Operation:
    """The same."""
    del seed
    return ops.RandAugment(num_ops, magnitude)


# ---- the loader ----

FORMATS = ("dict", "numpy", "numpy_chw", "tensorflow", "pytorch", "jax")


class DataLoader:
    """TurboLoader's arguments for mldf.Loader, which is ``.loader``.

    output_format "pytorch", "numpy_chw" (N, 3, H, W), "numpy", "tensorflow" (N, H, W, 3) give (images, meta): float32,
    and a dict with "indices", "filenames" (where samples have keys), "batch_size", "height", "width", "channels",
    "decode_failures" and, which TurboLoader has not, the other fields, such as "label". "dict" gives a list with a dict
    for each sample. Cache arguments are accepted and do nothing.
    """

    def __init__(
        self,
        data_path: Any,
        batch_size: int = 32,
        num_workers: int = 4,
        shuffle: bool = False,
        transform: Any = None,
        image_size: Any = None,
        output_format: str = "dict",
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
        **ignored: Any,
    ) -> None:
        unknown = [
            n for n in ignored if not n.startswith(("cache", "enable_cache", "auto_smart", "enable_smart", "dist"))
        ]
        if unknown:
            raise UnsupportedError(
                f"DataLoader({unknown[0]}=...): mldf.Loader has no such thing, or another name for it"
            )
        kind = FORMATS[choice("output_format", output_format, FORMATS)]
        import mldf

        dataset = mldf.open(data_path)
        images = [name for name, f in dataset.schema.items() if f.is_image]
        if field is None and len(images) != 1:
            raise ArgumentError(f"these files have {len(images)} images in a sample; say which with field=")
        self.field = field or images[0]
        steps = _steps(transform, image_size, train_aug, hflip_prob, antialias)
        planar = kind in ("pytorch", "numpy_chw", "jax") and not channels_last
        steps = steps if kind == "dict" else _floats(steps, planar, dtype)
        self.kind = kind
        self.loader = Base(
            dataset,
            batch_size,
            shuffle,
            pipelines={self.field: steps},
            seed=seed,
            threads=num_workers,
            drop_last=drop_last,
            rank=world_rank if enable_distributed else 0,
            world_size=world_size if enable_distributed else 1,
            output={"pytorch": "torch", "jax": "jax"}.get(kind, "numpy"),
            pin_memory=pin_memory,
            batches_ahead=prefetch_batches + 2,
            index=True,
            key=dataset.keys is not None,
        )
        self._ending = f".{self.field}" if dataset._view.files.infos[0]["format"] == "tar" else ""
        self._planar = kind != "dict" and planar

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        """An epoch."""
        for batch in self.loader:
            images, index = batch[self.field], batch["index"].tolist()
            rest = {n: batch[n] for n in batch.names if n not in (self.field, "index", "key")}
            names = [key + self._ending for key in batch["key"]] if "key" in batch.names else None
            if self.kind == "dict":
                yield list(self._samples(index, names, {"image": images, **rest}))
                continue
            height, width, channels = images.shape[2:] + images.shape[1:2] if self._planar else images.shape[1:]
            told = {"indices": index} if names is None else {"indices": index, "filenames": names}
            meta = {**told, "batch_size": len(index), "decode_failures": 0}
            yield images, {**meta, "height": height, "width": width, "channels": channels, **rest}

    @staticmethod
    def _samples(index: list[int], names: list[str] | None, arrays: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for i, n in enumerate(index):
            told = {"index": n} if names is None else {"index": n, "filename": names[i]}
            yield {**told, **{name: (a[i] if np.ndim(a[i]) else a[i].item()) for name, a in arrays.items()}}

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch."""
        self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the run is."""
        return self.loader.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on there."""
        self.loader.load_state_dict(state)

    def close(self) -> None:
        """Ends the threads."""
        self.loader.close()

    stop = close

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


FastDataLoader = DataLoader


def create_loader(
    data_path: Any,
    loader_type: str = "fast",
    batch_size: int = 32,
    num_workers: int | None = None,
    output_format: str = "numpy",
    target_height: int = 0,
    target_width: int = 0,
    transform: Any = None,
    **options: Any,
) -> DataLoader:
    """A DataLoader; loader_type, max_memory_mb and distributed_seed change nothing."""
    del loader_type
    options.pop("max_memory_mb", None)
    size = (target_height, target_width) if target_height and target_width else None
    threads = -1 if num_workers is None else num_workers
    return DataLoader(
        data_path, batch_size, threads, transform=transform, image_size=size, output_format=output_format, **options
    )


def Loader(
    data_path: Any, batch_size: int = 32, num_workers: int = 4, fast: bool = False, **options: Any
) -> DataLoader:
    """A DataLoader."""
    return create_loader(data_path, "fast" if fast else "dict", batch_size, num_workers, **options)


def decode_jpeg(data: Any) -> np.ndarray[Any, Any]:
    """mldf.images.decode(channels=3)."""
    return images.decode(data, channels=3)


def decode_jpeg_scaled(data: Any, target_w: int, target_h: int) -> np.ndarray[Any, Any]:
    """At 1/8, 1/4, 1/2 of its size or all of it: the smallest that covers the target. TurboLoader has steps of 1/8."""
    about = images.probe(data)
    for scale in (8, 4, 2):
        if -(-about["width"] // scale) >= target_w and -(-about["height"] // scale) >= target_h:
            return images.decode(data, channels=3, scale=scale)
    return decode_jpeg(data)


def _steps(transform: Any, image_size: Any, train_aug: bool, hflip_prob: float, antialias: bool) -> list[Any]:
    """As the batches have them; without a transform that resizes, image_size does."""
    given = Compose(transform if isinstance(transform, (list, tuple)) else [] if transform is None else [transform])
    if image_size is not None and not any(isinstance(s, (ops.Resize, ops.RandomResizedCrop)) for s in given):
        size = (image_size, image_size) if isinstance(image_size, int) else tuple(image_size)
        crop = [ops.RandomResizedCrop(size), ops.HorizontalFlip(hflip_prob)]
        given = Steps(crop if train_aug else [ops.Resize(size, antialias=False)]) | given
    if antialias:
        given = Steps(_antialiased(step) if isinstance(step, ops.Resize) else step for step in given)
    return given or Steps([ops.Decode(channels=3)])


def _antialiased(step: ops.Resize) -> ops.Resize:
    size, filter, _, max_size = step._values
    return ops.Resize(size, filter, True, max_size)


def _floats(steps: list[Any], planar: bool, dtype: str) -> list[Any]:
    """What every batch of TurboLoader's is."""
    out = list(steps)
    if not any(isinstance(s, (ops.ToFloat, ops.Normalize)) for s in out):
        out.append(ops.ToFloat())
    if planar and not any(isinstance(s, ops.CHW) for s in out):
        out.append(ops.CHW(dtype if dtype != "float32" else "same"))
    elif dtype != "float32":
        out.append(ops.Cast(dtype))
    return out
