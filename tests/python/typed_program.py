"""What a type checker sees of a user's program: tests/python/test_pkg_types.py gives it to mypy --strict. It is not run."""

from collections.abc import Iterator
from typing import Any, assert_type

import mldf
import numpy as np
import numpy.typing as npt


def write(path: str) -> mldf.WriteResult:
    """Writes samples one by one, and all at once."""
    fields = {"image": mldf.Image(encode="jpeg"), "label": mldf.Int(), "boxes": mldf.NDArray("float32", (None, 4))}
    with mldf.Writer(path, fields, overwrite=True) as writer:
        assert_type(writer, mldf.Writer)
        writer.append({"image": np.zeros((4, 4, 3), np.uint8), "label": 1, "boxes": []}, key="first")
    return mldf.write(path, [{"label": 1}], {"label": mldf.Int()}, overwrite=True)


def read(path: str) -> mldf.Dataset:
    """Looks at samples and fields."""
    dataset = mldf.open(path)
    assert_type(dataset, mldf.Dataset)
    assert_type(len(dataset), int)
    assert_type(dataset[0], mldf.Sample)
    assert_type(dataset[-3:], mldf.Dataset)
    assert_type(dataset.valid("label"), npt.NDArray[np.bool_])
    assert_type(dataset.schema, mldf.Schema)
    sample = dataset[0]
    print(sample.label, sample["label"], dataset.column("label")[:3])
    train, test = dataset.split(0.9, 0.1, by="label")
    assert_type(test, mldf.Dataset)
    return train


def train(dataset: mldf.Dataset) -> dict[str, Any]:
    """Loads batches, looks at what happened, and keeps the state."""
    steps = [mldf.RandomResizedCrop(32), mldf.HorizontalFlip(p=0.5), mldf.Normalize("imagenet"), mldf.CHW("f32")]
    with mldf.Loader(dataset, 16, shuffle=True, pipelines={"image": steps, "boxes": [mldf.Pad()]}) as loader:
        assert_type(len(loader), int)
        assert_type(iter(loader), Iterator[mldf.Batch])
        for batch in loader:
            assert_type(batch, mldf.Batch)
            images, labels, *_ = batch
            print(images.shape, labels.mean(), batch.image, batch["label"])
        stats = loader.stats()
        assert_type(stats, mldf.LoaderStats)
        assert_type(stats.steps, dict[str, float])
        assert_type(stats.samples_per_second, float)
        assert_type(stats.verdict, str)
        return loader.state_dict()


class Words(mldf.CustomField):
    """A field of one's own, with arrays of whole batches."""

    type_name = "org.example.words"

    def encode(self, value: str) -> bytes:
        """Of one sample."""
        return value.encode()

    def decode(self, data: bytes) -> str:
        """Of one sample."""
        return data.decode()

    def decode_batch(self, records: list[bytes]) -> npt.NDArray[np.int64]:
        """Of a batch."""
        return np.array([len(item) for item in records])


def twice(images: Any) -> Any:
    """A callable on the batch."""
    return images * 2


def ways_to_write_pipelines(dataset: mldf.Dataset) -> None:
    """What a Loader takes, a checker takes."""
    mldf.Loader(dataset, pipelines={"image": [mldf.Resize((8, 8)), "hflip", twice], "label": None, "x": "pad", "y": twice})
    mldf.Loader(dataset, pipelines={("image", "seg as mask"): [mldf.HorizontalFlip()], "label": mldf.OneHot(3)})
    mldf.Loader(dataset, pipelines={"image": [mldf.Resize((8, 8)) | mldf.CHW(), [mldf.Cast("f32")], twice]})
    mldf.Loader(dataset, pipelines=[("image", [mldf.Resize((8, 8)), twice]), (("image", "seg"), mldf.HorizontalFlip())])
    shared = {("image", "seg as mask"): [mldf.HorizontalFlip()], "label": None}
    mldf.Loader(dataset, pipelines=shared)


def check(path: str) -> bool:
    """Whole files."""
    assert_type(mldf.pack("photos", path).written, int)
    return mldf.verify(path, deep=True).problems == []


def mistakes(dataset: mldf.Dataset, writer: mldf.Writer) -> None:
    """Every line is wrong, and a checker says so."""
    mldf.Loader(dataset, "16")  # type: ignore[arg-type]
    mldf.RandomResizedCrop("32")  # type: ignore[arg-type]
    mldf.Normalize()  # type: ignore[call-arg]
    mldf.Loader(dataset, 16, shufle=True)  # type: ignore[call-arg]
    mldf.Loader(dataset, pipelines={"image": 3})  # type: ignore[dict-item]
    writer.append(3)  # type: ignore[arg-type]
    dataset.colum("label")  # type: ignore[attr-defined]
    mldf.Image(quality="best")  # type: ignore[arg-type]
