"""mldf: datasets for machine learning, of any modality, in one file.

>>> import mldf, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "flowers.mldf")
>>> with mldf.Writer(path, {"petal": mldf.NDArray("float32", (2,)), "label": mldf.Int()}) as w:
...     w.append({"petal": [1.4, 0.2], "label": 0})
...     w.append({"petal": [4.7, 1.4], "label": 1})
>>> ds = mldf.open(path)
>>> ds[1]
Sample(petal=float32[2], label=1)
>>> ds.column("label")
array([0, 1])

Reading: :func:`open` and :class:`Dataset`. Writing: :class:`Writer` and :func:`write`, with the field types
:class:`Int`, :class:`Float`, :class:`Bytes`, :class:`Text`, :class:`Json`, :class:`NDArray`, :class:`Struct`,
:class:`Image`, :class:`Audio`, :class:`AudioSpectrogram`, :class:`CodecTokens`, :class:`Tokens`,
:class:`TokenStream`, :class:`PackedTokens`, :class:`HierarchicalTokens` and your own
(:class:`CustomField`). Whole files: :func:`pack`, :func:`convert`,
:func:`merge`, :func:`split` and the rest of what the command
``mldf`` does. What can go wrong: :mod:`mldf.errors`. Images alone: :mod:`mldf.images`. NumPy is all that is needed;
PyTorch and Pillow are used when their objects are given. Batches: :class:`Loader`; the steps of its pipelines are in
:mod:`mldf.ops`, and the well-known ones here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import errors, images, ops
from ._mldf import features as _features
from ._mldf import version as __version__
from .audio import Audio, CompressedAudio, Recording
from .batch import Batch
from .dataset import Dataset, open
from .documents import Interleaved, from_documents, interleave
from .engine import Engine
from .errors import Error
from .export_documents import to_documents
from .fields import (
    AudioSpectrogram,
    Bytes,
    CodecTokens,
    CustomField,
    Field,
    Float,
    Image,
    Int,
    Json,
    NDArray,
    Struct,
    Text,
    register_field,
    schema_json,
)
from .keys import Keys
from .lerobot import from_lerobot
from .loader import Loader
from .loader_state import Place
from .loader_stats import LoaderStats
from .look import diff, info, plan, plan_tokens, stats, verify
from .multimodal import Multimodal, SamplePart
from .ops import *  # noqa: F403  # a class for every operation; __all__ names the well-known ones
from .packed_documents import pack_documents
from .per_sample import PerSample
from .pipeline import CFunction, CSource, Operation
from .progress import Progress
from .results import Difference, DiffResult, Leftover, Part, Problem, Result, Skip, VerifyResult
from .sample import Sample
from .schema import FieldInfo, Schema
from .tokens import HierarchicalTokens, PackedTokens, Tokens, TokenStream
from .tool_options import OutputOptions
from .tools import add_field, append, clean, convert, extract, merge, pack, repack, repair, select, split
from .video import CompressedVideo, Frames, OpticalFlow, Video, VideoFrames
from .views import ItemView, Piece
from .writer import Writer, WriteResult, WriterOptions, write

__all__ = [
    "Audio",
    "AudioSpectrogram",
    "Batch",
    "Bytes",
    "CFunction",
    "CSource",
    "CodecTokens",
    "CompressedAudio",
    "CompressedVideo",
    "CustomField",
    "Dataset",
    "DiffResult",
    "Difference",
    "Error",
    "Field",
    "FieldInfo",
    "Float",
    "Frames",
    "HierarchicalTokens",
    "Image",
    "Int",
    "Interleaved",
    "ItemView",
    "Json",
    "Keys",
    "Leftover",
    "Engine",
    "Loader",
    "LoaderStats",
    "Multimodal",
    "NDArray",
    "Operation",
    "OpticalFlow",
    "OutputOptions",
    "PackedTokens",
    "PerSample",
    "Part",
    "Piece",
    "Place",
    "Problem",
    "Progress",
    "Recording",
    "Result",
    "Sample",
    "SamplePart",
    "Schema",
    "Skip",
    "Struct",
    "Text",
    "TokenStream",
    "Tokens",
    "VerifyResult",
    "Video",
    "VideoFrames",
    "WriteResult",
    "Writer",
    "WriterOptions",
    "__version__",
    "add_field",
    "append",
    "clean",
    "convert",
    "diff",
    "errors",
    "extract",
    "features",
    "from_documents",
    "from_lerobot",
    "images",
    "info",
    "interleave",
    "merge",
    "open",
    "ops",
    "pack",
    "pack_documents",
    "plan",
    "plan_tokens",
    "register_field",
    "repack",
    "repair",
    "schema_json",
    "select",
    "split",
    "stats",
    "to_documents",
    "verify",
    "write",
]
# The operations that most pipelines are made of; mldf.ops has all.
__all__ += [
    "Affine",
    "AutoAugment",
    "CHW",
    "Cast",
    "CenterCrop",
    "CenterResizedCrop",
    "Clip",
    "ColorJitter",
    "CutMix",
    "Cutout",
    "Decode",
    "DecodeAudio",
    "DecodeVideo",
    "Drop",
    "Erasing",
    "Expr",
    "Fbank",
    "Fill",
    "GaussianBlur",
    "Grayscale",
    "HWC",
    "HorizontalFlip",
    "LabelMixUp",
    "LabelSmoothing",
    "MFCC",
    "Mel",
    "MixUp",
    "Mono",
    "Normalize",
    "OneHot",
    "Pad",
    "Perspective",
    "Ragged",
    "RandAugment",
    "RandomCrop",
    "RandomGrayscale",
    "RandomResizedCrop",
    "Resample",
    "Reshape",
    "Resize",
    "Rotate",
    "SpecAugment",
    "Spectrogram",
    "Stack",
    "Strings",
    "ToFloat",
    "TrivialAugment",
    "VerticalFlip",
    "Window",
]


def __dir__() -> list[str]:
    return [*__all__, "compat"]


if not _TYPE_CHECKING:  # which would take every name for known

    def __getattr__(name: str) -> _Any:
        """Only of names that there are not."""
        from .habits import MODULE
        from .suggest import nearest

        hint = "" if name.startswith("_") else nearest(name, [*__all__, *ops.__all__])
        hint = f"; here it is {MODULE[name]}" if name in MODULE else hint
        raise AttributeError(f"module 'mldf' has no attribute {name!r}{hint}")


features: tuple[str, ...] = tuple(_features.split())
"""The optional parts of this build: "zstd", "sodium", "webp" ..."""
