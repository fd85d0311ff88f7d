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


@pytest.fixture(scope="module")
def squares(tmp_path_factory):
    """48 pictures of 40 x 50 pixels, labels 0 to 2."""
    path = tmp_path_factory.mktemp("users") / "squares.mldf"
    pictures = rng.integers(0, 255, (48, 40, 50, 3), np.uint8)
    fields = {"image": mldf.Image(encode="raw"), "label": mldf.Int()}
    mldf.write(path, [(p, i % 3) for i, p in enumerate(pictures)], fields)
    return path


def test_ffcv_decoders_grow_between_epochs(squares):
    from mldf.compat import ffcv

    decoder = ffcv.RandomResizedCropRGBImageDecoder((16, 16))
    pipelines = {"image": [decoder, ffcv.RandomHorizontalFlip()], "label": [ffcv.IntDecoder(), ffcv.Squeeze()]}
    loader = ffcv.Loader(squares, 8, order=ffcv.OrderOption.RANDOM, pipelines=pipelines)
    plain = mldf.Loader(squares, 8, order="random", drop_last=True, pipelines="image: resize([8, 8])")
    for size in (16, 24, 24, 32):
        decoder.output_size = (size, size)
        assert decoder.output_size == (size, size)
        plain.pipelines = {"image": [mldf.RandomResizedCrop(size, filter="area"), mldf.HorizontalFlip()]}
        for ours, theirs in zip(loader, plain, strict=True):
            assert ours.image.shape == (8, size, size, 3)
            np.testing.assert_array_equal(ours.image, theirs.image)
    with pytest.raises(mldf.Error):
        decoder.output_size = (0, 8)
    assert decoder.output_size == (32, 32) and decoder.text == mldf.RandomResizedCrop((32, 32), filter="area").text


def test_ffcv_decoders_set_behind_a_loaded_state_go_on_there(squares):
    from mldf.compat import ffcv

    def make(size):
        decoder = ffcv.CenterCropRGBImageDecoder((size, size), 1)
        pipelines = {"image": [decoder], "label": [ffcv.IntDecoder()]}
        return decoder, ffcv.Loader(squares, 8, order=ffcv.OrderOption.RANDOM, pipelines=pipelines, index=True)

    _, first = make(32)
    batches = iter(first)
    next(batches)
    state = first.state_dict()
    decoder, second = make(16)
    second.load_state_dict(state)
    decoder.output_size = (32, 32)
    for a, b in zip(batches, second, strict=True):
        np.testing.assert_array_equal(a.index, b.index)
        np.testing.assert_array_equal(a.image, b.image)


def test_ffcv_loader_takes_other_pipelines_of_ffcv(squares):
    from mldf.compat import ffcv

    loader = ffcv.Loader(squares, 8, pipelines={"image": [ffcv.CenterCropRGBImageDecoder((16, 16), 1)]})
    loader.pipelines = {"image": [ffcv.CenterCropRGBImageDecoder((20, 20), 1)], "label": [ffcv.IntDecoder()]}
    assert next(iter(loader)).image.shape == (8, 20, 20, 3)
