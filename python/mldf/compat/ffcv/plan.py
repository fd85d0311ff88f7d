"""How FFCV's pipelines become mldf's: which steps run for each sample in C, which run on the batch in Python, which
outputs a batch has and in which order. loader/__init__.py makes a Plan for each set of pipelines.

    steps of a field:  decoder, transforms | ToTensor, own operations, callables, and all that follows one of them
                       `--- statements ---'  `------------------------- host ----------------------------------'
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...batch import batch_type
from ...errors import ArgumentError, UnsupportedError, WrongTypeError
from ...pipeline import Operation as Native
from ...schema import Schema
from ...statements import LOADERS_OWN
from .fields.decoders import DECODERS, BytesDecoder, Plain, SimpleRGBImageDecoder
from .host import Context, Host, run
from .own_fields import Decoding, own_field
from .pipeline.operation import Operation, overrides
from .pipeline.pipeline_spec import PipelineSpec
from .transforms.common import Squeeze
from .transforms.ops import ToDevice, ToTensor

__all__ = ["Plan"]


@dataclass
class Output:
    """One array of a batch: as FFCV calls it, and as mldf's loader does."""

    name: str
    native: str
    source: str
    host: list[Any] = field(default_factory=list)
    column: bool = False
    """Numbers come as (B, 1)."""
    text: bool = False
    """JSON ends with a zero byte."""


class Plan:
    """Statements for mldf's loader, and what is left to do with a batch."""

    def __init__(self, pipelines: Mapping[Any, Any] | None, schema: Schema, index: bool) -> None:
        self.statements: list[tuple[Any, Any]] = []
        self.outputs: list[Output] = []
        self.made: dict[int, Any] = {}
        """Code of own operations."""
        self.hidden: set[str] = set() if index else {"index"}
        self._schema = schema
        given = dict(pipelines or {})
        for name in schema:
            if name not in given:
                self._field(name, name, None)
            elif given[name] is None:
                self.statements.append((name, None))
            else:
                self._output(name, given[name])
        for name, spec in given.items():
            if name in schema:
                continue
            if isinstance(spec, PipelineSpec):
                self._output(name, spec)
            else:  # mldf's own ways to name outputs
                self.statements.append((name, _native_only(name, spec)))
        if index and any(o.name == "index" for o in self.outputs):
            raise ArgumentError("index=True: these files have a field of that name; it is the output 'index'")

    def _output(self, name: str, spec: Any) -> None:
        if isinstance(spec, PipelineSpec):
            if spec.source not in self._schema:
                raise ArgumentError(f"pipelines[{name!r}]: there is no field {spec.source!r}")
            decoder = [] if spec.decoder is not None else self._default(spec.source)[:1]
            self._field(name, spec.source, [*decoder, *spec.steps()])
        elif isinstance(spec, (str, Native)) or not isinstance(spec, Sequence):
            raise WrongTypeError(f"pipelines[{name!r}]: a list of operations or a PipelineSpec is needed, not {spec!r}")
        else:
            self._field(name, name, list(spec))

    def _default(self, name: str) -> list[Any]:
        info = self._schema[name]
        own = own_field(info)
        if own is not None:
            return [own.get_decoder_class()(), ToTensor()]
        if info.is_image:
            return [SimpleRGBImageDecoder(), ToTensor()]
        if not info.is_fixed and info.custom is None and info.type in ("bytes", "json", "text"):
            return [BytesDecoder(), ToTensor()]
        return [Plain(), ToTensor()]

    def _field(self, name: str, source: str, steps: list[Any] | None) -> None:
        info = self._schema[source]
        if info.is_struct or not info.known or (info.nullable and steps is None):
            if steps is not None:
                raise UnsupportedError(
                    f"field {source!r} ({info}) cannot be an output under FFCV's names; mldf.Loader has its members"
                )
            why = "may be null" if info.nullable else "FFCV has no such field"
            warnings.warn(f"left out of the batches: {source} ({info}): {why}", stacklevel=7)
            self.statements.append((source, None))
            return
        native = name
        if native in LOADERS_OWN:  # names of the loader's own outputs
            native = f"{name}_"
            while native in self._schema:
                native += "_"
        output = Output(name, native, source, text=info.type == "json")
        scalar = info.is_fixed and info.type in ("int", "float")
        output.column = scalar
        default = self._default(source)
        first = self._divide(output, steps or default, scalar)
        if not first and isinstance(default[0], Native):  # as in FFCV, where the list does not begin with a decoder
            first = default[:1]
        if any(isinstance(s, BytesDecoder) for s in first):
            self.hidden.add(f"{native}_length")
        self.statements.append((native if native == source else f"{native} = {source}", first))
        self.outputs.append(output)

    def _divide(self, output: Output, steps: list[Any], scalar: bool) -> list[Any]:
        """The steps for each sample; those for the batch go into the output."""
        first: list[Any] = []
        behind = False
        own = own_field(self._schema[output.source])
        if own is not None and steps and isinstance(steps[0], Operation) and overrides(steps[0]):
            output.host.append(Decoding(own, steps[0]))
            steps, behind = steps[1:], True
        for step in steps:
            if isinstance(step, DECODERS) and overrides(step):
                raise UnsupportedError(
                    f"pipelines[{output.name!r}]: {type(step).__name__} brings its own generate_code: "
                    "values are decoded in C; let an Operation follow the decoder"
                )
            if isinstance(step, (ToTensor, ToDevice)):
                output.host.append(step)
            elif behind or _in_python(step):
                if not behind and scalar and isinstance(step, Squeeze) and set(step.dims) <= {1, -1}:
                    output.column = False
                elif not (isinstance(step, Plain) and not behind):
                    output.host.append(step)
                    behind = True
            elif isinstance(step, (list, tuple)):
                first += step
            else:
                first.append(step)
        return first

    # ---- a batch ----

    @property
    def names(self) -> tuple[str, ...]:
        """Of the outputs, in FFCV's order: that of the file, then those that pipelines name."""
        return tuple(o.name for o in self.outputs)

    def known(self) -> set[str]:
        """Names of mldf's loader that are in names, or hidden."""
        return {o.native for o in self.outputs} | self.hidden

    def hand_over(self, batch: Any, context: Context) -> Any:
        """The batch as FFCV has it."""
        values: dict[str, Any] = {}
        for output in self.outputs:
            if output.native not in batch.names:
                continue
            value = batch[output.native]
            if output.column and value.ndim == 1:
                value = value.reshape(-1, 1)
            if output.text and isinstance(value, np.ndarray) and value.ndim == 2 and value.size and value[:, -1].any():
                value = np.pad(value, ((0, 0), (0, 1)))
            for step in output.host:
                try:
                    value = run(step, value, context, self.made)
                except Exception as error:
                    error.add_note(f"in {step!r} of the output {output.name!r}")
                    raise
            values[output.name] = value
        own = self.known()
        for name in batch.names:  # mldf's own, which were asked for
            if name not in own:
                values[name] = batch[name]
        made: Any = batch_type(tuple(values))
        return tuple.__new__(made, tuple(values.values()))


def _in_python(step: Any) -> bool:
    """Does it run on batches in Python, wherever it comes?"""
    if isinstance(step, Operation) and overrides(step):
        return True
    if isinstance(step, (Native, list, tuple, str)):
        return False
    return isinstance(step, (Host, Operation)) or callable(step)


def _native_only(name: Any, steps: Any) -> Any:
    """Of an output that is named as mldf's loader names them."""
    return (
        steps
        if steps is None or isinstance(steps, (str, Native))
        else [s for s in steps if not isinstance(s, (ToTensor, ToDevice))]
    )
