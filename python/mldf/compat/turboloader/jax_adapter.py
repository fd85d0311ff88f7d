"""Under TurboLoader's path ``turboloader.jax_adapter``: batches of any loader as jax.Array, copied ahead of use.

``mldf.Loader(output="jax", device=...)`` does it for mldf's own loaders.
"""

from __future__ import annotations

import importlib
import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...errors import ArgumentError

__all__ = ["JaxDeviceLoader", "xla_device_loader"]


class JaxDeviceLoader:
    """The batches of `loader`, which are ``array`` or ``(array, meta)``, with the array on a device.

    sharding    where parts of a batch go; of several processes, a batch is this one's part of the global array
    device      one device; None: JAX's first
    prefetch    batches that are copied ahead
    dtype       cast before the copy
    with_meta   False: the arrays alone
    """

    def __init__(
        self,
        loader: Iterable[Any],
        *,
        sharding: Any = None,
        device: Any = None,
        prefetch: int = 2,
        dtype: Any = None,
        with_meta: bool = True,
    ) -> None:
        jax: Any = importlib.import_module("jax")
        if sharding is not None and device is not None:
            raise ArgumentError("JaxDeviceLoader: sharding= or device=, not both")
        self._jax, self.loader, self.sharding = jax, loader, sharding
        self.device = device if device is not None or sharding is not None else jax.devices()[0]
        self.prefetch, self.with_meta = max(int(prefetch), 1), bool(with_meta)
        self._dtype = None if dtype is None else np.dtype(dtype)

    def _placed(self, item: Any) -> Any:
        values, meta = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
        if hasattr(values, "detach"):  # torch's
            values = values.detach().cpu().numpy()
        array: np.ndarray[Any, Any] = np.asarray(values)
        if self._dtype is not None:
            array = array.astype(self._dtype, copy=False)
        if self.sharding is not None and self._jax.process_count() > 1:
            out = self._jax.make_array_from_process_local_data(self.sharding, array)
        else:
            out = self._jax.device_put(array, self.device if self.sharding is None else self.sharding)
        return (out, meta) if self.with_meta and meta is not None else out

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, if the loader has epochs."""
        if hasattr(self.loader, "set_epoch"):
            self.loader.set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        """An epoch. An error of the loader comes as RuntimeError with its cause."""
        ready: queue.Queue[tuple[str, Any]] = queue.Queue(self.prefetch)
        ended = threading.Event()

        def put(kind: str, value: Any) -> bool:
            while not ended.is_set():
                try:
                    ready.put((kind, value), timeout=0.2)
                    return True
                except queue.Full:
                    continue
            return False

        def produce() -> None:
            try:
                for item in self.loader:
                    if not put("batch", self._placed(item)):
                        return
                put("end", None)
            except Exception as error:  # handed to the thread that iterates
                put("error", error)

        thread = threading.Thread(target=produce, daemon=True, name="mldf-jax")
        thread.start()
        try:
            while True:
                kind, value = ready.get()
                if kind == "end":
                    return
                if kind == "error":
                    raise RuntimeError(f"JaxDeviceLoader: producer failed: {value}") from value
                yield value
        finally:
            ended.set()
            thread.join(5)


def xla_device_loader(loader: Any, device: Any = None, **options: Any) -> Any:
    """PyTorch/XLA's MpDeviceLoader of `loader`; device None: ``xm.xla_device()``."""
    xm = importlib.import_module("torch_xla.core.xla_model")
    parallel = importlib.import_module("torch_xla.distributed.parallel_loader")
    return parallel.MpDeviceLoader(loader, xm.xla_device() if device is None else device, **options)
