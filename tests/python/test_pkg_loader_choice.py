"""What a loader is told apart from its pipelines: subsets in their own order, seeds, a dataset's options, keys."""

import io
import subprocess
import sys

import mldf
import numpy as np
import pkg
import pytest

COUNT = 60


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(pkg.make(tmp_path_factory.mktemp("choice") / "a.mldf", count=COUNT))


# ---- subsets ----

LISTED = [5, 3, 9, 3, 41, 0, 59, 5, 5, 17, 2]


@pytest.mark.parametrize("which", [[5, 3, 9], LISTED, list(range(20, 3, -2)), [7], [7, 7, 7]])
def test_subsets_come_in_their_own_order(path, which):
    ds = mldf.open(path)
    for source, subset in ((ds.subset(which), None), (path, which)):
        with mldf.Loader(source, 4, subset=subset, fields=["label"], index=True) as loader:
            assert pkg.indices(loader) == which == pkg.indices(loader)
    with mldf.Loader(ds[20:3:-2], 4, fields=["label"], index=True) as loader:
        assert pkg.indices(loader) == list(range(20, 3, -2))


def test_a_shuffled_subset_has_each_entry_and_does_not_depend_on_how_it_was_listed(path):
    def run(which, order="random"):
        with mldf.Loader(path, 4, subset=which, order=order, seed=3, fields=["label"], index=True) as loader:
            return pkg.indices(loader)

    assert sorted(run(LISTED)) == sorted(LISTED)
    assert run(LISTED) == run(LISTED[::-1]) == run(sorted(LISTED))
    assert sorted(run(LISTED, "quasi-random")) == sorted(LISTED)


def test_ranks_share_such_a_subset(path):
    got = []
    for rank in range(3):
        with mldf.Loader(
            path, subset=LISTED, global_batch_size=6, rank=rank, world_size=3, fields=["label"], index=True, valid=True
        ) as loader:
            got.append([b["index"][b["valid"]].tolist() for b in loader])
    assert [i for batch in zip(*got) for part in batch for i in part] == LISTED


def test_such_a_run_goes_on_where_it_was(path):
    def make(which=LISTED):
        return mldf.Loader(path, 3, subset=which, fields=["label"], index=True)

    with make() as loader:
        it = iter(loader)
        first = next(it)["index"].tolist()
        state = loader.state_dict()
    with make() as again:
        again.load_state_dict(state)
        assert first + pkg.indices(again) == LISTED
    with make(sorted(LISTED)) as other, pytest.raises(mldf.errors.StateError, match="another order"):
        other.load_state_dict(state)


def test_torch_gives_the_same_order(path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (make torch)")
    ds = mldf.open(path)
    subset = torch.utils.data.Subset(ds, LISTED)
    with mldf.Loader(ds.subset(LISTED), 4, fields=["label"]) as loader:
        ours = np.concatenate([b.label for b in loader]).tolist()
    assert [s.label for s in subset] == ours


# ---- seeds ----


def test_seeds_have_64_bits(path):
    runs = []
    for seed in (0, 1, 2**63, 2**64 - 1, np.uint64(2**64 - 1)):
        with mldf.Loader(path, 8, True, seed=seed, fields=["label"], index=True) as loader:
            state = loader.state_dict()
            runs.append(pkg.indices(loader))
            loader.load_state_dict(state)
            assert pkg.indices(loader) == runs[-1]
            assert state["seed"] == int(seed)
    assert runs[3] == runs[4] and len({tuple(r) for r in runs}) == 4
    for seed in (-1, 2**64, 2**70):
        with pytest.raises(mldf.errors.ArgumentError, match=f"seed={seed}: it is at (least 0|most 1844674407)"):
            mldf.Loader(path, seed=seed)
        with pytest.raises(mldf.errors.ArgumentError, match=f"seed={seed}"):
            mldf.open(path).split(0.5, 0.5, seed=seed)
        with pytest.raises(mldf.errors.ArgumentError, match=f"seed={seed}"):
            mldf.tools.split(path, "{}.mldf", fractions=[0.5, 0.5], shuffle=True, seed=seed)
    with pytest.raises(mldf.errors.WrongTypeError, match="seed=1.5"):
        mldf.Loader(path, seed=1.5)


# ---- a dataset's options ----


def jpeg(i, orientation, gray):
    pillow = pytest.importorskip("PIL.Image")
    pixels = pkg.image(i, 16, 24)
    image = pillow.fromarray(pixels).convert("L") if gray else pillow.fromarray(pixels)
    exif = pillow.Exif()
    exif[0x0112] = orientation
    out = io.BytesIO()
    image.save(out, "jpeg", quality=95, exif=exif)
    return out.getvalue()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    where = tmp_path_factory.mktemp("images") / "p.mldf"
    with mldf.Writer(where, {"image": mldf.Image(), "label": mldf.Int()}) as w:
        w.extend({"image": jpeg(i, 1 + i % 8, i % 3 == 0), "label": i} for i in range(24))
    return str(where)


@pytest.mark.parametrize(
    "options", [{}, {"channels": 1}, {"channels": 3}, {"channels": 4}, {"channels": 3, "orient": True}]
)
def test_a_dataset_s_options_hold_in_its_loader(images, options):
    ds = mldf.open(images, **options)
    crop = {"image": [mldf.CenterCrop(10)]}
    with mldf.Loader(ds, 5, pipelines=crop, index=True, exact=True) as loader:
        for batch in loader:
            for row, i in enumerate(batch["index"].tolist()):
                want = ds[i].image
                if want.shape[2] != batch.image.shape[3]:  # as stored, some gray: a batch has one form
                    assert not options
                    continue
                h, w = want.shape[:2]
                top, left = (h - 10) // 2, (w - 10) // 2
                assert np.array_equal(batch.image[row], want[top : top + 10, left : left + 10])
    with mldf.Loader(ds, 5, fields=["image"] if not options.get("orient") else ["label"]) as loader:
        assert loader.outputs


def test_the_pipeline_s_own_decode_wins(images):
    ds = mldf.open(images, channels=1, orient=True)
    steps = {"image": [mldf.Decode(channels=3, orient=False), mldf.CenterCrop(8)], "g = image": [mldf.CenterCrop(8)]}
    with mldf.Loader(ds, 24, pipelines=steps) as loader:
        batch = next(iter(loader))
        assert batch.image.shape == (24, 8, 8, 3) and batch["g"].shape == (24, 8, 8, 1)
    plain = mldf.open(images, channels=3)
    with mldf.Loader(plain, 24, pipelines={"image": [mldf.CenterCrop(8)]}) as loader:
        assert np.array_equal(next(iter(loader)).image, batch.image)


def test_options_given_later_hold_too(images):
    ds = mldf.open(images).with_options(channels=1).subset([3, 1])
    with mldf.Loader(ds, 2, fields=["image"]) as loader:
        batch = next(iter(loader))
        assert np.array_equal(batch.image[0], ds[0].image) and np.array_equal(batch.image[1], ds[1].image)


def test_images_of_one_size_stay_so_unless_one_is_turned(tmp_path):
    for turned, last in ((False, 4), (True, 6)):
        where = tmp_path / f"{last}.mldf"
        with mldf.Writer(where, {"image": mldf.Image()}) as w:
            w.extend({"image": jpeg(i, 1 + i % 4 if i < 7 else last, False)} for i in range(8))
        ds = mldf.open(where, orient=True)
        if turned:
            with pytest.raises(mldf.errors.WrongTypeError, match="size differs from sample to sample"):
                mldf.Loader(ds, 8, fields=["image"])
            continue
        with mldf.Loader(ds, 8, fields=["image"]) as loader:
            batch = next(iter(loader))
            assert batch.image.shape == (8, 16, 24, 3)
            assert all(np.array_equal(batch.image[i], ds[i].image) for i in range(8))


def test_images_that_are_not_to_be_decoded_are_refused(images):
    ds = mldf.open(images, decode=False)
    with pytest.raises(mldf.errors.ArgumentError, match="decode=False"):
        mldf.Loader(ds, 4, fields=["image"])
    with mldf.Loader(ds, 4, pipelines={"image": [mldf.Decode(channels=3), mldf.CenterCrop(8)]}) as loader:
        assert next(iter(loader)).image.shape == (4, 8, 8, 3)


# ---- keys ----


def test_keys_are_those_of_the_samples(path, tmp_path):
    more = str(pkg.make(tmp_path / "b.mldf", count=7, first=COUNT))
    empty = str(pkg.make(tmp_path / "e.mldf", count=0))
    for source in (path, [path, empty, more]):
        ds = mldf.open(source)
        keys = ds.keys
        with mldf.Loader(ds, 9, True, fields=["label"], key=True, index=True) as loader:
            for batch in loader:
                assert isinstance(batch["key"], list)
                assert batch["key"] == [keys[i] for i in batch["index"].tolist()]
        with mldf.Loader(ds, 9, fields=["label"], key=True) as loader:
            assert "index" not in loader.outputs
            assert [k for b in loader for k in b["key"]] == list(keys)


def test_keys_need_no_open_dataset(path):
    ds = mldf.open(path)
    with mldf.Loader(ds, 9, fields=["label"], key=True) as loader:
        ds.close()
        assert next(iter(loader))["key"][:2] == ["key-0", "key-1"]


def test_keys_of_all_lengths_come_back(tmp_path):
    where = tmp_path / "odd.mldf"
    names = ["ä", "x" * 300, "€" * 70]
    with mldf.Writer(where, {"label": mldf.Int()}) as w:
        for i, name in enumerate(names):
            w.append({"label": i}, key=name)
    with mldf.Loader(where, 2, key=True) as loader:
        assert [k for b in loader for k in b["key"]] == names == list(mldf.open(where).keys)


def test_numbers_that_no_file_has_are_refused(path):
    with mldf.Loader(path, 9, fields=["label"], key=True) as loader:
        with pytest.raises(mldf.errors.NoSampleError):
            loader._core.keys(np.array([COUNT], np.uint64))
        with pytest.raises(ValueError, match="64-bit"):
            loader._core.keys(b"abc")


def test_loading_imports_no_more_than_it_did():
    code = "import sys, mldf; assert 'torch' not in sys.modules and 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
