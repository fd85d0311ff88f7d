"""verify --deep of TBL files whose index says JPEG: what no decoder takes is a problem, told with its sample."""

from __future__ import annotations

import mldf
import pkg
import pytest
from mldf.compat import turboloader

GOOD = mldf.images.encode(pkg.image(1, 40, 50), "jpeg")
BAD = {
    "not an image": b"no JPEG at all, but text of some length" * 4,
    "cut": GOOD[: len(GOOD) // 3],
    "a PNG cut": mldf.images.encode(pkg.image(1), "png")[:60],
    "soi and noise": b"\xff\xd8\xff" + bytes(range(256)) * 4,
    "empty": b"\xff\xd8",
}


@pytest.mark.parametrize("lz4", [False, True])
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_a_sample_that_the_index_calls_jpeg_and_no_decoder_takes(tmp_path, bad, lz4):
    path = tmp_path / "a.tbl"
    with turboloader.TblWriterV2(str(path), enable_compression=lz4) as writer:
        for data in (GOOD, bad, GOOD):
            writer.add_sample(data, turboloader.SampleFormat.JPEG, 50, 40)
    deep = mldf.verify(path, deep=True)
    assert not deep.ok and deep.good_samples == 2, deep
    assert {p.sample for p in deep.problems} == {1} and {p.field for p in deep.problems} == {"image"}
    assert mldf.verify(path).ok  # the bytes are as they were written


def test_bytes_that_the_index_does_not_call_an_image_are_fine(tmp_path):
    path = tmp_path / "a.tbl"
    with turboloader.TblWriterV2(str(path)) as writer:
        writer.add_sample(b"anything", turboloader.SampleFormat.UNKNOWN, 0, 0)
    assert mldf.verify(path, deep=True).ok
