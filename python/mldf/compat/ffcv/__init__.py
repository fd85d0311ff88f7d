"""FFCV's names: fields, decoders, transforms, DatasetWriter and Loader (FFCV 1.0.2), also under FFCV's module paths, so
that ``ffcv`` becomes ``mldf.compat.ffcv`` in the import lines of a program.

>>> from mldf.compat.ffcv.fields.decoders import RandomResizedCropRGBImageDecoder
>>> from mldf.compat.ffcv.loader import Loader, OrderOption
>>> from mldf.compat.ffcv.transforms import ToTensor, ToTorchImage

A ``Loader`` opens the .beton files that FFCV wrote, and all else that mldf reads. What differs: nothing is compiled by
Numba, so own operations run as Python on whole batches; seed defaults to 0. docs/migrate-ffcv.md has all of it.
"""

from .fields import BytesField, Field, FloatField, IntField, JSONField, NDArrayField, RGBImageField, TorchTensorField
from .fields.decoders import (
    BytesDecoder,
    CenterCropRGBImageDecoder,
    FloatDecoder,
    IntDecoder,
    NDArrayDecoder,
    RandomResizedCropRGBImageDecoder,
    SimpleRGBImageDecoder,
)
from .loader import Loader, OrderOption
from .pipeline import AllocationQuery, Compiler, Operation, PipelineSpec, State
from .reader import Reader
from .transforms import (
    Convert,
    Cutout,
    ImageMixup,
    LabelMixup,
    MixupToOneHot,
    ModuleWrapper,
    NormalizeImage,
    Poison,
    RandomBrightness,
    RandomColorJitter,
    RandomContrast,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomSaturation,
    RandomSolarization,
    RandomTranslate,
    ReplaceLabel,
    Squeeze,
    ToDevice,
    ToTensor,
    ToTorchImage,
    View,
)
from .traversal_order import TraversalOrder
from .writer import DatasetWriter

__all__ = [
    "AllocationQuery",
    "BytesDecoder",
    "BytesField",
    "CenterCropRGBImageDecoder",
    "Compiler",
    "Convert",
    "Cutout",
    "DatasetWriter",
    "Field",
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
    "Operation",
    "OrderOption",
    "PipelineSpec",
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
    "Reader",
    "ReplaceLabel",
    "SimpleRGBImageDecoder",
    "Squeeze",
    "State",
    "ToDevice",
    "ToTensor",
    "ToTorchImage",
    "TorchTensorField",
    "TraversalOrder",
    "View",
]
