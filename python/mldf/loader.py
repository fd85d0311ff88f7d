"""The loader: batches, made by C threads while Python trains.

>>> import mldf, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "demo.mldf")
>>> with mldf.Writer(path, {"x": mldf.NDArray("float32", (2,)), "label": mldf.Int()}) as w:
...     w.extend({"x": [i, i / 2], "label": i % 3} for i in range(10))
>>> loader = mldf.Loader(path, batch_size=4, shuffle=True, seed=1)
>>> for x, label in loader:
...     print(x.shape, label.dtype)
(4, 2) int64
(4, 2) int64
(2, 2) int64
>>> loader.close()
"""

from __future__ import annotations

import atexit
import json
import os
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import _mldf
from .arguments import (
    CODEGENS,
    LASTS,
    ORDERS,
    OUTPUTS,
    POLICIES,
    batch_length,
    cache,
    callables,
    dtype_name,
    field_names,
    last_kind,
    numpy_dtype,
    order_kind,
    text,
    thread_count,
    whole,
)
from .batch import Batch, Convert, batch_type, to_jax, to_torch
from .dataset import Dataset
from .dataset import open as open_dataset
from .errors import ArgumentError, Error, NoFieldError, StateError, WrongTypeError
from .fields import registered_types
from .loader_stats import LoaderStats
from .pipeline import Compiled, Pipelines, compile_pipelines, quoted, without_place
from .ranks import find_rank
from .sampling import describe
from .schema import FieldInfo
from .signature import check, signature
from .suggest import choice, near

__all__ = ["Loader"]

_live: weakref.WeakSet[Loader] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for loader in list(_live):
        loader.close()


class Loader:
    """Batches of a dataset, in order, made by threads that never take the interpreter's lock.

    source            a path, a list or glob of paths, or a :class:`mldf.Dataset` (also a subset)
    batch_size        samples of a batch of this rank (64)
    shuffle           True: order="random", False: "sequential"
    pipelines         a dict of field to a list of operations: ``{"image": [mldf.RandomResizedCrop(224), ...]}``, or
                      the pipeline's text. None for a field leaves it out; Python callables, last in a list, get the
                      output's whole array. ``"small = image"`` is one more view of a field.
    fields            these outputs alone, in this order
    order             "sequential", "random", or "quasi-random": random enough, and kind to slow disks
    seed              of order and augmentation; the same on all ranks
    subset            a slice, numbers or a mask of the dataset's samples
    weights           draws with replacement, a weight for each sample
    balance           a field: every class as often as every other
    ratios            of several files: so many draws of each
    samples_per_epoch of weights, balance, ratios
    global_batch_size instead of batch_size: of all ranks together
    rank, world_size  found in torch.distributed or the environment (RANK, WORLD_SIZE) when not given
    threads           -1: the CPUs that this process may use; 0: all in next(). num_workers is the same
    drop_last         True: last="drop"
    last              of an epoch that does not fill the last batch: "keep" a smaller one, "drop", or "pad" by repeats
    on_error          of samples that cannot be decoded: "raise", "skip" (shorter, even empty batches), "substitute"
    output            "numpy", "torch" or "jax"
    device            torch or JAX puts batches there; pin_memory (on for CUDA): through pinned memory of torch
    copy              JAX: False looks at the loader's own memory
    transform         a callable, or several, on the finished batch: Batch in, anything out
    index, valid, key more outputs: the sample's number among all of the files, False for repeats, the sample's key
    bucket            an output: samples of like length go into the same batch, inside windows of bucket_window (4,096)
                      samples; budget: batches of at most so many elements instead of batch_size samples
    batches_ahead     how many batches are worked on or wait; forget_behind, direct: for files larger than memory
    exact             never decode a JPEG at a reduced size; isa, reference: see mldf/loader.h
    codegen           "auto": fused steps are compiled in the background with `compiler`, once, and kept in cache_dir
                      ($XDG_CACHE_HOME/mldf or ~/.cache/mldf); "wait" for it; "off"

    Each ``iter()`` begins the next epoch. Batches depend on files, pipeline, order, seed, epoch, batch size and rank
    alone, never on threads. A loader is used by one thread at a time; it is closed by ``close``, by ``with``, or when
    it is forgotten; batches stay valid. In a forked child it refuses to work: make a new one there.
    """

    def __init__(
        self,
        source: Any,
        batch_size: int | None = None,
        shuffle: bool | None = None,
        *,
        pipelines: Pipelines | None = None,
        fields: Sequence[str] | None = None,
        order: str | None = None,
        seed: int = 0,
        subset: Any = None,
        weights: Any = None,
        balance: str | None = None,
        ratios: Sequence[int] | None = None,
        samples_per_epoch: int | None = None,
        global_batch_size: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        threads: int | None = None,
        num_workers: int | None = None,
        drop_last: bool | None = None,
        last: str | None = None,
        on_error: str = "raise",
        output: str = "numpy",
        device: Any = None,
        pin_memory: bool | None = None,
        non_blocking: bool = True,
        copy: bool | None = None,
        transform: Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None = None,
        index: bool = False,
        valid: bool = False,
        key: bool = False,
        bucket: str | None = None,
        bucket_window: int = 4096,
        budget: int = 0,
        block: int = 0,
        window: int = 0,
        batches_ahead: int = 0,
        prefetch: bool = True,
        forget_behind: bool = False,
        direct: bool = False,
        exact: bool = False,
        reference: bool = False,
        isa: str | None = None,
        codegen: str = "auto",
        compiler: str | None = "cc",
        cache_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        given = {k: v for k, v in locals().items() if k not in ("self", "source") and not k.startswith("__")}
        self._core: _mldf.Loader | None = None
        self._own = not isinstance(source, Dataset)
        dataset = open_dataset(source, backend="read" if direct else "map") if self._own else source
        if subset is not None:
            dataset = dataset.subset(subset)
        self._dataset = dataset
        self._given = given
        kind = order_kind(order, shuffle)
        self.rank, self.world_size, self._rank_from = find_rank(rank, world_size)
        """Of this process, as given or found."""
        if batch_size is not None and global_batch_size is not None:
            raise ArgumentError("batch_size and global_batch_size: one of them")
        if global_batch_size is None:
            sizes = batch_length("batch_size", 64 if batch_size is None else batch_size), 0
        else:
            sizes = 0, batch_length("global_batch_size", global_batch_size)
        self._fields = field_names(dataset, fields)
        self._wants = (bool(index), bool(valid), bool(key))
        if key and dataset.keys is None:
            raise ArgumentError("key=True: these files have no keys")
        self._options: dict[str, Any] = {
            "order": kind,
            "seed": whole("seed", seed),
            "block": whole("block", block),
            "window": whole("window", window),
            "batch_size": sizes[0],
            "global_batch_size": sizes[1],
            "rank": self.rank,
            "world_size": self.world_size,
            "last": last_kind(last, drop_last),
            "threads": thread_count(threads, num_workers),
            "in_flight": whole("batches_ahead", batches_ahead, 0, 4096),
            "bad": choice("on_error", on_error, POLICIES),
            "bucket_window": whole("bucket_window", bucket_window, 1) if bucket is not None else 0,
            "bucket_output": text("bucket", bucket),
            "budget": whole("budget", budget),
            "prefetch": prefetch,
            "forget_behind": forget_behind,
            "direct": direct,
            "want_index": index or key,
            "want_valid": valid,
            "exact": exact,
            "reference": reference,
            "isa": text("isa", isa),
            "codegen": choice("codegen", codegen, CODEGENS),
            "compiler": text("compiler", compiler),
            "cache": cache(cache_dir),
        }
        if budget and bucket is None:
            raise ArgumentError("budget goes with bucket, the output whose length counts")
        self._signature = signature(dataset._view.files)
        self._order = describe(dataset, kind != 0, weights, balance, ratios, samples_per_epoch)
        self._output = OUTPUTS[choice("output", output, OUTPUTS)]
        self._convert = self._converter(device, pin_memory, non_blocking, copy)
        self._transforms = callables(transform)
        self._waiting: tuple[_mldf.Loader, Pipelines | None, Any] | None = None  # from the next iter() on
        self._pipelines = pipelines
        self._names: tuple[str, ...] = ()
        self._core, self._finish = self._make(pipelines)
        self._next_epoch = 0
        self._state_of_next = True  # the next epoch is not begun: state_dict tells of it
        self._resumed = False
        self._generation = 0
        _live.add(self)

    # ---- making it ----

    def _converter(self, device: Any, pin_memory: bool | None, non_blocking: bool, copy: bool | None) -> Convert | None:
        if self._output == "torch":
            return to_torch(device, pin_memory, non_blocking)
        if self._output == "jax":
            return to_jax(device, copy)
        if device is not None:
            raise ArgumentError(f"device={device!r} goes with output='torch' or 'jax'")
        return None  # pin_memory: NumPy has none

    def _compile(self, pipelines: Pipelines | None) -> Compiled:
        """With what is not wanted dropped, and what is wanted there."""
        schema = self._dataset._view.files.schema
        found = compile_pipelines(pipelines, schema)
        for name in dict.fromkeys([*found.plain, *(self._fields or ())]):
            if name in found.named:
                continue
            if name in schema and schema[name].is_image:  # pictures of one size need no more; of others, C complains
                found.statements.append(f"{quoted(name)}: decode")
            elif name not in schema or not schema[name].is_fixed or _is_struct(schema[name]):
                self._complain(name, [*schema, *found.named])
        named = found.named | set(found.plain)
        for name, field in schema.items():
            # A null in a batch is an error: a field that may have some must be asked for.
            wanted = name in self._fields if self._fields is not None else not field.nullable
            if not wanted and name not in named and not _is_struct(field):  # never an output, and no input of drop
                found.statements.append(f"{quoted(name)}: drop")
        return found

    def _make(self, pipelines: Pipelines | None) -> tuple[_mldf.Loader, Convert | None]:
        files = self._dataset._view.files
        try:
            found = self._compile(pipelines)
            options = {**self._options, "pipeline": "\n".join(found.statements)}
            own = [o.describe() for o in found.own.values()]
            core = _mldf.new_loader(tuple(files.readers), options, self._order, registered_types(), own)
        except Error as error:
            if not isinstance(pipelines, str):  # lines and columns are of a text that nobody wrote
                error.args = (without_place(str(error)),)
            raise
        outputs = core.outputs()
        picked = self._pick(outputs, found.plain)
        names = tuple(outputs[i][0] for i in picked)
        if not names:
            raise ArgumentError(f"fields={self._fields}: a batch of nothing")
        kinds = tuple(None if self._convert else numpy_dtype(outputs[i][1]) for i in picked)
        core.form(batch_type(names), tuple(picked), kinds)
        self._shapes = [(outputs[i][0], outputs[i][1], outputs[i][2]) for i in picked]
        for name in found.calls:
            if name not in names:
                raise NoFieldError(f"pipelines: there is no output {name!r}{near(name, names)}", field=name)
        self._left_out = [n for n in files.schema if n not in names and (self._fields is None or n in self._fields)]
        if pipelines is None and self._fields is None and self._left_out:
            warnings.warn(
                f"left out of the batches, since samples differ in size or may have none: {', '.join(self._left_out)}. "
                "Give them pipelines, or say which fields= you want.",
                stacklevel=3,
            )
        return core, self._finisher(names, found.calls)

    def _pick(self, outputs: list[tuple[str, str, tuple[int | None, ...]]], plain: list[str]) -> list[int]:
        """Which outputs, in the order of the fields; those of another name behind them."""
        schema = list(self._dataset._view.files.schema)
        order = self._fields if self._fields is not None else schema
        index, valid, key = self._wants
        tail = ["index"] * (index or key) + ["valid"] * valid
        owner, owners = "", []  # x_length, x_mask, x_offset stay behind x
        have = {o[0] for o in outputs}
        for i, (name, _, _) in enumerate(outputs):
            companion = owner and name in (owner + "_length", owner + "_mask", owner + "_offset")
            owner = owner if companion else name
            owners.append(owner if i < len(outputs) - len(tail) else "")
        for name in [*plain, *(self._fields or [])]:
            if name not in have:
                self._complain(name, [*schema, *have])
        ranks = {name: i for i, name in enumerate(order)}
        wanted = [
            i
            for i, o in enumerate(owners)
            if not o or self._fields is None or o in ranks or outputs[i][0] in ranks or o not in schema
        ]
        return sorted(wanted, key=lambda i: (not owners[i], ranks.get(owners[i], len(ranks)), i))

    def _complain(self, name: str, names: list[str]) -> None:
        """Of an output that there is not."""
        schema = self._dataset._view.files.schema
        if name not in schema:
            raise NoFieldError(f"there is no field or output {name!r}{near(name, names)}", field=name)
        field = schema[name]
        if _is_struct(field):
            members = field.dtype.names if field.dtype is not None and field.dtype.names else ("x",)
            raise ArgumentError(
                f"field {name!r} is a struct: its members can be outputs: "
                + "pipelines={"
                + ", ".join(f"'{m} = {name}.{m}': []" for m in members[:3])
                + "}"
            )
        if field.is_fixed or field.is_image:
            raise ArgumentError(f"field {name!r}: its pipeline drops it, and fields= wants it")
        raise ArgumentError(
            f"field {name!r} ({field}) has no fixed size: give it a pipeline: {{{name!r}: [mldf.Pad()]}}, say"
        )

    def _finisher(self, names: tuple[str, ...], calls: dict[str, list[Callable[[Any], Any]]]) -> Convert | None:
        """What is left to do in Python; None: nothing."""
        index, _, key = self._wants
        keys = self._key_names if key else None
        given = [n for n in names if n != "index" or index] + ["key"] * key
        self._names = tuple(given)
        if self._convert is None and not calls and not key and not self._transforms:
            return None
        convert, transforms, make = self._convert, self._transforms, batch_type(self._names)
        steps = [(n, calls[n]) for n in names if n in calls]
        plain = not key and not steps

        def finish(raw: Batch) -> Any:
            values = raw if convert is None else tuple(convert(v) for v in raw)
            if not plain:
                by_name = dict(zip(names, values))
                for name, functions in steps:
                    for function in functions:
                        by_name[name] = function(by_name[name])
                if keys is not None:
                    by_name["key"] = keys(raw)
                values = tuple(by_name[n] for n in given)
            batch: Any = tuple.__new__(make, values)
            for transform in transforms:
                batch = transform(batch)
            return batch

        return finish

    def _key_names(self, raw: Batch) -> list[str]:
        files = self._dataset._view.files
        numbers = np.asarray(raw["index"]).tolist()
        parts = np.searchsorted(np.asarray(files.starts), numbers, side="right") - 1
        return [files.readers[p].key(n - files.starts[p]) for n, p in zip(numbers, parts.tolist())]

    # ---- iteration ----

    def _alive(self) -> _mldf.Loader:
        if self._core is None:
            raise StateError("this loader is closed")
        return self._core

    def __len__(self) -> int:
        """Batches of an epoch, for this rank. With a budget: at most."""
        return self._alive().batch_count()

    def __iter__(self) -> Iterator[Any]:
        """Begins the next epoch, or goes on where a state was loaded."""
        core = self._alive()
        if self._waiting is not None:
            core.close()
            core, self._pipelines, self._finish = self._waiting
            self._core, self._waiting = core, None
        resumed = self._resumed
        if not resumed:
            core.begin(self._next_epoch)
        self._resumed = self._state_of_next = False
        self._next_epoch += 1
        self._generation += 1
        return LoaderIterator(self, core, self._finish, resumed and core.place[1] > 0)

    @property
    def epoch(self) -> int:
        """The epoch that is running; before its beginning, the one that comes next."""
        return self._next_epoch if self._state_of_next or self._resumed else self._alive().place[0]

    def set_epoch(self, epoch: int) -> None:
        """The next iter() begins this epoch. If it would anyway, nothing happens: a loaded state stays."""
        self._alive()
        epoch = whole("epoch", epoch)
        if epoch == self._next_epoch:
            return
        self._next_epoch, self._resumed, self._state_of_next = epoch, False, True

    @property
    def pipelines(self) -> Pipelines | None:
        """As given. Setting it is :meth:`set_pipelines`."""
        return self._waiting[1] if self._waiting is not None else self._pipelines

    @pipelines.setter
    def pipelines(self, pipelines: Pipelines | None) -> None:
        self.set_pipelines(pipelines)

    def set_pipelines(self, pipelines: Pipelines | None) -> None:
        """Other pipelines from the next epoch on (progressive resizing). Mistakes are reported now; an epoch that
        is running goes on as it is.
        """
        self._alive()
        if self._resumed:
            raise StateError("set_pipelines comes before load_state_dict")
        made = self._make(pipelines)
        if self._waiting is not None:
            self._waiting[0].close()
        self._waiting = (made[0], pipelines, made[1])

    # ---- state ----

    def _is_end(self, state: Mapping[str, Any]) -> bool:
        """Nothing of an epoch that was begun is left?"""
        rest = state["count"] - state["consumed"]
        all_ranks = self._options["global_batch_size"] or self._options["batch_size"] * self.world_size
        drops = self._options["last"] == LASTS.index("drop") and not self._options["bucket_window"]
        return bool(state["consumed"] and (rest == 0 or (drops and 0 < rest < all_ranks)))

    def state_dict(self) -> dict[str, Any]:
        """Where the run is: what was taken from the iterator. A small dict of numbers and text (JSON below 1 kB), equal
        on all ranks. Taken at an epoch's end, it is the beginning of the next.
        """
        core = self._alive()
        state: dict[str, Any] = json.loads(core.state())
        if self._signature is not None:
            state["samples"] = self._signature
        if self._state_of_next:
            state["epoch"], state["consumed"] = self._next_epoch, 0
            state.pop("bucket", None)
            return state
        state["epoch"], state["consumed"] = core.place  # without a batch that next() has not handed over
        if self._is_end(state):
            state["epoch"], state["consumed"] = state["epoch"] + 1, 0
        if state["consumed"] == 0:
            state.pop("bucket", None)
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iter() goes on where the state was taken: also with other threads, batch sizes or ranks. Refused
        with the reason when the order is another (number of samples, order, seed, subset), or the samples' keys are.
        """
        core = self._waiting[0] if self._waiting is not None else self._alive()
        if not isinstance(state, Mapping):
            raise WrongTypeError(f"load_state_dict: the dict of state_dict() is needed, not {type(state).__name__}")
        wanted = dict(state)
        for name in ("epoch", "consumed", "count"):
            try:
                wanted[name] = whole(name, wanted.get(name))
            except Error as error:
                raise ArgumentError(f"load_state_dict: the state has no whole number {name!r}: {error}") from None
        check(wanted, self._signature)
        if self._is_end(wanted):
            wanted["epoch"], wanted["consumed"] = wanted["epoch"] + 1, 0
            wanted.pop("bucket", None)
        try:
            form = json.dumps(wanted)
        except (TypeError, ValueError) as error:
            raise WrongTypeError(f"load_state_dict: the state is no JSON: {error}") from None
        core.restore(form, wanted["epoch"], wanted["consumed"])
        if self._waiting is not None:
            self._alive().close()
            self._core, self._pipelines, self._finish = self._waiting
            self._waiting = None
        self._next_epoch, self._resumed, self._state_of_next = wanted["epoch"], True, False
        self._generation += 1

    # ---- what it is, what it did ----

    @property
    def dataset(self) -> Dataset:
        """What is loaded."""
        return self._dataset

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of a batch's arrays."""
        return self._names

    @property
    def batch_size(self) -> int:
        """Of this rank; the largest share, with global_batch_size."""
        whole: int = self._options["global_batch_size"]
        return int(self._options["batch_size"] or -(-whole // self.world_size))

    def stats(self) -> LoaderStats:
        """Where the time went. May be asked by any thread."""
        return LoaderStats.from_raw(self._alive().stats())

    def explain(self) -> str:
        """What the compiler made of the pipelines, pass by pass."""
        return self._alive().explain()

    def bad_samples(self) -> list[dict[str, Any]]:
        """What could not be decoded, oldest first (the last 1,000)."""
        return self._alive().bad()

    def __repr__(self) -> str:
        files = self._dataset.paths
        where = os.path.basename(files[0]) + (f" and {len(files) - 1} more" if len(files) > 1 else "")
        if self._core is None:
            return f"Loader({where}, closed)"
        try:
            threads = self._core.stats()["threads"]
        except StateError:
            return f"Loader({where}, of the process that was forked)"
        o = self._options
        size = f"{o['batch_size']}" if o["batch_size"] else f"{o['global_batch_size']} on all ranks"
        lines = [f"Loader({where}: {len(self._dataset):,} samples, {len(self):,} batches of {size})"]
        width = max(len(n) for n, _, _ in self._shapes)
        for name, kind, shape in self._shapes:
            dims = ", ".join("?" if d is None else str(d) for d in (self.batch_size, *shape))
            lines.append(f"  {name:{width}}  {dtype_name(kind)}[{dims}]")
        if self._left_out:
            lines.append(f"  without {', '.join(self._left_out)}")
        order = self._order[0] if self._order and self._order[0] != "subset" else ORDERS[o["order"]]
        lines.append(
            f"  order {order}, seed {o['seed']}, epoch {self.epoch}; rank {self.rank} of {self.world_size} "
            f"({self._rank_from}); {threads} threads"
        )
        return "\n".join(lines)

    # ---- life ----

    def close(self) -> None:
        """Ends the threads, and a next() that waits in another thread. Batches stay valid. Twice is fine."""
        core, self._core = self._core, None
        if core is not None:
            core.close()
        if self._waiting is not None:
            self._waiting[0].close()
            self._waiting = None
        if self._own and core is not None:
            self._dataset.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """By paths and options; the copy begins anew."""
        self._alive()
        given = {**self._given, "subset": None, "pipelines": self.pipelines}
        given["rank"], given["world_size"] = self.rank, self.world_size
        return _rebuild, (self._dataset, given)


def _is_struct(field: FieldInfo) -> bool:
    return field.dtype is not None and field.dtype.names is not None


def _rebuild(dataset: Dataset, given: dict[str, Any]) -> Loader:
    return Loader(dataset, **given)


class LoaderIterator(Iterator[Any]):
    """One epoch of a loader. A later iter() of the loader ends it."""

    __slots__ = ("_core", "_finish", "_generation", "_loader", "_may_skip")

    def __init__(self, loader: Loader, core: _mldf.Loader, finish: Convert | None, resumed: bool) -> None:
        self._loader, self._core, self._finish = loader, core, finish
        self._generation = loader._generation
        self._may_skip = resumed  # a state at the very end of an epoch

    def __next__(self) -> Any:
        """A batch. One that was interrupted on its way (Ctrl-C) comes again at the next call."""
        loader, core = self._loader, self._core
        if self._generation != loader._generation:
            if self._generation < 0:
                raise StopIteration
            raise StateError("a later iter() or load_state_dict() of this loader has taken over")
        raw = core.next()
        if raw is None:
            return self._end()
        self._may_skip = False
        if self._finish is None:
            core.pending = None
            return raw
        try:
            out = self._finish(raw)
        except Exception:  # not KeyboardInterrupt
            core.pending = None
            raise
        core.pending = None  # a plain store, and nothing after it that looks for signals
        return out

    def _end(self) -> Any:
        if self._may_skip:
            self._may_skip = False
            self._core.begin(self._loader._next_epoch)
            self._loader._next_epoch += 1
            return self.__next__()
        self._generation = -1
        raise StopIteration
