"""Recordings through the loader: a window is a slice of the stored numbers, however they are stored and read."""

import io
import re
import warnings
import wave

import mldf
import numpy as np
import pytest

RATE = 8000
LENGTHS = (2400, 800, 1601, 3, 0, 1600, 5000)
VARIANTS = [
    {"threads": threads, "backend": backend, **plan}
    for threads in (0, 1, 3)
    for backend in ("map", "read")
    for plan in ({}, {"reference": True}, {"isa": "portable"})
]


def pcm(kind, samples, channels, seed):
    """What is given to the writer, and the floats that must come out, (t, channels)."""
    rng = np.random.default_rng(seed)
    if kind in ("f32", "f64"):
        numbers = rng.uniform(-1, 1, (samples, channels)).astype("<f4" if kind == "f32" else "<f8")
        return numbers, numbers.astype(np.float32)
    bits = int(kind[1:])
    whole = rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (samples, channels))
    want = whole.astype(np.float32) / np.float32(2.0 ** (bits - 1))
    if kind == "u8":
        return (whole + 128).astype("u1"), want
    if kind == "i24":
        out = io.BytesIO()
        with wave.open(out, "wb") as w:
            w.setparams((channels, 3, RATE, 0, "NONE", ""))
            w.writeframes(whole.astype("<i4").view("u1").reshape(samples, channels, 4)[:, :, :3].tobytes())
        return out.getvalue(), want
    return whole.astype(f"<i{bits // 8}"), want


def made(path, kind, channels, lengths=LENGTHS, **options):
    pairs = [pcm(kind, n, channels, i) for i, n in enumerate(lengths)]
    with mldf.Writer(path, {"a": mldf.Audio(rate=RATE)}, **options) as w:
        for given, _ in pairs:
            w.append({"a": given})
    return [want for _, want in pairs]


def shaped(want):
    """(t, channels) as decode_audio gives it: (t) or (channels, t)."""
    return want[:, 0] if want.shape[1] == 1 else np.ascontiguousarray(want.T)


def mixed(want):
    total = want[:, 0].copy()
    for c in range(1, want.shape[1]):
        total += want[:, c]
    return total / np.float32(want.shape[1])


def batches(path, text, backend="map", epochs=1, batch_size=3, **options):
    out = []
    with mldf.open(path, backend=backend) as ds, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with mldf.Loader(ds, batch_size=batch_size, pipelines=text, index=True, seed=5, **options) as loader:
            for _ in range(epochs):
                out += [{n: np.array(v) for n, v in zip(b._fields, b)} for b in loader]
    return out


def same(one, other):
    assert len(one) == len(other)
    for x, y in zip(one, other):
        assert x.keys() == y.keys()
        for name in x:
            assert x[name].shape == y[name].shape and x[name].tobytes() == y[name].tobytes(), name


@pytest.mark.parametrize("channels", [1, 2, 6])
@pytest.mark.parametrize("kind", ["u8", "i16", "i24", "i32", "f32", "f64"])
def test_windows_are_slices(tmp_path, kind, channels):
    wants = made(tmp_path / "x.mldf", kind, channels)
    expected = {
        "a: pad": lambda w: shaped(w),
        "a: window(samples=900) | pad": lambda w: shaped(w[:900]),
        "a: window(0.1, start=0.025) | pad": lambda w: shaped(w[200:1000]),
        "a: window(0.2, center) | pad": lambda w: shaped(w[max(len(w) - 1600, 0) // 2 :][:1600]),
        "a: decode_audio(mono=true) | window(samples=1000, start=7) | pad": lambda w: mixed(w[7:1007]),
    }
    for text, cut in expected.items():
        first = batches(tmp_path / "x.mldf", text, threads=1)
        for batch in first:
            for row, index, length in zip(batch["a"], batch["index"], batch["a_length"]):
                piece = cut(wants[index])
                assert length == piece.shape[-1]
                assert row[..., :length].tobytes() == piece.tobytes(), text
                assert not row[..., length:].any()
        for variant in VARIANTS:
            same(first, batches(tmp_path / "x.mldf", text, **variant))


def place(piece, whole):
    """Where the piece begins; its numbers are noise, so there is one place."""
    found = [i for i in range(whole.shape[-1] - piece.shape[-1] + 1) if (whole[..., i] == piece[..., 0]).all()]
    found = [i for i in found if (whole[..., i : i + piece.shape[-1]] == piece).all()]
    assert len(found) == 1
    return found[0]


def test_random_windows_move_and_repeat(tmp_path):
    wants = made(tmp_path / "x.mldf", "i16", 2)
    text = "a: window(0.1, random) | pad"
    first = batches(tmp_path / "x.mldf", text, epochs=3)
    starts = {}
    for number, batch in enumerate(first):
        for row, index, length in zip(batch["a"], batch["index"], batch["a_length"]):
            whole = shaped(wants[index])
            assert length == min(whole.shape[-1], 800)
            if length:
                starts.setdefault(int(index), []).append(place(row[..., :length], whole))
    assert len(set(starts[0])) == len(set(starts[6])) == 3  # another one in every epoch
    assert set(starts[1]) == {0}  # exactly as long as the window
    for variant in VARIANTS:
        same(first, batches(tmp_path / "x.mldf", text, epochs=3, **variant))


def test_short_recordings(tmp_path):
    wants = made(tmp_path / "x.mldf", "i16", 1, (1000, 300))
    padded = batches(tmp_path / "x.mldf", "a: window(0.1, pad)")[0]
    assert padded["a"].shape == (2, 800) and "a_length" not in padded
    assert (padded["a"][1, :300] == wants[1][:, 0]).all() and not padded["a"][1, 300:].any()
    with pytest.raises(mldf.errors.RangeError, match=r"sample 1, field a.*300 samples.*needs 800"):
        batches(tmp_path / "x.mldf", "a: window(0.1, short=error)")
    kept = batches(tmp_path / "x.mldf", "a: window(0.1, short=error)", on_error="skip")
    assert [b["index"].tolist() for b in kept] == [[0]]
    late = batches(tmp_path / "x.mldf", "a: window(0.1, start=0.1) | pad")[0]
    assert late["a_length"].tolist() == [200, 0]


def test_windows_in_a_row_and_steps_after_them(tmp_path):
    wants = made(tmp_path / "x.mldf", "i16", 2, (1000, 1500))
    first = batches(
        tmp_path / "x.mldf", "a: window(samples=700, start=100) | window(samples=50, start=30, short=pad) | cast(f64)"
    )[0]
    for row, want in zip(first["a"], wants):
        assert (row == shaped(want[130:180]).astype(np.float64)).all()
    for variant in VARIANTS:
        same(
            [first],
            batches(
                tmp_path / "x.mldf",
                "a: window(samples=700, start=100) | window(samples=50, start=30, short=pad) | cast(f64)",
                **variant,
            ),
        )


@pytest.mark.parametrize("rates", [(8000, 8000), (8000, 12000), (8000, 11025), (8000, 100)])
def test_one_draw_for_values_of_different_rates(tmp_path, rates):
    rng = np.random.default_rng(1)
    lead, other = rates
    waves = [
        (
            rng.integers(-32768, 32767, lead * s // 10).astype("<i2"),
            rng.integers(-32768, 32767, other * s // 10).astype("<i2"),
        )
        for s in (5, 7, 11)
    ]
    path = tmp_path / "x.mldf"
    with mldf.Writer(path, {"a": mldf.Audio(rate=lead), "b": mldf.Audio(rate=other)}) as w:
        for a, b in waves:
            w.append({"a": a, "b": b})
    text = "a, b: window(0.2, random, pad)\nb: pad"
    first = batches(path, text, epochs=2)
    for batch in first:
        for i, index in enumerate(batch["index"]):
            a, b = (x.astype(np.float32) / 2**15 for x in waves[index])
            start = place(batch["a"][i], a)
            begin, end = -(-start * other // lead), -(-(start + lead // 5) * other // lead)
            length = int(batch["b_length"][i]) if "b_length" in batch else batch["b"].shape[-1]
            have = b[begin:end]
            assert length == end - begin
            assert (batch["b"][i, : len(have)] == have).all() and not batch["b"][i, len(have) :].any()
    for variant in VARIANTS:
        same(first, batches(path, text, epochs=2, **variant))


def test_windows_of_arrays_and_clips(tmp_path):
    rng = np.random.default_rng(2)
    rows = [
        {
            "x": rng.integers(0, 1000, (9, 3)).astype("i4"),
            "v": rng.integers(0, 255, (4 + i, 2), dtype=np.uint8),
            "clip": rng.integers(0, 255, (8, 6, 5, 3), dtype=np.uint8),
        }
        for i in range(5)
    ]
    path = tmp_path / "x.mldf"
    fields = {
        "x": mldf.NDArray("int32", (9, 3)),
        "v": mldf.NDArray("uint8", (-1, 2)),
        "clip": mldf.NDArray("uint8", (8, 6, 5, 3)),
    }
    with mldf.Writer(path, fields) as w:
        for row in rows:
            w.append(row)
    text = """
        x: window(samples=4, start=3)
        v: window(samples=5, at=center) | pad
        clip = clip as image: window(samples=3, start=2) | hflip(1)
    """
    first = batches(path, text)
    for batch in first:
        for i, index in enumerate(batch["index"]):
            row, n = rows[index], batch["v_length"][i]
            assert (batch["x"][i] == row["x"][3:7]).all()
            from_ = max(len(row["v"]) - 5, 0) // 2
            assert n == min(len(row["v"]), 5) and (batch["v"][i, :n] == row["v"][from_ : from_ + 5]).all()
            assert (batch["clip"][i] == row["clip"][2:5, :, ::-1]).all()
    for variant in VARIANTS:
        same(first, batches(path, text, **variant))


def test_all_ways_of_storing_give_the_same(tmp_path):
    made(tmp_path / "plain.mldf", "i16", 2)
    first = batches(tmp_path / "plain.mldf", "a: window(0.1, random) | pad", threads=1)
    with mldf.Writer(tmp_path / "zstd.mldf", {"a": mldf.Audio(rate=RATE, compress=True)}) as w:
        for i, n in enumerate(LENGTHS):
            w.append({"a": pcm("i16", n, 2, i)[0]})
    for backend in ("map", "read"):
        same(first, batches(tmp_path / "zstd.mldf", "a: window(0.1, random) | pad", backend=backend))
        with mldf.open(tmp_path / "plain.mldf", backend=backend, verify=True) as ds:
            with mldf.Loader(ds, batch_size=3, pipelines="a: window(0.1, random) | pad", index=True, seed=5) as loader:
                same(first, [{n: np.array(v) for n, v in zip(b._fields, b)} for b in loader])


def test_classes_say_the_same_as_the_text(tmp_path):
    made(tmp_path / "x.mldf", "i16", 2)
    steps = [mldf.DecodeAudio(mono=True), mldf.Window(0.1, "random"), mldf.Pad()]
    same(
        batches(tmp_path / "x.mldf", "a: decode_audio(true) | window(0.1, random) | pad"),
        batches(tmp_path / "x.mldf", {"a": steps}),
    )


def test_mistakes_are_told(tmp_path):
    made(tmp_path / "x.mldf", "i16", 1)
    with mldf.Writer(tmp_path / "two.mldf", {"a": mldf.Audio(), "x": mldf.NDArray("int32", (9,))}) as w:
        for rate in (8000, 16000):
            out = io.BytesIO()
            with wave.open(out, "wb") as one:
                one.setparams((1, 2, rate, 0, "NONE", ""))
                one.writeframes(bytes(18))
            w.append({"a": out.getvalue(), "x": np.zeros(9, "i4")})

    def refused(path, text, kind, words):
        with pytest.raises(kind, match=re.escape(words)):
            batches(tmp_path / path, text)

    argument, wrong = mldf.errors.ArgumentError, mldf.errors.WrongTypeError
    refused("x.mldf", "a: window | pad", argument, "either seconds or samples")
    refused("x.mldf", "a: window(1, samples=3) | pad", argument, "either seconds or samples")
    refused("x.mldf", "a: window(1, random, start=1) | pad", argument, "start needs at=fixed")
    refused("x.mldf", "a: window(samples=3, start=0.5) | pad", argument, "whole number of samples")
    refused("x.mldf", "a: window(1, sideways) | pad", argument, "sideways")
    refused("x.mldf", "a: window(samples=1000000000, short=pad)", mldf.errors.LimitError, "2147483648 bytes")
    refused("two.mldf", "x: window(1)", wrong, "no sampling rate")
    refused("two.mldf", "a: window(1, pad)", wrong, "from 8000 to 16000 Hz")
