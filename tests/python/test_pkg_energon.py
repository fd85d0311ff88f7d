"""Tars with the members of Energon's sample types: captions, questions, OCR, interleaved documents."""

import io
import json
import tarfile

import mldf
import numpy as np
import pytest

RNG = np.random.default_rng(3)


def png():
    return mldf.images.encode(RNG.integers(0, 255, (8, 9, 3), dtype=np.uint8), "png")


def tar(path, members):
    with tarfile.open(path, "w") as out:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return path


SAMPLES = {
    "captioning": [{"png": png(), "txt": f"caption {i}".encode()} for i in range(3)],
    "vqa": [
        {"png": png(), "context.txt": f"question {i}".encode(), "answers.json": json.dumps([f"a{i}", "b"]).encode()}
        for i in range(3)
    ],
    "multi_choice_vqa": [
        {
            "png": png(),
            "json": json.dumps({"context": "q", "choices": ["x", "y"], "correct_choice_idx": i % 2}).encode(),
        }
        for i in range(3)
    ],
    "ocr": [
        {"png": png(), "txt": b"all words", "words.json": json.dumps([{"text": "all", "boxes": [0, 1, 2, 3]}]).encode()}
        for _ in range(3)
    ],
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_each_extension_is_a_field(tmp_path, kind):
    samples = SAMPLES[kind]
    members = {f"{i:03}.{ending}": data for i, sample in enumerate(samples) for ending, data in sample.items()}
    mldf.pack(tar(tmp_path / "e.tar", members), tmp_path / "e.mldf")
    with mldf.open(tmp_path / "e.mldf") as ds:
        assert len(ds) == 3 and list(ds.keys) == ["000", "001", "002"]
        assert len(ds.schema) == len(samples[0])
        for i, sample in enumerate(samples):
            for ending, data in sample.items():
                value = ds[i][ending]
                if ending == "png":
                    np.testing.assert_array_equal(value, mldf.images.decode(data))
                elif ending.endswith("txt"):
                    assert value == data.decode()
                else:
                    assert value == json.loads(data)


def test_interleaved_samples_are_documents(tmp_path):
    sequence = [png(), "one", "two", png()]
    members = {}
    for i, part in enumerate(sequence):
        text = isinstance(part, str)
        members[f"000.{i}.{'txt' if text else 'png'}"] = part.encode() if text else part
    mldf.from_documents(tar(tmp_path / "e.tar", members), tmp_path / "e.mldf", format="webdataset")
    with mldf.open(tmp_path / "e.mldf") as ds:
        parts = list(ds[0].doc)
        assert [part.role for part in parts] == ["image", "text", "text", "image"]
        for part, given in zip(parts, sequence, strict=True):
            if isinstance(given, str):
                assert part.value == given
            else:
                np.testing.assert_array_equal(part.value, mldf.images.decode(given))
