"""Names of FFCV, TurboLoader and torchvision: what they give is what our own names give; the pages that say so run."""

import doctest
import importlib
import importlib.util
import re

import mldf
import numpy as np
import pages
import peers
import pkg
import pytest
from mldf.compat import ffcv, turboloader
from mldf.compat import torchvision as tv

COUNT = 32


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("compat") / "a.mldf"
    with mldf.Writer(path, {"image": mldf.Image(), "label": mldf.Int()}) as w:
        for i in range(COUNT):
            w.append({"image": pkg.image(i, 40 + i, 60), "label": i % 10})
    return str(path)


def same(a, b):
    """Loaders with equal batches."""
    count = 0
    for x, y in zip(a, b, strict=True):
        assert len(x) == len(y)
        for p, q in zip(x, y):
            p, q = np.asarray(p), np.asarray(q)
            assert p.dtype == q.dtype and np.array_equal(p, q)
            count += 1
    return count


def plain(path, steps, **options):
    return mldf.Loader(path, 8, pipelines={"image": steps}, **options)


def test_torchvision_names(path):
    theirs = tv.Compose(
        [
            tv.RandomResizedCrop(24, interpolation=tv.InterpolationMode.BICUBIC),
            tv.RandomHorizontalFlip(),
            tv.ColorJitter(0.4, 0.4, 0.4),
            tv.ToTensor(),
            tv.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
            tv.RandomErasing(0.25),
        ]
    )
    ours = [
        mldf.RandomResizedCrop(24, filter="bicubic"),
        mldf.HorizontalFlip(),
        mldf.ColorJitter(0.4, 0.4, 0.4),
        mldf.Normalize("imagenet"),
        mldf.CHW(),
        mldf.Erasing(0.25),
    ]
    assert same(plain(path, theirs, shuffle=True), plain(path, ours, shuffle=True))
    assert next(iter(plain(path, theirs))).image.shape == (8, 3, 24, 24)


@pytest.mark.parametrize(
    "steps",
    [
        [tv.Resize((32, 20), antialias=False), tv.PILToTensor()],
        [tv.Resize((32, 32)), tv.AutoAugment(tv.AutoAugmentPolicy.SVHN), tv.Pad([1, 2], 5, "reflect")],
        [tv.Resize((32, 32)), tv.RandomCrop(24, padding=4, padding_mode="symmetric"), tv.ToTensor()],
        [tv.CenterCrop(16), tv.Grayscale(3), tv.RandomGrayscale(0.5), tv.RandomInvert(), tv.RandomEqualize()],
        [tv.RandomCrop(32, padding=4), tv.RandomVerticalFlip(), tv.GaussianBlur(3), tv.RandomAutocontrast()],
        [
            tv.Resize((32, 32)),
            tv.RandomRotation(30),
            tv.RandomAffine(10, (0.1, 0.1), (0.9, 1.1), 5),
            tv.RandomPerspective(),
        ],
        [tv.Resize((32, 32)), tv.RandomPosterize(4), tv.RandomSolarize(128), tv.RandomAdjustSharpness(2)],
        [
            tv.Resize((32, 32)),
            tv.RandAugment(),
            tv.TrivialAugmentWide(),
            tv.ToDtype("float16", scale=True),
            tv.ToImage(),
        ],
    ],
)
def test_every_torchvision_name_gives_operations_that_run(path, steps):
    assert len(list(plain(path, tv.Compose(steps)))) == 4


def test_ffcv_names(path):
    mean, std = np.array([0.485, 0.456, 0.406]) * 255, np.array([0.229, 0.224, 0.225]) * 255
    theirs = ffcv.Loader(
        path,
        batch_size=8,
        order=ffcv.OrderOption.QUASI_RANDOM,
        seed=3,
        drop_last=False,
        pipelines={
            "image": [
                ffcv.RandomResizedCropRGBImageDecoder((24, 24)),
                ffcv.RandomHorizontalFlip(),
                ffcv.RandomTranslate(2),
                ffcv.Cutout(4),
                ffcv.Poison(np.full((2, 2, 3), 9), np.full((2, 2), 0.5), [1, 7]),
                ffcv.ToTorchImage(),
                ffcv.NormalizeImage(mean, std, np.float16),
            ],
            "label": [ffcv.IntDecoder(), ffcv.Squeeze()],
        },
    )
    ours = plain(
        path,
        [
            mldf.RandomResizedCrop((24, 24), filter="area"),
            mldf.HorizontalFlip(),
            mldf.RandomTranslate(2, (0, 0, 0)),
            mldf.Cutout(4, (0, 0, 0)),
            mldf.Poison([1, 7], (2, 2), (9, 9, 9), alpha=0.5, clamp=(0, 255)),
            mldf.CHW(),
            mldf.Normalize(mean.tolist(), std.tolist(), 255),
            mldf.Cast("f16"),
        ],
        order="quasi-random",
        seed=3,
    )
    assert same(theirs, ours)
    assert len(ffcv.Loader(path, 5, pipelines={"image": None})) == COUNT // 5  # drop_last is FFCV's default


def test_ffcv_writer_and_fields(tmp_path):
    data = [(pkg.image(i, 24, 30), i, i / 2, np.arange(3) * i, {"n": i}, b"x" * i) for i in range(12)]
    fields = {
        "image": ffcv.RGBImageField(write_mode="jpg", max_resolution=20, jpeg_quality=80),
        "label": ffcv.IntField(),
        "score": ffcv.FloatField(),
        "array": ffcv.NDArrayField(np.dtype("int64"), (3,)),
        "meta": ffcv.JSONField(),
        "blob": ffcv.BytesField(),
    }
    ffcv.DatasetWriter(tmp_path / "a.mldf", fields, num_workers=2).from_indexed_dataset(data, indices=range(2, 12))
    ds = mldf.open(tmp_path / "a.mldf")
    assert len(ds) == 10 and ds[0].label == 2 and ds[0].meta == {"n": 2} and ds[0].array.tolist() == [0, 2, 4]
    assert max(ds[0].image.shape) == 20


def test_ffcv_reads_betons(tmp_path, path):
    mldf.convert(path, tmp_path / "a.beton")
    steps = {
        "image": [ffcv.RandomResizedCropRGBImageDecoder((16, 16)), ffcv.ToTorchImage()],
        "label": [ffcv.IntDecoder()],
    }
    a = ffcv.Loader(tmp_path / "a.beton", 8, pipelines=steps, order=ffcv.OrderOption.RANDOM)
    b = ffcv.Loader(path, 8, pipelines=steps, order=ffcv.OrderOption.RANDOM)
    assert same(a, b)


def test_turboloader_names(path):
    steps = [turboloader.Resize(20, 16), turboloader.RandomHorizontalFlip(), turboloader.ImageNetNormalize()]
    images, meta = next(
        iter(turboloader.DataLoader(path, 8, transform=turboloader.Compose(steps), output_format="numpy_chw"))
    )
    assert images.shape == (8, 3, 16, 20) and images.dtype == np.float32 and meta["label"].tolist() == list(range(8))
    assert meta["indices"] == list(range(8)) and meta["batch_size"] == 8 and meta["decode_failures"] == 0
    assert (meta["height"], meta["width"], meta["channels"]) == (16, 20, 3) and "filenames" not in meta
    loader = turboloader.DataLoader(path, 8, shuffle=True, image_size=16, train_aug=True, output_format="numpy", seed=1)
    ours = plain(path, [mldf.RandomResizedCrop((16, 16)), mldf.HorizontalFlip(), mldf.ToFloat()], shuffle=True, seed=1)
    for (images, meta), batch in zip(loader, ours, strict=True):
        assert np.array_equal(images, batch.image) and np.array_equal(meta["label"], batch.label)
    assert len(loader) == 4
    with turboloader.DataLoader(path, 8, image_size=(8, 12)) as loader:
        samples = next(iter(loader))
    assert len(samples) == 8 and samples[3]["image"].shape == (8, 12, 3) and samples[3]["label"] == 3
    with pytest.raises(mldf.errors.ArgumentError, match="did you mean 'pytorch'"):
        turboloader.DataLoader(path, output_format="pytroch")
    with pytest.raises(mldf.errors.ArgumentError, match="requires seq_len"):
        turboloader.DataLoader(path, modality="tokens")


@pytest.mark.parametrize(
    "steps",
    [
        [
            turboloader.CenterCrop(16, 12),
            turboloader.ColorJitter(0.1),
            turboloader.Grayscale(3),
            turboloader.ToTensor(),
        ],
        [
            turboloader.RandomCrop(16, 12, 2),
            turboloader.GaussianBlur(3),
            turboloader.RandomErasing(),
            turboloader.RandAugment(),
        ],
        [turboloader.Resize(16, 12), turboloader.RandomRotation(9), turboloader.RandomAffine(5, 0.1, 0.1)],
        [turboloader.Resize(16, 12), turboloader.RandomPerspective(0.3), turboloader.RandomPosterize(3)],
        [turboloader.Resize(16, 12), turboloader.RandomSolarize(100), turboloader.Normalize([0.5] * 3, [0.5] * 3)],
    ],
)
def test_every_turboloader_name_gives_operations_that_run(path, steps):
    images, _ = next(iter(turboloader.DataLoader(path, 8, transform=steps, output_format="numpy_chw")))
    assert images.shape == (8, 3, 12, 16)


@pytest.mark.parametrize("module", [ffcv, turboloader, tv])
def test_the_examples_in_the_docstrings_hold(module):
    found = doctest.testmod(module)
    assert found.failed == 0 and found.attempted > 0


# ---- what the others have, and what is here of it ----

PEERS = sorted(peers.PEERS)


@pytest.mark.parametrize("peer", PEERS)
def test_every_name_of_the_others_is_here_or_the_page_says_why_not(peer):
    compat = importlib.import_module(f"mldf.compat.{peer}")
    names, left_out = peers.names(peer), peers.not_here(peer)
    assert all(callable(getattr(compat, name)) for name in compat.__all__)
    assert names - set(compat.__all__) - set(left_out) == set(), "neither here nor in the page's table"
    assert set(left_out) <= names and not set(left_out) & set(compat.__all__), "the page's table is out of date"
    assert all(len(reason) > 10 for reason in left_out.values())


def test_the_names_are_those_of_the_real_torchvision():
    if not installed("torchvision"):
        pytest.skip("torchvision is not installed (make torch)")
    peers.import_torchvision()
    peers.check_real("torchvision")


@pytest.mark.parametrize(
    ("steps", "want"),
    [
        ([tv.ToImage(), tv.Resize(8), tv.ToDtype("float32", scale=True)], [mldf.Resize(8), mldf.ToFloat(), mldf.CHW()]),
        ([tv.PILToTensor(), tv.ConvertImageDtype(), tv.Resize(8)], [mldf.Resize(8), mldf.ToFloat(), mldf.CHW()]),
        ([tv.ToTensor(), tv.Normalize(0.5, 0.5, inplace=True)], [mldf.Normalize(0.5, 0.5), mldf.CHW()]),
        ([tv.RGB(), tv.Identity(), tv.ToPureTensor(), tv.Lambda(abs)], [mldf.Decode(channels=3), abs]),
        ([tv.ToTensor(), abs], [mldf.ToFloat(), mldf.CHW(), abs]),
        ([tv.RandomApply([tv.ColorJitter(0.4)], p=0.8)], [mldf.ColorJitter(0.4, p=0.8)]),
        ([tv.RandomApply(tv.RandomInvert(0.5), p=0.5)], [mldf.RandomInvert(0.25)]),
        ([tv.Grayscale(num_output_channels=3), tv.Resize(8, 3)], [mldf.Grayscale(3), mldf.Resize(8, "bicubic")]),
    ],
)
def test_torchvisions_lists_in_our_order(steps, want):
    assert tv.Compose(steps) == want


def test_torchvision_refuses_what_it_cannot_do(path):
    for steps in ([tv.ColorJitter(0.4), tv.GaussianBlur(3)], [tv.Resize(8)]):
        with pytest.raises(mldf.errors.UnsupportedError, match="RandomApply"):
            tv.RandomApply(steps)
    assert len(list(plain(path, tv.Compose([tv.Resize((8, 8)), tv.RandomPhotometricDistort(p=1)])))) == 4


def test_ffcv_poison_and_labels_by_sample(path):
    """A trigger of two colours, half of it see-through, as FFCV defines it: temp * (1 - alpha) + mask * alpha."""
    mask, alpha = np.zeros((16, 16, 3)), np.zeros((16, 16))
    mask[2:5, 3:9], alpha[2:5, 3:9] = (255, 0, 10), 1
    mask[4:8, 5:7], alpha[4:8, 5:7] = (0, 200, 0), 0.5
    chosen = [17, 3, 8]
    centre = ffcv.CenterCropRGBImageDecoder((16, 16), 1)
    pipelines = {
        "image": [centre, ffcv.Poison(mask, alpha, chosen, clamp=(0, 250)), ffcv.ToTorchImage()],
        "label": [ffcv.IntDecoder(), ffcv.ReplaceLabel(chosen, 77)],
    }
    got = list(ffcv.Loader(path, 8, order=ffcv.OrderOption.RANDOM, pipelines=pipelines, index=True))
    clean = list(
        ffcv.Loader(
            path,
            8,
            order=ffcv.OrderOption.RANDOM,
            pipelines={"image": [centre, ffcv.ToTorchImage()], "label": [ffcv.IntDecoder()]},
        )
    )
    marked = 0
    for a, b in zip(got, clean, strict=True):
        for i, n in enumerate(a["index"].tolist()):
            want = b.image[i].transpose(1, 2, 0).astype(float)
            if n in chosen:
                want = np.clip(want * (1 - alpha[:, :, None]) + mask * alpha[:, :, None], 0, 250)
                # what the clamp does not touch where nothing is blended in
                want = np.where(alpha[:, :, None] > 0, want, b.image[i].transpose(1, 2, 0))
                marked += 1
            assert np.abs(a.image[i].transpose(1, 2, 0) - want).max() <= 0.5
            assert a.label[i] == (77 if n in chosen else b.label[i])
    assert marked == 3
    noise = np.random.default_rng(0).integers(0, 256, (32, 32, 3))
    with pytest.raises(mldf.errors.UnsupportedError, match="256"):
        ffcv.Poison(noise, np.ones((32, 32)), [1])
    with pytest.raises(mldf.errors.ArgumentError, match="alpha"):
        ffcv.Poison(noise, np.ones((8, 8)), [1])


def test_turboloaders_other_names(path):
    chain = turboloader.Resize(16, 12) | turboloader.RandomHorizontalFlip() | turboloader.ToTensor()
    assert chain == turboloader.Compose([turboloader.Resize(16, 12), mldf.HorizontalFlip(), mldf.ToFloat(), mldf.CHW()])
    with pytest.raises(TypeError):
        chain | 5
    plain = turboloader.create_loader(path, batch_size=8, target_height=12, target_width=16, output_format="numpy_chw")
    smooth = turboloader.Loader(path, 8, fast=True, transform=chain, output_format="numpy_chw", antialias=True)
    a, b = next(iter(plain))[0], next(iter(smooth))[0]
    assert a.shape == b.shape == (8, 3, 12, 16) and not np.array_equal(a, b)
    jpeg = mldf.images.encode(pkg.image(1, 64, 96))
    assert turboloader.decode_jpeg(jpeg).shape == (64, 96, 3)
    shapes = [
        turboloader.decode_jpeg_scaled(jpeg, *size).shape[:2] for size in ((12, 8), (48, 32), (49, 32), (200, 200))
    ]
    assert shapes == [(8, 12), (32, 48), (40, 60), (64, 96)]
    both = {"image": [mldf.Resize((8, 8))], "label": [mldf.OneHot(10)]}
    for mix in (turboloader.MixUp(), turboloader.CutMix(), tv.MixUp(alpha=0.4), tv.CutMix(num_classes=10)):
        batch = next(iter(mldf.Loader(path, 8, pipelines=[*both.items(), ("image, label", [mix])])))
        assert np.allclose(batch.label.sum(1), 1)
    reflected = turboloader.RandomCrop(44, 36, 2, turboloader.PaddingMode.REFLECT)
    assert [type(step).__name__ for step in reflected] == ["Pad", "RandomCrop"]
    steps = turboloader.Resize(40, 40) | reflected
    assert next(iter(mldf.Loader(path, 8, pipelines={"image": steps}))).image.shape == (8, 36, 44, 3)


def test_turboloaders_tensors(path):
    if not installed("torch"):
        with pytest.raises(mldf.errors.ArgumentError, match="PyTorch is not installed"):
            turboloader.DataLoader(path, 8, output_format="torch")
        pytest.skip("PyTorch is not installed (make torch)")
    half = turboloader.DataLoader(path, 8, image_size=12, output_format="torch", dtype="float16", channels_last=True)
    images, meta = next(iter(half))
    assert tuple(images.shape) == (8, 12, 12, 3) and str(images.dtype) == "torch.float16" and meta["batch_size"] == 8


# ---- the pages ----


def installed(module):
    return importlib.util.find_spec(module) is not None


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    pages.make_data(folder)
    return folder


@pytest.mark.parametrize("page", ["migrate-ffcv.md", "migrate-turboloader.md", "python-loader.md"])
def test_our_code_in_the_pages_runs(page, data, monkeypatch):
    """What is the other library's runs in `make interop`, which compares the batches, too."""
    monkeypatch.chdir(data)
    found = [block for block in pages.blocks(page) if not block.label.startswith("before")]
    needs = {m for b in found for m in ("torch", "numba") if re.search(rf"^\s*(import|from) {m}\b", b.code, re.M)}
    missing = sorted(m for m in needs if not installed(m))
    if missing:
        pytest.skip(f"{page} needs {', '.join(missing)} (make torch)")
    names = {}
    for block in found:
        block.run(names)
    assert found


def test_before_and_after_torchvision(data, monkeypatch):
    """With the real one: the batches of before and after are compared."""
    if not installed("torchvision"):
        pytest.skip("torchvision is not installed (make torch)")
    peers.import_torchvision()
    monkeypatch.chdir(data)
    assert pages.run("migrate-torchvision.md", {}) == 3
