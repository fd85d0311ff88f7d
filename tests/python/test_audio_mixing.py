"""trim, add_noise, mix_sample, mixup and reverb, against the real librosa and torchaudio (tests/golden/audio/make_mixing.py)."""

import pathlib

import mldf
import numpy as np
import pytest

GOLDEN = np.load(pathlib.Path(__file__).resolve().parents[1] / "golden" / "audio" / "mixing.npz")
WAVES = {name[3:]: GOLDEN[name] for name in GOLDEN.files if name.startswith("in/")}
VARIANTS = [{"threads": 0}, {"threads": 2, "isa": "portable"}, {"threads": 1, "reference": True}]
RATE = 16000


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    path = tmp_path_factory.mktemp("mixing") / "x.mldf"
    with mldf.Writer(path, {name: mldf.Audio(rate=RATE) for name in WAVES}) as w:
        w.append({name: x if x.ndim == 1 else x.T.copy() for name, x in WAVES.items()})
    return path


def load(path, text, **options):
    fields = options.pop("fields", None)
    with mldf.Loader(path, 1, pipelines=text, fields=fields, **options) as loader:
        return next(iter(loader))


@pytest.mark.parametrize("key", [name for name in GOLDEN.files if name.startswith("trim/")])
def test_trim_is_librosas(dataset, key):
    _, name, top_db, frame, hop = key.split("/")
    begin, end = GOLDEN[key]
    text = f"{name}: trim(top_db={top_db}, frame={frame}, hop={hop})"
    for options in VARIANTS:
        got = load(dataset, f"{text} | pad", fields=[name], **options)
        assert got[f"{name}_length"][0] == end - begin, options
        assert np.array_equal(got[name][0][..., : end - begin], WAVES[name][..., begin:end])
        assert not got[name][0][..., end - begin :].any()
    if WAVES[name].ndim == 1:
        assert np.array_equal(load(dataset, f"{text} | ragged", fields=[name])[name], WAVES[name][begin:end])
    if end - begin > 0:
        got = load(dataset, f"{text} | window(0.1, short=pad)", fields=[name])[name][0]
        want = WAVES[name][..., begin:end][..., :1600]
        assert np.array_equal(got[..., : want.shape[-1]], want) and not got[..., want.shape[-1] :].any()


def test_lengths_and_buckets_of_trimmed_recordings(tmp_path):
    rng = np.random.default_rng(2)
    lengths, path = [], tmp_path / "x.mldf"
    with mldf.Writer(path, {"a": mldf.Audio(rate=RATE)}) as w:
        for _ in range(24):
            inner = int(rng.integers(10, 40)) * 512
            wave = np.zeros(inner + 2 * 8192, "f4")
            wave[8192 : 8192 + inner] = rng.uniform(0.1, 1, inner) * rng.choice([-1, 1], inner)
            w.append({"a": wave})
            lengths.append(inner)
    seen = {}
    text = "a: trim(top_db=40, frame=512, hop=512) | pad(mask=true)"
    for batch in mldf.Loader(path, 5, pipelines=text, bucket="a", shuffle=True, seed=3, index=True, samples=True):
        for i, n, samples, mask in zip(batch.index, batch.a_length, batch.a_samples, batch.a_mask):
            seen[int(i)] = int(n)
            assert mask.sum() == n and samples == n
    assert set(seen) == set(range(24)) and all(0 <= n - lengths[i] <= 1024 for i, n in seen.items())
    frames = "a: trim(top_db=40, frame=512, hop=512) | mel(whisper) | pad"
    (batch,) = mldf.Loader(path, 24, pipelines=frames)
    assert batch.a_length.tolist() == [seen[i] // 160 for i in range(24)]
    for collate in ("pad", "ragged"):  # the wave that frames were made from
        frames = f"a: trim(top_db=40, frame=512, hop=512) | fbank(kaldi) | {collate}"
        (batch,) = mldf.Loader(path, 24, pipelines=frames, samples=True)
        assert batch.a_samples.tolist() == [seen[i] for i in range(24)]
        joined = frames.replace("a: trim", "y = [a, a]: add_noise(snr=90) | trim")
        (batch,) = mldf.Loader(path, 24, pipelines=joined, fields=["y"], samples=True)
        assert batch.y_samples.tolist() == [seen[i] for i in range(24)]


@pytest.mark.parametrize("snr", [-5, 0, 12.5])
def test_add_noise_is_torchaudios(dataset, snr):
    want = GOLDEN[f"noise/{snr}"]
    for options in VARIANTS:
        got = load(dataset, f"y = [voice, noise]: add_noise(snr={snr}) | pad", fields=["y"], **options).y[0]
        assert np.abs(got - want).max() <= 1e-6 * np.abs(want).max()


def snr_of(mixed, voice):
    noise = mixed.astype("f8") - voice
    return 10 * np.log10((voice.astype("f8") ** 2).sum() / (noise**2).sum()), noise


def test_noise_that_is_longer_or_shorter(tmp_path):
    rng = np.random.default_rng(1)
    voice = rng.uniform(-0.5, 0.5, 4000).astype("f4")
    noises = {"long": rng.standard_normal(9000).astype("f4"), "short": rng.standard_normal(700).astype("f4")}
    path = tmp_path / "x.mldf"
    with mldf.Writer(path, {"voice": mldf.Audio(rate=RATE), **{n: mldf.Audio(rate=RATE) for n in noises}}) as w:
        for _ in range(40):
            w.append({"voice": voice, **noises})
    for name, noise in noises.items():
        starts, levels = set(), []
        for batch in mldf.Loader(
            path, 10, pipelines=f"y = [voice, {name}]: add_noise(snr=[0, 20])", fields=["y"], seed=4
        ):
            for got in batch.y:
                level, heard = snr_of(got, voice)
                levels.append(level)
                places = [
                    np.roll(np.tile(noise, 7), -s)[:4000] if len(noise) < 4000 else noise[s : s + 4000]
                    for s in range(5001)
                ][: 5001 if len(noise) > 4000 else 700]
                match = [
                    s
                    for s, p in enumerate(places)
                    if abs(np.dot(p, heard) / np.linalg.norm(p) / np.linalg.norm(heard)) > 0.999
                ]
                assert len(match) == 1
                starts.add(match[0])
        assert len(starts) > 30 and min(levels) >= -0.01 and max(levels) <= 20.01 and max(levels) - min(levels) > 10
    plain = load(path, "y = [voice, long]: add_noise(snr=3, p=0)", fields=["y"]).y[0]
    assert np.array_equal(plain, voice)


@pytest.mark.parametrize("room", ["room", "click", "hall"])
def test_reverb_is_torchaudios_convolution(dataset, room):
    whole = GOLDEN[f"reverb/{room}"]
    response = WAVES[room].astype("f8")
    first = []
    for options in VARIANTS:
        got = load(
            dataset, f"y = [voice, {room}]: reverb(normalize=false, align=false) | pad", fields=["y"], **options
        ).y[0]
        assert np.abs(got - whole[:12000]).max() <= 3e-6 * np.abs(whole).max()
        first.append(got)
    assert np.array_equal(first[0], first[1])  # every instruction set gives the same bits
    loudest = int(np.abs(response).argmax())
    got = load(dataset, f"y = [voice, {room}]: reverb | pad", fields=["y"]).y[0]
    want = np.convolve(WAVES["voice"].astype("f8"), response / np.sqrt((response**2).sum()))[loudest : loudest + 12000]
    assert np.abs(got - want).max() <= 3e-6 * np.abs(want).max()
    if room == "click":
        assert np.abs(got - WAVES["voice"]).max() < 1e-6


def test_what_is_refused(dataset, tmp_path):
    for text, message in {
        "y = [voice, noise, room]: reverb": "it takes two inputs",
        "voice: reverb": "it takes several inputs",
        "y = [voice, both]: add_noise(snr=3)": "noise of 2 channels for a recording of 1",
        "y = [voice, noise]: add_noise(snr=[9, 3])": "the first is the least",
        "voice: mel(whisper) | trim": "a recording",
    }.items():
        with pytest.raises(mldf.Error, match=message):
            load(dataset, text)
    with mldf.Writer(tmp_path / "x.mldf", {"a": mldf.Audio(rate=8000), "b": mldf.Audio(rate=16000)}) as w:
        w.append({"a": np.ones(10, "f4"), "b": np.ones(10, "f4")})
    with pytest.raises(mldf.Error, match="at another rate"):
        load(tmp_path / "x.mldf", "y = [a, b]: add_noise(snr=3)")


def test_the_classes_say_the_same(dataset):
    by_class = load(dataset, {"voice": [mldf.Trim(top_db=30), mldf.Pad()]}, fields=["voice"])
    assert np.array_equal(by_class.voice, load(dataset, "voice: trim(top_db=30) | pad", fields=["voice"]).voice)


# ---- another sample ----


def mixed(x, other, place, snr):
    """The definition of torchaudio.functional.add_noise, with `other` from `place` on, again and again."""
    heard = other[(place + np.arange(len(x))) % len(other)].astype("f8")
    by = np.sqrt((x.astype("f8") ** 2).sum() / (heard**2).sum()) * 10 ** (-snr / 20)
    return (x + by * heard).astype("f4")


def epoch(path, text, **options):
    """All values of an epoch by their index; lengths as they are."""
    out = {}
    with mldf.Loader(path, options.pop("batch", 4), pipelines=text, index=True, **options) as loader:
        for batch in loader:
            for i, x, n in zip(batch["index"], batch["audio"], batch["audio_length"]):
                out[int(i)] = x[..., :n].copy()
    return out


@pytest.fixture(scope="module")
def voices(tmp_path_factory):
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("voices") / "x.mldf"
    waves = [(rng.standard_normal(n) * 3000).astype("i2") for n in (4000, 2500, 3000, 3000, 1000, 6000, 2000)]
    with mldf.Writer(path, {"audio": mldf.Audio(rate=RATE), "label": mldf.Int()}) as w:
        for i, x in enumerate(waves):
            w.append({"audio": x, "label": i % 3})
    return path, [x.astype("f4") / 2**15 for x in waves]


def test_mix_sample_puts_the_partner_under_the_recording(voices):
    path, waves = voices
    got = epoch(path, "audio: mix_sample(6) | pad")
    for i, x in enumerate(waves):
        if i == 6:  # the last one of an odd number has no partner
            assert np.array_equal(got[i], x)
            continue
        other = waves[i ^ 1]
        places = range(len(other) - len(x) + 1 if len(other) >= len(x) else len(other))
        near = min(np.abs(got[i] - mixed(x, other, place, 6)).max() for place in places)
        assert got[i].shape == x.shape and near < 1e-7, (i, near)
    assert len({got[i].tobytes() for i in got}) == 7
    for i in (0, 3):
        noise = got[i] - waves[i]
        assert abs(10 * np.log10((waves[i] ** 2).sum() / (noise**2).sum()) - 6) < 1e-3


def test_mix_sample_is_the_same_for_any_threads_batches_ranks_and_after_a_resume(voices):
    path, waves = voices
    text = "audio: mix_sample([0, 20], p=0.6) | pad"
    how = {"shuffle": True, "seed": 3}
    want = epoch(path, text, threads=0, **how)
    changed = sum(not np.array_equal(want[i], waves[i]) for i in range(7))
    assert 0 < changed < 7
    for variant in ({"threads": 3}, {"threads": 1, "batch": 1}, {"threads": 2, "isa": "portable", "batch": 7}):
        got = epoch(path, text, **variant, **how)
        assert all(np.array_equal(got[i], want[i]) for i in range(7)), variant
    ranks = {}
    for rank in range(2):
        ranks |= epoch(path, text, rank=rank, world_size=2, batch=1, **how)
    assert all(np.array_equal(ranks[i], want[i]) for i in ranks) and len(ranks) >= 6
    with mldf.Loader(path, 1, pipelines=text, index=True, threads=2, **how) as loader:
        it = iter(loader)
        for _ in range(3):  # in the middle of a pair
            next(it)
        state = loader.state_dict()
    with mldf.Loader(path, 1, pipelines=text, index=True, threads=0, **how) as loader:
        loader.load_state_dict(state)
        rest = {int(b["index"][0]): b["audio"][0][: b["audio_length"][0]].copy() for b in loader}
    assert len(rest) == 4 and all(np.array_equal(rest[i], want[i]) for i in rest)


def test_mixup_of_windows_and_labels(voices):
    path, waves = voices
    text = "audio: window(samples=1000, short=pad)\nlabel: one_hot(3) | cast(f32)\naudio, label: mixup(0.4)"
    outs = []
    for variant in ({"threads": 0}, {"threads": 2, "isa": "portable"}):
        with mldf.Loader(path, 7, pipelines=text, **variant) as loader:
            batch = next(iter(loader))
            outs.append((batch["audio"].copy(), batch["label"].copy()))
    assert np.array_equal(outs[0][0], outs[1][0]) and np.array_equal(outs[0][1], outs[1][1])
    audio, label = outs[0]
    for i in range(6):
        own = label[i][i % 3] if i % 3 != (i ^ 1) % 3 else None
        assert abs(label[i].sum() - 1) < 1e-6 and own is not None
        want = own * waves[i][:1000] + (1 - own) * waves[i ^ 1][:1000]
        assert np.abs(audio[i] - want).max() < 1e-6


def test_mix_sample_of_several_channels_and_what_is_refused(tmp_path):
    rng = np.random.default_rng(1)
    waves = [rng.standard_normal((n, 2)).astype("f4") for n in (800, 500)]
    with mldf.Writer(tmp_path / "x.mldf", {"audio": mldf.Audio(rate=RATE), "text": mldf.Text()}) as w:
        for x in waves:
            w.append({"audio": x, "text": "a"})
    got = epoch(tmp_path / "x.mldf", "audio: mix_sample(0) | pad")
    for c in range(2):
        x, other = waves[0][:, c], waves[1][:, c]
        assert min(np.abs(got[0][c] - mixed(x, other, p, 0)).max() for p in range(500)) < 1e-6
    with pytest.raises(mldf.Error, match="mix_sample.*recording"):
        mldf.Loader(tmp_path / "x.mldf", 1, pipelines="text: mix_sample(0)")
    with pytest.raises(mldf.Error, match="the first is the least"):
        mldf.Loader(tmp_path / "x.mldf", 1, pipelines="audio: mix_sample([9, 1]) | pad")
    assert str(mldf.MixSample([0, 20], 0.5)) == str(mldf.MixSample(snr=[0, 20], p=0.5))


@pytest.mark.parametrize("books", [(8, 1), (1, 8), (3, 2)])
def test_mix_sample_refuses_partners_of_other_channels(tmp_path, books):
    with mldf.Writer(tmp_path / "x.mldf", {"codes": mldf.CodecTokens(vocabulary=1024)}) as w:
        for n in books:
            w.append({"codes": np.full((n, 200_000), n, "u2")})
    for threads in (0, 2):
        message = f"recordings of {books[0]} and of {books[1]} channels; mix_sample needs as many in both"
        with (
            pytest.raises(mldf.Error, match=message),
            mldf.Loader(
                tmp_path / "x.mldf", 2, pipelines="codes: cast(f32) | mix_sample(10) | flatten | pad", threads=threads
            ) as loader,
        ):
            next(iter(loader))
