"""What users write first: whole tasks, checked against numbers that were computed another way."""

import mldf
import numpy as np
import pytest

rng = np.random.default_rng(5)


def detection(path, samples=12, encode="raw"):
    """Pictures of different sizes with a mask, one to three boxes and as many points."""
    fields = {
        "image": mldf.Image(encode=encode),
        "seg": mldf.Image(),
        "boxes": mldf.NDArray("float32", (None, 4)),
        "points": mldf.NDArray("float32", (None, 2)),
    }
    out = []
    for i in range(samples):
        height, width = 60 + 5 * i, 100 - 3 * i
        mask = np.zeros((height, width), np.uint8)
        x0, y0, x1, y1 = width // 5, height // 4, width // 2, height - 9
        mask[y0:y1, x0:x1] = 7
        picture = rng.integers(0, 255, (height, width, 3), np.uint8)
        boxes = np.array([[x0, y0, x1, y1]] * (1 + i % 3), np.float32)
        out.append({"image": picture, "seg": mask, "boxes": boxes, "points": boxes[:, :2].copy()})
    mldf.write(path, out, fields)
    return out


@pytest.mark.parametrize("encode", ["raw", "jpeg"])
@pytest.mark.parametrize("last", ["pad(value=-1)", "ragged"])
def test_boxes_of_any_number_move_with_their_picture(tmp_path, encode, last):
    samples = detection(tmp_path / "d.mldf", encode=encode)
    group = "image, seg as mask, boxes as boxes, points as points"
    steps = [(group, "resize([64, 96])"), ("boxes", last), ("points", last)]
    seen = 0
    for batch in mldf.Loader(tmp_path / "d.mldf", 5, index=True, pipelines=steps):
        for row, i in enumerate(batch.index.tolist()):
            boxes, (height, width) = samples[i]["boxes"], samples[i]["seg"].shape
            if last == "ragged":
                got = batch.boxes[batch.boxes_offset[row] : batch.boxes_offset[row + 1]]
                points = batch.points[batch.points_offset[row] : batch.points_offset[row + 1]]
            else:
                got, points = batch.boxes[row, : len(boxes)], batch.points[row, : len(boxes)]
                assert batch.boxes_length[row] == batch.points_length[row] == len(boxes)
                assert (batch.boxes[row, len(boxes) :] == -1).all()
            scale = np.array([96 / width, 64 / height] * 2)
            np.testing.assert_allclose(got, boxes * scale, rtol=1e-5)
            np.testing.assert_allclose(points, boxes[:, :2] * scale[:2], rtol=1e-5)
            seen += 1
    assert seen == len(samples)


def test_boxes_of_any_number_in_random_crops_lie_around_their_mask(tmp_path):
    detection(tmp_path / "d.mldf")
    steps = [("image, seg as mask, boxes as boxes", "random_resized_crop([80, 80], scale=[0.5, 1]) | hflip | vflip")]
    told = 0
    loader = mldf.Loader(tmp_path / "d.mldf", 4, pipelines=[*steps, ("boxes", "pad"), ("points", None)])
    for _ in range(4):
        for batch in loader:
            for mask, (x0, y0, x1, y1) in zip(batch.seg[..., 0], batch.boxes[:, 0]):
                ys, xs = np.nonzero(mask)
                if len(xs):
                    found = [xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]
                    np.testing.assert_allclose([x0, y0, x1, y1], found, atol=1.6)
                    told += 1
    assert told > 20
