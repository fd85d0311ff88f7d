"""What TurboLoader says of itself, its log, and its helpers for arrays of pixels and files."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ArgumentError

__all__ = [
    "LogLevel",
    "cuda_available",
    "cuda_device_name",
    "disable_logging",
    "enable_logging",
    "features",
    "metal_available",
    "metal_device_name",
    "normalize_u8_batch",
    "normalize_u8_gather",
    "read_files",
    "set_log_level",
    "set_log_output",
    "version",
]

__version__ = "2.39.0"  # of TurboLoader, whose names these are


def version() -> str:
    """The version of TurboLoader whose names these are; :data:`mldf.__version__` is mldf's."""
    return __version__


def features() -> dict[str, Any]:
    """What is here, under the names that TurboLoader gives it."""
    here = (
        "distributed_training tar_support jpeg_decode png_decode webp_decode simd_acceleration autoaugment "
        "pytorch_tensors tensorflow_tensors lanczos_interpolation pipe_operator"
    )
    lacking = (
        "remote_tar http_support s3_support gcs_support azure_support hdf5_support tfrecord_support zarr_support "
        "coco_voc_support io_uring gpu_transforms nvjpeg_decode metal_gpu_transforms smart_batching lock_free_queues"
    )
    found: dict[str, Any] = {"version": __version__, "num_transforms": 26}
    return found | dict.fromkeys(here.split(), True) | dict.fromkeys(lacking.split(), False)


def cuda_available() -> bool:
    """No: images are decoded on CPUs. mldf.Loader(device="cuda") copies batches to one."""
    return False


def cuda_device_name() -> str:
    """None."""
    return ""


def metal_available() -> bool:
    """No."""
    return False


def metal_device_name() -> str:
    """None."""
    return ""


# ---- the log, which is Python's ----

_log = logging.getLogger("mldf.compat.turboloader")


class LogLevel(IntEnum):
    """As Python's logging has them."""

    DEBUG = logging.DEBUG
    INFO = logging.INFO
    WARNING = logging.WARNING
    ERROR = logging.ERROR
    CRITICAL = logging.CRITICAL


def enable_logging() -> None:
    """The logger "mldf.compat.turboloader" speaks."""
    _log.disabled = False


def disable_logging() -> None:
    """And is silent."""
    _log.disabled = True


def set_log_level(level: LogLevel) -> None:
    """The least that is said."""
    _log.setLevel(int(level))


def set_log_output(path: Any) -> None:
    """A file; "": as the program has set logging up."""
    for handler in [h for h in _log.handlers if isinstance(h, logging.FileHandler)]:
        _log.removeHandler(handler)
        handler.close()
    if path:
        _log.addHandler(logging.FileHandler(path, delay=True))


# ---- arrays and files ----


def normalize_u8_batch(input: Any, output: Any, mean: Any = None, std: Any = None, scale01: bool = True) -> None:
    """uint8 (N, H, W, 3) as floats (N, 3, H, W), into `output`: divided by 255, less the mean, by std."""
    normalize_u8_gather(input, np.arange(len(input)), output, mean, std, scale01)


def normalize_u8_gather(
    dataset: Any, indices: Any, output: Any, mean: Any = None, std: Any = None, scale01: bool = True
) -> None:
    """The same of some images; `output` is (B, 3, H, W) or (B, H, W, 3)."""
    images, chosen = np.asanyarray(dataset), np.asarray(indices)
    if (mean is None) != (std is None):
        raise ArgumentError("mean and std: both are needed, or neither")
    if images.ndim != 4 or images.shape[3] != 3 or images.dtype != np.uint8:
        raise ArgumentError(f"uint8 (N, H, W, 3) is needed, not {images.dtype} {images.shape}")
    if len(chosen) and not (chosen.min() >= 0 and chosen.max() < len(images)):
        raise ArgumentError(f"indices out of range: {chosen.min()} to {chosen.max()} of {len(images)} images")
    shape = (len(chosen), *images.shape[1:])
    planar = (shape[0], 3, shape[1], shape[2])
    if output.shape not in (shape, planar) or output.dtype not in (np.float32, np.float16):
        raise ArgumentError(
            f"output: {output.dtype} {output.shape}; {planar} or {shape} of float32 or float16 is needed"
        )
    if not output.flags.c_contiguous:
        raise ArgumentError("output: its memory must be contiguous")
    values = images[chosen].astype(np.float32)
    if scale01:
        values /= np.float32(255)
    if mean is not None:
        values = (values - np.asarray(mean, np.float32)) / np.asarray(std, np.float32)
    output[...] = values.transpose(0, 3, 1, 2) if output.shape == planar else values


def read_files(paths: Sequence[Any]) -> list[bytes]:
    """The bytes of files; b"" of one that cannot be read."""
    out: list[bytes] = []
    for path in paths:
        try:
            out.append(Path(path).read_bytes())
        except OSError:
            out.append(b"")
    return out
