"""trim, add_noise and reverb, against the real librosa and torchaudio (tests/golden/audio/make_mixing.py)."""

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
        for batch in mldf.Loader(path, 10, pipelines=f"y = [voice, {name}]: add_noise(snr=[0, 20])", fields=["y"], seed=4):
            for got in batch.y:
                level, heard = snr_of(got, voice)
                levels.append(level)
                places = [np.roll(np.tile(noise, 7), -s)[:4000] if len(noise) < 4000 else noise[s : s + 4000] for s in range(5001)][
                    : 5001 if len(noise) > 4000 else 700
                ]
                match = [s for s, p in enumerate(places) if abs(np.dot(p, heard) / np.linalg.norm(p) / np.linalg.norm(heard)) > 0.999]
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
        got = load(dataset, f"y = [voice, {room}]: reverb(normalize=false, align=false) | pad", fields=["y"], **options).y[0]
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
