"""TurboLoader's programs with mldf.compat.turboloader in their import lines: transforms, loaders, TBL files."""

import io
import json
import logging
import sys
import tarfile
import threading

import mldf
import numpy as np
import pkg
import pytest
from mldf.compat import turboloader as tl
from mldf.compat.turboloader.crc16 import crc16

COUNT = 10


def archive(path, sizes, bad=()):
    with tarfile.open(path, "w") as tar:
        for i, (height, width) in enumerate(sizes):
            data = (
                bytes(mldf.images.encode(pkg.image(i, height, width), quality=95))
                if i not in bad
                else b"\xff\xd8\xff junk"
            )
            info = tarfile.TarInfo(f"{i:03}.jpg")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return str(path)


@pytest.fixture(scope="module")
def same(tmp_path_factory):
    return archive(tmp_path_factory.mktemp("tl") / "same.tar", [(40, 48)] * COUNT)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    return archive(tmp_path_factory.mktemp("tl") / "mixed.tar", [(40 + i, 48 - i) for i in range(COUNT)])


def test_transforms_of_one_image():
    """Shapes and values are those that TurboLoader 2.39 gives for this image."""
    image = (np.arange(6 * 8 * 3) % 256).astype(np.uint8).reshape(6, 8, 3)
    small = tl.Resize(4, 3).apply(image)
    assert (
        small.shape == (3, 4, 3)
        and small.dtype == np.uint8
        and np.abs(small.ravel()[:5].astype(int) - [13, 14, 15, 19, 20]).max() <= 1
    )
    assert np.array_equal(tl.CenterCrop(4, 4).apply(image)[0, 0], image[1, 2])
    scaled = tl.ImageNetNormalize().apply(image)
    assert scaled.dtype == np.float32 and np.allclose(scaled.ravel()[:3], [-2.117904, -2.018207, -1.7695861], atol=1e-5)
    planes = tl.ToTensor().apply(image)
    assert planes.shape == (3, 6, 8) and np.allclose(planes.ravel()[:3], [0, 0.01176471, 0.02352941])
    both = (tl.Resize(4, 3) | tl.ImageNetNormalize()).apply(image)
    assert both.shape == (3, 4, 3) and both.dtype == np.float32
    assert isinstance(tl.Compose([tl.Resize(4, 3), tl.ToTensor()]), tl.ComposedTransforms)
    assert tl.RandomSolarize(100).apply(image)[4, 1:3].ravel().tolist() == [99, 100, 154, 153, 152, 151]
    assert np.array_equal(tl.RandomSolarize(255).apply(image), image)
    flip = tl.RandomHorizontalFlip(0.5)
    seen = {np.array_equal(flip.apply(image), image) for _ in range(20)}
    assert seen == {True, False} and not flip.is_deterministic() and tl.Resize(4, 3).is_deterministic()
    with pytest.raises(mldf.errors.ArgumentError, match="height, width, channels"):
        tl.Resize(4, 3).apply(image[0])


def test_pad_gridmask_and_mosaic(same):
    image = pkg.image(1, 6, 8)
    sides = ((2, 2), (2, 2), (0, 0))
    assert np.array_equal(tl.Pad(2, value=7).apply(image), np.pad(image, sides, constant_values=7))
    assert np.array_equal(tl.Pad(2, tl.PaddingMode.REFLECT).apply(image), np.pad(image, sides, "reflect"))
    assert np.array_equal(tl.Pad(2, tl.PaddingMode.EDGE).apply(image), np.pad(image, sides, "edge"))
    white = np.full((16, 16, 3), 255, np.uint8)
    masked = tl.GridMask(0.5, 0.6, p=1).apply(white)[:, :, 0] == 0
    rows = masked.any(1)
    assert 4 <= rows.sum() <= 8 and np.array_equal(masked, rows[:, None] & masked.any(0))  # squares of 4 every 8
    assert np.array_equal(tl.GridMask(p=0).apply(white), white)
    grid = iter(
        tl.DataLoader(same, 4, transform=tl.Resize(16, 16) | tl.Pad(2) | tl.GridMask(p=1), output_format="numpy")
    )
    assert (next(grid)[0] == 0).all(axis=3).any(axis=(1, 2)).all()  # in C: no step of it runs in Python
    mosaic = tl.Mosaic(16)
    mosaic.set_images([np.full((8, 8, 3), 50 * (i + 1), np.uint8) for i in range(4)])
    out = mosaic.apply(white)
    x, y = mosaic.get_center()
    assert out.shape == (16, 16, 3) and out[y - 1, x - 1, 0] == 50 and out[y - 1, x, 0] == 100
    assert out[y, x - 1, 0] == 150 and out[y, x, 0] == 200 and set(np.unique(out)) <= {50, 100, 114, 150, 200}
    with pytest.raises(mldf.errors.ArgumentError, match="4 images"):
        mosaic.set_images([white])


@pytest.mark.parametrize("policy", list(tl.AutoAugmentPolicy))
def test_autoaugment_is_an_operation(same, policy):
    image = pkg.image(3, 20, 24)
    step = tl.AutoAugment(policy)
    seen = {step.apply(image).tobytes() for _ in range(12)}
    assert len(seen) > 3 and not step.is_deterministic()
    loader = tl.DataLoader(same, 4, transform=tl.Resize(16, 16) | step, output_format="numpy")
    assert loader._late == [] and next(iter(loader))[0].shape == (4, 16, 16, 3)


def test_steps_in_python_in_a_loader(same):
    steps = tl.Resize(16, 12) | tl.Pad(2) | tl.ImageNetNormalize()
    images, meta = next(iter(tl.DataLoader(same, 4, transform=steps, output_format="numpy_chw")))
    assert images.shape == (4, 3, 16, 20) and images.dtype == np.float32 and meta["height"] == 16
    plain, _ = next(
        iter(tl.DataLoader(same, 4, transform=tl.Resize(16, 12) | tl.ImageNetNormalize(), output_format="numpy_chw"))
    )
    assert np.allclose(images[:, :, 2:-2, 2:-2], plain, atol=1e-5)
    samples = next(iter(tl.DataLoader(same, 4, transform=tl.Pad(1))))
    assert samples[0]["image"].shape == (42, 50, 3)


def test_dicts_have_images_of_their_own_size(mixed):
    samples = [s for batch in tl.DataLoader(mixed, batch_size=4) for s in batch]
    assert [s["image"].shape for s in samples] == [(40 + i, 48 - i, 3) for i in range(COUNT)]
    first = samples[0]
    assert (first["index"], first["filename"], first["width"], first["height"], first["channels"]) == (
        0,
        "000.jpg",
        48,
        40,
        3,
    )
    assert np.array_equal(samples[3]["image"], mldf.open(mixed)[3].jpg)


def test_fast_loaders_have_turboloaders_defaults(same, mixed):
    loader = tl.FastDataLoader(mixed, batch_size=4)  # uint8, and the size of the first image
    shapes = [(images.shape, images.dtype) for images, _ in loader]
    assert shapes == [((4, 40, 48, 3), np.uint8)] * 2 + [((2, 40, 48, 3), np.uint8)] and loader.is_finished()
    images, meta = next(iter(tl.FastDataLoader(same, 4, target_height=32, target_width=24, output_format="numpy_chw")))
    assert images.shape == (4, 3, 32, 24) and images.dtype == np.float32 and images.max() <= 1 and meta["width"] == 24
    with pytest.raises(mldf.errors.ArgumentError, match="not 'dict'"):
        tl.FastDataLoader(same, output_format="dict")


def test_create_loader_kinds(same):
    assert isinstance(tl.create_loader(same), tl.FastDataLoader)
    assert isinstance(tl.create_loader(same, "memory_efficient", max_memory_mb=64, batch_size=4), tl.FastDataLoader)
    standard = tl.create_loader(same, "standard", batch_size=4)
    assert not isinstance(standard, tl.FastDataLoader) and isinstance(next(iter(standard))[0], dict)
    assert isinstance(next(iter(tl.Loader(same, 4)))[0], dict)
    with pytest.raises(mldf.errors.ArgumentError, match="loader_type"):
        tl.create_loader(same, "quick")


def test_batch_by_batch(same):
    loader = tl.DataLoader(same, 4, output_format="numpy_chw", image_size=16)
    seen = []
    while not loader.is_finished():
        seen += loader.next_batch()[1]["indices"]
    assert seen == list(range(COUNT)) and loader.is_finished()
    with pytest.raises(StopIteration):
        loader.next_batch()
    assert loader.next_batch()[1]["indices"] == [0, 1, 2, 3] and not loader.is_finished()


def test_batches_as_tensors(same):
    torch = pytest.importorskip("torch")
    for output in ("numpy", "pytorch"):
        tensor, meta = tl.FastDataLoader(same, 4, output_format=output).next_batch_torch(dtype=torch.float16)
        assert tuple(tensor.shape) == (4, 3, 40, 48) and tensor.dtype == torch.float16 and float(tensor.max()) <= 1
        assert meta["indices"] == [0, 1, 2, 3]


def test_decode_failures_are_counted(tmp_path):
    path = archive(tmp_path / "bad.tar", [(40, 48)] * COUNT, bad=(3, 8))
    loader = tl.DataLoader(path, 4, output_format="numpy_chw", image_size=16)
    with pytest.warns(RuntimeWarning, match="failed to decode, zeros are in their place"):
        found = list(loader)
    assert [meta["decode_failures"] for _, meta in found] == [1, 0, 1] and loader.decode_failures == 2
    assert [meta["indices"] for _, meta in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [9, 8]]
    assert [meta["filenames"][-1] for _, meta in found] == ["003.jpg", "007.jpg", "008.jpg"]
    assert [len(images) for images, _ in found] == [4, 4, 2] and found[0][1]["batch_size"] == 4
    assert not found[0][0][3].any() and found[0][0][2].any() and not found[2][0][1].any()
    with pytest.warns(RuntimeWarning, match="left out"):
        found = list(tl.DataLoader(path, 4, output_format="numpy_chw", image_size=16, on_error="skip"))
    assert [meta["indices"] for _, meta in found] == [[0, 1, 2], [4, 5, 6, 7], [9]]
    with pytest.warns(RuntimeWarning, match="left out"):
        assert [s["index"] for batch in tl.DataLoader(path, 4) for s in batch] == [0, 1, 2, 4, 5, 6, 7, 9]
    with pytest.raises(mldf.errors.Error):
        list(tl.DataLoader(path, 4, output_format="numpy_chw", image_size=16, on_error="raise"))


@pytest.mark.parametrize("parts", [{"num_shards": 3}, {"num_workers": 3}])
def test_shards_of_workers(same, parts):
    seen = []
    for worker in range(3):
        loader = tl.DataLoader(same, 2, output_format="numpy", image_size=8, worker_id=worker, **parts)
        seen.append([i for _, meta in loader for i in meta["indices"]])
    assert sorted(i for part in seen for i in part) == list(range(COUNT)) and all(len(part) < 5 for part in seen)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 9, 255, 1000, 65537])
def test_crc16(size):
    data = bytes((i * 7 + 3) % 256 for i in range(size))
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    assert crc16(data) == crc


def test_tbl_files_sample_by_sample(tmp_path):
    path = tmp_path / "a.tbl"
    jpeg = bytes(mldf.images.encode(pkg.image(1, 5, 4)))
    with tl.TblWriterV2(path, enable_compression=False) as writer:
        assert writer.add_sample(jpeg, tl.SampleFormat.JPEG, 4, 5) == 0
        assert writer.add_sample(bytes(range(48)), tl.SampleFormat.RAW_U8, width=4, height=4) == 1
        writer.add_metadata(0, json.dumps({"label": 3}))
        assert not path.exists() and writer.num_samples() == 2
    assert mldf.verify(path).ok and mldf.open(path)[0].metadata == {"label": 3}
    reader = tl.TblReaderV2(path)
    assert reader.num_samples() == len(reader) == 2 and reader.read_sample(0) == jpeg
    assert reader.get_sample_info(1) == {
        "offset": 112 + len(jpeg),
        "size": 48,
        "uncompressed_size": 48,
        "width": 4,
        "height": 4,
        "format": tl.SampleFormat.RAW_U8,
        "is_compressed": False,
        "has_metadata": False,
    }
    assert reader.has_metadata() and not reader.is_compressed()
    assert reader.read_metadata(0) == ('{"label": 3}', tl.MetadataType.JSON)
    assert reader.read_metadata(1) == ("", tl.MetadataType.NONE)
    assert reader.filter_by_format(tl.SampleFormat.JPEG) == [0] and reader.filter_by_dimensions(max_height=4) == [1]
    with pytest.raises(IndexError):
        reader.read_sample(2)
    with pytest.raises(mldf.errors.StateError):
        writer.add_sample(b"", tl.SampleFormat.UNKNOWN)
    with pytest.raises(mldf.errors.ArgumentError, match="RAW_U8"):
        tl.TblWriterV2(tmp_path / "b.tbl").add_sample(b"123", tl.SampleFormat.RAW_U8, 2, 2)
    assert not (tmp_path / "b.tbl").exists() and len(list(tmp_path.iterdir())) == 1


def test_archives_to_tbl(same, tmp_path):
    told = []
    with pytest.warns(UserWarning, match="the sample keys are left out"):
        count = tl.convert_tar_to_tbl(same, tmp_path / "a.tbl", lambda done, total: told.append((done, total)))
    assert count == COUNT
    assert told and told[-1][0] == told[-1][1]
    reader = tl.TblReaderV2(tmp_path / "a.tbl")
    assert reader.read_sample(4) == mldf.open(same).raw(4, "jpg").tobytes()
    assert {reader.get_sample_info(i)["format"] for i in range(COUNT)} == {tl.SampleFormat.JPEG}
    assert (
        tl.extension_to_format(".png") is tl.SampleFormat.PNG
        and tl.format_to_extension(tl.SampleFormat.WEBP) == ".webp"
    )


def test_raw_images(same, tmp_path):
    path = tmp_path / "raw.tbl"
    assert tl.preprocess_to_tbl(same, path, image_size=16, batch_size=4, num_workers=1) == COUNT
    raw = tl.TblRawImageLoader(path, 4, shuffle=False)
    wanted = tl.DataLoader(same, 4, image_size=16, transform=tl.ImageNetNormalize(), output_format="numpy_chw")
    for (images, meta), (want, told) in zip(raw, wanted, strict=True):
        assert images.shape[1:] == (3, 16, 16) and meta["indices"].tolist() == told["indices"]
        assert np.abs(images - want).max() < 0.01
    half = tl.TblRawImageLoader(
        path, 4, dtype="float16", channels_last=True, image_size=8, train_aug=True, hflip_prob=0.5, mean=None, std=None
    )
    images, _ = next(iter(half))
    assert images.shape == (4, 8, 8, 3) and images.dtype == np.float16 and len(half) == 3
    with pytest.raises(mldf.errors.ArgumentError, match="preprocess_to_tbl"):
        tl.TblRawImageLoader(same)


# ---- what is not images ----


def test_tokens_follow_turboloaders_order_and_resume(tmp_path):
    path = tmp_path / "tokens.bin"
    tokens = np.arange(1000, dtype=np.uint16)
    tokens.tofile(path)
    loader = tl.TokenDataLoader(path, 16, 4, seed=3)
    first = list(loader)
    assert len(first) == len(loader) == (1000 - 17) // 64
    starts = np.random.default_rng(3).integers(0, 1000 - 17, len(loader) * 4, dtype=np.int64)
    for (x, y), want in zip(first, starts.reshape(-1, 4)):
        assert x.dtype == np.int64 and np.array_equal(x, want[:, None] + np.arange(16)) and np.array_equal(y, x + 1)
    iterator = iter(loader)
    next(iterator), next(iterator)
    state = loader.state_dict()
    other = tl.TokenDataLoader(tokens, 16, 4, seed=3)
    other.load_state_dict(state)
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(list(other), first[2:], strict=True))
    ranks = [list(tl.TokenDataLoader(tokens, 16, 4, shuffle=False, world_rank=r, world_size=2)) for r in (0, 1)]
    assert ranks[0][0][0][0, 0] == 0 and ranks[1][0][0][0, 0] == 16
    with pytest.raises(ValueError, match="too short"):
        tl.TokenDataLoader(tokens[:10], 16)


def test_arrays_and_datasets_by_modality():
    x, y = np.arange(20).reshape(10, 2), np.arange(10)
    assert [b[1].tolist() for b in tl.DataLoader(modality="array", arrays=[x, y], batch_size=4)] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
    ]
    order = np.random.default_rng(5).permutation(10)
    shuffled = tl.ArrayDataLoader(y, batch_size=3, shuffle=True, seed=4, drop_last=True)
    shuffled.set_epoch(1)
    assert np.concatenate(list(shuffled)).tolist() == order[:9].tolist() and len(shuffled) == 3
    pairs = [({"a": x[i]}, i) for i in range(10)]
    found = list(tl.DataLoader(dataset=pairs, batch_size=6, num_workers=3))
    assert found[0][0]["a"].shape == (6, 2) and found[1][1].tolist() == [6, 7, 8, 9]
    with pytest.raises(ValueError, match="modality must be one of .* not 'smell'"):
        tl.DataLoader(y, modality="smell")
    with pytest.raises(ValueError, match="seq_len"):
        tl.DataLoader(y, modality="tokens")
    with pytest.raises(TypeError, match="__getitem__"):
        tl.MapDataLoader({1, 2})


def test_loaders_that_save_memory(same):
    loader = tl.create_loader(same, "memory_efficient", 4, max_memory_mb=256)
    assert isinstance(loader, tl.MemoryEfficientDataLoader) and loader.max_memory_mb == 256
    assert loader.num_workers == 2 and loader.prefetch_batches == 1
    assert sum(len(images) for images, _ in loader) == COUNT
    assert tl.MemoryEfficientDataLoader(same, num_workers=3, max_memory_mb=4096).num_workers == 3


def test_pixels_and_regions():
    images = np.stack([pkg.image(i, 6, 8) for i in range(5)])
    out, some = np.empty((5, 3, 6, 8), np.float32), np.empty((2, 6, 8, 3), np.float16)
    tl.normalize_u8_batch(images, out, (0.5, 0.4, 0.3), (0.2, 0.3, 0.4))
    want = (images / np.float32(255) - np.float32([0.5, 0.4, 0.3])) / np.float32([0.2, 0.3, 0.4])
    assert np.allclose(out.transpose(0, 2, 3, 1), want, atol=1e-6)
    tl.normalize_u8_gather(images, [4, 1], some)
    assert np.allclose(some, images[[4, 1]] / 255, atol=1e-3)
    for arguments, message in (
        ((images, [5], some[:1]), "out of range"),
        ((images, [0, 1], some, (1, 1, 1)), "both"),
        ((images, [0], some), "float32 or float16"),
    ):
        with pytest.raises(ValueError, match=message):
            tl.normalize_u8_gather(*arguments)
    data = mldf.images.encode(pkg.image(1, 64, 80), "jpeg")
    whole = tl.decode_jpeg_scaled(data, 80, 64)
    strip, x, width, height = tl.decode_jpeg_region(data, 80, 64, 10, 5, 30, 20)
    assert (x, width, height) == (10, 80, 64) and np.array_equal(strip, whole[5:25, 10:40])
    with pytest.raises(ValueError, match="leave the image"):
        tl.decode_jpeg_region(data, 80, 64, 60, 0, 30, 20)


def test_labels_of_names():
    folders = tl.FolderLabelExtractor({"dog": 4})
    assert [folders.extract(n, {}) for n in ("dog/a.jpg", "cat/b.jpg", "dog\\c.jpg", "d.jpg")] == [4, 5, 4, 6]
    assert folders.get_class_names() == ["dog", "cat", "unknown"] and folders.get_num_classes() == 3
    assert tl.FilenamePatternExtractor(r"class_(\d+)").extract("x/class_12_a.jpg", {}) == 12
    assert tl.MetadataLabelExtractor("y", 7).extract("a", {}) == 7
    assert tl.JSONSidecarExtractor().extract("a", {"json_data": {"label": 3}}) == 3
    assert tl.CallableLabelExtractor(lambda name, meta: len(name) + meta["n"]).extract("abc", {"n": 2}) == 5


def test_what_it_says_of_itself(tmp_path):
    assert tl.version() == tl.__version__ == tl.features()["version"] and not tl.cuda_available()
    log = tmp_path / "log.txt"
    tl.set_log_level(tl.LogLevel.INFO)
    tl.set_log_output(log)
    tl.disable_logging()
    logging.getLogger("mldf.compat.turboloader").error("not said")
    tl.enable_logging()
    logging.getLogger("mldf.compat.turboloader").info("said")
    tl.set_log_output("")
    assert log.read_text() == "said\n"
    (tmp_path / "x").write_bytes(b"123")
    assert tl.read_files([tmp_path / "x", tmp_path / "y"]) == [b"123", b""]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_mosaic_of_a_few_pixels(size):
    mosaic = tl.Mosaic(size, seed=0)
    mosaic.set_images([np.full((5, 5, 3), 7, np.uint8)] * 4)
    for _ in range(40):
        out = mosaic.apply(np.zeros((2, 2, 3), np.uint8))
        assert out.shape == (size, size, 3) and (out == 7).any()


def test_indices_that_another_thread_changes_are_read_once():
    images = np.arange(2 * 8 * 8 * 3, dtype=np.uint8).reshape(2, 8, 8, 3)
    count = 1000
    chosen = np.arange(count) % 2
    crops = np.tile(np.array([0, 0, 8, 8], "f4"), (count, 1))
    out = [np.empty((count, 64, 64, 3), "f4") for _ in range(2)]
    arguments = (crops, np.zeros(count, "u1"))
    mldf._mldf.crop_gather(images, images.shape[:3], chosen, *arguments, out[0], (64, 64), False, None)

    def change():
        begun.wait()
        chosen[:] = -(1 << 40)

    begun, interval = threading.Event(), sys.getswitchinterval()
    thread = threading.Thread(target=change)
    thread.start()
    sys.setswitchinterval(100)  # the thread gets the GIL when the call, which has checked the indices, lets go of it
    try:
        begun.set()
        mldf._mldf.crop_gather(images, images.shape[:3], chosen, *arguments, out[1], (64, 64), False, None)
    finally:
        sys.setswitchinterval(interval)
    thread.join()
    assert chosen[0] < 0 and np.array_equal(out[0], out[1])
