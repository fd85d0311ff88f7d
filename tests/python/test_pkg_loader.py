"""The loader's meaning: what is in which batch, in which order, on which rank, and how a run goes on."""

import json
import math
import pickle

import mldf
import numpy as np
import pkg
import pytest
from mldf.signature import signature

COUNT = 103


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(pkg.make(tmp_path_factory.mktemp("loader") / "a.mldf", count=COUNT))


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    return [str(pkg.make(folder / f"{i}.mldf", count=n, first=f)) for i, (n, f) in enumerate([(40, 0), (63, 40)])]


IMAGES = {"image": [mldf.Resize((8, 8)), mldf.HorizontalFlip(), mldf.Normalize("imagenet"), mldf.CHW()]}


def load(path, size=10, **options):
    options.setdefault("fields", ["label", "fixed", "pos"])
    return mldf.Loader(path, size, **options)


def bytes_of(loader):
    return [tuple(np.asarray(a).tobytes() for a in b) for b in loader]


# ---- what is in a batch ----


def test_batches_hold_the_samples_that_the_dataset_has(path):
    ds = mldf.open(path)
    seen = 0
    for batch in load(path, index=True):
        for row, i in enumerate(batch["index"].tolist()):
            s = ds[i]
            assert batch.label[row] == s.label
            assert batch.fixed[row].tolist() == s.fixed.tolist()
            assert batch.pos[row].tolist() == s.pos.tolist()
            seen += 1
    assert seen == COUNT


def test_images_are_those_of_the_dataset(path):
    ds = mldf.open(path)
    for batch in mldf.Loader(path, 7, pipelines={"image": [mldf.CenterCrop((12, 16))]}, index=True):
        for row, i in enumerate(batch["index"].tolist()):
            assert np.array_equal(batch.image[row], ds[i, "image"])


def test_operations_compute_what_numpy_does(path):
    steps = {"image": [mldf.CenterCrop((12, 16)), mldf.Normalize([0.5, 0.25, 0.1], [0.5, 2, 0.25]), mldf.CHW()]}
    ds = mldf.open(path)
    batch = next(iter(mldf.Loader(path, 5, pipelines=steps)))
    pixels = np.stack([ds[i, "image"] for i in range(5)]).astype(np.float64) / 255
    want = ((pixels - [0.5, 0.25, 0.1]) / [0.5, 2, 0.25]).transpose(0, 3, 1, 2)
    assert batch.image.dtype == np.float32 and batch.image.shape == (5, 3, 12, 16)
    assert np.allclose(batch.image, want, atol=1e-5)


def test_batches_are_named_tuples_of_aligned_writable_arrays(path):
    batch = next(iter(load(path, pipelines={"x": [mldf.Pad()]}, fields=["x", "label", "fixed"])))
    assert batch.names == ("x", "x_length", "label", "fixed")
    x, length, label, _ = batch
    assert x is batch.x is batch["x"] is batch[0]
    assert label.shape == (10,) and label.dtype == np.uint8
    assert x.shape == (10, 4, 2) and length.tolist() == [i % 5 for i in range(10)]
    for array in batch:
        assert array.ctypes.data % 64 == 0 and array.flags.writeable and array.flags.c_contiguous
        array[...] = 0
    with pytest.raises(mldf.errors.NoFieldError, match="no output 'lable'"):
        batch["lable"]
    again = pickle.loads(pickle.dumps(batch))
    assert again.names == batch.names and np.array_equal(again.x, x)


def test_outputs_come_in_the_fields_order_and_views_behind_them(path):
    pipelines = {"small = image": [mldf.Resize((4, 4))], "label": [mldf.Cast("int64")], "image": [mldf.Resize((8, 8))]}
    loader = mldf.Loader(path, 4, pipelines=pipelines, valid=True)
    assert loader.outputs == ("image", "label", "fixed", "pos", "small", "valid")
    batch = next(iter(loader))
    assert batch.small.shape == (4, 4, 4, 3) and batch.label.dtype == np.int64 and batch.valid.all()
    assert mldf.Loader(path, 4, pipelines=pipelines, fields=["small", "label"]).outputs == ("small", "label")
    assert mldf.Loader(path, 4, pipelines={**pipelines, "pos": None}).outputs[:3] == ("image", "label", "fixed")


def test_text_and_objects_make_the_same_pipeline(path):
    text = "image: resize([8, 8]) | hflip | normalize(imagenet) | chw"
    assert bytes_of(mldf.Loader(path, 16, pipelines=text)) == bytes_of(mldf.Loader(path, 16, pipelines=IMAGES))


def test_keys_and_indices_on_request(parts):
    for batch in load(parts, fields=["label"], shuffle=True, key=True, index=True):
        assert batch.names == ("label", "index", "key")
        assert batch.key == [f"key-{i}" for i in batch["index"].tolist()]
    assert load(parts, fields=["label"], key=True).outputs == ("label", "key")


def test_several_files_are_one_dataset(path, parts):
    assert bytes_of(load(path, shuffle=True, seed=3)) == bytes_of(load(parts, shuffle=True, seed=3))


def test_python_callables_come_last_and_see_the_batch(path):
    loader = load(
        path,
        fields=["label", "fixed"],
        pipelines={"label": [mldf.Cast("i32"), lambda a: a * 2, np.sum]},
        transform=[lambda b: (b.label, b.fixed.shape), lambda pair: {"sum": pair[0], "shape": pair[1]}],
    )
    out = list(loader)
    assert out[0] == {"sum": 2 * sum(range(10)), "shape": (10, 3)} and len(out) == 11


def test_an_exception_in_user_code_costs_its_batch_alone(path):
    def fail(labels):
        if 10 in labels:
            raise ZeroDivisionError("mine")
        return labels

    loader = load(path, fields=["label"], pipelines={"label": [fail]})
    it = iter(loader)
    assert next(it).label[0] == 0
    with pytest.raises(ZeroDivisionError) as caught:
        next(it)
    assert caught.value.__notes__ == ["in a callable of the output 'label'"]
    assert next(it).label[0] == 20


def test_a_callable_that_forgets_to_return_is_told(path):
    def forgets(labels):
        labels += 1

    loader = load(path, fields=["label", "fixed"], pipelines={"label": [forgets]})
    with pytest.raises(
        mldf.errors.WrongTypeError, match="a callable of the output 'label' gave None; it returns"
    ) as caught:
        next(iter(loader))
    assert caught.value.field == "label"


# ---- order ----


def test_every_sample_once_for_every_order(path):
    for order in ("sequential", "random", "quasi-random", "QUASI_RANDOM"):
        got = pkg.indices(load(path, order=order, index=True))
        assert sorted(got) == list(range(COUNT)), order
        assert (got == list(range(COUNT))) == (order == "sequential")


def test_shuffle_depends_on_seed_and_epoch_alone(path):
    a, b = load(path, shuffle=True, seed=5, index=True, threads=1), load(path, 33, order="random", seed=5, index=True)
    first = pkg.indices(a)
    assert first == pkg.indices(b) != pkg.indices(a)
    assert pkg.indices(load(path, shuffle=True, seed=6, index=True)) != first


def test_batches_are_the_same_for_any_number_of_threads(path):
    want = None
    for options in (
        {"threads": 0},
        {"threads": 1},
        {"threads": 2},
        {"num_workers": 5},
        {"threads": 3, "batches_ahead": 9},
    ):
        loader = mldf.Loader(path, 16, shuffle=True, seed=1, pipelines=IMAGES, fields=["image", "label"], **options)
        got = [bytes_of(loader), bytes_of(loader)]
        assert got[0] != got[1]
        want = want or got
        assert got == want, options


def test_subsets(path):
    ds = mldf.open(path)
    want = list(range(10, 100, 3))
    for source, subset in ((path, slice(10, 100, 3)), (path, want), (ds.subset(want), None), (ds[10:100:3], None)):
        assert pkg.indices(load(source, subset=subset, index=True)) == want
        got = pkg.indices(load(source, subset=subset, index=True, shuffle=True))
        assert sorted(got) == want and got != want
    mask = np.zeros(COUNT, bool)
    mask[want] = True
    assert pkg.indices(load(path, subset=mask, index=True)) == want
    assert sorted(pkg.indices(load(path, subset=want[::-1], index=True, shuffle=True))) == want
    assert pkg.indices(load(path, subset=want[::-1], index=True)) == want[::-1]


def test_weights_draw_with_replacement(path):
    weights = np.zeros(COUNT)
    weights[[3, 50]] = [1, 3]
    got = pkg.indices(load(path, weights=weights, samples_per_epoch=4000, index=True))
    assert set(got) == {3, 50} and len(got) == 4000
    assert abs(got.count(50) / 4000 - 0.75) < 0.04
    subset = pkg.indices(load(path, subset=[3, 7, 50], weights=[1, 0, 3], samples_per_epoch=4000, index=True))
    assert subset == got


def test_balance_shows_every_class_equally_often(path):
    ds = mldf.open(path)
    loader = load(ds.subset(ds.column("label") % 2 == 0), balance="label", subset=[0, 1, 2], index=True)
    got = pkg.indices(loader)
    assert sorted(set(got)) == [0, 2, 4] and len({got.count(i) for i in set(got)}) == 1


def test_ratios_mix_files(parts):
    got = pkg.indices(load(parts, ratios=[3, 1], samples_per_epoch=400, index=True, shuffle=True))
    first = sum(i < 40 for i in got)
    assert first == 300 and len(got) == 400
    with pytest.raises(mldf.errors.ArgumentError, match="one for each"):
        load(parts, ratios=[1, 2, 3])


def test_the_end_of_an_epoch(path):
    sizes = {"keep": [10] * 10 + [3], "drop": [10] * 10, "pad": [10] * 11}
    for last, want in sizes.items():
        loader = load(path, last=last, valid=True)
        batches = list(loader)
        assert [len(b.label) for b in batches] == want and len(loader) == len(want)
        assert sum(int(b.valid.sum()) for b in batches) == min(COUNT, sum(want))
    assert [len(b.label) for b in load(path, drop_last=True)] == sizes["drop"]


def test_buckets_put_like_lengths_together(path):
    loader = load(path, fields=["x"], pipelines={"x": [mldf.Pad()]}, shuffle=True, bucket="x", index=True)
    batches = list(loader)
    assert sorted(i for b in batches for i in b["index"].tolist()) == list(range(COUNT))
    assert sum(b.x_length.max() - b.x_length.min() for b in batches) <= 6
    budget = load(path, fields=["x"], pipelines={"x": [mldf.Pad()]}, bucket="x", budget=40)
    assert all(b.x.size <= 40 for b in budget)


@pytest.mark.parametrize("world", [1, 2])
@pytest.mark.parametrize("last", ["keep", "drop", "pad"])
def test_the_length_with_a_budget_is_that_of_the_epoch(path, last, world):
    options = {"pipelines": {"x": [mldf.Pad()]}, "bucket": "x", "budget": 12, "bucket_window": 20, "last": last}
    ranks = [load(path, fields=["x"], shuffle=True, rank=r, world_size=world, **options) for r in range(world)]
    seen = set()
    for epoch in range(5):
        for loader in ranks:
            assert loader.epoch == epoch
            count, taken = len(loader), 0
            for _ in loader:
                taken += 1
                assert len(loader) == count or taken == count  # behind the last batch the next epoch is near
            assert taken == count < COUNT
            seen.add(count)
        assert len({len(loader) for loader in ranks}) == 1
    assert len(seen) > 1 or last == "pad"  # epochs differ
    assert "batches of at most 12 elements of x" in repr(ranks[0])
    ranks[0].set_epoch(2)
    assert len(ranks[0]) == len(list(ranks[0]))


# ---- epochs and state ----


def test_each_iter_begins_the_next_epoch(path):
    loader = load(path, shuffle=True, index=True)
    epochs = [pkg.indices(loader) for _ in range(3)]
    assert len({tuple(e) for e in epochs}) == 3
    again = load(path, shuffle=True, index=True)
    assert again.epoch == 0
    for batch in again:
        assert again.epoch == 0
        break
    assert pkg.indices(again) == epochs[1]
    again.set_epoch(0)
    assert again.epoch == 0 and pkg.indices(again) == epochs[0]
    again.set_epoch(2)
    again.set_epoch(2)
    assert pkg.indices(again) == epochs[2]


def test_behind_the_last_epoch_comes_the_first(path):
    first = pkg.indices(load(path, shuffle=True, index=True))
    loader = load(path, shuffle=True, index=True)
    for leave_early in (False, True):
        loader.set_epoch(2**64 - 1)
        if leave_early:
            next(iter(loader))
            assert loader.epoch == 2**64 - 1
        else:
            assert pkg.indices(loader) != first and loader.epoch == 0
            state = loader.state_dict()
        assert pkg.indices(loader) == first
    at_end = {**state, "epoch": 2**64 - 1, "consumed": COUNT}
    for known in (state, at_end):
        loader.load_state_dict(known)
        assert loader.epoch == 0 and pkg.indices(loader) == first and loader.epoch == 1


def test_set_epoch_to_the_epoch_of_a_loaded_state_does_nothing(path):
    loader = load(path, shuffle=True, index=True)
    loader.set_epoch(4)
    it = iter(loader)
    done = [next(it)["index"].tolist() for _ in range(3)]
    state = loader.state_dict()
    rest = [b["index"].tolist() for b in it]
    other = load(path, shuffle=True, index=True)
    other.load_state_dict(state)
    assert other.epoch == 4 and other.state_dict() == state
    other.set_epoch(4)
    assert [b["index"].tolist() for b in other] == rest and len(done) + len(rest) == len(other)
    assert other.epoch == 5
    other.load_state_dict(state)
    with pytest.warns(UserWarning, match="of epoch 4, and is given up"):
        other.set_epoch(0)
    assert len(list(other)) == len(other)


@pytest.mark.parametrize("last", ["keep", "drop", "pad"])
@pytest.mark.parametrize("bucketed", [False, True])
def test_a_run_resumes_at_every_batch(path, last, bucketed):
    options = {"shuffle": True, "seed": 9, "index": True, "last": last, "fields": ["x"], "pipelines": "x: pad"}
    if bucketed:
        options |= {"bucket": "x", "bucket_window": 40}
    loader = load(path, **options)
    want, states = [], []
    for _ in range(2):
        for batch in loader:
            states.append(loader.state_dict())
            want.append(tuple(a.tobytes() for a in batch))
    states.append(loader.state_dict())
    assert states[-1] == states[-2] and states[-1]["epoch"] == 2 and states[-1]["consumed"] == 0
    assert states[len(loader) - 1]["epoch"] == 1
    for at, state in enumerate(states[:-1]):
        text = json.dumps(state)
        assert len(text) < 1000
        other = load(path, threads=at % 3, **options)
        other.load_state_dict(json.loads(text))
        left = []
        while len(left) < len(want) - at - 1:
            left += bytes_of(other)
        assert left == want[at + 1 :], at


def test_a_run_resumes_with_other_ranks_and_batch_sizes(path):
    loader = load(path, 12, shuffle=True, index=True)
    it = iter(loader)
    done = [i for _ in range(3) for i in next(it)["index"].tolist()]
    state = loader.state_dict()
    left = []
    for rank in range(3):
        other = load(path, 5, shuffle=True, index=True, valid=True, rank=rank, world_size=3)
        other.load_state_dict(state)
        left += [i for b in other for i in b["index"][b.valid].tolist()]
    assert sorted(done + left) == list(range(COUNT))


def test_states_of_another_run_are_refused(path):
    state = load(path, shuffle=True).state_dict()
    for other in (load(path), load(path, shuffle=True, seed=1), load(path, shuffle=True, subset=slice(50))):
        with pytest.raises(mldf.errors.StateError):
            other.load_state_dict(state)
        assert len(list(other)) == len(other)  # and nothing happened
    with pytest.raises(mldf.errors.ArgumentError, match="'epoch'"):
        load(path).load_state_dict({"consumed": 3})
    with pytest.raises(mldf.errors.WrongTypeError):
        load(path).load_state_dict("state")


def test_an_older_iterator_ends_when_a_new_one_begins(path):
    loader = load(path)
    old = iter(loader)
    next(old)
    new = iter(loader)
    with pytest.raises(mldf.errors.StateError, match="later iter"):
        next(old)
    assert len(list(new)) == 11
    with pytest.raises(StopIteration):
        next(new)


def test_pipelines_change_between_epochs(path):
    loader = mldf.Loader(path, 20, shuffle=True, pipelines={"image": [mldf.Resize((8, 8))]}, index=True)
    plain = mldf.Loader(path, 20, shuffle=True, pipelines={"image": [mldf.Resize((16, 16))]}, index=True)
    for batch in loader:
        assert batch.image.shape[1:] == (8, 8, 3)
        loader.set_pipelines({"image": [mldf.Resize((16, 16))]})  # not before the next epoch
    plain.set_epoch(1)
    assert bytes_of(loader) == bytes_of(plain)
    with pytest.raises(mldf.errors.ArgumentError):
        loader.pipelines = {"image": [mldf.Resize((16, 16)), "chww"]}
    assert len(list(loader)) == 6 and loader.epoch == 3
    loader.pipelines = {"image": [mldf.Resize((4, 4))]}
    plain.load_state_dict(loader.state_dict())
    assert next(iter(loader))["index"].tolist() == next(iter(plain))["index"].tolist()


# ---- ranks ----


@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_ranks_share_an_epoch(path, world):
    seen, lengths = [], set()
    for rank in range(world):
        loader = load(path, 4, shuffle=True, index=True, valid=True, rank=rank, world_size=world)
        batches = list(loader)
        lengths.add(len(batches))
        assert len(batches) == len(loader)
        seen += [i for b in batches for i in b["index"][b.valid].tolist()]
    assert sorted(seen) == list(range(COUNT)) and lengths == {math.ceil(COUNT / (4 * world))}


def test_a_global_batch_has_the_same_samples_on_any_number_of_ranks(path):
    def batches(world):
        loaders = [
            load(path, None, shuffle=True, index=True, valid=True, global_batch_size=16, rank=r, world_size=world)
            for r in range(world)
        ]
        assert loaders[0].batch_size == 16 // world
        return [sorted(i for b in parts for i in b["index"][b.valid].tolist()) for parts in zip(*loaders)]

    assert batches(1) == batches(2) == batches(8)


def test_the_rank_is_found_in_the_environment(path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    loader = load(path)
    assert (loader.rank, loader.world_size) == (1, 2) and "rank 1 of 2 (environment)" in repr(loader)
    assert load(path, rank=0, world_size=1).world_size == 1
    monkeypatch.setenv("RANK", "x")
    with pytest.raises(mldf.errors.ArgumentError, match="no numbers"):
        load(path)


# ---- bad samples ----


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    path = tmp_path_factory.mktemp("bad") / "bad.mldf"
    with mldf.Writer(path, {"image": mldf.Image(), "n": mldf.Int()}) as w:
        for i in range(20):
            data = mldf.images.encode(pkg.image(i), "png")
            w.append({"image": data, "n": i})
    raw = bytearray(path.read_bytes())
    for i in (4, 11):
        data = mldf.images.encode(pkg.image(i), "png")
        at = raw.find(data)
        raw[at + len(data) // 2 : at + len(data) - 4] = bytes(len(data) - 4 - len(data) // 2)
    path.write_bytes(raw)
    return str(path)


def test_bad_samples(damaged):
    options = {"pipelines": {"image": [mldf.CenterCrop((12, 16))]}}
    it = iter(mldf.Loader(damaged, 5, **options))
    with pytest.raises(mldf.Error) as caught:
        next(it)
    assert caught.value.sample == 4 and caught.value.field == "image"
    assert next(it).n.tolist() == [5, 6, 7, 8, 9]
    loader = mldf.Loader(damaged, 5, on_error="skip", **options)
    assert [b.n.tolist() for b in loader] == [[0, 1, 2, 3], [5, 6, 7, 8, 9], [10, 12, 13, 14], [15, 16, 17, 18, 19]]
    bad = loader.bad_samples()
    assert [b["sample"] for b in bad] == [4, 11] and loader.stats().bad_samples == 2
    loader = mldf.Loader(damaged, 5, on_error="substitute", **options)
    got = [b.n.tolist() for b in loader]
    assert [len(b) for b in got] == [5] * 4 and 4 not in got[0] and got[0][:4] == [0, 1, 2, 3]
    assert [b["substitute"] for b in loader.bad_samples()] == [got[0][4], got[2][1]]


# ---- what it says ----


def test_repr_stats_and_explain(path):
    loader = mldf.Loader(path, 16, pipelines=IMAGES, shuffle=True)
    assert repr(loader).startswith("Loader(a.mldf: 103 samples, 7 batches of 16)\n  image  float32[16, 3, 8, 8]")
    list(loader)
    stats = loader.stats()
    assert stats.samples == COUNT and stats.batches == 7 and stats.seconds > 0 and "image: decode" in stats.steps
    assert "103 samples, 7 batches" in str(stats) and stats.verdict in str(stats)
    assert "normalize" in loader.explain()


def test_a_loader_can_be_pickled(path):
    ds = mldf.open(path)
    loader = load(ds[5:80], shuffle=True, seed=4, rank=1, world_size=2)
    assert bytes_of(pickle.loads(pickle.dumps(loader))) == bytes_of(loader)


def test_mistakes_are_reported_early_and_clearly(path):
    A, T, F = mldf.errors.ArgumentError, mldf.errors.WrongTypeError, mldf.errors.NoFieldError
    for kind, words, options in [
        (F, "iamge; did you mean image", {"pipelines": {"iamge": [mldf.Resize(8)]}}),
        (F, "'lable'; did you mean 'label'", {"fields": ["lable"]}),
        (A, r"field 'text' \(text zstd\) has no fixed size", {"fields": ["text"]}),
        (T, "its size differs|add resize", {"pipelines": {"image": [mldf.Resize(7)]}}),
        (A, "a list of names", {"fields": "image"}),
        (A, "order='rando': .* did you mean 'random'", {"order": "rando"}),
        (A, "contradict", {"order": "random", "shuffle": False}),
        (A, "contradict", {"last": "keep", "drop_last": True}),
        (A, "two names", {"threads": 1, "num_workers": 2}),
        (T, r"the class Resize; write Resize\(", {"pipelines": {"image": [mldf.Resize]}}),
        (T, "step 1: 3 is not an operation", {"pipelines": {"image": [3]}}),
        (T, "dict of output to steps", {"pipelines": [mldf.Resize(3)]}),
        (T, "label, step 1, resize.*wants an image", {"pipelines": {"label": [mldf.Resize((3, 3))]}}),
        (A, "no operation normalise; did you mean normalize", {"pipelines": {"image": ["normalise(imagenet)"]}}),
        (A, "come last", {"pipelines": {"label": [abs, mldf.Cast("f32")]}}),
        (A, "line 2, column 8: .*hfilp; did you mean hflip", {"pipelines": "label: cast(f32)\nimage: hfilp"}),
        (A, "batch_size=0", {"batch_size": 0}),
        (T, "batch_size='8'", {"batch_size": "8"}),
        (A, "one of them", {"batch_size": 8, "global_batch_size": 16}),
        (A, "together", {"rank": 1}),
        (A, "0 to 1", {"rank": 2, "world_size": 2}),
        (A, "device='cuda' goes with", {"device": "cuda"}),
        (A, "output='troch': .*did you mean 'torch'", {"output": "troch"}),
        (A, "weights: an array of shape", {"weights": [1, 2]}),
        (A, "goes with bucket", {"budget": 100}),
        (A, "no output fixe to sort by$", {"bucket": "fixe"}),
        (A, "x_ to sort by; did you mean x", {"bucket": "x_", "fields": ["x"], "pipelines": {"x": [mldf.Pad()]}}),
        (A, "goes with weights", {"samples_per_epoch": 100}),
    ]:
        with pytest.raises(kind, match=words):
            mldf.Loader(path, **{"fields": None, **options})
    with pytest.raises(FileNotFoundError):
        mldf.Loader("no-such-file.mldf")
    with pytest.warns(UserWarning, match="left out of the batches: image, text, .*; score .may be null"):
        mldf.Loader(path)


def test_numbers_are_whole_and_of_any_kind(path):
    A, T = mldf.errors.ArgumentError, mldf.errors.WrongTypeError
    loader = load(path, np.int32(16), seed=np.uint64(2**63), threads=np.int8(1), batches_ahead=np.int64(2))
    assert len(loader) == 7 and len(next(iter(loader)).label) == 16
    for kind, words, options in [
        (T, "batch_size=True: a whole number", {"batch_size": True}),
        (T, r"batch_size=array\(\[4\]\): a whole number", {"batch_size": np.array([4])}),
        (A, "global_batch_size=.*at most", {"global_batch_size": 2**64, "batch_size": None}),
        (T, "threads=2.5", {"threads": 2.5}),
        (T, "num_workers='2'", {"num_workers": "2"}),
        (A, "threads=-2: it is at least -1", {"threads": -2}),
        (A, "seed=-1: it is", {"seed": -1}),
        (A, "seed=18446744073709551616: it is", {"seed": 2**64}),
        (T, "seed=1.5", {"seed": 1.5}),
        (A, "batches_ahead=-1", {"batches_ahead": -1}),
        (A, "window=-2", {"window": -2}),
        (T, "rank='0'", {"rank": "0", "world_size": 2}),
        (T, "bucket=3: text", {"bucket": 3}),
        (T, "isa=3: text", {"isa": 3}),
        (T, "compiler=3: text", {"compiler": 3}),
        (T, "cache_dir=3", {"cache_dir": 3}),
        (T, "fields: 3 is not a name", {"fields": ["label", 3]}),
        (T, "transform=3", {"transform": 3}),
        (T, "weights: a number for each sample", {"weights": "heavy"}),
        (A, "samples_per_epoch=0", {"samples_per_epoch": 0, "weights": np.ones(COUNT)}),
    ]:
        with pytest.raises(kind, match=words):
            mldf.Loader(path, **{"fields": ["label"], **options})
    for source in (None, 3, [3]):
        with pytest.raises(T, match="path"):
            mldf.Loader(source)
    with pytest.raises(T, match=r"epoch='3'"):
        load(path).set_epoch("3")


def test_an_epoch_without_batches_is_one_epoch_and_no_more(path):
    """drop, and fewer samples than a batch has."""
    options = {"size": COUNT + 1, "last": "drop"}
    loader = load(path, **options)
    loader.set_epoch(2)
    state = loader.state_dict()
    for _ in range(3):  # from state to state nothing moves
        loader = load(path, **options)
        loader.load_state_dict(state)
        assert loader.epoch == 2 and loader.state_dict() == state
    assert list(loader) == [] and loader.state_dict()["epoch"] == 3


def test_states_of_other_samples_are_refused_and_of_the_same_taken(path, parts, tmp_path):
    loader = load(path, shuffle=True)
    next(iter(loader))
    state = loader.state_dict()
    assert len(json.dumps(state)) < 1024
    other = pkg.make(tmp_path / "other.mldf", count=COUNT, first=1)  # as many, and not the same
    with pytest.raises(mldf.errors.StateError, match="of other samples"):
        load(other, shuffle=True).load_state_dict(state)
    nameless = pkg.make(tmp_path / "nameless.mldf", count=COUNT, keys=False)
    for same in (parts, nameless):  # the same samples in two files; and without keys, by their values
        going_on = load(same, shuffle=True)
        going_on.load_state_dict(state)
        assert len(list(going_on)) == len(loader) - 1
    old = {k: v for k, v in state.items() if k not in ("keys", "values")}
    load(other, shuffle=True).load_state_dict(old)  # states that do not know their samples are believed
    assert signature(load(path).dataset._view.files) != signature(load(other).dataset._view.files)
    old["samples"] = signature(load(path).dataset._view.files)  # as the first versions wrote it
    load(path, shuffle=True).load_state_dict(old)
    with pytest.raises(mldf.errors.StateError, match="the sum of their keys is"):
        load(other, shuffle=True).load_state_dict(old)


def test_without_keys_values_tell_samples_apart(tmp_path):
    """Of a small labelled set: copies, other forms and larger sets of fields are the same, other values are not."""
    fields = {"image": mldf.Image(), "label": mldf.Int("uint8"), "text": mldf.Text(nullable=True)}

    def rows(change=None):
        labels = np.random.default_rng(1).integers(0, 10, 50)
        for i in range(50):
            row = {"image": pkg.image(i), "label": int(labels[i]), "text": None if i % 7 == 3 else f"t{i}"}
            yield {**row, **(change or {})}

    def make(name, change=None, fields=fields):
        where = str(tmp_path / name)
        mldf.write(where, [{n: r[n] for n in fields} for r in rows(change)], fields)
        return where

    def batches(where, state=None, **options):
        loader = mldf.Loader(where, 8, shuffle=True, seed=4, fields=["label"], **options)
        if state is not None:
            loader.load_state_dict(state)
        it = iter(loader)
        return loader, it

    first = make("first.mldf")
    loader, it = batches(first)
    next(it), next(it)
    state = loader.state_dict()
    rest = [b.label.tolist() for b in it]
    assert set(state["values"]) == {"image", "label", "text"} and "keys" not in state and len(json.dumps(state)) < 1024

    packed = {
        "image": mldf.Image(encode="jpeg", quality=50),
        "label": mldf.Int(),
        "text": mldf.Text(nullable=True, compress=3),
    }
    same = [make("packed.mldf", fields=packed), make("fewer.mldf", fields={"label": mldf.Int()})]
    mldf.convert(first, tmp_path / "first.beton", fields=["image", "label"])
    mldf.split(first, str(tmp_path / "part-{}.mldf"), fractions={"a": 0.5, "b": 0.5})
    same += [str(tmp_path / "first.beton"), [str(tmp_path / "part-a.mldf"), str(tmp_path / "part-b.mldf")]]
    for where in same:
        assert [b.label.tolist() for b in batches(where, state)[1]] == rest, where

    for name, change in {"label": {"label": 3}, "text": {"text": "other"}}.items():
        with pytest.raises(mldf.errors.StateError, match=f"of other samples: field {name} had other values"):
            batches(make(f"other-{name}.mldf", change), state)
    grey = make("images.mldf", {"image": np.zeros((5, 5, 3), np.uint8)})
    assert [b.label.tolist() for b in batches(grey, state)[1]] == rest  # images alone: they may be smaller ones

    renamed = str(tmp_path / "renamed.mldf")
    mldf.write(renamed, [{"label": r["label"], "y": 1} for r in rows()], {"label": mldf.Float(), "y": mldf.Int()})
    with pytest.warns(UserWarning, match="is not known: it knows none of their fields"):
        batches(renamed, state)


def test_images_tell_where_there_is_nothing_else(tmp_path):
    paths = []
    for shift in (0, 100, 0):
        paths.append(str(tmp_path / f"p{len(paths)}.mldf"))
        mldf.write(paths[-1], [{"image": pkg.image(i + shift)} for i in range(9)], {"image": mldf.Image()})
    loader, other, same = (mldf.Loader(p, 2, pipelines={"image": []}) for p in paths)
    next(iter(loader))
    with pytest.raises(mldf.errors.StateError, match="field image had other values"):
        other.load_state_dict(loader.state_dict())
    same.load_state_dict(loader.state_dict())
    assert len(list(same)) == 4


def test_states_that_no_loader_made_are_refused(path):
    loader = load(path, shuffle=True)
    next(iter(loader))
    state = loader.state_dict()
    for change in ({"consumed": COUNT + 1}, {"consumed": -1}, {"consumed": True}, {"epoch": 2**64}, {"more": object()}):
        other = load(path, shuffle=True)
        with pytest.raises(mldf.Error):
            other.load_state_dict({**state, **change})
        assert len(list(other)) == len(other)  # and it still works
    loader = load(path, shuffle=True)
    loader.load_state_dict({**state, "epoch": np.int64(state["epoch"])})
    assert len(list(loader)) == len(loader) - 1


def test_repr_of_ragged_outputs(tmp_path):
    where = tmp_path / "a.mldf"
    mldf.write(
        where, [{"x": np.arange(i + 1, dtype=np.float32)} for i in range(10)], {"x": mldf.NDArray("float32", (None,))}
    )
    with mldf.Loader(where, 4, pipelines={"x": [mldf.Ragged()]}) as loader:
        batch = next(iter(loader))
        assert batch.x.shape == (10,) and batch.x_offset.shape == (5,)
        assert "float32[?]" in repr(loader) and "int64[5]" in repr(loader)
