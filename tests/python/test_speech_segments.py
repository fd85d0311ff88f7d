"""segments(audio): the parts of recordings that their rows name, against slices that NumPy makes."""

import io
import itertools
import wave

import mldf
import numpy as np
import pytest

RATE = 8000
FIELDS = {
    "audio": mldf.Audio(rate=RATE),
    "segments": mldf.NDArray("int64", (None, 2)),
    "texts": mldf.Json(along="segments"),
    "score": mldf.NDArray("float32", (None, 3), along="segments"),
    "speaker": mldf.Text(),
    "n": mldf.Int(),
}


def rows(seed, count=7):
    rng = np.random.default_rng(seed)
    for i in range(count):
        length = int(rng.integers(50, 4000))
        edges = np.sort(rng.integers(0, length + 1, (int(rng.integers(0, 6)), 2)), axis=1)  # overlapping, in any order
        if i == 2:
            edges = np.array([[0, length], [0, 0], [length, length]])
        yield {
            "audio": rng.integers(-30000, 30000, (length, 1 + i % 2 * 0)).astype("<i2"),
            "segments": edges.reshape(-1, 2),
            "texts": [f'"{i}" ä {k}' if k % 2 else {"k": k} for k in range(len(edges))],
            "score": rng.normal(size=(len(edges), 3)).astype("f4"),
            "speaker": f"s{i}",
            "n": i,
        }


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("segments")
    for k in range(3):
        with mldf.Writer(folder / f"{k}.mldf", FIELDS) as w:
            w.extend(rows(k))
    return [folder / f"{k}.mldf" for k in range(3)]


def expected(seeds):
    """Every item by brute force."""
    for row in itertools.chain(*(rows(seed) for seed in seeds)):
        for k, (begin, end) in enumerate(row["segments"]):
            wave_ = row["audio"][begin:end, 0].astype("f4") / np.float32(32768)
            text = row["texts"][k]
            yield wave_, text, row["score"][k], row["speaker"], row["n"], (begin, end)


PIPELINES = {
    "audio": [mldf.Pad()],
    "texts": [mldf.Strings()],
    "speaker": [mldf.Strings()],
}


def items(loader):
    """The items of a loader's batches, in the order in which they come."""
    for b in loader:
        for i in range(len(b.n)):
            wave_ = b.audio[i, : b.audio_length[i]]
            yield wave_.copy(), b.texts[i], b.score[i].copy(), b.speaker[i], int(b.n[i]), tuple(b.segments[i])


def as_text(value):
    return value if isinstance(value, str) else f'{{"k":{value["k"]}}}'


def same(got, want):
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert np.array_equal(a[0], b[0])
        assert a[1] == as_text(b[1])
        assert np.array_equal(a[2], b[2])
        assert a[3:5] == b[3:5]
        assert a[5] == tuple(b[5])


@pytest.mark.parametrize(
    "options", [{}, {"threads": 0}, {"threads": 3}, {"reference": True}, {"isa": "portable"}], ids=str
)
@pytest.mark.parametrize("backend", ["map", "read"])
def test_every_item_equals_the_slice(files, options, backend):
    with (
        mldf.open(files, backend=backend) as ds,
        mldf.Loader(ds, 4, view="segments(audio)", pipelines=PIPELINES, **options) as loader,
    ):
        same(list(items(loader)), list(expected(range(3))))


def test_items_of_a_view_in_python(files):
    ds = mldf.open(files)
    view = ds.as_view("segments(audio, by=segments)")
    want = list(expected(range(3)))
    assert view.text == "segments(audio, by=segments)"
    assert len(view) == len(want)
    for i, (wave_, text, score, speaker, n, edges) in enumerate(want):
        sample = view[i]
        assert np.array_equal(sample.audio[:, 0].astype("f4") / np.float32(32768), wave_)
        assert (sample.texts, sample.speaker, sample.n, tuple(sample.segments)) == (text, speaker, n, tuple(edges))
        assert np.array_equal(view[i, "score"], score)


def test_subsets_and_ranks_and_resuming(files):
    want = list(expected(range(3)))
    rows_ = [1, 2, 9, 20]
    counts = [len(r["segments"]) for r in itertools.chain(*(rows(s) for s in range(3)))]
    first = np.cumsum([0, *counts])
    chosen = [want[i] for r in rows_ for i in range(first[r], first[r] + counts[r])]
    with mldf.Loader(files, 3, view="segments(audio)", subset=rows_, pipelines=PIPELINES) as loader:
        same(list(items(loader)), chosen)
    options = {"view": "segments(audio)", "pipelines": PIPELINES, "shuffle": True, "seed": 3, "index": True}
    seen = []
    for rank in range(2):
        with mldf.Loader(files, 3, rank=rank, world_size=2, **options) as loader:
            seen += [int(i) for b in loader for i in b.index]
    assert sorted(seen) == list(range(len(want)))
    with mldf.Loader(files, 3, **options) as loader:
        taken = iter(loader)
        for _ in range(4):
            next(taken)
        state = loader.state_dict()
        rest = [b.index.tolist() for b in taken]
    with mldf.Loader(files, 3, threads=0, **options) as again:
        again.load_state_dict(state)
        assert [b.index.tolist() for b in again] == rest
    other = {**options, "view": "expand(audio, every=0.1, length=0.1)"}
    with mldf.Loader(files, 3, **other) as wrong, pytest.raises(mldf.errors.StateError):
        wrong.load_state_dict(state)


def test_segments_beyond_the_end_and_wrong_ones_are_bad_samples(tmp_path):
    with mldf.Writer(tmp_path / "a.mldf", {"audio": mldf.Audio(rate=RATE), "segments": mldf.NDArray("int64", (None, 2))}) as w:
        w.append({"audio": np.zeros(100, "<i2"), "segments": [[0, 50], [90, 101], [60, 50], [-1, 4], [50, 100]]})
    with mldf.Loader(tmp_path / "a.mldf", 8, view="segments(audio)", pipelines="audio: pad", on_error="skip") as loader:
        (batch,) = loader
        assert batch.segments.tolist() == [[0, 50], [50, 100]]
        messages = [bad["message"] for bad in loader.bad_samples()]
    assert len(messages) == 3
    assert "100 samples, and the view has a piece of 11 from 90 on" in messages[0]


def test_what_is_written_must_fit(tmp_path):
    sample = {"audio": np.zeros(100, "<i2"), "segments": [[0, 50], [50, 100]], "texts": ["a"], "score": np.zeros((2, 3), "f4")}
    wrong = {**sample, "segments": [[0, 1]], "texts": ["a"], "speaker": "", "n": 0}
    for row, message in (
        ({**sample, "speaker": "", "n": 0}, '1 elements for the 2 entries of "segments"'),
        (wrong, '2 entries for the 1 of "segments"'),
    ):
        with pytest.raises(mldf.errors.Error, match=message), mldf.Writer(tmp_path / "a.mldf", FIELDS) as w:
            w.append(row)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"texts": mldf.Json(along="segments")}, "is not there"),
        ({"segments": mldf.NDArray("int32", (None, 2)), "texts": mldf.Json(along="segments")}, "nor segments"),
        (
            {"segments": mldf.NDArray("int64", (None, 2)), "x": mldf.NDArray("int64", (None, 2), "segments", "spans")},
            "only tokens have spans",
        ),
        ({"tokens": mldf.Tokens(100), "texts": mldf.Json(along="tokens")}, "JSON goes along segments"),
    ],
)
def test_schemas_that_are_refused(tmp_path, fields, message):
    with pytest.raises(mldf.errors.SchemaError, match=message):
        mldf.Writer(tmp_path / "a.mldf", fields)


def test_views_that_are_refused(files, tmp_path):
    ds = mldf.open(files)
    with pytest.raises(mldf.errors.NoFieldError, match="nothing"):
        ds.as_view("segments(audio, by=nothing)")
    with pytest.raises(mldf.errors.WrongTypeError, match="begin and end of each segment are int64"):
        ds.as_view("segments(audio, by=score)")
    with pytest.raises(mldf.errors.WrongTypeError, match="can be cut"):
        ds.as_view("segments(speaker)")


def test_whisper_over_pieces_of_different_rates(tmp_path):
    """The last lines of the design: every piece of any recording, at one rate, the last one padded."""
    rng = np.random.default_rng(0)
    with mldf.Writer(tmp_path / "podcasts.mldf", {"audio": mldf.Audio(), "name": mldf.Text()}) as w:
        for i, rate in enumerate((16000, 22050, 8000)):
            out = io.BytesIO()
            with wave.open(out, "wb") as file:
                file.setparams((1 + i % 2, 2, rate, 0, "NONE", ""))
                file.writeframes(rng.integers(-3000, 3000, (rate * 35, 1 + i % 2)).astype("<i2").tobytes())
            w.append({"audio": out.getvalue(), "name": f"p{i}"})
    with mldf.Loader(
        tmp_path / "podcasts.mldf",
        8,
        view="expand(audio, every=30, length=30)",
        pipelines={"audio": "decode_audio(rate=16000, mono=true) | mel(whisper)", "name": [mldf.Strings()]},
    ) as loader:
        (batch,) = loader
    assert batch.audio.shape == (6, 80, 3000)
    assert batch.name == ["p0", "p0", "p1", "p1", "p2", "p2"]
