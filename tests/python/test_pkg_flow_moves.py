"""Optical flow that moves with its images (``as flow``): resize, crops and mirrors, as NumPy and torch define them."""

import mldf
import numpy as np
import pytest

RNG = np.random.default_rng(11)
T, H, W = 3, 13, 18


def vectors(frames=T, height=H, width=W):
    return (RNG.normal(size=(frames, height, width, 2)) * 5).astype(np.float16).astype(np.float32)


def triangle(size, target, antialias):
    """Weights of bilinear resizing, pixel centres at halves: OpenCV's INTER_LINEAR; with antialias Pillow's."""
    scale = size / target
    wide = max(1.0, scale) if antialias else 1.0
    centre = (np.arange(target)[:, None] + 0.5) * scale
    weights = np.maximum(0, 1 - np.abs(np.arange(size) + 0.5 - centre) / wide)
    return weights / weights.sum(axis=1, keepdims=True)


def resized(flow, height, width, antialias=True):
    down, across = triangle(flow.shape[-3], height, antialias), triangle(flow.shape[-2], width, antialias)
    out = np.einsum("yh,xw,...hwc->...yxc", down, across, flow.astype(np.float64))
    return out * [width / flow.shape[-2], height / flow.shape[-3]]


def load(path, pipelines, name="flow", batch=4, **options):
    with mldf.Loader(path, batch, pipelines=pipelines, last="keep", **options) as loader:
        return np.concatenate([np.array(b[name]) for b in loader])


@pytest.fixture
def path(tmp_path):
    """Frames whose pixels say where they are, with a flow of the same size; the flow again as a plain array."""
    types = {
        "image": mldf.NDArray("uint8", (H, W, 3)),
        "flow": mldf.OpticalFlow(),
        "array": mldf.NDArray("float32", (T, H, W, 2)),
    }
    rows = []
    for _ in range(8):
        value = vectors()
        image = np.zeros((H, W, 3), np.uint8)
        image[..., 0], image[..., 1] = np.arange(W), np.arange(H)[:, None]
        rows.append({"image": image, "flow": value, "array": value})
    mldf.write(tmp_path / "a.mldf", rows, types)
    return tmp_path / "a.mldf"


@pytest.fixture
def stored(path):
    with mldf.open(path) as ds:
        return np.stack([s.flow for s in ds])


@pytest.mark.parametrize("name", ["flow", "array"])
def test_mirrors(path, stored, name):
    got = load(path, f"{name} as flow: hflip(p=1)", name)
    np.testing.assert_array_equal(got, stored[:, :, :, ::-1] * np.float32([-1, 1]))
    got = load(path, f"{name} as flow: vflip(p=1) | chw", name)
    np.testing.assert_array_equal(got, (stored[:, :, ::-1] * np.float32([1, -1])).transpose(0, 1, 4, 2, 3))
    got = load(path, f"{name} as flow: chw | hflip(p=1) | vflip(p=1)", name)
    np.testing.assert_array_equal(got, -stored[:, :, ::-1, ::-1].transpose(0, 1, 4, 2, 3))
    np.testing.assert_array_equal(load(path, f"{name} as flow: hflip(p=0)", name), stored)


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("size", [(26, 36), (5, 7), (13, 18), (4, 40), (1, 1)])
def test_resize(path, stored, size, antialias):
    got = load(path, f"flow as flow: resize([{size[0]}, {size[1]}], antialias={str(antialias).lower()})")
    assert got.dtype == np.float32 and got.shape == (8, T, *size, 2)
    np.testing.assert_allclose(got, resized(stored, *size, antialias), atol=2e-5)


def test_resize_as_torch_does(path, stored):
    torch = pytest.importorskip("torch")
    flow = torch.from_numpy(stored.reshape(-1, H, W, 2)).permute(0, 3, 1, 2)
    for antialias in (True, False):
        want = torch.nn.functional.interpolate(flow, (7, 30), mode="bilinear", antialias=antialias)
        want = want.permute(0, 2, 3, 1).numpy().reshape(8, T, 7, 30, 2) * np.float32([30 / W, 7 / H])
        got = load(path, f"flow as flow: resize([7, 30], antialias={str(antialias).lower()})")
        np.testing.assert_allclose(got, want, atol=1e-4)


def test_a_constant_motion_stays_constant(tmp_path):
    """The whole image moves by (3, -2): twice as wide and half as high it moves by (6, -1), with every filter."""
    value = np.broadcast_to(np.float32([3, -2]), (1, 8, 10, 2)).copy()
    mldf.write(tmp_path / "a.mldf", [{"flow": value}], {"flow": mldf.OpticalFlow()})
    for filter in ("nearest", "bilinear", "bicubic", "area", "box", "lanczos"):
        got = load(tmp_path / "a.mldf", f"flow as flow: resize([4, 20], filter={filter})", batch=1)
        np.testing.assert_array_equal(got, np.broadcast_to(np.float32([6, -1]), got.shape), err_msg=filter)


def test_nearest_takes_whole_vectors(path, stored):
    rows, columns = (2 * np.arange(5) + 1) * H // 10, (2 * np.arange(29) + 1) * W // 58
    want = stored[:, :, rows][:, :, :, columns] * np.float32(
        [np.float32(29) / np.float32(W), np.float32(5) / np.float32(H)]
    )
    np.testing.assert_array_equal(load(path, "flow as flow: resize([5, 29], filter=nearest)"), want)


def test_unknown_motion(tmp_path):
    value = vectors(1, 8, 8)
    value[0, 2, 3] = np.nan
    mldf.write(tmp_path / "a.mldf", [{"flow": value}], {"flow": mldf.OpticalFlow()})
    same = load(tmp_path / "a.mldf", "flow as flow: resize([8, 8])", batch=1)[0]
    np.testing.assert_array_equal(same, value)  # neighbours keep their own vectors
    half = load(tmp_path / "a.mldf", "flow as flow: resize([4, 4], filter=box)", batch=1)[0]
    want = np.zeros((1, 4, 4, 2), bool)
    want[0, 1, 1] = True
    np.testing.assert_array_equal(np.isnan(half), want)


def test_crops(path, stored):
    np.testing.assert_array_equal(load(path, "flow as flow: center_crop([7, 10])"), stored[:, :, 3:10, 4:14])
    wide = load(path, "flow as flow: center_crop([15, 20], fill=9)")
    np.testing.assert_array_equal(wide, np.pad(stored, ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0))))  # does not move there
    edge = load(path, "flow as flow: border(2, mode=edge)")
    np.testing.assert_array_equal(edge, np.pad(stored, ((0, 0), (0, 0), (2, 2), (2, 2), (0, 0)), "edge"))


@pytest.mark.parametrize("threads", [1, 2])
def test_one_draw_with_the_images(path, stored, threads):
    """The pixels of the image say which window and which mirror was drawn."""
    with mldf.Loader(
        path, 2, threads=threads, seed=5, pipelines="image as image, flow as flow: random_crop([6, 9]) | hflip | vflip"
    ) as loader:
        seen = set()
        for k, b in enumerate(b for _ in range(3) for b in loader):
            rows = [2 * k % len(stored), (2 * k + 1) % len(stored)]
            for image, flow, row in zip(np.array(b["image"]), np.array(b["flow"]), rows, strict=True):
                x, y = image[0, :, 0].astype(int), image[:, 0, 1].astype(int)
                sign = np.float32([x[1] - x[0], y[1] - y[0]])
                np.testing.assert_array_equal(flow, stored[row][:, y][:, :, x] * sign)
                seen.add(tuple(sign))
    assert len(seen) == 4


def test_random_resized_crop_scales_what_it_drew(path, stored):
    """Every vector is one of the flow, scaled by one window's width."""
    got = load(path, "flow as flow: random_resized_crop(8, filter=nearest)", seed=3)
    assert got.shape == (8, T, 8, 8, 2)
    for value, flow in zip(got, stored, strict=True):
        ok = False
        for width in range(1, W + 1):
            scaled = flow[..., 0] * np.float32(np.float32(8) / np.float32(width))
            ok = ok or bool(np.isin(value[..., 0], scaled).all())
        assert ok


def test_with_frames_of_a_video(tmp_path):
    clips = RNG.integers(0, 256, (4, T, 16, 20, 3), dtype=np.uint8)
    flows = [vectors(T, 16, 20) for _ in clips]
    types = {"video": mldf.VideoFrames(), "flow": mldf.OpticalFlow()}
    mldf.write(tmp_path / "a.mldf", [{"video": c, "flow": f} for c, f in zip(clips, flows, strict=True)], types)
    text = "video, flow as flow: clip(frames=2, start=random) | resize([8, 10]) | hflip(p=1)\nvideo: chw\nflow: chw"
    with mldf.Loader(tmp_path / "a.mldf", 4, pipelines=text, seed=2) as loader:
        b = next(iter(loader))
    assert b["video"].shape == (4, 2, 3, 8, 10) and b["flow"].shape == (4, 2, 2, 8, 10)
    for got, flow in zip(np.array(b["flow"]), flows, strict=True):
        all_frames = (resized(flow, 8, 10)[:, :, ::-1] * [-1, 1]).transpose(0, 3, 1, 2)
        assert any(np.allclose(got, all_frames[k : k + 2], atol=2e-5) for k in range(T - 1))


def test_what_else_a_group_does(path, stored):
    text = "image as image, flow as flow: hflip(p=1) | color_jitter(0.5, 0.5, 0.5)"
    np.testing.assert_array_equal(load(path, text), stored[:, :, :, ::-1] * np.float32([-1, 1]))
    small = load(path, "flow as flow: normalize([0, 0], [4, 2])")
    np.testing.assert_allclose(small, stored / np.float32([4, 2]), rtol=1e-6)
    half = load(path, "flow as flow: hflip(p=1) | cast(f16)")
    np.testing.assert_array_equal(half, (stored[:, :, :, ::-1] * np.float32([-1, 1])).astype(np.float16))


def test_the_plan_equals_its_reference(path):
    text = "image as image, flow as flow: random_resized_crop([9, 11]) | hflip | vflip"
    plain = load(path, text, seed=4)
    for engine in ({"reference": True}, {"threads": 2}):
        np.testing.assert_array_equal(load(path, text, seed=4, **engine), plain)


@pytest.mark.parametrize(
    "text, words",
    [
        ("flow as flow: rotate(10)", "would have to turn"),
        ("flow as flow: border(2, mode=reflect)", "mode reflect of optical flow"),
        ("flow as flow: time_reverse", "the motion between other frames"),
        ("flow as flow: clip(frames=2, stride=2)", "stride 2 of optical flow"),
        ("flow as flow: cast(f16) | hflip", "f32, before cast"),
        ("flow as flow: chw | resize(8)", "before chw"),
        ("flow as flow: trivialaugment", "optical flow"),
        ("image as flow: hflip", "HxWx2 or TxHxWx2 of f32"),
        ("flow as vectors: hflip", "points or flow"),
        ("flow: hflip", "wants an image"),
    ],
)
def test_refused(path, text, words):
    with pytest.raises(mldf.Error, match=words):
        mldf.Loader(path, 2, pipelines=text)


def test_sizes_that_differ(tmp_path):
    types = {"image": mldf.NDArray("uint8", (H, W, 3)), "flow": mldf.OpticalFlow()}
    mldf.write(tmp_path / "a.mldf", [{"image": np.zeros((H, W, 3), np.uint8), "flow": vectors(1, H, W + 1)}], types)
    with (
        pytest.raises(mldf.Error, match="19 x 13 pixels, and the image that it moves with has 18 x 13"),
        mldf.Loader(tmp_path / "a.mldf", 1, pipelines="image as image, flow as flow: hflip") as loader,
    ):
        next(iter(loader))
