"""Pad of images from Python: what detection and segmentation train on."""

import mldf
import numpy as np
import pytest

SIZES = [(40, 61), (64, 33), (50, 50), (17, 20), (31, 64)]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("pad") / "detect.mldf"
    schema = {"image": mldf.Image(), "seg": mldf.Image(), "boxes": mldf.NDArray("float32", (None, 4))}
    with mldf.Writer(path, schema) as writer:
        for i, (height, width) in enumerate(SIZES):
            image = rng.integers(0, 256, (height, width, 3), np.uint8)
            boxes = np.tile(np.float32([1, 2, width, height]), (1 + i % 3, 1))
            writer.append({"image": image, "seg": image[..., :1] // 64, "boxes": boxes})
    return path


def test_images_masks_and_boxes_of_a_batch_belong_together(path):
    steps = {
        "image, seg as mask, boxes as boxes": [mldf.HorizontalFlip(1.0)],
        "image": [mldf.Pad(multiple=32, mask=True)],
        "seg": [mldf.Pad(value=255, multiple=32)],
        "boxes": [mldf.Pad(value=-1)],
    }
    for batch in mldf.Loader(path, 2, pipelines=steps, threads=2, index=True):
        sizes = [SIZES[i] for i in batch.index]
        most = [-(-max(side) // 32) * 32 for side in zip(*sizes, strict=True)]
        assert batch.image.shape == (len(sizes), *most, 3) and batch.seg.shape == (len(sizes), *most, 1)
        assert batch.image_length.tolist() == [list(size) for size in sizes]
        for i, (height, width) in enumerate(sizes):
            want = mldf.open(path)[int(batch.index[i])]
            np.testing.assert_array_equal(batch.image[i, :height, :width], want.image[:, ::-1])
            np.testing.assert_array_equal(batch.seg[i, :height, :width].squeeze(), want.seg[:, ::-1].squeeze())
            assert not batch.image[i, height:].any() and not batch.image[i, :, width:].any()
            assert (batch.seg[i, height:] == 255).all() and (batch.seg[i, :, width:] == 255).all()
            assert batch.image_mask[i].sum() == height * width and batch.image_mask[i, :height, :width].all()
            assert batch.boxes[i, 0].tolist() == [0, 2, width - 1, height]  # mirrored, and not moved by the padding


def test_a_fixed_size_and_both_layouts(path):
    planar, plain = (
        next(iter(mldf.Loader(path, 5, pipelines={"image": [*steps, mldf.Pad([64, 96])]})))
        for steps in ([mldf.CHW("u8")], [])
    )
    assert planar.image.shape == (5, 3, 64, 96) and plain.image.shape == (5, 64, 96, 3)
    np.testing.assert_array_equal(planar.image, plain.image.transpose(0, 3, 1, 2))
    with pytest.raises(mldf.Error, match=r"an image of 64 x 33 x 3 is larger than pad's 48 x 64"):
        next(iter(mldf.Loader(path, 5, pipelines={"image": [mldf.Pad([48, 64])]})))
    with pytest.raises(ValueError, match="length 50 is not a multiple of 32"):
        mldf.Loader(path, 5, pipelines={"image": [mldf.Pad(50, multiple=32)]})


def test_lists_are_filled_up_to_a_multiple(path):
    batch = next(
        iter(
            mldf.Loader(
                path, 5, pipelines={"boxes": [mldf.Pad(multiple=8)], "image": [mldf.Drop()], "seg": [mldf.Drop()]}
            )
        )
    )
    assert batch.boxes.shape == (5, 8, 4) and batch.boxes_length.tolist() == [1, 2, 3, 1, 2]


@pytest.mark.parametrize("last", ["keep", "drop"])
def test_a_budget_of_pixels_is_kept_and_its_batches_are_counted(tmp_path, last):
    rng = np.random.default_rng(7)
    sizes = rng.integers(8, 70, (60, 2))
    with mldf.Writer(tmp_path / "p.mldf", {"image": mldf.Image()}) as writer:
        writer.extend({"image": np.full((*size, 3), i, np.uint8)} for i, size in enumerate(sizes))
    steps = {"image": [mldf.HorizontalFlip(), mldf.Pad(multiple=16)]}
    budget = 6 * 64 * 64 * 3
    loader = mldf.Loader(
        tmp_path / "p.mldf", shuffle=True, pipelines=steps, bucket="image", bucket_window=25, budget=budget, last=last
    )
    lengths = []
    for _ in range(3):
        lengths.append(len(loader))
        batches = list(loader)
        assert len(batches) == lengths[-1]
        for batch in batches:
            _, height, width, _ = batch.image.shape
            assert height % 16 == width % 16 == 0 and (len(batch.image) == 1 or batch.image.size <= budget)
        if last == "keep":
            assert sum(len(b.image) for b in batches) == len(sizes)
    assert max(lengths) > 1
