"""What the test suites and public programs of FFCV and TurboLoader need beyond their documentation.

tools/interop/run_suite.py runs those suites themselves, with their imports changed.
"""

import io
import tarfile

import mldf
import numpy as np
import pkg
import pytest
from mldf.compat import ffcv
from mldf.compat import turboloader as tl
from mldf.compat.ffcv.libffcv import memcpy, read
from mldf.compat.ffcv.memory_managers import OSCacheManager
from mldf.compat.turboloader import pytorch_compat
from mldf.compat.turboloader.tbl import open_raw_view
from PIL import Image

COUNT = 20


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Of images in folders of two classes."""
    path = tmp_path_factory.mktemp("suites") / "a.tar"
    with tarfile.open(path, "w") as out:
        for i in range(COUNT):
            data = mldf.images.encode(pkg.image(i, 24, 32), "jpeg", quality=95)
            about = tarfile.TarInfo(f"class{i % 2}/{i:03d}.jpg")
            about.size = len(data)
            out.addfile(about, io.BytesIO(data))
    return str(path)


# ---- FFCV ----


@pytest.mark.parametrize("mode", ["raw", "jpg"])
def test_an_image_decoder_of_ffcv_decodes_for_programs_that_read_payloads(tmp_path, mode):
    path = tmp_path / "a.beton"
    images = [pkg.image(i, 16, 20) for i in range(5)]
    fields = {"index": ffcv.IntField(), "value": ffcv.RGBImageField(write_mode=mode)}
    ffcv.DatasetWriter(path, fields).from_indexed_dataset(list(enumerate(images)))
    reader = ffcv.Reader(path)
    manager = OSCacheManager(reader)
    decoder = ffcv.RGBImageField().get_decoder_class()()
    decoder.accept_globals(reader.metadata["f1"], manager.compile_reader())
    decode = ffcv.Compiler.compile(decoder.generate_code())
    with manager.schedule_epoch(np.array([0, 1])) as context:
        found = decode(np.array([4, 1]), np.zeros((2, 16, 20, 3), np.uint8), reader.metadata["f1"], context.state)
    assert found.shape == (2, 16, 20, 3)
    for image, number in zip(found, (4, 1)):
        distance = np.abs(image.astype(int) - images[number]).mean()
        assert distance == 0 if mode == "raw" else distance < 20


def test_an_array_of_ffcv_has_its_number_of_elements_not_its_shape(tmp_path):
    path = tmp_path / "a.beton"
    fields = {
        "label": ffcv.NDArrayField(shape=(1,), dtype=np.dtype("f4")),
        "x": ffcv.NDArrayField(np.dtype("f4"), (2, 3)),
    }
    samples = [(np.array(i).astype("f4"), np.arange(6, dtype="f4")) for i in range(4)]
    ffcv.DatasetWriter(path, fields).from_indexed_dataset(samples)
    found = mldf.open(path)[3]
    assert found["label"].tolist() == [3.0] and found["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(mldf.errors.Error, match="shape"):
        ffcv.DatasetWriter(path, fields).from_indexed_dataset([(np.zeros(2, "f4"), np.zeros(6, "f4"))])


def test_ffcvs_names_are_where_its_examples_import_them_from(tmp_path):
    from mldf.compat.ffcv.pipeline.operation import AllocationQuery, Operation, State

    assert (AllocationQuery, Operation, State) == (ffcv.AllocationQuery, ffcv.Operation, ffcv.State)
    source, copy = np.arange(12.0).reshape(3, 4), np.empty((3, 4))
    memcpy(source, copy)
    assert np.array_equal(source, copy)
    with pytest.raises(ValueError, match="96 bytes do not fill an array of 48"):
        memcpy(source, np.empty(12, np.float32))
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(20)))
    with path.open("rb") as file:
        part = np.zeros(4, np.uint8)
        assert read(file.fileno(), part, 7) == 4 and part.tolist() == [7, 8, 9, 10]


# ---- TurboLoader ----


def test_turboloaders_pytorch_format_is_numpys(archive):
    images, meta = next(iter(tl.DataLoader(archive, 4, image_size=(8, 12), output_format="pytorch")))
    assert type(images) is np.ndarray and images.shape == (4, 3, 8, 12) and images.dtype == np.float32
    assert meta["filenames"][1] == "class1/001.jpg"


def test_turboloaders_state_is_an_epoch_and_a_number_of_batches(archive):
    def loader():
        return tl.DataLoader(archive, 4, image_size=8, output_format="numpy", shuffle=True, seed=3)

    first = loader()
    first.set_epoch(2)
    taken = iter(first)
    for _ in range(2):
        next(taken)
    state = first.state_dict()
    assert state["epoch"] == 2 and state["batches_served"] == 2
    rest = [meta["indices"] for _, meta in taken]
    for given in (state, {"version": 1, "epoch": 2, "batches_served": 2}):
        again = loader()
        again.load_state_dict(given)
        assert [meta["indices"] for _, meta in again] == rest


def test_decoded_images_are_kept_and_served_in_turboloaders_order(archive):
    options = {"image_size": 8, "output_format": "numpy", "shuffle": True, "seed": 123}
    cached = tl.DataLoader(archive, 6, cache_decoded=True, **options)
    assert not cached.cache_populated and cached.cache_size_mb == 0
    order, images = [], {}
    for batch, meta in cached:
        order += meta["indices"]
        images.update(zip(meta["indices"], batch))
    assert order == np.random.default_rng(123).permutation(COUNT).tolist() and cached.cache_populated
    for batch, meta in tl.DataLoader(archive, 6, **options):
        assert all(np.array_equal(images[i], image) for i, image in zip(meta["indices"], batch))
    assert cached.cache_size_mb == COUNT * 8 * 8 * 3 * 4 / 2**20
    cached.load_state_dict({"epoch": 0, "batches_served": 3})
    assert [i for _, meta in cached for i in meta["indices"]] == order[18:]
    cached.clear_cache()
    assert not cached.cache_populated
    with pytest.warns(RuntimeWarning, match="cache_decoded with distributed"):
        tl.DataLoader(archive, 6, cache_decoded=True, enable_distributed=True, world_size=2, **options)


def test_a_closed_loader_of_turboloader_begins_again(archive):
    loader = tl.DataLoader(archive, 4, image_size=8, output_format="numpy")
    assert loader.next_batch()[1]["indices"] == [0, 1, 2, 3]
    loader.close()
    loader.close()
    taken = 0
    while not loader.is_finished():  # as its own examples do
        taken += len(loader.next_batch()[0])
    assert taken == COUNT
    with pytest.raises(StopIteration):
        loader.next_batch()
    assert sum(len(images) for images, _ in loader) == COUNT
    with pytest.raises(ValueError, match="Conflicting sizes"):
        tl.DataLoader(archive, image_size=8, transform=tl.Resize(9, 9))


def test_other_modalities_are_data_loaders_too():
    tokens = tl.DataLoader(np.arange(100, dtype=np.uint16), modality="text", seq_len=8, batch_size=2)
    assert isinstance(tokens, tl.DataLoader) and tokens.next_batch()[0].tolist()[1] == list(range(8, 16))
    arrays = tl.DataLoader(np.arange(10), modality="tabular", batch_size=4)
    assert len(arrays) == 3 and arrays.next_batch().tolist() == [0, 1, 2, 3]
    assert arrays.next_batch().tolist() == [4, 5, 6, 7]


@pytest.fixture(scope="module")
def raw(archive, tmp_path_factory):
    path = tmp_path_factory.mktemp("raw") / "a.tbl"
    assert tl.preprocess_to_tbl(archive, path, (10, 12)) == COUNT
    return str(path)


def test_raw_images_are_one_array_over_the_file(raw, tmp_path, archive):
    view, height, width = open_raw_view(raw)
    assert isinstance(view, np.memmap) and view.shape == (COUNT, 10, 12, 3) and (height, width) == (10, 12)
    reader = tl.TblReaderV2(raw)
    assert all(view[i].tobytes() == reader.read_sample(i) for i in range(COUNT))
    with pytest.warns(UserWarning, match="keys are left out"):
        tl.convert_tar_to_tbl(archive, tmp_path / "jpeg.tbl")
    with pytest.raises(ValueError, match="RAW_U8"):
        open_raw_view(tmp_path / "jpeg.tbl")
    images, meta = next(iter(tl.DataLoader(raw, 4, transform=tl.ImageNetNormalize())))
    assert images.shape == (4, 3, 10, 12) and meta["indices"].tolist() == [0, 1, 2, 3]


def reference_crop(image, crop, flip, height, width):
    """Pixel by pixel: centres at halves, clamped, bilinear."""
    x, y, w, h = crop
    out = np.empty((height, width, 3))
    for r in range(height):
        at_y = min(max(y + (r + 0.5) / height * h - 0.5, 0), image.shape[0] - 1)
        y0 = int(at_y)
        for c in range(width):
            at_x = min(max(x + ((width - 1 - c if flip else c) + 0.5) / width * w - 0.5, 0), image.shape[1] - 1)
            x0 = int(at_x)
            y1, x1 = min(y0 + 1, image.shape[0] - 1), min(x0 + 1, image.shape[1] - 1)
            p = image.astype(float)
            above = p[y0, x0] * (1 - (at_x - x0)) + p[y0, x1] * (at_x - x0)
            below = p[y1, x0] * (1 - (at_x - x0)) + p[y1, x1] * (at_x - x0)
            out[r, c] = above * (1 - (at_y - y0)) + below * (at_y - y0)
    return out / 255


def test_turboloaders_crops_are_those_of_its_formula(raw):
    view = open_raw_view(raw)[0]
    loader = tl.TblRawImageLoader(
        raw, 7, train_aug=True, image_size=(6, 5), hflip_prob=0.5, mean=None, std=None, seed=9
    )
    seen = []
    for images, meta in loader:
        seen += meta["indices"].tolist()
        for image, i, crop, flip in zip(images, meta["indices"], meta["crops"], meta["flips"]):
            assert np.allclose(image.transpose(1, 2, 0), reference_crop(view[i], crop, flip, 6, 5), atol=1e-5)
    assert seen == np.random.default_rng(9).permutation(COUNT).tolist()
    parts = [tl.TblRawImageLoader(raw, 4, shuffle=False, world_rank=r, world_size=3) for r in range(3)]
    found = [[i for _, meta in part for i in meta["indices"].tolist()] for part in parts]
    assert [len(part) for part in found] == [6, 6, 6] and len(set(sum(found, []))) == 18
    out = np.empty((1, 3, 6, 5), np.float64)
    with pytest.raises(ValueError, match="float32 or float16"):
        tl.crop_resize_normalize_u8_gather(view, [0], np.array([[0, 0, 5, 5]]), np.array([0]), out)
    with pytest.raises(ValueError, match="out of range"):
        tl.crop_resize_normalize_u8_gather(view, [99], np.array([[0, 0, 5, 5]]), np.array([0]), out.astype(np.float32))


def test_a_folder_of_classes_becomes_an_archive(tmp_path):
    for i in range(6):
        folder = tmp_path / "in" / f"c{i % 3}" / "deep"
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / f"{i}.jpg").write_bytes(mldf.images.encode(pkg.image(i, 16, 16), "jpeg"))
    (tmp_path / "in" / "c0" / "deep" / "0.jpg").write_bytes(mldf.images.encode(pkg.image(9, 16, 16), "jpeg"))
    numbers = tl.convert_imagefolder(tmp_path / "in", tmp_path / "a.tar")
    assert numbers == {"c0": 0, "c1": 1, "c2": 2} and (tmp_path / "a_classes.json").exists()
    with tarfile.open(tmp_path / "a.tar") as found:
        assert len(set(found.getnames())) == 7
    for wrong, words in (
        (tmp_path / "no", "Source directory not found"),
        (tmp_path / "in" / "c1" / "deep", "No class"),
    ):
        with pytest.raises(ValueError, match=words):
            tl.ImageFolderConverter().convert(wrong, tmp_path / "b.tar")


def test_images_and_labels_as_torch_gives_them(archive):
    torch = pytest.importorskip("torch")
    loader = tl.PyTorchCompatibleLoader(archive, 8, output_size=(8, 12), transform=tl.ImageNetNormalize())
    with pytest.raises(TypeError, match="until the first epoch"):
        len(loader)
    batches = list(loader)
    assert len(loader) == len(batches) == 3
    images, labels = batches[0]
    assert images.shape == (8, 3, 8, 12) and images.dtype == torch.float32
    assert labels.dtype == torch.int64 and labels.tolist() == [0, 1] * 4
    made = pytorch_compat.create_loader(archive, 4, shuffle=False, transform="imagenet_val")
    assert next(iter(made))[0].shape == (4, 3, 224, 224)


def test_transforms_have_turboloaders_names_and_come_from_torchvisions():
    class Resize:
        size = (8, 12)

    class Normalize:
        mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

    class Lambda:
        pass

    class Compose:
        transforms = (Resize(), Lambda(), Normalize())

    with pytest.warns(UserWarning, match="Lambda is left out"):
        made = tl.TransformAdapter.from_torchvision(Compose())
    assert [step.name() for step in made] == ["Resize", "ImageNetNormalize"]
    assert made.apply(pkg.image(0, 24, 32)).shape == (8, 12, 3)


def test_batches_for_jax(archive):
    jax = pytest.importorskip("jax")
    loader = tl.DataLoader(archive, 8, image_size=8, output_format="numpy").to_jax(dtype="float16")
    found = list(loader)
    assert len(found) == len(loader) == 3 and isinstance(found[0][0], jax.Array) and found[0][0].dtype == "float16"
    assert found[2][1]["indices"] == list(range(16, 20))

    def broken():
        yield np.zeros(2)
        raise ValueError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        list(tl.JaxDeviceLoader(broken()))


def test_raw_pixels_of_no_size_are_refused(tmp_path):
    with tl.TblWriterV2(tmp_path / "a.tbl") as writer, pytest.raises(ValueError, match="need a width and a height"):
        writer.add_sample(b"", tl.SampleFormat.RAW_U8, 0, 0)


# ---- samples of which some values cannot be read ----


def test_a_sample_with_an_unreadable_value_compares_and_raises_the_same_each_time(tmp_path):
    path = tmp_path / "a.mldf"
    whole = bytearray(mldf.images.encode(pkg.image(1, 16, 16), "png"))
    whole[len(whole) // 2 : len(whole) // 2 + 20] = bytes(20)  # the header says that it is an image
    mldf.write(path, [{"image": bytes(whole), "label": 7}], {"image": mldf.Image(), "label": mldf.Int()})
    sample, again = (mldf.open(path)[0] for _ in range(2))
    assert sample["label"] == 7 and sample == sample and sample != again and sample != (1, 2)
    assert isinstance(hash(sample), int) and sample in {sample}
    depths = []
    for _ in range(3):
        with pytest.raises(mldf.errors.Error) as caught:
            sample["image"]
        depths.append(len(caught.traceback))
    assert len(set(depths)) == 1, "the traceback grew"


def test_crops_come_as_floats_of_both_kinds_and_layouts():
    rng = np.random.default_rng(4)
    images = rng.integers(0, 256, (5, 13, 9, 3), np.uint8)
    crops = np.array([[0, 0, 9, 13], [2.5, 1.25, 4, 7.5], [-3, -2, 40, 40], [8, 12, 1, 1]], np.float32)
    chosen, flips = np.array([4, 0, 2, 2]), np.array([0, 1, 1, 0])
    mean, std = (0.5, 0.4, 0.3), (0.2, 0.25, 0.5)
    for shape in ((4, 3, 7, 6), (4, 7, 6, 3)):
        for dtype, off in ((np.float32, 1e-6), (np.float16, 3e-3)):
            out = np.zeros(shape, dtype)
            tl.crop_resize_normalize_u8_gather(images, chosen, crops, flips, out, mean, std)
            found = out.transpose(0, 2, 3, 1) if shape[1] == 3 else out
            for k in range(4):
                want = (reference_crop(images[chosen[k]], crops[k], flips[k], 7, 6) - mean) / std
                assert np.allclose(found[k], want, atol=off * 10), (shape, dtype, k)
    wide = np.zeros((4, 3, 7, 12), np.float32)[:, :, :, ::2]  # not contiguous
    tl.crop_resize_normalize_u8_gather(images[::-1], chosen, crops, flips, wide)
    assert np.allclose(wide[1].transpose(1, 2, 0), reference_crop(images[4], crops[1], 1, 7, 6), atol=1e-5)
    with pytest.raises(ValueError, match="no pixels"):
        tl.crop_resize_normalize_u8_gather(images[:, :0], [0], crops[:1], flips[:1], np.zeros((1, 3, 2, 2), np.float32))
    tl.crop_resize_normalize_u8_gather(images, [], np.zeros((0, 4)), [], np.zeros((0, 3, 2, 2), np.float32))


def test_jpegs_are_decoded_at_eighths_of_their_size():
    y, x = np.mgrid[:64, :80]
    jpeg = mldf.images.encode(np.stack([x * 3, y * 4, 255 - x - y], 2).astype(np.uint8), quality=95)
    whole = mldf.images.decode(jpeg)
    for eighths in (1, 2, 3, 4, 5, 6, 7, 11, 16):
        small = mldf.images.decode(jpeg, eighths=eighths)
        size = (10 * eighths, 8 * eighths)
        assert small.shape == (*size[::-1], 3)
        smooth = np.asarray(Image.fromarray(whole).resize(size, Image.Resampling.BOX), np.float32)
        assert np.abs(small.astype(np.float32) - smooth).mean() < 3
        part = mldf.images.decode(jpeg, eighths=eighths, region=(3, 2, 5, 4))
        assert np.array_equal(part, small[2:6, 3:8])
        if eighths <= 8 and 8 % eighths == 0:
            assert np.array_equal(mldf.images.decode(jpeg, scale=8 // eighths), small)
    odd = mldf.images.encode(np.zeros((61, 83, 3), np.uint8))
    assert [mldf.images.decode(odd, eighths=e).shape[:2] for e in (1, 3, 7)] == [(8, 11), (23, 32), (54, 73)]
    for mistake, message in (({"eighths": 3, "scale": 2}, "with scale 1"), ({"eighths": 17}, "eighths")):
        with pytest.raises(mldf.errors.ArgumentError, match=message):
            mldf.images.decode(jpeg, **mistake)
    with pytest.raises(mldf.Error, match="3/8 of a png image; only JPEG"):
        mldf.images.decode(mldf.images.encode(whole, "png"), eighths=3)


def test_a_mosaic_is_made_of_its_images_resized():
    images = [pkg.image(i, 20 + 7 * i, 50 - 9 * i) for i in range(4)]
    mosaic = tl.Mosaic(64, seed=3)
    mosaic.set_images(images)
    for _ in range(8):
        out = mosaic.apply(images[0])
        x, y = mosaic.get_center()
        assert out.shape == (64, 64, 3) and 16 <= x <= 48 and 16 <= y <= 48
        scale = min((64 - y) / images[3].shape[0], (64 - x) / images[3].shape[1])
        h, w = (max(round(s * scale), 1) for s in images[3].shape[:2])
        want = reference_crop(images[3], (0, 0, images[3].shape[1], images[3].shape[0]), 0, h, w) * 255
        assert np.abs(out[y : y + h, x : x + w] - want).max() <= 0.51
        assert (out[y + h :, x:] == 114).all() and (out[y:, x + w :] == 114).all()
    with pytest.raises(mldf.errors.ArgumentError, match=r"\(height, width, 3\)"):
        mosaic.set_images([np.zeros((4, 4), np.uint8)] * 4)


def test_normalize_without_floats_leaves_the_image(tmp_path):
    image = pkg.image(3, 9, 7)
    for step in (tl.Normalize([0.4, 0.5, 0.6], [0.2, 0.2, 0.2], to_float=False), tl.ImageNetNormalize(to_float=False)):
        out = step.apply(image)
        assert out.dtype == np.uint8 and np.array_equal(out, image) and len(step.mean) == len(step.std) == 3
    assert tl.ImageNetNormalize().apply(image).dtype == np.float32


def test_a_missing_file_is_an_error_of_both_kinds(tmp_path):
    for kind in (FileNotFoundError, RuntimeError):
        with pytest.raises(kind, match="Failed to open TAR.*no.tar"):
            tl.DataLoader(tmp_path / "no.tar", 2)
