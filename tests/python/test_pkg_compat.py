"""Names of FFCV, TurboLoader and torchvision: what they give is what our own names give; the pages that say so run."""

import doctest
import os
import pathlib
import re
import warnings

import mldf
import numpy as np
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
            w.append({"image": pkg.picture(i, 40 + i, 60), "label": i % 10})
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
                ffcv.ToTorchImage(),
                ffcv.NormalizeImage(mean, std, np.float16),
            ],
            "label": [ffcv.IntDecoder(), ffcv.Squeeze()],
        },
    )
    ours = plain(
        path,
        [
            mldf.RandomResizedCrop((24, 24)),
            mldf.HorizontalFlip(),
            mldf.RandomTranslate(2, (0, 0, 0)),
            mldf.Cutout(4, (0, 0, 0)),
            mldf.CHW(),
            mldf.Normalize(mean.tolist(), std.tolist(), 255),
            mldf.Cast("f16"),
        ],
        order="quasi-random",
        seed=3,
    )
    assert same(theirs, ours)
    assert len(ffcv.Loader(path, 5, pipelines={"image": None})) == COUNT // 5  # drop_last is FFCV's default


def test_ffcv_mixup_of_picture_and_label(path):
    loader = ffcv.Loader(
        path,
        8,
        pipelines={
            "image": [ffcv.CenterCropRGBImageDecoder((16, 16), 1), ffcv.ImageMixup(0.5), ffcv.ToTorchImage()],
            "label": [ffcv.IntDecoder(), ffcv.LabelMixup(0.5), ffcv.MixupToOneHot(10)],
        },
    )
    base = plain(path, [mldf.CenterResizedCrop(16, 1), mldf.CHW()])
    for mixed, clean in zip(loader, base):
        assert mixed.label.shape == (8, 10) and np.allclose(mixed.label.sum(1), 1)
        for i in range(8):
            weight = mixed.label[i, clean.label[i]]
            partner = clean.image[i ^ 1].astype(np.float64)
            want = clean.image[i] * float(weight) + partner * (1 - float(weight))
            assert np.abs(want - mixed.image[i]).max() <= 1
    with pytest.raises(mldf.errors.UnsupportedError, match="come together"):
        ffcv.Loader(path, 8, pipelines={"image": [ffcv.CenterCropRGBImageDecoder((16, 16), 1), ffcv.ImageMixup(0.5)]})


def test_ffcv_writer_and_fields(tmp_path):
    data = [(pkg.picture(i, 24, 30), i, i / 2, np.arange(3) * i, {"n": i}, b"x" * i) for i in range(12)]
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
    steps = {"image": [ffcv.RandomResizedCropRGBImageDecoder((16, 16)), ffcv.ToTorchImage()]}
    a = ffcv.Loader(tmp_path / "a.beton", 8, pipelines=steps, order=ffcv.OrderOption.RANDOM)
    b = ffcv.Loader(path, 8, pipelines=steps, order=ffcv.OrderOption.RANDOM)
    assert same(a, b)


def test_turboloader_names(path):
    steps = [turboloader.Resize(20, 16), turboloader.RandomHorizontalFlip(), turboloader.ImageNetNormalize()]
    images, labels = next(
        iter(turboloader.DataLoader(path, 8, transform=turboloader.Compose(steps), output_format="numpy_chw"))
    )
    assert images.shape == (8, 3, 16, 20) and images.dtype == np.float32 and labels.tolist() == list(range(8))
    loader = turboloader.DataLoader(path, 8, shuffle=True, image_size=16, train_aug=True, output_format="numpy", seed=1)
    ours = plain(path, [mldf.RandomResizedCrop((16, 16)), mldf.HorizontalFlip(), mldf.ToFloat()], shuffle=True, seed=1)
    assert same(loader, ours) and len(loader) == 4
    with turboloader.DataLoader(path, 8, image_size=(8, 12)) as loader:
        samples = next(iter(loader))
    assert len(samples) == 8 and samples[3]["image"].shape == (8, 12, 3) and samples[3]["label"] == 3
    with pytest.raises(mldf.errors.ArgumentError, match="did you mean 'pytorch'"):
        turboloader.DataLoader(path, output_format="pytroch")
    with pytest.raises(mldf.errors.UnsupportedError, match="modality"):
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


# ---- the pages ----

PAGES = ["migrate-ffcv.md", "migrate-turboloader.md", "migrate-torchvision.md", "python-loader.md"]


def blocks(page):
    """(line, code) of a page's Python, unless `<!-- not run ... -->` stands before it."""
    text = (pathlib.Path(pkg.ROOT) / "docs" / page).read_text()
    for match in re.finditer(r"(<!-- not run[^>]*-->\n)?```python\n(.*?)```", text, re.S):
        if not match.group(1):
            yield text.count("\n", 0, match.start()) + 2, match.group(2)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_in_the_pages_runs(page, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("photos.mldf", "train.mldf"):
        os.symlink(path, name)
    mldf.convert(path, "train.beton")
    mldf.convert(path, "train.tar")
    names, skipped = {}, []
    found = list(blocks(page))
    assert found
    for line, code in found:
        missing = [
            m
            for m in ("torch", "ffcv", "turboloader", "torchvision", "numba")
            if re.search(rf"^\s*(import|from) {m}\b", code, re.M) and not _there(m)
        ]
        if missing:
            skipped.append(f"{page}:{line} needs {missing[0]}")
            continue
        exec(compile("\n" * (line - 1) + code, page, "exec"), names)
    if any(text.endswith("torch") for text in skipped):
        pytest.skip("; ".join(skipped))
    for text in skipped:
        warnings.warn(f"not run: {text}", stacklevel=1)  # the library that one comes from


def _there(module):
    import importlib.util

    return importlib.util.find_spec(module) is not None
