"""check_turboloader.py FOLDER: does the real TurboLoader read what tests/interop/interop_files.c wrote, and does it write
the same bytes for the same samples? Runs in TurboLoader's own environment (tools/interop/venvs.sh)."""
import json
import pathlib
import sys

import numpy as np
import turboloader as tl

SAMPLES, SIDE = 300, 24
FORMATS = [tl.SampleFormat.UNKNOWN, tl.SampleFormat.JPEG, tl.SampleFormat.PNG, tl.SampleFormat.WEBP,
           tl.SampleFormat.BMP, tl.SampleFormat.TIFF]


def content(i, size):
    j = np.arange(size, dtype=np.uint64)
    values = i * 31 + (j * j * 7 + (j >> 3) * j if i % 2 else j >> 4)
    return values.astype(np.uint8).tobytes()


def sample(i):
    return content(i, i * i * 37 % 5000)


def check_reads(path):
    reader = tl.TblReaderV2(str(path), verify_checksums=True)
    assert reader.num_samples() == SAMPLES, reader.num_samples()
    for i in range(SAMPLES):
        assert reader.read_sample(i) == sample(i), f"{path}: sample {i}"
        info = reader.get_sample_info(i)
        assert (info["width"], info["height"]) == (i * 13 % 1000, i * 17 % 1000), info
        assert info["format"] == FORMATS[i % 6], info
        assert info["has_metadata"] == (i % 3 == 0), info
        if i % 3 == 0:
            text, kind = reader.read_metadata(i)
            assert json.loads(text) == {"label": i % 10} and kind == tl.MetadataType.JSON


def check_same_bytes(path, compressed):
    theirs = path.with_suffix(".theirs")
    writer = tl.TblWriterV2(str(theirs), enable_compression=compressed)
    for i in range(SAMPLES):
        number = writer.add_sample(sample(i), FORMATS[i % 6], width=i * 13 % 1000, height=i * 17 % 1000)
        if i % 3 == 0:
            writer.add_metadata(number, '{"label": %d}' % (i % 10), tl.MetadataType.JSON)
    writer.finalize()
    del writer
    assert theirs.read_bytes() == path.read_bytes(), f"{path}: TurboLoader's own file has other bytes"


def check_raw(path):
    loader = tl.TblRawImageLoader(str(path), batch_size=8, shuffle=False, mean=None, std=None)
    seen = 0
    for batch, meta in loader:
        for image, i in zip(batch, meta["indices"]):
            pixels = np.frombuffer(content(int(i), SIDE * SIDE * 3), np.uint8).reshape(SIDE, SIDE, 3)
            assert np.allclose(np.asarray(image), pixels.transpose(2, 0, 1) / 255.0, atol=1e-6), f"image {i}"
            seen += 1
    assert seen == 40, seen


def main(folder):
    folder = pathlib.Path(folder)
    for name, compressed in (("plain.tbl", False), ("lz4.tbl", True)):
        check_reads(folder / name)
        check_same_bytes(folder / name, compressed)
        print(f"ok    TurboLoader {tl.__version__} reads {name}, and writes the same bytes")
    check_raw(folder / "raw.tbl")
    print(f"ok    TurboLoader {tl.__version__} trains from raw.tbl")


main(sys.argv[1])
