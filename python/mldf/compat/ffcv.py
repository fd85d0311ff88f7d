"""FFCV's names: fields, decoders, transforms, DatasetWriter and Loader (FFCV 1.0.2).

>>> from mldf.compat.ffcv import Loader, OrderOption, RandomResizedCropRGBImageDecoder, ToTensor, ToTorchImage

A ``Loader`` opens the .beton files that FFCV wrote, and all else that mldf reads. What differs: numbers come as (B,),
not (B, 1), so Squeeze does nothing to them; nothing is compiled by Numba; seed defaults to 0. docs/migrate-ffcv.md has
all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from .. import ops
from ..errors import ArgumentError, UnsupportedError
from ..fields import Bytes, CustomField, Field, Float, Image, Int, Json, NDArray, register_field
from ..loader import Loader as Base
from ..pipeline import Operation, Pipelines, dtype_word
from ..suggest import choice
from ..writer import WriteResult, write

__all__ = [
    "BytesDecoder",
    "BytesField",
    "CenterCropRGBImageDecoder",
    "Convert",
    "Cutout",
    "DatasetWriter",
    "FloatDecoder",
    "FloatField",
    "ImageMixup",
    "IntDecoder",
    "IntField",
    "JSONField",
    "LabelMixup",
    "Loader",
    "MixupToOneHot",
    "ModuleWrapper",
    "NDArrayDecoder",
    "NDArrayField",
    "NormalizeImage",
    "OrderOption",
    "Poison",
    "RGBImageField",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomResizedCropRGBImageDecoder",
    "RandomSaturation",
    "RandomSolarization",
    "RandomTranslate",
    "ReplaceLabel",
    "SimpleRGBImageDecoder",
    "Squeeze",
    "ToDevice",
    "ToTensor",
    "ToTorchImage",
    "TorchTensorField",
    "View",
]

# ---- fields and the writer ----


def IntField() -> Field:
    """mldf.Int."""
    return Int()


def FloatField() -> Field:
    """mldf.Float."""
    return Float()


def BytesField() -> Field:
    """mldf.Bytes."""
    return Bytes()


def JSONField() -> Field:
    """mldf.Json."""
    return Json()


def NDArrayField(dtype: Any, shape: Sequence[int]) -> Field:
    """mldf.NDArray."""
    return NDArray(np.dtype(dtype).name, tuple(shape))


def TorchTensorField(dtype: Any, shape: Sequence[int]) -> Field:
    """mldf.NDArray of torch's dtype."""
    return NDArray(str(dtype).removeprefix("torch."), tuple(shape))


def RGBImageField(
    write_mode: str = "raw",
    max_resolution: int | None = None,
    smart_threshold: int | None = None,
    jpeg_quality: int = 90,
    compress_probability: float = 0.5,
    min_resolution: int | None = None,
) -> Field:
    """mldf.Image with FFCV's ways to store images."""
    choice("write_mode", write_mode, ("raw", "jpg", "smart", "proportion"))
    return Image(
        encode="jpeg" if write_mode == "jpg" else write_mode,
        max_resolution=max_resolution,
        min_resolution=min_resolution,
        smart_threshold=smart_threshold if write_mode == "smart" else None,
        quality=None if write_mode == "raw" else jpeg_quality,
        compress_probability=compress_probability if write_mode == "proportion" else None,
    )


class DatasetWriter:
    """Writes an MLDF file from anything that can be indexed."""

    def __init__(
        self, fname: Any, fields: Mapping[str, Field], page_size: int | None = None, num_workers: int = -1
    ) -> None:
        self.fname, self.fields, self.num_workers = fname, dict(fields), num_workers
        self.page_size = page_size

    def from_indexed_dataset(
        self, dataset: Any, indices: Sequence[int] | None = None, chunksize: int = 100, shuffle_indices: bool = False
    ) -> WriteResult:
        """All samples, or those of `indices`."""
        del chunksize
        order = list(range(len(dataset)) if indices is None else indices)
        if shuffle_indices:
            from ..order import shuffled

            order = [order[i] for i in shuffled(len(order), 0).tolist()]
        threads = None if self.num_workers < 0 else self.num_workers
        samples = (dataset[i] for i in order)
        return write(self.fname, samples, self.fields, overwrite=True, threads=threads, page_size=self.page_size)


# ---- decoders and transforms ----


class Mark:
    """A step that says something to the loader and does nothing to the data."""

    def __init__(self, kind: str, value: Any = None) -> None:
        self.kind, self.value = kind, value

    def __repr__(self) -> str:
        return f"{self.kind}({'' if self.value is None else repr(self.value)})"


def _nothing(name: str) -> Callable[[], Mark]:
    def make() -> Mark:
        return Mark(name)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = "Nothing to do: values are decoded by their field."
    return make


IntDecoder = _nothing("IntDecoder")
FloatDecoder = _nothing("FloatDecoder")
NDArrayDecoder = _nothing("NDArrayDecoder")


def BytesDecoder() -> Operation:
    """Bytes of a batch as one array, filled up with zeros."""
    return ops.Pad()


def SimpleRGBImageDecoder() -> Operation:
    """Images that all have one size."""
    return ops.Decode(channels=3)


class _Sized(Operation):
    """A decoder whose output_size may be set between epochs: FFCV's way to train with growing images."""

    @property
    def output_size(self) -> tuple[int, int]:
        """(height, width); the loader's next epoch has what is set here."""
        return self._values[0]  # type: ignore[no-any-return]

    @output_size.setter
    def output_size(self, size: Sequence[int]) -> None:
        before = self._values
        try:
            Operation.__init__(self, tuple(size), *before[1:])
        except Exception:
            Operation.__init__(self, *before)
            raise


class CenterCropRGBImageDecoder(_Sized, ops.CenterResizedCrop):
    """mldf.CenterResizedCrop with FFCV's filter: the mean of the area."""

    def __init__(self, output_size: Sequence[int], ratio: float) -> None:
        super().__init__(tuple(output_size), ratio, "area")


class RandomResizedCropRGBImageDecoder(_Sized, ops.RandomResizedCrop):
    """mldf.RandomResizedCrop with FFCV's filter."""

    def __init__(self, output_size: Sequence[int], scale: Any = (0.08, 1.0), ratio: Any = (0.75, 4 / 3)) -> None:
        super().__init__(tuple(output_size), scale, ratio, "area")


def RandomResizedCrop(scale: Any, ratio: Any, size: Any) -> Operation:
    """mldf.RandomResizedCrop with FFCV's filter."""
    return ops.RandomResizedCrop(size, scale, ratio, "area")


def RandomHorizontalFlip(flip_prob: float = 0.5) -> Operation:
    """mldf.HorizontalFlip."""
    return ops.HorizontalFlip(flip_prob)


def RandomTranslate(padding: int, fill: Any = (0, 0, 0)) -> Operation:
    """mldf.RandomTranslate."""
    return ops.RandomTranslate(padding, fill)


def Cutout(crop_size: int, fill: Any = (0, 0, 0)) -> Operation:
    """mldf.Cutout."""
    return ops.Cutout(crop_size, fill)


def RandomBrightness(magnitude: float, p: float = 0.5) -> Operation:
    """mldf.ColorJitter."""
    return ops.ColorJitter(brightness=magnitude, p=p)


def RandomContrast(magnitude: float, p: float = 0.5) -> Operation:
    """mldf.ColorJitter."""
    return ops.ColorJitter(contrast=magnitude, p=p)


def RandomSaturation(magnitude: float, p: float = 0.5) -> Operation:
    """mldf.ColorJitter."""
    return ops.ColorJitter(saturation=magnitude, p=p)


def RandomColorJitter(
    jitter_prob: float = 0.5, brightness: Any = 0.8, contrast: Any = 0.4, saturation: Any = 0.4, hue: Any = 0.2
) -> Operation:
    """mldf.ColorJitter."""
    return ops.ColorJitter(brightness, contrast, saturation, hue, jitter_prob)


def RandomGrayscale(gray_prob: float = 0.2) -> Operation:
    """mldf.RandomGrayscale."""
    return ops.RandomGrayscale(gray_prob)


def RandomSolarization(solarization_prob: float = 0.5, threshold: float = 128) -> Operation:
    """mldf.Solarize."""
    return ops.Solarize(threshold, solarization_prob)


def NormalizeImage(mean: Any, std: Any, type: Any) -> list[Operation]:
    """Mean and standard deviation for white = 255, as FFCV has them."""
    first = ops.Normalize(np.asarray(mean, float).tolist(), np.asarray(std, float).tolist(), 255)
    word = dtype_word(np.dtype(type).name)
    return [first] if word == "f32" else [first, ops.Cast(word)]


def ToTorchImage(channels_last: bool = True, convert_back_int16: bool = True) -> Operation:
    """Channels first. The tensor is contiguous, not a view of channels-last memory."""
    del channels_last, convert_back_int16
    return ops.CHW()


def Convert(target_dtype: Any) -> Operation:
    """mldf.Cast."""
    return ops.Cast(target_dtype)


def View(target_dtype: Any) -> Any:
    """The same bytes as another type."""
    name = str(target_dtype).removeprefix("torch.")

    def view(array: Any) -> Any:
        return array.view(np.dtype(target_dtype)) if isinstance(array, np.ndarray) else array.view(_torch_dtype(name))

    return view


def _torch_dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)


def Squeeze(*dims: int) -> Mark:
    """Nothing to do for numbers, which come as (B,)."""
    del dims
    return Mark("Squeeze")


def ReplaceLabel(indices: Any, new_label: int) -> Operation:
    """mldf.ReplaceLabel of samples."""
    return ops.ReplaceLabel(indices=sorted(int(i) for i in indices), label=new_label)


RECTANGLES = 256
"""How many an mldf.Poison pipeline of a mask may have."""


def Poison(mask: Any, alpha: Any, indices: Any, clamp: Any = (0, 255)) -> list[Operation]:
    """An mldf.Poison for each rectangle of one colour and opacity in the mask: triggers are small and have few.

    Integers are rounded to the nearest, where FFCV cuts. A mask of more than 256 such rectangles (a photo) is refused.
    """
    colours, opacity = np.asarray(mask, float), np.asarray(alpha, float)
    if colours.shape[:2] != opacity.shape or colours.shape[2:] != (3,):
        raise ArgumentError(f"Poison: a mask of shape {colours.shape} and an alpha of {opacity.shape}")
    samples = sorted(int(i) for i in indices)
    limits = [float(c) for c in clamp]
    steps: list[Operation] = []
    for y, x, height, width in _rectangles(np.dstack([colours, opacity]), opacity != 0):
        if len(steps) == RECTANGLES:
            raise UnsupportedError(f"Poison: the mask has more than {RECTANGLES} rectangles of one colour")
        colour = colours[y, x].tolist()
        steps.append(ops.Poison(samples, (height, width), colour, x, y, float(opacity[y, x]), limits))
    return steps


def _rectangles(values: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> Iterator[tuple[int, int, int, int]]:
    """(y, x, height, width) of parts where all values are equal; together all that is wanted, each pixel once."""
    left = wanted.copy()
    while left.any():
        y, x = (int(v) for v in np.argwhere(left)[0])
        like = left & (values == values[y, x]).all(-1)
        width = int(np.argmin(np.append(like[y, x:], False)))
        height = int(np.argmin(np.append(like[y:, x : x + width].all(1), False)))
        left[y : y + height, x : x + width] = False
        yield y, x, height, width


def ToTensor() -> Mark:
    """The loader's output is torch's."""
    return Mark("ToTensor")


def ToDevice(device: Any, non_blocking: bool = True) -> Mark:
    """The loader's device."""
    return Mark("ToDevice", (device, non_blocking))


def ModuleWrapper(module: Any) -> Any:
    """A torch module is a callable; it comes last."""
    return module


def ImageMixup(alpha: float, same_lambda: bool = True) -> Mark:
    """Goes with a LabelMixup of the same alpha. Each sample has a lambda of its own, as with same_lambda=False."""
    del same_lambda
    return Mark("ImageMixup", alpha)


def LabelMixup(alpha: float, same_lambda: bool = True) -> Mark:
    """(label, partner's label, lambda)."""
    del same_lambda
    return Mark("LabelMixup", alpha)


def MixupToOneHot(num_classes: int) -> Any:
    """From (label, partner's label, lambda) to a vector, on the batch."""

    def one_hot(labels: Any) -> Any:
        if isinstance(labels, np.ndarray):
            out = np.zeros((len(labels), num_classes), np.float32)
            rows = np.arange(len(labels))
            np.add.at(out, (rows, labels[:, 0].astype(np.intp)), labels[:, 2])
            np.add.at(out, (rows, labels[:, 1].astype(np.intp)), 1 - labels[:, 2])
            return out
        import torch

        result = torch.zeros(len(labels), num_classes, device=labels.device)
        result.scatter_add_(1, labels[:, :1].long(), labels[:, 2:])
        return result.scatter_add_(1, labels[:, 1:2].long(), 1 - labels[:, 2:])

    return one_hot


# ---- the loader ----


class OrderOption(Enum):
    """How samples are visited."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"
    QUASI_RANDOM = "quasi-random"


def _split(steps: Sequence[Any]) -> list[list[Any]]:
    """At the mixups: what comes before, and what after."""
    out: list[list[Any]] = [[]]
    for step in steps:
        if isinstance(step, Mark) and step.kind in ("ImageMixup", "LabelMixup"):
            out.append([])
        elif isinstance(step, (list, tuple)):
            out[-1] += step
        elif not isinstance(step, Mark):
            out[-1].append(step)
    return out


def _statements(pipelines: Mapping[str, Sequence[Any] | None]) -> Pipelines:
    """Ours: a mixup of image and label is one statement of both, with one random draw."""
    marks = {
        name: [s for s in steps or () if isinstance(s, Mark) and s.kind in ("ImageMixup", "LabelMixup")]
        for name, steps in pipelines.items()
    }
    mixed = [name for name, found in marks.items() if found]
    alphas = {m.value for found in marks.values() for m in found}
    if mixed and (sorted(marks[n][0].kind for n in mixed) != ["ImageMixup", "LabelMixup"] or len(alphas) != 1):
        raise UnsupportedError("ImageMixup and LabelMixup come together, once each, with the same alpha")
    parts = {name: None if steps is None else _split(steps) for name, steps in pipelines.items()}
    out: list[tuple[str, Any]] = []
    for name, found in parts.items():
        if found is None or name not in mixed or found[0]:
            out.append((name, None if found is None else found[0]))
    if mixed:
        mixed.sort(key=lambda n: marks[n][0].kind)  # the image first
        out.append((", ".join(mixed), [ops.MixUp(alphas.pop(), "triple")]))
        out += [(n, found[1]) for n in mixed if (found := parts[n]) is not None and found[1]]
    return out


class Loader(Base):
    """FFCV's arguments. os_cache=False forgets what was read; recompile does nothing. custom_fields: classes of
    :class:`mldf.CustomField` by field, which are registered.
    """

    def __init__(
        self,
        fname: Any,
        batch_size: int,
        num_workers: int = -1,
        os_cache: bool = True,
        order: Any = OrderOption.SEQUENTIAL,
        distributed: bool = False,
        seed: int | None = None,
        indices: Sequence[int] | None = None,
        pipelines: Mapping[str, Sequence[Any] | None] | None = None,
        custom_fields: Any = None,
        drop_last: bool = True,
        batches_ahead: int = 3,
        recompile: bool = False,
        **more: Any,
    ) -> None:
        del recompile
        for name, cls in dict(custom_fields or {}).items():
            if not isinstance(cls, type) or not issubclass(cls, CustomField):
                raise UnsupportedError(f"custom_fields: {name!r}: a class of mldf.CustomField is needed, not {cls!r}")
            register_field(cls)
        steps: list[Any] = [s for p in (pipelines or {}).values() for s in p or ()]
        marks = [s for s in steps if isinstance(s, Mark)]
        devices = [m.value for m in marks if m.kind == "ToDevice"]
        torch = devices or any(m.kind == "ToTensor" for m in marks)
        if torch:
            more.setdefault("output", "torch")
        if devices:
            more.setdefault("device", devices[0][0])
            more.setdefault("non_blocking", devices[0][1])
        if not distributed:
            more.setdefault("rank", 0)
            more.setdefault("world_size", 1)
        self._theirs = pipelines
        super().__init__(
            fname,
            batch_size,
            order=getattr(order, "value", order),
            pipelines=_statements(pipelines) if pipelines else None,
            threads=num_workers,
            forget_behind=not os_cache,
            seed=0 if seed is None else seed,
            subset=None if indices is None else np.asarray(indices),
            drop_last=drop_last,
            batches_ahead=batches_ahead,
            **more,
        )
        self._made_of = self._texts()

    def _texts(self) -> list[str]:
        """Of the steps: an output_size may have been set since."""
        steps = [s for p in (self._theirs or {}).values() for s in p or ()]
        return [s.text for s in steps if isinstance(s, Operation)]

    def __iter__(self) -> Iterator[Any]:
        """Begins the next epoch, with what decoders say now."""
        if self._theirs and self._texts() != self._made_of:
            state = self.state_dict() if self._resumed else None
            self._resumed = False
            self.set_pipelines(self._theirs)
            if state is not None:
                self.load_state_dict(state)
        return super().__iter__()

    def set_pipelines(self, pipelines: Any) -> None:
        """Other `pipelines` from the next epoch on, of FFCV's steps."""
        theirs = isinstance(pipelines, Mapping)
        super().set_pipelines(_statements(pipelines) if theirs else pipelines)
        self._theirs = pipelines if theirs else None
        self._made_of = self._texts()
