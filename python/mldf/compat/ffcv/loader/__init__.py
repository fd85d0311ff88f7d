"""Under FFCV's path ``ffcv.loader``: Loader and OrderOption. ../plan.py says what becomes of pipelines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Union

import numpy as np

from ....errors import UnsupportedError, WrongTypeError
from ....fields import CustomField, register_field
from ....loader import Loader as Base
from ....pipeline import Operation as Native
from ....sampling import describe
from ..fields.base import Field
from ..host import Context
from ..own_fields import register_own
from ..pipeline.pipeline_spec import PipelineSpec
from ..plan import Plan
from ..reader import Reader
from ..traversal_order.base import TraversalOrder

__all__ = ["ORDER_TYPE", "Loader", "OrderOption"]


class OrderOption(Enum):
    """How samples are visited."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"
    QUASI_RANDOM = "quasi-random"


ORDER_TYPE = Union[OrderOption, type[TraversalOrder]]


class Loader(Base):
    """FFCV's arguments, and its outputs: a field without a pipeline gets its decoder and ToTensor, None leaves it out.

    order           an OrderOption, or a subclass of TraversalOrder
    custom_fields   classes of FFCV's Field or of :class:`mldf.CustomField` by field
    os_cache        False: what was read is forgotten
    recompile       True: the code of own operations is asked for again at every epoch
    more            what :class:`mldf.Loader` takes besides
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
        self._args = {k: v for k, v in locals().items() if k not in ("self", "more") and not k.startswith("__")} | more
        self._reader: Reader | None = None
        self.fname, self.os_cache, self.order, self.distributed = fname, os_cache, order, distributed
        self.custom_fields = dict(custom_fields or {})
        self.drop_last, self.batches_ahead, self.recompile = drop_last, batches_ahead, recompile
        self.seed = 0 if seed is None else seed
        self.num_workers = num_workers if num_workers > 0 else len(os.sched_getaffinity(0))
        self.traversal_order: TraversalOrder | None = None
        self._after: list[Callable[[Any], Any]] | None = None  # the user's transforms
        self.code: object = object()  # another one when own operations were asked for their code again
        for name, cls in self.custom_fields.items():
            if isinstance(cls, type) and issubclass(cls, CustomField):
                register_field(cls)
            elif isinstance(cls, type) and issubclass(cls, Field):
                register_own(cls)
            else:
                raise UnsupportedError(
                    f"custom_fields: {name!r}: a class of mldf.CustomField or Field is needed, not {cls!r}"
                )
        self._index = bool(more.pop("index", False))
        self._transforms = more.pop("transform", None)
        own = isinstance(order, type) and issubclass(order, TraversalOrder)
        if isinstance(order, TraversalOrder):
            raise WrongTypeError(f"order: the class is needed, {type(order).__name__}, not an object of it")
        if own or not distributed:
            more.setdefault("rank", 0)
            more.setdefault("world_size", 1)
        self._indices = None if indices is None else np.asarray(indices)
        super().__init__(
            fname,
            batch_size,
            order="sequential" if own else getattr(order, "value", order),
            pipelines=pipelines,
            threads=num_workers,
            forget_behind=not os_cache,
            seed=self.seed,
            subset=self._indices,
            drop_last=drop_last,
            batches_ahead=batches_ahead,
            index=True,
            transform=self._transforms,
            **more,
        )
        self._made_of = self._texts()
        self._whole = self._dataset if self._indices is None else Reader(fname).dataset
        if own:
            self.traversal_order = order(self)
            self._visit(0)

    # ---- pipelines ----

    def _make(self, pipelines: Any) -> Any:
        """The batches of these pipelines, handed over as FFCV does."""
        theirs = self._after = self._outputs._transforms if self._after is None else self._after
        if isinstance(pipelines, str) or (pipelines is not None and not isinstance(pipelines, Mapping)):
            self._plan: Plan | None = None  # mldf's own
            self._outputs._transforms = theirs
            return super()._make(pipelines)
        plan = self._plan = Plan(pipelines, self._dataset.schema, self._index)

        def hand_over(batch: Any) -> Any:
            context = Context(np.asarray(batch["index"]), self.seed, self._alive().place[0])
            return plan.hand_over(batch, context)

        self._outputs._transforms = [hand_over, *theirs]
        made = super()._make(plan.statements)
        made.names = tuple(plan.names) + tuple(n for n in made.names if n not in plan.known())
        return made

    def _texts(self) -> list[str]:
        """Of the steps: an output_size may have been set since."""
        theirs: Any = self.pipelines
        lists = theirs.values() if isinstance(theirs, Mapping) else ()
        steps = [s for p in lists for s in (p.steps() if isinstance(p, PipelineSpec) else p or ())]
        return [s.text for s in steps if isinstance(s, Native)]

    def set_pipelines(self, pipelines: Any) -> None:
        """Other `pipelines` from the next epoch on, of FFCV's steps."""
        super().set_pipelines(pipelines)
        self._made_of = self._texts()

    # ---- epochs ----

    def __iter__(self) -> Iterator[Any]:
        """Begins the next epoch, with what decoders say now."""
        if self._texts() != self._made_of:
            state = self.state_dict() if self._resumed else None
            self._resumed = False
            self.set_pipelines(self.pipelines)
            if state is not None:
                self.load_state_dict(state)
        if self.recompile:
            self.generate_code()
        if self.traversal_order is not None and not self._resumed:
            self._visit(self._next_epoch)
        return super().__iter__()

    def _visit(self, epoch: int) -> None:
        """The own order of an epoch."""
        assert self.traversal_order is not None
        order = np.asarray(self.traversal_order.sample_order(epoch), np.int64)
        self._dataset = self._whole.subset(order)
        self._order = describe(self._dataset, False, None, None, None, None)
        pipelines = self.pipelines
        made = self._make(pipelines)
        if self._waiting is not None:
            self._waiting[0].core.close()
        self._waiting = (made, pipelines)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iter() goes on where the `state` was taken."""
        if self.traversal_order is not None and isinstance(state, Mapping) and "epoch" in state:
            self._resumed = False
            self._visit(int(state["epoch"]))
        super().load_state_dict(state)

    def next_traversal_order(self) -> np.ndarray[Any, Any]:
        """The numbers of the samples of the next epoch, in its order; of this rank."""
        if self.traversal_order is not None:
            return np.asarray(self.traversal_order.sample_order(self._next_epoch))
        if getattr(self.order, "value", self.order) == "sequential" and self.world_size == 1:
            return self.indices
        with Base(
            self._whole,
            self.batch_size,
            order=getattr(self.order, "value", self.order),
            seed=self.seed,
            subset=self._indices,
            rank=self.rank,
            world_size=self.world_size,
            pipelines=self._cheapest(),
            index=True,
            threads=0,
        ) as loader:
            loader.set_epoch(self._next_epoch)
            found: np.ndarray[Any, Any] = np.array([n for b in loader for n in b["index"].tolist()], np.int64)
            return found

    def _cheapest(self) -> dict[str, Any]:
        """Pipelines that load as little as possible: one number, if samples have one."""
        schema = self._whole.schema
        found = next((n for n, f in schema.items() if f.is_fixed and not f.is_struct and not f.nullable), None)
        if found is None:
            raise UnsupportedError(
                "next_traversal_order: these samples have no number; Loader(index=True) gives the order"
            )
        key = f"{found}_ = {found}" if found in ("index", "valid", "key") else found
        return {**{name: None for name in schema if name != found}, key: []}

    def generate_code(self) -> None:
        """Own operations are asked for their code again."""
        self.code = object()
        if self._plan is not None:
            self._plan.made.clear()

    @property
    def next_epoch(self) -> int:
        """The epoch that the next iter() begins."""
        return self._next_epoch

    # ---- what it is ----

    @property
    def indices(self) -> np.ndarray[Any, Any]:
        """The numbers of the samples that it loads."""
        return np.arange(len(self._whole), dtype=np.uint64) if self._indices is None else self._indices

    @property
    def reader(self) -> Reader:
        """What the file says about itself."""
        if self._reader is None:
            self._reader = Reader(self._whole, self.custom_fields)
        return self._reader

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of a batch's arrays."""
        return self._shown.names

    def filter(self, field_name: str, condition: Callable[[Any], bool]) -> Loader:
        """A loader of the samples for whose `field_name`, as its pipeline gives it, the `condition` holds."""
        pipelines = dict.fromkeys(self._whole.schema)
        given = dict(self._args["pipelines"] or {})
        if field_name not in pipelines:
            raise UnsupportedError(f"filter: there is no field {field_name!r}; there are {', '.join(pipelines)}")
        one: dict[str, Any] = {name: None for name in pipelines if name != field_name}
        if given.get(field_name) is not None:
            one[field_name] = given[field_name]
        args = {
            **self._args,
            "pipelines": one,
            "order": OrderOption.SEQUENTIAL,
            "drop_last": False,
            "distributed": False,
        }
        chosen: list[int] = []
        with Loader(**{**args, "index": True, "transform": None}) as loader:
            for values, index in loader:
                chosen += [int(n) for value, n in zip(values, np.asarray(index)) if condition(value)]
        return Loader(**{**self._args, "indices": np.array(chosen, np.int64)})

    def __reduce__(self) -> tuple[Any, ...]:
        """By its arguments; the copy begins at the first epoch."""
        self._alive()
        return _rebuild, ({**self._args, "pipelines": self.pipelines},)


def _rebuild(args: dict[str, Any]) -> Loader:
    return Loader(**args)


sys.modules[f"{__name__}.loader"] = sys.modules[__name__]  # where FFCV has it
