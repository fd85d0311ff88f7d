"""FFCV's mixup: each sample with the one before it in the batch, on whole batches in Python.

Lambda depends on seed, epoch and the batch's samples alone, so an image's is its label's.
:class:`mldf.MixUp` mixes in C threads, with a lambda for each sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..host import Context, Host, is_tensor

__all__ = ["ImageMixup", "LabelMixup", "MixupToOneHot"]


class _Mixup(Host):
    def __init__(self, alpha: float, same_lambda: bool = True) -> None:
        self.alpha, self.same_lambda = alpha, same_lambda

    def lambdas(self, count: int, context: Context) -> np.ndarray[Any, Any]:
        """One for each sample, or the same for all."""
        random = context.random()
        if self.same_lambda:
            return np.full(count, random.beta(self.alpha, self.alpha))
        return random.beta(self.alpha, self.alpha, count)


class ImageMixup(_Mixup):
    """lambda of an image and 1 - lambda of the one before it; integers are cut, as FFCV does."""

    def host(self, value: Any, context: Context) -> Any:
        """Image by image: no copy of the batch in floats."""
        lambdas = self.lambdas(len(value), context)
        if is_tensor(value):
            import torch

            weights = torch.from_numpy(lambdas).to(value.device, torch.float32).view(-1, *[1] * (value.dim() - 1))
            return (value * weights + value.roll(1, 0) * (1 - weights)).to(value.dtype)
        out = np.empty_like(value)
        for i, weight in enumerate(lambdas.astype(np.float32)):
            out[i] = weight * value[i] + (1 - weight) * value[i - 1]
        return out


class LabelMixup(_Mixup):
    """(label, label of the sample before, lambda)."""

    def host(self, value: Any, context: Context) -> Any:
        """(B, 3), float32."""
        labels = (value.cpu().numpy() if is_tensor(value) else np.asarray(value)).reshape(len(value))
        out = np.stack([labels, np.roll(labels, 1), self.lambdas(len(labels), context)], 1).astype(np.float32)
        if not is_tensor(value):
            return out
        import torch

        return torch.from_numpy(out).to(value.device)


class MixupToOneHot(Host):
    """From (label, other label, lambda) to a vector. Where both labels are one class, its weight is 1."""

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes

    def host(self, value: Any, context: Context) -> Any:
        """(B, num_classes), float32."""
        del context
        if not is_tensor(value):
            out = np.zeros((len(value), self.num_classes), np.float32)
            rows = np.arange(len(value))
            np.add.at(out, (rows, value[:, 0].astype(np.intp)), value[:, 2])
            np.add.at(out, (rows, value[:, 1].astype(np.intp)), 1 - value[:, 2])
            return out
        import torch

        result = torch.zeros(len(value), self.num_classes, device=value.device)
        result.scatter_add_(1, value[:, :1].long(), value[:, 2:])
        return result.scatter_add_(1, value[:, 1:2].long(), 1 - value[:, 2:])
