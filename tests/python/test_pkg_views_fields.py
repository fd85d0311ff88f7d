"""Views of token streams, and of recordings that are resampled when they are decoded."""

import mldf
import numpy as np
import pytest

BACKENDS = ["map", "read"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["tokens", "stream", "hierarchical"])
def test_windows_of_tokens(tmp_path, backend, kind):
    rng = np.random.default_rng(3)
    rows = [rng.integers(0, 1000, n).astype(np.uint16) for n in (37, 5, 0, 200, 11, 64)]
    if kind == "stream":
        field = mldf.TokenStream(1000)
        values = [{"tokens": row, "ends": [len(row) // 2, len(row)] if len(row) else []} for row in rows]
    elif kind == "hierarchical":
        field, values = mldf.HierarchicalTokens(1000), [[[row[:3], row[3:]]] if len(row) else [] for row in rows]
    else:
        field, values = mldf.Tokens(1000), rows
    path = tmp_path / "t.mldf"
    mldf.write(path, [{"tokens": value} for value in values], {"tokens": field})
    want = [row[at : at + 11] for row in rows for at in range(0, len(row) - 10, 7)]
    steps = "tokens: cast(i64)"
    ds = mldf.open(path, backend=backend)
    with mldf.Loader(ds, 4, view="windows(tokens, 11, stride=7)", pipelines=steps) as loader:
        got = [row for batch in loader for row in batch.tokens]
    assert len(got) == len(want) and all(np.array_equal(a, b) for a, b in zip(got, want))
    stream = np.concatenate(rows)
    with mldf.Loader(ds, 4, view="windows(tokens, 11, across=true)", pipelines=steps) as loader:
        got = np.concatenate([batch.tokens for batch in loader])
    assert np.array_equal(got.reshape(-1), stream[: got.size])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("reference", [False, True])
def test_pieces_of_recordings_of_several_rates(tmp_path, backend, reference):
    """A piece is cut at its own rate, filled up, and then resampled, as if it were a recording."""
    rng = np.random.default_rng(5)
    rates = (16000, 8000, 44100)
    seconds = (2.5, 1, 3.2)
    waves = [rng.standard_normal((int(rate * n), 1)).astype(np.float32) for rate, n in zip(rates, seconds)]
    files = []
    for i, (wave, rate) in enumerate(zip(waves, rates)):
        files.append(tmp_path / f"{i}.mldf")
        mldf.write(files[-1], [{"audio": wave}], {"audio": mldf.Audio(rate=rate)})
    mixed = tmp_path / "mixed.mldf"
    with mldf.Writer(mixed, {"audio": mldf.Audio()}) as w:
        for file in files:
            w.append({"audio": wav(file, tmp_path)})
    alone = tmp_path / "alone.mldf"
    with mldf.Writer(alone, {"audio": mldf.Audio()}) as w:
        for wave, rate in zip(waves, rates):
            for begin in range(0, len(wave), rate):
                piece = np.zeros((rate, 1), np.float32)
                part = wave[begin : begin + rate]
                piece[: len(part)] = part
                one = tmp_path / "one.mldf"
                mldf.write(one, [{"audio": piece}], {"audio": mldf.Audio(rate=rate)}, overwrite=True)
                w.append({"audio": wav(one, tmp_path)})
    steps = "audio: decode_audio(rate=16000)"
    view = "expand(audio, every=1, length=1)"
    ds = mldf.open(mixed, backend=backend)
    with mldf.Loader(ds, 1, view=view, pipelines=steps, reference=reference) as loader:
        got = np.concatenate([batch.audio for batch in loader])
    ds = mldf.open(alone, backend=backend)
    with mldf.Loader(ds, 1, pipelines=steps + " | pad(16000)", reference=reference) as loader:
        want = np.concatenate([batch.audio for batch in loader])
    assert got.shape == (3 + 1 + 4, 16000)
    assert np.array_equal(got, want)


def wav(file, folder):
    """The recording of a file's one sample, as a WAV file."""
    out = folder / (file.stem + "-wav")
    mldf.extract(file, out, overwrite=True)
    return next(out.rglob("*.wav")).read_bytes()
