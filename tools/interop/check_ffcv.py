"""check_ffcv.py GOLDEN OURS: does the real FFCV load from our copies (OURS, made by tests/interop/interop_files.c) what it loads
from its own files (GOLDEN)? Runs in FFCV's own environment (tools/interop/venvs.sh)."""
import pathlib
import sys
import warnings

import numpy as np
from ffcv.fields import NDArrayField
from ffcv.fields.bytes import BytesDecoder, BytesField
from ffcv.fields.decoders import CenterCropRGBImageDecoder
from ffcv.fields.rgb_image import RGBImageField
from ffcv.fields.json import JSONField
from ffcv.loader import Loader, OrderOption
from ffcv.reader import Reader

# Numba's finalizers complain in this combination of versions, about nothing that concerns us.
sys.unraisablehook = lambda *_: None
warnings.simplefilter("ignore")

CUSTOM = {"custom255.beton": {"s": NDArrayField}}


def batches(path, os_cache):
    custom = CUSTOM.get(path.name, {})
    pipelines = {}
    for name, handler in Reader(str(path), custom).handlers.items():
        if isinstance(handler, RGBImageField):
            pipelines[name] = [CenterCropRGBImageDecoder((32, 32), 224 / 256)]
        elif isinstance(handler, JSONField):
            pipelines[name] = [BytesDecoder()]
    loader = Loader(str(path), batch_size=8, num_workers=1, order=OrderOption.SEQUENTIAL, os_cache=os_cache,
                    drop_last=False, custom_fields=custom, pipelines=pipelines)
    # FFCV reuses the memory of a batch: keep copies.
    return [tuple(part.numpy().copy() if hasattr(part, "numpy") else part.copy() for part in batch) for batch in loader]


def lengths(path):
    """Of Bytes and JSON fields: behind a value FFCV leaves what was in the memory before."""
    reader = Reader(str(path), CUSTOM.get(path.name, {}))
    return [reader.metadata[f"f{i}"]["size"] if isinstance(handler, BytesField) else None
            for i, handler in enumerate(reader.handlers.values())]


def check_copy(golden, ours):
    sizes = lengths(golden)
    # Without a single blob FFCV's own cache fails on FFCV's own files too.
    caches = (True, False) if len(Reader(str(golden), CUSTOM.get(golden.name, {})).alloc_table) else (True,)
    for os_cache in caches:
        want, got = batches(golden, os_cache), batches(ours, os_cache)
        assert len(want) == len(got) > 0, (len(want), len(got))
        at = 0
        for a, b in zip(want, got):
            assert len(a) == len(b) == len(sizes)
            for field, (x, y) in enumerate(zip(a, b)):
                assert x.dtype == y.dtype and x.shape == y.shape, (golden.name, field, x.shape, y.shape)
                for k in range(len(x)):
                    end = None if sizes[field] is None else int(sizes[field][at + k])
                    assert np.array_equal(x[k][:end], y[k][:end]), (golden.name, "sample", at + k, "field", field)
            at += len(a[0])


def content(i, size):
    j = np.arange(size, dtype=np.uint64)
    return (i * 31 + (j * j * 7 + (j >> 3) * j if i % 2 else j >> 4)).astype(np.uint8)


def check_large(path):
    """A sample larger than the smallest page, and empty blobs."""
    reader = Reader(str(path))
    assert reader.page_size == 1 << 22, reader.page_size
    i = 0
    for data, number, end in batches(path, False):
        for row, n, e in zip(data, number, end):
            size = int(reader.metadata["f0"]["size"][i])
            assert size == (3000000 if i == 5 else 100000 + i) and int(n[0]) == i
            assert np.array_equal(row[:size], content(i, size)), f"sample {i}"
            assert i % 2 == 0 or e[0] == content(i, 1)[0]
            i += 1
    assert i == 20, i


def main(golden, ours):
    for path in sorted(pathlib.Path(golden).glob("*.beton")):
        check_copy(path, pathlib.Path(ours) / path.name)
        print(f"ok    FFCV loads the same from our {path.name}", flush=True)
    check_large(pathlib.Path(ours) / "large.beton")
    print("ok    FFCV loads large.beton")


main(*sys.argv[1:])
