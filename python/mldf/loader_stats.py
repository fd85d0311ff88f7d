"""What a loader is, for people, and where its time went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .arguments import ORDERS, dtype_name
from .errors import StateError
from .paths import named

if TYPE_CHECKING:
    from .loader import Loader

__all__ = ["LoaderStats", "summary"]


@dataclass(frozen=True, repr=False)
class LoaderStats:
    """What a loader did since it was made. It shows as a table, in a notebook with bars.

    docs/guides/speed.md says what the numbers mean together, and what to do about them.

    Parameters
    ----------
    samples
        In the batches that were handed out.
    batches
        That were handed out.
    bad_samples
        That could not be decoded.
    bytes_read
        Of the samples' values before images are decoded; of compressed fields, after decompression.
    seconds
        Since the first batch was asked for, without the time between epochs.
    wait_loader
        Seconds that next() waited for a batch.
    wait_consumer
        Seconds, of all threads together, that there was nothing to do because nobody took batches.
    threads
        That work for this loader; 0: all is done in next().
    verdict
        In one line, what holds things up.
    steps
        Seconds of each step, of all threads together.
    """

    samples: int
    batches: int
    bad_samples: int
    bytes_read: int
    seconds: float
    wait_loader: float
    wait_consumer: float
    threads: int
    verdict: str
    steps: dict[str, float] = field(default_factory=dict)

    @classmethod
    def from_raw(cls, raw: dict[str, Any]) -> LoaderStats:
        """From what the extension module says."""
        return cls(**{**raw, "steps": dict(raw["steps"])})

    @property
    def samples_per_second(self) -> float:
        """Samples by seconds, your own work between batches counted; 0 before the first batch."""
        return self.samples / self.seconds if self.seconds > 0 else 0.0

    @property
    def bytes_per_second(self) -> float:
        """bytes_read by seconds; 0 before the first batch."""
        return self.bytes_read / self.seconds if self.seconds > 0 else 0.0

    def _repr_html_(self) -> str:
        from .notebook import stats_html

        return stats_html(self)

    def __repr__(self) -> str:
        work = sum(self.steps.values())
        rate, stored = self.samples_per_second, self.bytes_per_second / 1e6
        lines = [
            f"{self.samples:,} samples, {self.batches:,} batches, {self.seconds:.2f} s: "
            f"{rate:,.0f} samples/s, {stored:,.1f} MB/s, {self.threads} threads",
            self.verdict,
        ]
        if self.bad_samples:
            lines.append(f"{self.bad_samples} bad samples; see bad_samples()")
        width = max((len(name) for name in self.steps), default=0)
        for name, seconds in self.steps.items():
            lines.append(f"  {name:{width}}  {seconds:8.3f} s  {100 * seconds / work if work else 0:5.1f} %")
        lines.append(f"  next() waited {self.wait_loader:.3f} s; threads waited {self.wait_consumer:.3f} s for room")
        return "\n".join(lines)


def summary(loader: Loader) -> str:
    """What ``repr(loader)`` says."""
    where = named(loader._dataset.paths)
    if loader._core is None:
        return f"Loader({where}, closed)"
    try:
        threads = loader._core.stats()["threads"]
    except StateError:
        return f"Loader({where}, of the process that was forked)"
    o = loader._options
    size = f"{o['batch_size']}" if o["batch_size"] else f"{o['global_batch_size']} on all ranks"
    if o["budget"] or o["budget_seconds"]:  # how many takes time to count
        most = f"{o['budget']:,} elements" if o["budget"] else f"{o['budget_seconds']:g} seconds"
        batches = f"batches of at most {most} of {o['bucket_output']}"
    else:
        batches = f"{len(loader):,} batches of {size}"
    view = loader.view
    count = len(loader._dataset) if view is None else len(view)
    lines = [f"Loader({where}: {count:,} {'samples' if view is None else 'items'}, {batches})"]
    if view is not None:
        lines.append(f"  view {view.text}")
    made = loader._shown
    names = made.names
    decoded = {d.name: type(d.custom).__name__ for d in made.decoder.outputs} if made.decoder is not None else {}
    shown = [s for s in made.shapes if s[0] in names]  # without an index that is for the keys alone
    width = max(len(n) for n in names)
    for name, kind, shape in shown:
        first: int | None = loader.batch_size
        if name in decoded:
            lines.append(f"  {name:{width}}  of {decoded[name]}.decode, in Python")
            continue
        if name + "_offset" in names:  # ragged: the samples' values in a row
            first = None
        elif name.endswith("_offset") and name.removesuffix("_offset") in names:
            first = loader.batch_size + 1
        dims = ", ".join("?" if d is None else str(d) for d in (first, *shape))
        lines.append(f"  {name:{width}}  {dtype_name(kind)}[{dims}]")
    if "key" in names and loader._given["key"]:
        lines.append(f"  {'key':{width}}  list of str")
    if made.left_out:
        lines.append(f"  without {', '.join(made.left_out)}")
    order = loader._order[0] if loader._order and loader._order[0] != "subset" else ORDERS[o["order"]]
    lines.append(
        f"  order {order}, seed {o['seed']}, epoch {loader.epoch}; rank {loader.rank} of {loader.world_size} "
        f"({loader._rank_from}); {threads} threads"
    )
    return "\n".join(lines)
