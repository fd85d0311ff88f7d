"""What comes out of a loader: which fields and pipelines become which arrays of a batch, in which order, and what is
left to do with them in Python. loader.py asks once for each set of pipelines.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _mldf
from .arguments import numpy_dtype
from .batch import Batch, Convert, batch_type, to_jax, to_torch
from .collate import mapped
from .dataset import Dataset
from .errors import ArgumentError, Error, NoFieldError, WrongTypeError
from .fields import registered_types
from .limits import flag, flag_or_none
from .loader_custom import Decoded, Decoder, Rows
from .multimodal import is_part
from .packed import one_number
from .pipeline import Pipelines
from .schema import MULTIMODAL
from .statements import LOADERS_OWN, Compiled, compile_pipelines, itself, quoted
from .suggest import near
from .views import ItemView

__all__ = ["Made", "Outputs", "converter"]

_COMPANIONS = ("_length", "_mask", "_offset", "_samples", "_valid")
Output = tuple[str, str, tuple[int | None, ...]]
"""Name, element type, shape of a sample."""


def converter(
    output: str, device: Any, pin_memory: bool | None, non_blocking: bool, copy: bool | None
) -> Convert | None:
    """From the loader's memory to what the user computes with; None: NumPy's arrays as they are."""
    pin_memory, non_blocking = flag_or_none("pin_memory", pin_memory), flag("non_blocking", non_blocking)
    copy = flag_or_none("copy", copy)
    if output == "torch":
        return to_torch(device, pin_memory, non_blocking)
    if output == "jax":
        return to_jax(device, copy)
    if device is not None:
        raise ArgumentError(f"device={device!r} goes with output='torch' or 'jax'")
    return None  # pin_memory: NumPy has none


def _owner(name: str) -> str:
    """x of x_length, x_mask ...; else nothing."""
    return next((name[: -len(suffix)] for suffix in _COMPANIONS if name.endswith(suffix)), "")


@dataclass
class Made:
    """The library's loader for some pipelines, and what belongs to it."""

    core: _mldf.Loader
    finish: Convert | None
    """What is left to do with a batch in Python."""
    names: tuple[str, ...]
    """Of a batch's arrays, as the user gets them."""
    shapes: list[Output]
    left_out: list[str]
    """Fields that are in no batch."""
    decoder: Decoder | None
    """Of user-defined fields."""


def _called(name: str, function: Callable[[Any], Any], value: Any) -> Any:
    """What a user's function makes of an output."""
    try:
        out = function(value)
    except Exception as error:
        error.add_note(f"in a callable of the output {name!r}")
        raise
    if out is None:
        raise WrongTypeError(
            f"a callable of the output {name!r} gave None; it returns the array, also one that it changed in place",
            field=name,
        )
    return out


def _strings(data: Any, offsets: Any) -> list[str]:
    """Text of a batch, whose bytes lie end to end. The library has seen that it is UTF-8."""
    whole, ends = np.asarray(data).tobytes(), np.asarray(offsets).tolist()
    return [whole[a:b].decode() for a, b in itertools.pairwise(ends)]


class Outputs:
    """What a loader was asked for, whatever its pipelines are."""

    def __init__(
        self,
        dataset: Dataset,
        fields: list[str] | None,
        alone: bool,
        wants: tuple[bool, bool, bool, bool],
        convert: Convert | None,
        transforms: list[Callable[[Any], Any]],
        view: ItemView | None = None,
    ) -> None:
        self._dataset, self._files = dataset, dataset._view.files
        self._schema = self._files.schema if view is None else view.schema
        self._packed = view is not None and view.packed
        self._optional = {n for n in self._schema if view is not None and self._packed and n not in view.defaults}
        self._flat = self._packed and view is not None and re.search(r"cu_seqlens=(flat|ragged)", view.text) is not None
        self._fields, self._wants = fields, wants
        self._alone = alone  # fields are outputs: no others; else those of the dataset
        self._convert, self._transforms = convert, transforms
        self._cut = view.field if view is not None and view._length else ""  # all of its items are equally long
        self._entries = view._entries if view is not None else set()
        self._number = "index" if view is None else "row"  # by which samples are known in the files

    def make(self, pipelines: Pipelines | None, options: dict[str, Any], order: tuple[Any, ...] | None) -> Made:
        """Compiles the pipelines; mistakes in them are reported here."""
        try:
            found = self._compile(pipelines)
            options = {**options, "pipeline": "\n".join(found.statements)}
            if found.decoded:  # whose bad samples are told by their numbers
                options["want_" + self._number] = True
            own = [o.describe() for o in found.own.values()]
            core = _mldf.new_loader(tuple(self._files.readers), options, order, registered_types(), own)
        except Error as error:
            if not isinstance(pipelines, str):  # lines and columns are of a text that nobody wrote
                error.args = (error.inside,)
            raise
        outputs = core.outputs()
        picked, hidden = self._pick(outputs, found)
        names = tuple(outputs[i][0] for i in picked)
        if not names:
            raise ArgumentError(f"fields={self._fields}: a batch has one field at least")
        kinds = tuple(None if self._convert else numpy_dtype(outputs[i][1]) for i in picked)
        core.form(batch_type(names), tuple(picked), kinds)
        if self._flat:
            found.calls.update({n: [one_number, *found.calls.get(n, [])] for n in names if n.endswith("max_seqlen")})
        for name in found.calls:
            if name not in names:
                raise NoFieldError(f"pipelines: there is no output {name!r}{near(name, names)}", field=name)
        left_out = [n for n in self._schema if n not in names and (self._fields is None or n in self._fields)]
        # Who names a field, also to drop it, knows of it.
        parts_of = {name.rpartition(".")[0] for name in found.named if name not in self._schema}
        unnamed = left_out if pipelines is None else [n for n in left_out if n not in found.named | parts_of]
        if self._fields is None and unnamed:
            self._warn(unnamed)
        index, _, key, row = self._wants
        decoder = self._decoder(core, found, names, options["bad"])
        if decoder is not None:
            hidden |= {n for d in decoder.outputs for n in d.hidden}
        strings = tuple(n for n in names if n in found.strings)
        hidden |= {f"{n}_offset" for n in strings}
        if not index:
            hidden.add("index")
        if not row and self._number == "row":
            hidden.add("row")
        given = tuple([n for n in names if n not in hidden] + ["key"] * key)
        finish = self._finisher(core, names, given, found.calls, decoder, strings)
        return Made(core, finish, given, [outputs[i] for i in picked], left_out, decoder)

    def _decoder(self, core: _mldf.Loader, found: Compiled, names: tuple[str, ...], policy: int) -> Decoder | None:
        outputs = []
        for name, (source, fill) in found.decoded.items():
            custom = self._schema[source].custom
            if name in names and custom is not None:
                outputs.append(Decoded(name, source, custom, bool(fill), bool(fill.get("valid"))))
        own = (found.named | set(self._schema)) - found.dropped
        offsets = [n for n in names if n.endswith("_offset") and n not in own]
        ragged = {n.removesuffix("_offset") for n in offsets} - set(found.decoded) - found.strings
        return Decoder(core, self._files, outputs, frozenset(ragged), policy, self._number) if outputs else None

    def _compile(self, pipelines: Pipelines | None) -> Compiled:
        """With what is not wanted dropped, and what is wanted there."""
        schema = self._schema
        found = compile_pipelines(pipelines, schema)
        for name in dict.fromkeys([*found.plain, *self._asked(found)]):
            if name in found.outputs:
                continue
            if name == "row" and self._wants[3]:
                continue
            if name in LOADERS_OWN:
                if not self._wants[LOADERS_OWN.index(name)]:
                    self._complain(name, [])
            elif name in schema and schema[name].is_image:  # images of one size need no more; of others, C complains
                self._check_decode(name)
                found.statements.append(f"{quoted(name)}: decode")
            elif name in schema and schema[name].custom is not None:
                found.decode(itself(name), name)
            elif name not in schema and is_part(name, schema):
                found.statements.append(quoted(name))
                found.named.add(name)
            elif _owner(name) in found.named and name not in schema:
                continue  # x_length: _pick knows whether there is one
            elif name not in schema or not self._is_fixed(name) or schema[name].is_struct:
                self._complain(name, [*schema, *found.named])
            elif name in found.named or name in self._optional:  # it does not come by itself
                found.statements.append(quoted(name))
                found.named.add(name)
        named = found.named | set(found.plain)
        archives = all(info["format"] == "tar" for info in self._files.infos)  # together they have the fields of all
        for name, field in schema.items():
            if (
                name not in self._files.schemas[0] and not archives and not self._packed
            ):  # whose fields are what a pipeline may name
                continue
            # A null in a batch is an error: a field that may have some must be asked for.
            wanted = name in self._fields if self._fields is not None else not field.nullable
            if (
                name in LOADERS_OWN or field.is_struct or field.type_id == MULTIMODAL
            ):  # never an output, no input of drop
                continue
            if wanted and name not in named and self._decodes(name):
                found.decode(itself(name), name)
                named.add(name)
            if not wanted and name not in named and field.known:
                found.statements.append(f"{quoted(name)}: drop")
                found.dropped.add(name)
        self._check_hidden(found)
        found.decoded = {name: what for name, what in found.decoded.items() if self._has(name, name)}
        return found

    def _is_fixed(self, name: str) -> bool:
        """Is it an output without a pipeline: of one shape, by itself or as the view cuts it?"""
        field = self._schema[name]
        cut = name == self._cut or name in self._entries
        cut = cut and field.shape is not None and None not in field.shape[1:]
        return field.is_fixed or cut

    def _check_hidden(self, found: Compiled) -> None:
        """What comes with the bytes of a user-defined field is no output."""
        for name, (_, fill) in found.decoded.items():
            for suffix in ["_offset"] + ["_valid"] * (not fill.get("valid")):
                if name + suffix in (self._fields or ()) and name + suffix not in {*self._schema, *found.named}:
                    self._complain(name + suffix, [*self._schema, *found.named])

    def _has(self, name: str, owner: str) -> bool:
        """Is the output, or the companion of one, among those that were asked for?"""
        fields, schema = self._fields, self._schema
        return fields is None or name in fields or owner in fields or (owner not in schema and not self._alone)

    def _asked(self, found: Compiled) -> list[str]:
        """The fields that are wanted; of a dataset's, not those of which a statement makes something else."""
        made_of = set() if self._alone else found.named - found.outputs
        return [name for name in self._fields or () if name not in made_of]

    def _decodes(self, name: str) -> bool:
        """A user-defined field that is decoded without being asked for?"""
        schema = self._schema
        return schema[name].custom is not None and name + "_offset" not in schema

    def _check_decode(self, name: str) -> None:
        if not self._dataset._view.decode:
            raise ArgumentError(
                f"field {name!r}: the dataset was opened with decode=False, and files of images make no batch; "
                f"say what is to be done with them: {{{name!r}: [mldf.Decode(), ...]}}"
            )

    def _warn(self, left_out: list[str]) -> None:
        schema = self._schema
        own = [n for n in left_out if n in LOADERS_OWN]
        rest = [n for n in left_out if n not in own]
        fixed = [n for n in rest if (self._is_fixed(n) and not schema[n].is_struct) or schema[n].custom]
        null = [n for n in fixed if schema[n].nullable]
        unknown = [n for n in rest if not schema[n].known]
        other = [n for n in rest if n not in null and n not in unknown]
        why = [f"{', '.join(other)} (samples differ in size, or a struct)"] * bool(other)
        why += [f"{', '.join(unknown)} (of a type that is not registered: mldf.register_field)"] * bool(unknown)
        if null:
            why.append(f"{', '.join(null)} (may be null: {{{null[0]!r}: [mldf.Fill(0)]}} gives nulls a value)")
        if own:
            why.append(f"{', '.join(own)} (a name of the loader's own: {{'my_{own[0]} = {own[0]}': []}})")
        warnings.warn(
            f"left out of the batches: {'; '.join(why)}. Give them pipelines, or say which fields= you want.",
            stacklevel=6,  # the caller of Loader(...)
        )

    def _pick(self, outputs: list[Output], found: Compiled) -> tuple[list[int], set[str]]:
        """Which outputs, in the order of the fields, those of another name behind them; and the names of offsets that
        nobody asked for: a sample that Python cannot decode is taken out of its batch by them.
        """
        plain = found.plain
        schema = list(self._schema)
        order = self._fields if self._fields is not None else schema
        index, valid, key, row = self._wants
        needed = key or bool(found.decoded)
        tail = ["index"] * (index or (needed and self._number == "index"))
        tail += ["row"] * (row or (needed and self._number == "row")) + ["valid"] * valid
        owner, owners = "", []  # x_length, x_mask, x_offset, x_valid stay behind x
        have = {o[0] for o in outputs}
        own = (found.named | set(schema)) - found.dropped  # which may have such names themselves
        for i, (name, _, _) in enumerate(outputs):
            companion = owner and name not in own and name in [owner + suffix for suffix in _COMPANIONS]
            owner = owner if companion else name
            owners.append(owner if i < len(outputs) - len(tail) else "")
        for name in [*plain, *self._asked(found)]:
            if name not in have and name not in LOADERS_OWN:
                self._complain(name, [*schema, *have])
        ranks = {name: i for i, name in enumerate(order)}
        # Companions come with their output, unless some of them are named: then those alone.
        choosy = {o for o, (name, _, _) in zip(owners, outputs) if self._alone and name != o and name in ranks}
        choosy -= set(found.decoded)  # which needs them all
        wanted = [
            i
            for i, (o, (name, _, _)) in enumerate(zip(owners, outputs))
            if not o or (self._has(name, o) and (name in ranks or o not in choosy))
        ]
        chosen, offsets = {outputs[i][0] for i in wanted}, []
        if found.decoded:
            offsets = [
                i
                for i, (o, (name, _, _)) in enumerate(zip(owners, outputs))
                if name == o + "_offset" and o in chosen and name not in chosen
            ]
        places = [ranks.get(name, ranks.get(o, len(ranks))) for o, (name, _, _) in zip(owners, outputs)]
        order_of = sorted([*wanted, *offsets], key=lambda i: (not owners[i], places[i], i))
        return order_of, {outputs[i][0] for i in offsets}

    def _complain(self, name: str, names: list[str]) -> None:
        """Of an output that there is not."""
        schema = self._schema
        if name in LOADERS_OWN:
            other = f"; the field of that name comes under another: pipelines={{'my_{name} = {name}': []}}"
            raise ArgumentError(
                f"{name!r} is an output of the loader's own, by {name}=True{other if name in schema else ''}"
            )
        if name not in schema:
            raise NoFieldError(f"there is no field or output {name!r}{near(name, names)}", field=name)
        field = schema[name]
        if field.is_struct:
            members = field.dtype.names if field.dtype is not None and field.dtype.names else ("x",)
            raise ArgumentError(
                f"field {name!r} is a struct: its members can be outputs: "
                + "pipelines={"
                + ", ".join(f"'{m} = {name}.{m}': []" for m in members[:3])
                + "}"
            )
        if not field.known:
            raise ArgumentError(f"field {name!r}: its type is not registered (mldf.register_field)")
        if self._is_fixed(name) or field.is_image or field.custom is not None:
            raise ArgumentError(f"field {name!r}: its pipeline drops it, and fields= wants it")
        raise ArgumentError(
            f"field {name!r} ({field}) has no fixed size: give it a pipeline: {{{name!r}: [mldf.Pad()]}}, say"
        )

    def _finisher(
        self,
        core: _mldf.Loader,
        names: tuple[str, ...],
        given: tuple[str, ...],
        calls: dict[str, list[Callable[[Any], Any]]],
        decoder: Decoder | None,
        strings: tuple[str, ...],
    ) -> Convert | None:
        """What is left to do in Python; None: nothing."""
        key = self._wants[2]
        if self._convert is None and not calls and not key and not self._transforms and not decoder and not strings:
            return None
        convert, transforms, make = self._convert, self._transforms, batch_type(given)
        steps = [(n, calls[n]) for n in names if n in calls]
        plain = not key and not steps and decoder is None and not strings

        def converted(raw: Batch, name: str) -> Any:
            if name in strings:
                return _strings(raw[name], raw[f"{name}_offset"])
            return raw[name] if convert is None else convert(raw[name])

        def decoded(raw: Batch) -> tuple[dict[str, Any], Rows | None]:
            assert decoder is not None
            out, rows = decoder(raw)
            if convert is not None:
                out = {name: mapped(convert, value) for name, value in out.items()}
            for name in given:
                if name not in out and name != "key":
                    out[name] = converted(raw, name)
                    if rows is not None and name in strings:
                        out[name] = [out[name][row] for row in rows.tolist()]
                    elif rows is not None:
                        out[name] = decoder.take(name, out[name], raw, rows)
            return out, rows

        def finish(raw: Batch) -> Any:
            rows = None
            if plain:
                values = raw if convert is None else tuple(convert(v) for v in raw)
            else:
                if decoder is not None:
                    by_name, rows = decoded(raw)
                else:
                    by_name = {name: converted(raw, name) for name in given if name != "key"}
                for name, functions in steps:
                    for function in functions:
                        by_name[name] = _called(name, function, by_name[name])
                if key:
                    index = np.asarray(raw[self._number])
                    by_name["key"] = core.keys(index if rows is None else index[rows])
                values = tuple(by_name[n] for n in given)
            batch: Any = tuple.__new__(make, values)
            for transform in transforms:
                batch = transform(batch)
            return batch

        return finish
