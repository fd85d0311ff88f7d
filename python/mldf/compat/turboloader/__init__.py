"""TurboLoader's names: its transforms, its DataLoader and its TBL files (TurboLoader 2.39).

>>> from mldf.compat.turboloader import DataLoader, ImageNetNormalize, Resize
>>> Resize(224, 160) | ImageNetNormalize()
[Resize((160, 224), antialias=False), ImageNetNormalize('imagenet')]

A ``DataLoader`` opens .tbl files, tar archives and all else that mldf reads. What differs: a batch that somebody keeps
is never written again, so pin_memory has no ring; caches are the page cache's business; seeds are the loader's, not
each transform's. docs/migrate-turboloader.md has all of it.
"""

from .loader import DataLoader, FastDataLoader, Loader, create_loader, decode_jpeg, decode_jpeg_scaled
from .mosaic import Mosaic
from .tbl import TblRawImageLoader, preprocess_to_tbl
from .tbl_file import (
    MetadataType,
    SampleFormat,
    TblReaderV2,
    TblWriterV2,
    convert_tar_to_tbl,
    extension_to_format,
    format_to_extension,
)
from .transforms import (
    AutoAugment,
    AutoAugmentPolicy,
    CenterCrop,
    ColorJitter,
    Compose,
    ComposedTransforms,
    CutMix,
    GaussianBlur,
    Grayscale,
    GridMask,
    ImageNetNormalize,
    InterpolationMode,
    MixUp,
    Normalize,
    Pad,
    PaddingMode,
    RandAugment,
    RandomAffine,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomPosterize,
    RandomRotation,
    RandomSolarize,
    RandomVerticalFlip,
    Resize,
    TensorFormat,
    ToTensor,
)

__all__ = [
    "AutoAugment",
    "AutoAugmentPolicy",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ComposedTransforms",
    "CutMix",
    "DataLoader",
    "FastDataLoader",
    "GaussianBlur",
    "Grayscale",
    "GridMask",
    "ImageNetNormalize",
    "InterpolationMode",
    "Loader",
    "MetadataType",
    "MixUp",
    "Mosaic",
    "Normalize",
    "Pad",
    "PaddingMode",
    "RandAugment",
    "RandomAffine",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomPosterize",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "SampleFormat",
    "TblRawImageLoader",
    "TblReaderV2",
    "TblWriterV2",
    "TensorFormat",
    "ToTensor",
    "convert_tar_to_tbl",
    "create_loader",
    "decode_jpeg",
    "decode_jpeg_scaled",
    "extension_to_format",
    "format_to_extension",
    "preprocess_to_tbl",
]
