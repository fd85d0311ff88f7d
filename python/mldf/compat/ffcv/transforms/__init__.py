"""Under FFCV's path ``ffcv.transforms``: images.py has those that run for each sample, ops.py, common.py and mixup.py
those of whole batches.
"""

import sys

from . import images
from .common import Squeeze
from .images import (
    Cutout,
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
)
from .mixup import ImageMixup, LabelMixup, MixupToOneHot
from .ops import Convert, ModuleWrapper, ToDevice, ToTensor, ToTorchImage, View

__all__ = [
    "Convert",
    "Cutout",
    "ImageMixup",
    "LabelMixup",
    "MixupToOneHot",
    "ModuleWrapper",
    "NormalizeImage",
    "Poison",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomSaturation",
    "RandomSolarization",
    "RandomTranslate",
    "ReplaceLabel",
    "Squeeze",
    "ToDevice",
    "ToTensor",
    "ToTorchImage",
    "View",
]

# FFCV has a module for each of these; programs import from them.
for _name in (
    "color_jitter",
    "cutout",
    "flip",
    "normalize",
    "poisoning",
    "random_resized_crop",
    "replace_label",
    "translate",
):
    sys.modules[f"{__name__}.{_name}"] = images
sys.modules[f"{__name__}.module"] = sys.modules[f"{__name__}.ops"]
