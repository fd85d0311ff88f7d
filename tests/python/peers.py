"""The public names of the libraries that people come from, as they are in the versions that we look at, and which of them
mldf.compat has. docs/migrate-*.md list the others, with the reason.

The lists are checked against the real thing where it is installed: torchvision by `make torch`, FFCV and TurboLoader by
`make interop`.
"""

import importlib
import inspect
import re
import sys

from pages import ROOT

PEERS = {
    "ffcv": {
        "version": "1.0.2",
        "modules": {
            "ffcv.fields": "BytesField Field FloatField IntField JSONField NDArrayField RGBImageField TorchTensorField",
            "ffcv.fields.decoders": """BytesDecoder CenterCropRGBImageDecoder FloatDecoder IntDecoder NDArrayDecoder
                RandomResizedCropRGBImageDecoder SimpleRGBImageDecoder""",
            "ffcv.transforms": """Convert Cutout ImageMixup LabelMixup MixupToOneHot ModuleWrapper NormalizeImage Poison
                RandomBrightness RandomContrast RandomHorizontalFlip RandomResizedCrop RandomSaturation RandomTranslate
                ReplaceLabel Squeeze ToDevice ToTensor ToTorchImage View""",
            "ffcv.loader": "Loader OrderOption",
        },
    },
    "turboloader": {
        "version": "2.39.0",
        "modules": {
            "turboloader": """ArrayDataLoader AutoAugment AutoAugmentPolicy CallableLabelExtractor CenterCrop ColorJitter
                Compose ComposedTransforms CudaImageLoader CudaPrefetcher CudaResidentLoader CudaStreamLoader CudaVideoLoader
                CutMix DataLoader FastDataLoader FilenamePatternExtractor FolderLabelExtractor GaussianBlur GpuImageLoader
                Grayscale GridMask ImageFolderConverter ImageNetNormalize InterpolationMode JSONSidecarExtractor
                JaxDeviceLoader LabelExtractor Loader LogLevel MapDataLoader MemoryEfficientDataLoader
                MetadataLabelExtractor MetadataType MetalImageLoader MetalResidentArrays MetalResidentLoader
                MetalTokenGather MetalVideoLoader MixUp Mosaic Normalize Pad PaddingMode ProgressiveResizeLoader
                PyTorchCompatibleLoader RandAugment RandomAffine RandomCrop RandomErasing RandomHorizontalFlip
                RandomPerspective RandomPosterize RandomRotation RandomSolarize RandomVerticalFlip Resize SampleFormat
                SmartBatchConfig TblRawImageLoader TblReaderV2 TblWriterV2 TensorFormat ToTensor TokenDataLoader
                TransformAdapter VideoDatasetLoader WebDatasetLoader __version__ convert_imagefolder create_loader
                create_pytorch_loader crop_resize_normalize_u8_gather cuda_available cuda_device_name decode_jpeg
                decode_jpeg_region decode_jpeg_scaled default_collate disable_logging enable_logging features
                metal_available metal_device_name normalize_u8_batch normalize_u8_gather preprocess_to_tbl read_files
                set_log_level set_log_output version xla_device_loader"""
        },
    },
    "torchvision": {
        "version": "0.28.0",
        "modules": {
            "torchvision.transforms": """AugMix AutoAugment AutoAugmentPolicy CenterCrop ColorJitter Compose
                ConvertImageDtype ElasticTransform FiveCrop GaussianBlur Grayscale InterpolationMode Lambda
                LinearTransformation Normalize PILToTensor Pad RandAugment RandomAdjustSharpness RandomAffine RandomApply
                RandomAutocontrast RandomChoice RandomCrop RandomEqualize RandomErasing RandomGrayscale
                RandomHorizontalFlip RandomInvert RandomOrder RandomPerspective RandomPosterize RandomResizedCrop
                RandomRotation RandomSolarize RandomVerticalFlip Resize TenCrop ToPILImage ToTensor TrivialAugmentWide""",
            "torchvision.transforms.v2": """AugMix AutoAugment AutoAugmentPolicy CenterCrop ClampBoundingBoxes
                ClampKeyPoints ColorJitter Compose ConvertBoundingBoxFormat ConvertImageDtype CutMix ElasticTransform
                FiveCrop GaussianBlur GaussianNoise Grayscale Identity InterpolationMode JPEG Lambda LinearTransformation
                MixUp Normalize PILToTensor Pad RGB RandAugment RandomAdjustSharpness RandomAffine RandomApply
                RandomAutocontrast RandomChannelPermutation RandomChoice RandomCrop RandomEqualize RandomErasing
                RandomGrayscale RandomHorizontalFlip RandomInvert RandomIoUCrop RandomOrder RandomPerspective
                RandomPhotometricDistort RandomPosterize RandomResize RandomResizedCrop RandomRotation RandomShortestSize
                RandomSolarize RandomVerticalFlip RandomZoomOut Resize SanitizeBoundingBoxes SanitizeKeyPoints ScaleJitter
                SetClampingMode TenCrop ToDtype ToImage ToPILImage ToPureTensor ToTensor Transform TrivialAugmentWide
                UniformTemporalSubsample check_type get_bounding_boxes get_keypoints has_all has_any query_chw
                query_size""",
        },
    },
}


def names(peer):
    return {name for text in PEERS[peer]["modules"].values() for name in text.split()}


def not_here(peer):
    """Name to reason, of the page's table."""
    text = (ROOT / "docs" / f"migrate-{peer}.md").read_text()
    section = text[text.index("## Not here") :].split("\n## ")[0]
    out = {}
    for row in re.findall(r"^\| (`.*?) \| (.*?) \|$", section, re.M):
        out.update(dict.fromkeys(re.findall(r"`(\w+)`", row[0]), row[1]))
    return out


def public(module):
    """What a module says is its own, or all that has no underscore."""
    found = importlib.import_module(module)
    given = getattr(found, "__all__", None)
    return set(given or (n for n in vars(found) if n[0] != "_" and not inspect.ismodule(getattr(found, n))))


_operators = []


def import_torchvision():
    """torchvision's wheel for CUDA finds no CUDA in a PyTorch without it, and then lacks operators that its import asks
    for. Its transforms need none of them: they are declared here, and nothing more.
    """
    try:
        import torchvision
    except RuntimeError as error:
        if "torchvision::nms does not exist" not in str(error):
            raise
        import torch

        for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _operators.append(library)  # as long as they are needed
        import torchvision
    return torchvision


def check_real(peer):
    """The lists are those of the installed package, and our functions take its arguments by the same names."""
    compat = importlib.import_module(f"mldf.compat.{peer}")
    version = importlib.import_module("importlib.metadata").version(peer)
    assert version.split("+")[0] == PEERS[peer]["version"], version
    for module, text in PEERS[peer]["modules"].items():
        assert public(module) == set(text.split()), (module, public(module) ^ set(text.split()))
        for name in sorted(set(text.split()) & set(compat.__all__)):
            check_arguments(getattr(importlib.import_module(module), name), getattr(compat, name), f"{module}.{name}")


def check_arguments(theirs, ours, where):
    if inspect.isclass(ours) and hasattr(ours, "__members__"):
        members = set(getattr(theirs, "__members__", ()))
        assert set(ours.__members__) <= members, where
        return
    for parameter in arguments(theirs):
        taken = arguments(ours)
        assert parameter in taken or "**" in taken, f"{where} has {parameter}, and ours takes {taken}"


def arguments(function):
    """Names; of pybind11's classes from their docstring."""
    text = getattr(getattr(function, "__init__", None), "__doc__", None) or ""
    if inspect.isclass(function) and re.match(r"__init__\(self: ", text):
        return re.findall(r"[(,] (\w+): ", "( " + text.split("\n")[0].split(",", 1)[1]) if "," in text.split("\n")[0] else []
    try:
        signature = inspect.signature(function)
    except ValueError:  # a function of C
        return []
    kinds = {"VAR_KEYWORD": "**", "VAR_POSITIONAL": "*"}
    return [kinds.get(p.kind.name, n) for n, p in signature.parameters.items() if n != "self" and p.kind.name != "VAR_POSITIONAL"]
