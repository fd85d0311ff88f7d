"""Names that users of other libraries try first, and what does the same here. Only messages are made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import CodeType
from typing import ParamSpec, TypeVar

from .fields import IMAGE_ARGUMENTS
from .suggest import near

__all__ = ["DATASET", "LOADER", "MODULE", "PACK", "hinted"]

P = ParamSpec("P")
R = TypeVar("R")

MODULE = {
    "DataLoader": "mldf.Loader",
    "Array": "mldf.NDArray",
    "Category": 'mldf.Int, with the names in the card\'s "classes"',
    "Dataloader": "mldf.Loader",
    "ImageFolder": "mldf.pack(folder, path), then mldf.open(path)",
    "Inline": "mldf.Struct",
    "JSON": "mldf.Json",
    "Label": "mldf.Int",
    "Record": "mldf.Struct",
    "String": "mldf.Text",
    "load": "mldf.open",
    "load_dataset": "mldf.open",
    "random_split": "ds.split(0.9, 0.1)",
    "save": "mldf.write",
}
DATASET = {
    "class_to_idx": 'ds.card["classes"], where the dataset has them',
    "classes": 'ds.card["classes"], where the dataset has them',
    "column_names": "ds.fields",
    "columns": "ds.fields",
    "features": "ds.schema",
    "filter": 'ds[ds["label"] == 1], with any mask; mldf.select for files',
    "labels": 'ds["label"]',
    "map": "the pipelines of a Loader, or mldf.write with a generator",
    "sample": "ds[i]",
    "select": "ds[numbers]",
    "shape": "len(ds) and ds.schema",
    "shuffle": "Loader(ds, shuffle=True), or ds[numpy.random.permutation(len(ds))]",
    "take": "ds[:n]",
    "targets": 'ds["label"]',
    "train_test_split": "ds.split(0.8, 0.2)",
}
LOADER = {
    "batch_sampler": "subset=, weights=, balance= or bucket=",
    "collate_fn": "mldf.Pad() or mldf.Ragged() in the pipelines; transform= gets the finished batch",
    "data_path": "source, the first argument",
    "dataset": "source, the first argument",
    "distributed": "rank= and world_size=, which are found by themselves",
    "fname": "source, the first argument",
    "generator": "seed=",
    "indices": "subset=",
    "multiprocessing_context": "nothing: there are no worker processes",
    "n_workers": "threads=",
    "path": "source, the first argument",
    "paths": "source, the first argument",
    "persistent_workers": "nothing: there are no worker processes",
    "pin_memory_device": "device=",
    "pipeline": "pipelines=",
    "prefetch_factor": "batches_ahead=",
    "sampler": "subset=, weights= or balance=",
    "timeout": "nothing: there are no worker processes",
    "transforms": "pipelines=",
    "workers": "threads=",
    "worker_init_fn": "nothing: there are no worker processes",
}
PACK = {name: f"image={{{name!r}: ...}}" for name in IMAGE_ARGUMENTS}
PACK |= dict.fromkeys(("num_workers", "workers", "n_workers", "jobs"), "threads=")
PACK |= {"force": "overwrite=", "exist_ok": "overwrite=", "image_size": "image={'max_resolution': ...}"}


def hinted(hints: Mapping[str, str], more: type | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Calls with keywords that there are not tell what to use instead. more: the TypedDict of ``**options``."""

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        code: CodeType = function.__code__
        known = (
            *code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount],
            *getattr(more, "__annotations__", ()),
        )

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name in hints:
                    raise TypeError(f"unexpected keyword argument {name!r}; here it is {hints[name]}")
                if name not in known:
                    hint = near(name, known)
                    raise TypeError(f"unexpected keyword argument {name!r}{hint if 'did you mean' in hint else ''}")
            return function(*args, **kwargs)

        return call

    return wrap
