"""For the peers' own tests (run_suite.py): CIFAR10 without a download, of made-up images."""

import numpy as np
import pytest

try:
    import torch

    # The PyPI build of torchvision wants CUDA's torch for its C++ operations, which no test calls; declared, it loads.
    _library = torch.library.Library("torchvision", "FRAGMENT")
    for _name in ("nms", "qnms"):
        _library.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision  # noqa: F401
except (ImportError, RuntimeError):
    pass


@pytest.fixture(autouse=True)
def made_up_cifar(monkeypatch, request):
    """torchvision's CIFAR10, wherever a test module has imported it."""
    if not hasattr(request.module, "CIFAR10"):
        return
    from PIL import Image

    class CIFAR10:
        def __init__(self, root, train=True, download=False):
            self.count = 2000 if train else 500

        def __len__(self):
            return self.count

        def __getitem__(self, index):
            draws = np.random.default_rng(index)
            small = draws.integers(0, 256, (4, 4, 3), dtype=np.uint8)
            return Image.fromarray(small).resize((32, 32), Image.BILINEAR), index % 10

    monkeypatch.setattr(request.module, "CIFAR10", CIFAR10)
