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
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Unpack

from . import _mldf
from .arguments import (
    CODEGENS,
    OUTPUTS,
    POLICIES,
    batch_sizes,
    bucket_length,
    budgets,
    cache,
    callables,
    curriculum_of,
    field_names,
    last_kind,
    order_kind,
)
from .batch import Batch
from .dataset import Dataset, unwrapped
from .dataset import open as open_dataset
from .engine import Engine, engine_options
from .errors import ArgumentError, StateError, WrongTypeError
from .habits import LOADER, hinted
from .limits import flag, text, thread_count, whole
from .live import Live
from .loader_iterator import LoaderIterator
from .loader_outputs import Made, Outputs, converter
from .loader_state import Place, checked, following, snapshot
from .loader_stats import LoaderStats, summary
from .packed import is_packed, with_fields, with_parameter
from .pipeline import Pipelines
from .ranks import find_rank
from .sampling import describe
from .steps import steps_text
from .suggest import choice
from .views import ItemView

__all__ = ["Loader"]

_live: Live[Loader] = Live()


@atexit.register
def _close_all() -> None:
    for loader in _live:
        loader.close()


def _only_view(source: ItemView, view: str | ItemView | None) -> ItemView:
    if view is not None and view is not source:
        raise ArgumentError(f"view={view!r}: the source is a view already, {source.text}")
    return source


def _view_of(dataset: Dataset, view: Any) -> ItemView | None:
    """None: rows."""
    if view is None:
        return None
    if isinstance(view, ItemView):
        if view.dataset._view.files is not dataset._view.files:
            raise ArgumentError(f"view={view!r} is of other files than the loader's")
        if view.dataset is dataset:
            return view if view.text != "rows" else None
        view = view.text
    made = ItemView(dataset, view)
    return made if made.text != "rows" else None


def _packed_view(dataset: Dataset, view: Any, fields: Any, output: Any, ratios: Any) -> tuple[Any, Any]:
    """Of packed sequences, the text with what other arguments say of it, and the outputs without their parameters."""
    text = view.text if isinstance(view, ItemView) and view.packed else view
    if not is_packed(text):
        return view, fields
    before = text
    text, fields = with_fields(text, fields)
    if output == "jax":
        text = with_parameter(text, "dtype", "i32")
    if ratios is not None and len(dataset.paths) > 1:
        text = with_parameter(text, "per_file", "true")
    return (view if text == before else text), fields


def _decode(channels: int | None, orient: bool) -> str | None:
    """What the dataset says of decoding, as the library's option has it."""
    said = [f"channels={channels}"] if channels else []
    said += ["orient=true"] if orient else []
    return f"decode({', '.join(said)})" if said else None


class Loader:
    """Batches of a dataset, in order, made by threads that never take the interpreter's lock.

    Each ``iter()`` begins the next epoch. Batches depend on files, pipeline, order, seed, epoch, batch size and rank
    alone, never on threads. A loader is used by one thread at a time; ``close``, ``with`` or forgetting it closes it,
    and batches stay valid. In a forked child make a new one.

    Parameters
    ----------
    source
        A path, a list or glob of paths, a :class:`mldf.Dataset` (a subset too), or its :class:`mldf.ItemView`.
    batch_size
        Samples of a batch of this rank (64).
    shuffle
        Alias of order: True is "random", False "sequential".
    pipelines
        A dict of field to a list of operations, ``{"image": [mldf.RandomResizedCrop(224), ...]}``, or the pipeline's
        text. None for a field leaves it out. Callables, last in a list, get the output's whole array.
    fields
        These outputs alone, in this order.
    seed
        Of order and augmentation, 0 to 2**64 - 1; the same on all ranks.
    threads
        -1: the CPUs that this process may use; 0: all in next().
    output, device
        "numpy", "torch" or "jax", and where torch or JAX puts batches.
    drop_last
        True: leave out a last batch that is not full.
    on_error
        Of samples that cannot be decoded: "raise", "skip" (shorter, even empty batches), "substitute".
    transform
        A callable, or several, on the finished batch: Batch in, anything out.
    rank, world_size
        Found in torch.distributed or the environment (RANK, WORLD_SIZE) when not given.
    view
        What a sample is, as ``"windows(tokens, 1025)"`` or ``"packed(tokens, 2048)"``; None: a row.

    Other Parameters
    ----------------
    num_workers
        Alias of threads, as torch calls it.
    last
        Of an epoch that does not fill the last batch: "keep" a smaller one, "drop", or "pad" by repeats. drop_last=True
        is an alias of last="drop".
    pin_memory
        torch: batches through its own pinned memory; None: for CUDA.
    order
        "sequential", "random", or "quasi-random": random enough, and kind to slow disks. Of a view pow2, with budget=
        tokens of a rank's batch: "natural", batches of one length each in a random order, or "grow-p2(8)", 8 times
        from short to long.
    subset
        A slice, a mask, or numbers of samples: in any order, which stays unless there is a shuffle. With a view,
        subset, weights and balance speak of rows: each stands for the items that begin in it.
    weights
        Draws with replacement, a weight for each sample.
    balance
        A field: every class as often as every other.
    ratios
        Of several files, so many draws of each; fractions, as [0.7, 0.3], are taken in parts of 10,000.
    samples_per_epoch
        How many draws of weights, balance or ratios make an epoch.
    global_batch_size
        Instead of batch_size: of all ranks together.
    group
        Instead of rank and world_size: torch's ProcessGroup, or a DeviceMesh of one dimension, of the processes that
        share the data; with tensor or pipeline parallelism its peers must get equal batches: ``group=mesh["dp"]``. With
        windows: the column whose runs of equal numbers are groups.
    index, valid, key, row, samples
        More outputs: the sample's number among all of the files (with a view the item's); False for repeats; the
        sample's key; the number of the row, which with a view is not the item's; x_samples beside x_length of outputs
        made from recordings, the samples of the wave, where x_length counts frames.
    bucket
        An output: samples of like length go into the same batch.
    budget
        Batches of at most so many elements after padding instead of batch_size samples; as ``"300s"`` so many seconds
        of recordings.
    windows, delta_timestamps
        Rows with their neighbours in the group, as ``{"action": range(16), "state": [-1, 0], "camera": [-0.1, 0.0]}``:
        whole numbers are rows, floats seconds. delta_timestamps is an alias, as LeRobot calls it: all in seconds. One
        more output x_is_pad says which lie outside the group. The group's video is in its first row.
    edge, tolerance, drop_n_last, time
        With windows. edge, of rows outside the group: "clamp" to its first and last, "zero", "drop" such items,
        "error". tolerance, in seconds: a row or frame must be that near. drop_n_last: so many rows at the end of each
        group give no items. time: the column of times; None: "timestamp".
    engine, **options
        How the loader works, not what comes out: :class:`mldf.Engine` lists it. engine= is a dict of such options; each
        may be given by its own name instead.

    Notes
    -----
    The source's channels= and orient= hold for images here, unless a pipeline's Decode says else.

    In pipelines, ``"small = image"`` is one more view of a field, ``("image", "mask as mask")`` are several that one
    draw moves. Nullable fields are left out unless a pipeline names them: ``mldf.Fill(0)`` gives nulls a value.
    User-defined fields without steps are decoded in Python, when their batch is handed over.

    In fields, x_length and its like come with x, unless some are named. Packed sequences have tokens, labels,
    positions, segment_ids, cu_seqlens, max_seqlen, documents, loss_mask and mask, with their parameters, as
    ``"labels(shift=false)"``, ``"cu_seqlens(flat)"``.
    """

    @hinted(LOADER, Engine)
    def __init__(
        self,
        source: Any,
        batch_size: int | None = None,
        shuffle: bool | None = None,
        *,
        pipelines: Pipelines | None = None,
        view: str | ItemView | None = None,
        fields: Sequence[str] | None = None,
        order: str | None = None,
        seed: int = 0,
        subset: Any = None,
        weights: Any = None,
        balance: str | None = None,
        ratios: Sequence[int] | Sequence[float] | None = None,
        samples_per_epoch: int | None = None,
        global_batch_size: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        group: Any = None,
        windows: Mapping[str, Any] | None = None,
        delta_timestamps: Mapping[str, Any] | None = None,
        edge: str = "clamp",
        tolerance: float = 1e-4,
        drop_n_last: int = 0,
        time: str | None = None,
        threads: int | None = None,
        num_workers: int | None = None,
        drop_last: bool | None = None,
        last: str | None = None,
        on_error: str = "raise",
        output: str = "numpy",
        device: Any = None,
        pin_memory: bool | None = None,
        transform: Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None = None,
        index: bool = False,
        valid: bool = False,
        key: bool = False,
        row: bool = False,
        samples: bool = False,
        bucket: str | None = None,
        budget: int | str = 0,
        engine: Engine | None = None,
        **options: Unpack[Engine],
    ) -> None:
        given = {k: v for k, v in locals().items() if k not in ("self", "source", "options") and not k.startswith("__")}
        how = engine_options(engine, options)
        given["engine"] = how
        self._core: _mldf.Loader | None = None
        index, valid, key = flag("index", index), flag("valid", valid), flag("key", key)
        row = flag("row", row)
        direct = flag("direct", how["direct"])
        if isinstance(source, ItemView):
            source, view = source.dataset, _only_view(source, view)
        source = unwrapped(source)
        self._own = not isinstance(source, Dataset)
        dataset = open_dataset(source, backend="read" if direct else "map") if self._own else source
        if subset is not None:
            dataset = dataset.subset(subset)
        self._dataset = dataset
        if windows is not None or delta_timestamps is not None:
            if view is not None:
                raise ArgumentError("windows and view: give one of them")
            view = steps_text(group, windows, delta_timestamps, edge, tolerance, drop_n_last, time)
            group = None
        view, fields = _packed_view(dataset, view, fields, output, ratios)
        self._view = _view_of(dataset, view)
        self._given = given
        kind = order_kind(order, shuffle)
        curriculum, cycles = curriculum_of(order)
        if curriculum and bucket is None and self._view is not None:
            bucket = self._view.field
        self.rank, self.world_size, self._rank_from = find_rank(rank, world_size, group)
        """Of this process, as given or found."""
        sizes = batch_sizes(batch_size, global_batch_size)
        if key and not dataset.has_keys:
            raise ArgumentError("key=True: these files have no keys")
        self._options: dict[str, Any] = {
            "order": kind,
            "seed": whole("seed", seed),
            "block": whole("block", how["block"]),
            "window": whole("window", how["window"]),
            "batch_size": sizes[0],
            "global_batch_size": sizes[1],
            "rank": self.rank,
            "world_size": self.world_size,
            "last": last_kind(last, drop_last),
            "threads": thread_count(threads, num_workers),
            "in_flight": whole("batches_ahead", how["batches_ahead"], 0, 4096),
            "bad": choice("on_error", on_error, POLICIES),
            "bucket_window": bucket_length(bucket, how["bucket_window"], budget),
            "bucket_output": text("bucket", bucket),
            "budget": budgets(budget)[0],
            "budget_seconds": budgets(budget)[1],
            "curriculum": curriculum,
            "cycles": cycles,
            "prefetch": flag("prefetch", how["prefetch"]),
            "forget_behind": flag("forget_behind", how["forget_behind"]),
            "direct": direct,
            "want_index": index or (key and self._view is None),
            "want_valid": valid,
            "want_samples": flag("samples", samples),
            "want_row": row or (key and self._view is not None),
            "view": None if self._view is None else self._view._core,
            "exact": flag("exact", how["exact"]),
            "reference": flag("reference", how["reference"]),
            "isa": text("isa", how["isa"]),
            "decode": _decode(dataset._view.channels, dataset._view.orient),
            "codegen": choice("codegen", how["codegen"], CODEGENS),
            "compiler": text("compiler", how["compiler"]),
            "cache": cache(how["cache_dir"]),
        }
        self._order = describe(dataset, kind != 0, weights, balance, ratios, samples_per_epoch, self._view)
        convert = converter(
            OUTPUTS[choice("output", output, OUTPUTS)], device, pin_memory, how["non_blocking"], how["copy"]
        )
        self._outputs = Outputs(
            dataset,
            field_names(
                dataset, fields if self._view is None or not self._view.packed else fields or self._view.defaults
            ),
            fields is not None or (self._view is not None and self._view.packed),
            (index, valid, key, row),
            convert,
            callables(transform),
            self._view,
        )
        self._waiting: tuple[Made, Pipelines | None] | None = None  # from the next iter() on
        self._pipelines = pipelines
        self._take(self._make(pipelines))
        self._counted: tuple[_mldf.Loader, int, int] | None = None  # of an epoch, with a budget
        self._skips: list[tuple[int, int, int]] = []  # epoch, positions from, to
        self._next_epoch = 0
        self._state_of_next = True  # the next epoch is not begun: state_dict tells of it
        self._resumed = False
        self._generation = 0
        _live.add(self)

    def _make(self, pipelines: Pipelines | None) -> Made:
        return self._outputs.make(pipelines, self._options, self._order)

    @property
    def _shown(self) -> Made:
        """What makes the batches that the user sees now: pipelines that were set begin with an epoch."""
        return self._waiting[0] if self._waiting is not None and self._state_of_next else self._made

    def _take(self, made: Made) -> None:
        """From now on it is this that makes the batches."""
        self._core, self._made = made.core, made

    # ---- iteration ----

    def _alive(self) -> _mldf.Loader:
        if self._core is None:
            raise StateError("this loader is closed")
        return self._core

    def _switch(self) -> _mldf.Loader:
        """To the pipelines that were set for the next epoch."""
        assert self._waiting is not None
        self._alive().close()
        made, self._pipelines = self._waiting
        self._waiting = None
        self._take(made)
        return made.core

    def __len__(self) -> int:
        """Batches of an epoch, for this rank. With a budget or :meth:`skip` epochs differ: those of :attr:`epoch`,
        counted with a budget by a look at the length of every sample.
        """
        core = self._alive()
        if not (self._options["budget"] or self._options["budget_seconds"] or self._skips):
            return core.batch_count()
        epoch = self.epoch
        if self._waiting is not None and epoch == self._next_epoch:  # it is not begun
            core = self._waiting[0].core
        if self._counted is None or self._counted[:2] != (core, epoch):
            self._counted = (core, epoch, core.count_batches(epoch))
        return self._counted[2]

    def __iter__(self) -> Iterator[Batch]:
        """Begins the next epoch, or goes on where a state was loaded. With transform= a batch is what that gives."""
        core = self._alive()
        if self._waiting is not None:
            core = self._switch()
        resumed = self._resumed
        if not resumed:
            core.begin(self._next_epoch)
        self._resumed = self._state_of_next = False
        self._next_epoch = following(self._next_epoch)
        self._generation += 1
        return LoaderIterator(self, core, self._made.finish, resumed and core.place[1] > 0)

    @property
    def epoch(self) -> int:
        """The epoch that is running; before its beginning and after its end, the one that comes next."""
        return self._next_epoch if self._state_of_next or self._resumed else self._alive().place[0]

    def set_epoch(self, epoch: int) -> None:
        """The next iter() begins this `epoch`, from 0. If it would anyway, nothing happens: a loaded state stays.
        Another epoch than that of a loaded state gives it up, with a warning: a state of an epoch's end is of the next.

        Parameters
        ----------
        epoch
            From 0.
        """
        self._alive()
        epoch = whole("epoch", epoch)
        if epoch == self._next_epoch:
            return
        if self._resumed:
            warnings.warn(
                f"set_epoch({epoch}): the state that was loaded is of epoch {self._next_epoch}, and is given up; "
                "loader.epoch is where to go on",
                stacklevel=2,
            )
        self._next_epoch, self._resumed, self._state_of_next = epoch, False, True

    @property
    def pipelines(self) -> Pipelines | None:
        """As given. Setting it is :meth:`set_pipelines`."""
        return self._waiting[1] if self._waiting is not None else self._pipelines

    @pipelines.setter
    def pipelines(self, pipelines: Pipelines | None) -> None:
        self.set_pipelines(pipelines)

    def set_pipelines(self, pipelines: Pipelines | None) -> None:
        """Other `pipelines` from the next epoch on (progressive resizing). Mistakes are reported now; an epoch that
        is running goes on as it is.

        Parameters
        ----------
        pipelines
            As for :class:`mldf.Loader`.
        """
        self._alive()
        if self._resumed:
            raise StateError("set_pipelines comes before load_state_dict")
        made = self._make(pipelines)
        self._skip_later(made.core)
        if self._waiting is not None:
            self._waiting[0].core.close()
        self._waiting = (made, pipelines)

    # ---- state ----

    def state_dict(self) -> dict[str, Any]:
        """Where the run is: what was taken from the iterator. A small dict of numbers and text (JSON below 1 kB), equal
        on all ranks. Taken at an epoch's end, it is the beginning of the next.
        """
        next_epoch = self._next_epoch if self._state_of_next else None
        return snapshot(self._alive(), self._options, next_epoch)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iter() goes on where the `state` was taken: also with other threads, batch sizes or ranks. Refused
        with the reason when the order is another (number of samples, order, seed, subset), or the samples are: by their
        keys, or else by a few of their values.

        Parameters
        ----------
        state
            What ``state_dict`` gave.
        """
        core = self._waiting[0].core if self._waiting is not None else self._alive()
        wanted = checked(state, self._options, self._dataset._view.files)
        try:
            form = json.dumps(wanted)
        except (TypeError, ValueError) as error:
            raise WrongTypeError(f"load_state_dict: the state is no JSON: {error}") from None
        core.restore(form, wanted["epoch"], wanted["consumed"])
        if self._waiting is not None:
            self._switch()
        self._next_epoch, self._resumed, self._state_of_next = wanted["epoch"], True, False
        self._skips = [(epoch, begin, end) for epoch, begin, end in wanted.get("skip", [])]
        self._counted = None
        self._generation += 1

    # ---- where documents come, what is left out ----

    def where(self, document: int, epoch: int | None = None) -> list[Place] | None:
        """Where a `document` comes in an `epoch` (the running one, or the next): (epoch, batch, slot, rank) of each of
        its pieces. A document is a row; of a packed token_stream, one of its documents; without a view, a sample.
        batch counts from the epoch's beginning, slot inside the batch of that rank, before bad samples are left out.
        None where samples are drawn by weight. Nothing is read but the plan.

        Parameters
        ----------
        document
            A row; of a packed token_stream, one of its documents; without a view, a sample.
        epoch
            None: the running one, or the next.
        """
        number = self.epoch if epoch is None else whole("epoch", epoch)
        found = self._alive().where(number, whole("document", document))
        return None if found is None else [Place(*place) for place in found]

    def skip(self, begin: int, end: int, epoch: int | None = None) -> None:
        """Batches `begin` to `end` - 1 of an `epoch` (the running one, or the next) do not come: after a loss spike,
        load the state from before it, and skip what made it. The others keep their numbers. It is part of the state,
        by positions of the order, and holds for other batch sizes and ranks: call it on every rank. At most 16 ranges.

        Parameters
        ----------
        begin
            The first batch that does not come.
        end
            The batch after the last one that does not come.
        epoch
            None: the running one, or the next.
        """
        number = self.epoch if epoch is None else whole("epoch", epoch)
        core = self._alive()
        core.skip(number, whole("begin", begin), whole("end", end), False)
        self._skips = [(e, from_, to) for e, from_, to in json.loads(core.state()).get("skip", [])]
        self._counted = None
        if self._waiting is not None:
            self._skip_later(self._waiting[0].core)

    def _skip_later(self, core: _mldf.Loader) -> None:
        """Of the epochs that this core is going to run."""
        for epoch, begin, end in self._skips:
            if epoch >= self._next_epoch:
                core.skip(epoch, begin, end, True)

    # ---- what it is, what it did ----

    @property
    def dataset(self) -> Dataset:
        """What is loaded."""
        return self._dataset

    @property
    def view(self) -> ItemView | None:
        """What a sample is; None: rows."""
        return self._view

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of a batch's arrays: of the epoch that is running or was the last; before the first, of that one."""
        return self._shown.names

    @property
    def batch_size(self) -> int:
        """Of this rank; the largest share, with global_batch_size."""
        all_ranks: int = self._options["global_batch_size"]
        return int(self._options["batch_size"] or -(-all_ranks // self.world_size))

    def stats(self) -> LoaderStats:
        """Where the time went. May be asked by any thread."""
        raw = self._alive().stats()
        decoder = self._made.decoder
        if decoder is not None:
            raw["bad_samples"] += decoder.bad_count
            raw["steps"] = [*raw["steps"], *decoder.seconds.items()]
        return LoaderStats.from_raw(raw)

    def explain(self) -> str:
        """What the compiler made of the pipelines, pass by pass."""
        return self._alive().explain()

    def bad_samples(self) -> list[dict[str, Any]]:
        """What could not be decoded, oldest first (the last 1,000).

        With on_error="raise" and several threads, at least one of the bad samples of a failed batch is listed; which
        ones depends on the threads.
        """
        own = self._made.decoder.bad() if self._made.decoder is not None else []
        return sorted(self._alive().bad() + own, key=lambda bad: bad["epoch"])[-1000:]

    def __repr__(self) -> str:
        return summary(self)

    # ---- life ----

    def close(self) -> None:
        """Ends the threads, and a next() that waits in another thread. Batches stay valid. Twice is fine."""
        core, self._core = self._core, None
        if core is not None:
            core.close()
        if self._waiting is not None:
            self._waiting[0].core.close()
            self._waiting = None
        if self._own and core is not None:
            self._dataset.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """By paths and options; the copy begins again."""
        self._alive()
        given = {**self._given, "subset": None, "pipelines": self.pipelines}
        if self._rank_from != "alone":  # else the copy looks for itself: it may be in one of torch's workers
            given["rank"], given["world_size"] = self.rank, self.world_size
        return _rebuild, (self._dataset, given)


def _rebuild(dataset: Dataset, given: dict[str, Any]) -> Loader:
    return Loader(dataset, **given)
