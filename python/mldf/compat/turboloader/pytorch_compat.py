"""Under TurboLoader's path ``turboloader.pytorch_compat``: labels from the names of samples, archives of folders of
images, and a loader of (images, labels). torchvision_adapter.py has TransformAdapter.
"""

from __future__ import annotations

import json
import os
import re
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ...errors import ArgumentError
from .loader import FastDataLoader
from .torchvision_adapter import TransformAdapter

__all__ = [
    "CallableLabelExtractor",
    "FilenamePatternExtractor",
    "FolderLabelExtractor",
    "ImageFolderConverter",
    "JSONSidecarExtractor",
    "LabelExtractor",
    "MetadataLabelExtractor",
    "PyTorchCompatibleLoader",
    "TransformAdapter",
    "convert_imagefolder",
    "create_loader",
]


class LabelExtractor(ABC):
    """A label of a sample's file name and metadata."""

    @abstractmethod
    def extract(self, filename: str, metadata: dict[str, Any]) -> int:
        """The label."""

    def get_num_classes(self) -> int | None:
        """If that is known."""
        return None

    def get_class_names(self) -> list[str] | None:
        """If they are known, by label."""
        return None


class FolderLabelExtractor(LabelExtractor):
    """Of the first folder: the number that `class_to_idx` has for it, or the next free one."""

    def __init__(self, class_to_idx: dict[str, int] | None = None) -> None:
        self._numbers = dict(class_to_idx or {})

    def extract(self, filename: str, metadata: dict[str, Any]) -> int:
        """The label; "unknown" is the folder of a name without one."""
        folder, slash, _ = filename.replace("\\", "/").partition("/")
        name = folder if slash else "unknown"
        return self._numbers.setdefault(name, max(self._numbers.values(), default=-1) + 1)

    def get_num_classes(self) -> int:
        """Of those that were seen or given."""
        return len(self._numbers)

    def get_class_names(self) -> list[str]:
        """By label."""
        return sorted(self._numbers, key=self._numbers.__getitem__)

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Name to label."""
        return dict(self._numbers)


class FilenamePatternExtractor(LabelExtractor):
    """The number that a `group` of a regular expression finds in the name; 0 where it finds nothing."""

    def __init__(self, pattern: str, group: int = 1) -> None:
        self._pattern, self._group = re.compile(pattern), group

    def extract(self, filename: str, metadata: dict[str, Any]) -> int:
        """The label."""
        found = self._pattern.search(filename)
        return int(found.group(self._group)) if found else 0


class MetadataLabelExtractor(LabelExtractor):
    """A member of the metadata."""

    def __init__(self, key: str = "label", default: int = 0) -> None:
        self._key, self._default = key, default

    def extract(self, filename: str, metadata: dict[str, Any]) -> int:
        """The label."""
        label: int = metadata.get(self._key, self._default)
        return label


class JSONSidecarExtractor(LabelExtractor):
    """A member of the JSON beside the image, which is ``metadata["json_data"]``; 0 without it."""

    def __init__(self, label_key: str = "label", cache: bool = True) -> None:
        self._key = label_key
        self._known: dict[str, int] | None = {} if cache else None

    def extract(self, filename: str, metadata: dict[str, Any]) -> int:
        """The label."""
        if self._known is not None and filename in self._known:
            return self._known[filename]
        label: int = metadata.get("json_data", {}).get(self._key, 0)
        if self._known is not None:
            self._known[filename] = label
        return label


class CallableLabelExtractor(LabelExtractor):
    """What a function of (filename, metadata) says."""

    def __init__(self, func: Callable[[str, dict[str, Any]], int]) -> None:
        self._func = func

    def extract(self, filename: str, metadata: dict[str, Any]) -> int:
        """The label."""
        return self._func(filename, metadata)


# ---- a loader of (images, labels) ----


class PyTorchCompatibleLoader:
    """(images, labels) as torch's DataLoader gives them: float32 (N, 3, H, W) and int64 (N,).

    label_extractor   makes a label of a sample's name; None: of its first folder
    output_size       (height, width); 224 x 224 unless given
    sampler           its rank and num_replicas are used (torch's DistributedSampler)
    collate_fn        is called with a list of one, the batch
    worker_init_fn    is called for each number of a worker: the workers here are threads
    """

    def __init__(
        self,
        data_path: Any,
        batch_size: int = 32,
        shuffle: bool = False,
        num_workers: int = 4,
        pin_memory: bool = True,
        drop_last: bool = False,
        transform: Any = None,
        target_transform: Callable[[Any], Any] | None = None,
        label_extractor: LabelExtractor | None = None,
        prefetch_factor: int = 2,
        device: Any = None,
        enable_cache: bool = False,
        cache_l1_mb: int = 512,
        output_size: tuple[int, int] | None = None,
        sampler: Any = None,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        worker_init_fn: Callable[[int], Any] | None = None,
        **more: Any,
    ) -> None:
        del enable_cache, cache_l1_mb
        self.batch_size, self.num_workers, self.drop_last = batch_size, num_workers, drop_last
        self.pin_memory, self.prefetch_factor, self.sampler = pin_memory, prefetch_factor, sampler
        self.collate_fn, self.worker_init_fn = collate_fn, worker_init_fn
        self.label_extractor = label_extractor or FolderLabelExtractor()
        self._device, self._target_transform = device, target_transform
        height, width = output_size or (224, 224)
        ranks = {}
        if sampler is not None and hasattr(sampler, "num_replicas"):
            ranks = {
                "enable_distributed": True,
                "world_rank": getattr(sampler, "rank", 0),
                "world_size": sampler.num_replicas,
            }
        self.loader = FastDataLoader(
            data_path,
            batch_size,
            num_workers,
            "torch",
            height,
            width,
            transform,
            shuffle and sampler is None,
            drop_last=drop_last,
            prefetch_batches=max(prefetch_factor, 1),
            **ranks,
            **more,
        )
        if worker_init_fn is not None:
            for worker in range(num_workers):
                worker_init_fn(worker)
        self._running: Any = None
        self._count: int | None = None

    @property
    def dataset(self) -> PyTorchCompatibleLoader:
        """Itself, as in TurboLoader; ``.loader.loader.dataset`` is mldf's."""
        return self

    def _epoch(self) -> Iterator[Any]:
        import torch

        count = 0
        for found, meta in self.loader:
            images = found
            names = meta.get("filenames", [""] * len(meta["indices"]))
            labels = torch.tensor([self.label_extractor.extract(n, about) for n, about in zip(names, _each(meta))])
            if self.pin_memory and torch.cuda.is_available():
                images, labels = images.pin_memory(), labels.pin_memory()
            if self._device is not None:
                images, labels = (t.to(self._device, non_blocking=True) for t in (images, labels))
            if self._target_transform is not None:
                labels = self._target_transform(labels)
            count += 1
            yield (images, labels) if self.collate_fn is None else self.collate_fn([(images, labels)])
        self._count = count

    def __iter__(self) -> PyTorchCompatibleLoader:
        self.close()
        self._running = self._epoch()
        return self

    def __next__(self) -> Any:
        """The next batch."""
        if self._running is None:
            self._running = self._epoch()
        return next(self._running)

    def __len__(self) -> int:
        """Batches of an epoch; TypeError before the first was finished, as in TurboLoader."""
        if self._count is None:
            raise TypeError("the length is unknown until the first epoch completes, as in TurboLoader")
        return self._count

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch."""
        self.loader.set_epoch(epoch)

    def close(self) -> None:
        """Ends the epoch that is under way."""
        running, self._running = getattr(self, "_running", None), None
        if running is not None:
            running.close()

    def __enter__(self) -> PyTorchCompatibleLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _each(meta: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The metadata of each sample: lists member by member."""
    for i in range(len(meta["indices"])):
        yield {name: value[i] if isinstance(value, list) else value for name, value in meta.items()}


def create_loader(
    data_path: Any,
    batch_size: int = 32,
    shuffle: bool = True,
    num_workers: int = 4,
    transform: Any = "imagenet_train",
    device: Any = None,
    **options: Any,
) -> PyTorchCompatibleLoader:
    """A PyTorchCompatibleLoader; `transform` may be "imagenet_train" or "imagenet_val"."""
    if isinstance(transform, str):
        named = {"imagenet_train": TransformAdapter.imagenet_train, "imagenet_val": TransformAdapter.imagenet_val}
        if transform not in named:
            raise ArgumentError(f"transform={transform!r}: it is 'imagenet_train', 'imagenet_val' or a transform")
        transform = named[transform]()
    return PyTorchCompatibleLoader(
        data_path, batch_size, shuffle, num_workers, transform=transform, device=device, **options
    )


# ---- archives of folders ----


class ImageFolderConverter:
    """A folder with a folder for each class (torchvision's ImageFolder) as a tar archive of ``class/file``."""

    VALID_EXTENSIONS = frozenset(
        (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tiff", ".tif", ".ppm", ".pgm", ".pbm")
    )

    def __init__(self, extensions: Iterable[str] | None = None) -> None:
        self._endings = {e.lower() for e in (extensions or self.VALID_EXTENSIONS)}

    def convert(
        self,
        source_dir: Any,
        output_path: Any,
        show_progress: bool = True,
        compression: str | None = None,
        save_class_mapping: bool = True,
    ) -> dict[str, int]:
        """Writes the archive, and ``NAME_classes.json`` beside it; gives the number of each class.

        compression: "gz", "bz2" or "xz".
        """
        del show_progress  # it is quick: nothing is decoded
        source = Path(source_dir)
        if not source.is_dir():
            raise ArgumentError(f"Source directory not found: {source}")
        classes = sorted(d.name for d in source.iterdir() if d.is_dir() and not d.name.startswith("."))
        if not classes:
            raise ArgumentError(f"No class directories in {source}")
        files = [
            (path, name)
            for name in classes
            for path in sorted((source / name).rglob("*"))
            if path.suffix.lower() in self._endings and path.is_file()
        ]
        if not files:
            raise ArgumentError(f"No image files in {source}; looked for {', '.join(sorted(self._endings))}")
        numbers = {name: i for i, name in enumerate(classes)}
        _archive(output_path, files, compression)
        if save_class_mapping:
            _mapping(output_path, numbers, classes, len(files))
        return numbers

    def convert_dataset(self, dataset: Any, output_path: Any, show_progress: bool = True) -> dict[str, int]:
        """The same of a dataset with ``samples``, a list of (path, label), such as torchvision's ImageFolder."""
        del show_progress
        if not hasattr(dataset, "samples"):
            raise ArgumentError("convert_dataset: the dataset must have 'samples', a list of (path, label)")
        numbers = dict(getattr(dataset, "class_to_idx", {}))
        classes = list(getattr(dataset, "classes", numbers))
        files = [(Path(p), classes[label] if classes else f"class_{label}") for p, label in dataset.samples]
        _archive(output_path, files, None)
        _mapping(output_path, numbers, classes, len(files))
        return numbers


def _archive(path: Any, files: list[tuple[Path, str]], compression: str | None) -> None:
    """A member that another one has the name of would be lost: it gets its folder's name, too."""
    known: set[str] = set()
    mode: Any = f"w:{compression}" if compression else "w"
    with tarfile.open(os.fspath(path), mode) as archive:
        for file, name in files:
            member = f"{name}/{file.name}"
            if member in known:
                member = f"{name}/{file.parent.name}-{file.name}"
            known.add(member)
            archive.add(file, arcname=member)


def _mapping(path: Any, numbers: dict[str, int], classes: list[str], count: int) -> None:
    text = json.dumps({"class_to_idx": numbers, "classes": classes, "num_images": count}, indent=2)
    Path(os.fspath(path).rsplit(".", 1)[0] + "_classes.json").write_text(text)


def convert_imagefolder(source_dir: Any, output_tar: Any, **options: Any) -> dict[str, int]:
    """ImageFolderConverter().convert."""
    return ImageFolderConverter().convert(source_dir, output_tar, **options)
