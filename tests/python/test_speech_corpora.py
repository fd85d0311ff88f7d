"""Corpora as speech people have them, spoken by espeak-ng and cut by sox, through mldf.pack: every number against the files themselves."""

import gzip
import json
import subprocess
import tarfile
import wave

import mldf
import numpy as np
import pytest

WORDS = ["zero", "one two", "three four five", "six", "seven eight"]


def spoken(path, text, *effects, rate=None, channels=None):
    """A WAV file that espeak-ng and sox made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = subprocess.run(["espeak-ng", "-v", "en", "--stdout", text], check=True, capture_output=True).stdout
    to = [*(["-r", str(rate)] if rate else []), *(["-c", str(channels)] if channels else [])]
    subprocess.run(["sox", "-D", "-t", "wav", "-", *to, str(path), *effects], input=raw, check=True, capture_output=True)


def samples(path):
    with wave.open(str(path)) as w:
        return np.frombuffer(w.readframes(w.getnframes()), "<i2").reshape(-1, w.getnchannels()), w.getframerate()


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Five of them; the second has 8 kHz, the third two channels."""
    folder = tmp_path_factory.mktemp("spoken")
    for i, text in enumerate(WORDS):
        spoken(folder / f"r{i}.wav", text, rate=8000 if i == 1 else 16000, channels=2 if i == 2 else 1)
    return folder


def test_librispeech(tmp_path, recordings):
    for i, (speaker, chapter) in enumerate([(84, 121123), (84, 121123), (19, 198), (19, 198), (19, 200)]):
        folder = tmp_path / "LS" / str(speaker) / str(chapter)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{speaker}-{chapter}-{i:04}.wav").write_bytes((recordings / f"r{i}.wav").read_bytes())
        with open(folder / f"{speaker}-{chapter}.trans.txt", "a") as f:
            f.write(f"{speaker}-{chapter}-{i:04} {WORDS[i].upper()}\n")
    result = mldf.pack(tmp_path / "LS", tmp_path / "ls.mldf")
    assert result.written == 5
    ds = mldf.open(tmp_path / "ls.mldf")
    assert list(ds.schema) == ["audio", "text", "speaker", "chapter"]
    for i, sample in enumerate(ds):
        number = int(ds.keys[i].removesuffix(".wav")[-4:])
        assert (sample.text, sample.speaker) == (WORDS[number].upper(), "84" if number < 2 else "19")
        assert np.array_equal(sample.audio, samples(recordings / f"r{number}.wav")[0])
    (tmp_path / "LS" / "19" / "200" / "19-200.trans.txt").write_text("19-200-0004 A\n19-200-0004 B\n")
    with pytest.raises(mldf.errors.Error, match="has two transcripts"):
        mldf.pack(tmp_path / "LS", tmp_path / "again.mldf")
    (tmp_path / "LS" / "19" / "200" / "19-200.trans.txt").write_bytes(b"19-200-0004 A\n19-200-0005 \xff\n")
    with pytest.raises(mldf.errors.Error, match=r"19-200.trans.txt, line 2, byte 13 is not UTF-8"):
        mldf.pack(tmp_path / "LS", tmp_path / "again.mldf")


def test_files_beside_recordings(tmp_path, recordings):
    folder = tmp_path / "side"
    folder.mkdir()
    for i in range(4):
        (folder / f"{i}.wav").write_bytes((recordings / f"r{i}.wav").read_bytes())
    (folder / "0.txt").write_text("nought\n")
    (folder / "1.lab").write_text("one")
    (folder / "2.json").write_text('{"emotion": "calm"}')
    (folder / "README.txt").write_text("not a transcript")
    mldf.pack(folder, tmp_path / "side.mldf")
    ds = mldf.open(tmp_path / "side.mldf")
    assert [(s.text, s.note) for s in ds] == [("nought", None), ("one", None), (None, {"emotion": "calm"}), (None, None)]


def kaldi(folder, recordings, segments=True):
    folder.mkdir()
    for i in range(5):
        (folder / f"r{i}.wav").write_bytes((recordings / f"r{i}.wav").read_bytes())
    (folder / "wav.scp").write_text("".join(f"rec{i} r{i}.wav\n" for i in range(5)))
    parts = [("a", 0, 0.0, 0.25), ("b", 0, 0.2, 0.4), ("c", 3, 0.1, -1), ("d", 1, 0.05, 0.3), ("e", 0, 0.0, 0.1)]
    names = [p[0] for p in parts] if segments else [f"rec{i}" for i in range(5)]
    if segments:
        (folder / "segments").write_text("".join(f"{u} rec{r} {b} {e}\n" for u, r, b, e in parts))
    (folder / "text").write_text("".join(f"{u} text of  {u}\n" for u in names[:-1]) + f"{names[-1]}\nunknown x\n")
    (folder / "utt2spk").write_text("".join(f"{u} spk{k % 2}\n" for k, u in enumerate(names)))
    (folder / "spk2gender").write_text("spk0 f\nspk1 m\n")
    return parts


def slices(parts, recordings):
    """The samples of each part."""
    for name, r, begin, end in parts:
        numbers, rate = samples(recordings / f"r{r}.wav")
        yield name, r, numbers[int(begin * rate + 0.5) : int(end * rate + 0.5) if end >= 0 else None]


def test_kaldi_with_segments(tmp_path, recordings):
    parts = kaldi(tmp_path / "k", recordings)
    mldf.pack(tmp_path / "k", tmp_path / "k.mldf")
    ds = mldf.open(tmp_path / "k.mldf")
    assert list(ds.keys) == ["rec0", "rec3", "rec1"]
    assert ds[0].utterance == ["a", "b", "e"]
    view = ds.as_view("segments(audio)")
    want = {name: numbers for name, _, numbers in slices(parts, recordings)}
    assert sorted(view[i].utterance for i in range(len(view))) == sorted(want)
    for i in range(len(view)):
        item = view[i]
        assert np.array_equal(item.audio, want[item.utterance])
        assert item.text == ("" if item.utterance == "e" else f"text of  {item.utterance}")
        assert item.gender == {"spk0": "f", "spk1": "m"}[item.speaker]


def test_kaldi_cut(tmp_path, recordings):
    parts = kaldi(tmp_path / "k", recordings)
    mldf.pack(tmp_path / "k", tmp_path / "cut.mldf", cut=True)
    ds = mldf.open(tmp_path / "cut.mldf")
    assert list(ds.keys) == ["a", "b", "c", "d", "e"]
    for (_, _, numbers), sample in zip(slices(parts, recordings), ds):
        assert np.array_equal(sample.audio, numbers)


def test_kaldi_without_segments(tmp_path, recordings):
    kaldi(tmp_path / "k", recordings, segments=False)
    mldf.pack(tmp_path / "k", tmp_path / "k.mldf")
    ds = mldf.open(tmp_path / "k.mldf")
    assert list(ds.keys) == [f"rec{i}" for i in range(5)]
    assert [s.text for s in ds][:2] == ["text of  rec0", "text of  rec1"]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("wav.scp", "rec0 sph2pipe -f wav a.sph |\n", "wav.scp:1: 'sph2pipe -f wav a.sph |' is a command, and mldf runs none"),
        ("wav.scp", "rec0 data.ark:123\n", "a place in an archive of Kaldi's"),
        ("wav.scp", "rec0 r0.wav\nrec0 r1.wav\n", "wav.scp:2: rec0 is there already, in line 1"),
        ("wav.scp", "rec0\n", "wav.scp:1: no path follows the name"),
        ("wav.scp", " r0.wav\n", "begins with a blank"),
        ("segments", "a rec0 0.5 0.2\n", "with 0 <= BEGIN < END"),
        ("segments", "a rec9 0 1\n", "has no recording rec9"),
        ("segments", "a rec0 0 99\n", "of a recording of"),
        ("wav.scp", "rec0 /etc/hostname\n", "leads out of the folder"),
    ],
)
def test_what_kaldi_folders_are_refused_for(tmp_path, recordings, file, text, message):
    kaldi(tmp_path / "k", recordings)
    (tmp_path / "k" / "segments").write_text("a rec0 0 0.2\n")
    (tmp_path / "k" / file).write_text(text)
    with pytest.raises(mldf.errors.Error, match=message.replace("|", r"\|").replace("(", r"\(")):
        mldf.pack(tmp_path / "k", tmp_path / "k.mldf")
    assert not (tmp_path / "k.mldf").exists()


def test_common_voice(tmp_path, recordings):
    (tmp_path / "cv" / "clips").mkdir(parents=True)
    rows = ["client_id\tpath\tsentence\tup_votes\tage\tgender"]
    for i in range(4):
        (tmp_path / "cv" / "clips" / f"common_{i}.wav").write_bytes((recordings / f"r{i}.wav").read_bytes())
        rows.append(f"abc{i % 2}\tcommon_{i}.wav\t{WORDS[i]}, said once.\t2\t\tfemale")
    (tmp_path / "cv" / "train.tsv").write_text("\n".join(rows) + "\n")
    mldf.pack(tmp_path / "cv" / "train.tsv", tmp_path / "cv.mldf")
    ds = mldf.open(tmp_path / "cv.mldf")
    assert list(ds.schema) == ["audio", "speaker", "text", "up_votes", "age", "gender"]
    assert [(s.text, s.speaker) for s in ds] == [(f"{WORDS[i]}, said once.", f"abc{i % 2}") for i in range(4)]
    assert all(np.array_equal(ds[i].audio, samples(recordings / f"r{i}.wav")[0]) for i in range(4))


def cut(name, recording, start, duration, path, total, text, kind="file"):
    return {
        "id": name,
        "start": start,
        "duration": duration,
        "channel": 0,
        "supervisions": [
            {"id": name, "recording_id": recording, "start": 0, "duration": duration, "channel": 0, "text": t, "speaker": "s"}
            for t in text
        ],
        "recording": {
            "id": recording,
            "sources": [{"type": kind, "channels": [0], "source": str(path)}],
            "sampling_rate": 16000,
            "num_samples": int(total * 16000),
            "duration": total,
        },
        "type": "MonoCut",
    }


@pytest.mark.parametrize("packed", [False, True])
def test_lhotse_cuts(tmp_path, recordings, packed):
    numbers, rate = samples(recordings / "r0.wav")
    total = len(numbers) / rate
    cuts = [
        cut("c0", "rec0", 0.1, 0.2, recordings / "r0.wav", total, ["a", "b"]),
        cut("c1", "rec0", 0.0, total, recordings / "r0.wav", total, ["all"]),
        cut("c2", "rec3", 0.0, 0.25, recordings / "r3.wav", 99, ["x"]),
    ]
    text = "".join(json.dumps(c) + "\n" for c in cuts)
    path = tmp_path / ("cuts.jsonl.gz" if packed else "cuts.jsonl")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    mldf.pack(path, tmp_path / "l.mldf", allow_outside=True)
    ds = mldf.open(tmp_path / "l.mldf")
    view = ds.as_view("segments(audio)")
    got = {view[i].utterance: view[i] for i in range(len(view))}
    assert np.array_equal(got["c0"].audio, numbers[1600:4800])
    assert np.array_equal(got["c1"].audio, numbers)
    assert (got["c0"].text, got["c1"].text, got["c2"].speaker) == ("a b", "all", "s")
    mldf.pack(path, tmp_path / "cut.mldf", allow_outside=True, cut=True)
    assert [s.text for s in mldf.open(tmp_path / "cut.mldf")] == ["a b", "all", "x"]
    bad = json.dumps(cut("c", "r", 0, 1, "sox x -t wav - |", 1, [""], kind="command"))
    path = tmp_path / "bad.jsonl"
    path.write_text(bad + "\n")
    with pytest.raises(mldf.errors.Error, match="of the type command, and only files are read: mldf runs no commands"):
        mldf.pack(path, tmp_path / "bad.mldf")


def test_lhotse_shar(tmp_path, recordings):
    folder = tmp_path / "shar"
    folder.mkdir()
    for shard in range(2):
        cuts = []
        with tarfile.open(folder / f"recording.00000{shard}.tar", "w") as tar:
            for i in range(2):
                r = shard * 2 + i
                tar.add(recordings / f"r{r}.wav", f"cut{r}.wav")
                meta = tmp_path / "meta.json"
                meta.write_text("{}")
                tar.add(meta, f"cut{r}.json")
                cuts.append(cut(f"cut{r}", f"rec{r}", 3.5, 0.2, "", 1, [WORDS[r]], kind="shar"))
        text = "".join(json.dumps(c) + "\n" for c in cuts)
        (folder / f"cuts.00000{shard}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    mldf.pack(folder, tmp_path / "shar.mldf")
    ds = mldf.open(tmp_path / "shar.mldf")
    assert list(ds.keys) == [f"cut{i}" for i in range(4)]
    assert [s.text for s in ds] == WORDS[:4]
    assert all(np.array_equal(ds[i].audio, samples(recordings / f"r{i}.wav")[0]) for i in range(4))


def test_tables_with_parts(tmp_path, recordings):
    for i in (0, 3):
        (tmp_path / f"r{i}.wav").write_bytes((recordings / f"r{i}.wav").read_bytes())
    (tmp_path / "t.csv").write_text("wav,start,duration,words\nr0.wav,0.1,0.2,first\nr3.wav,0,0.1,second\nr0.wav,0.3,0.05,third\n")
    mldf.pack(tmp_path / "t.csv", tmp_path / "t.mldf", files="wav")
    ds = mldf.open(tmp_path / "t.mldf")
    assert [s.words for s in ds] == [["first", "third"], ["second"]]
    assert ds[0].segments.tolist() == [[1600, 4800], [4800, 5600]]
    lines = [{"audio_filepath": "r0.wav", "offset": 0.1, "duration": 0.2, "text": "x"}]
    lines += [{"audio_filepath": "r3.wav", "duration": 0.4, "text": "y"}]
    (tmp_path / "nemo.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    mldf.pack(tmp_path / "nemo.jsonl", tmp_path / "nemo.mldf", cut=True)
    ds = mldf.open(tmp_path / "nemo.mldf")
    assert np.array_equal(ds[0].audio, samples(recordings / "r0.wav")[0][1600:4800])
    assert np.array_equal(ds[1].audio, samples(recordings / "r3.wav")[0])
    assert [s.text for s in ds] == ["x", "y"]


def test_a_part_after_a_whole_recording_is_of_that_recording(tmp_path, recordings):
    """The whole one is stored as it is, without being opened: what was opened before it is not its own."""
    for i in (0, 3):
        (tmp_path / f"r{i}.wav").write_bytes((recordings / f"r{i}.wav").read_bytes())
    for a, b in ((0, 3), (3, 0)):
        lines = [{"audio_filepath": f"r{a}.wav", "offset": 0, "duration": 0.1, "text": "x"}]
        lines += [{"audio_filepath": f"r{b}.wav", "text": "y"}]
        lines += [{"audio_filepath": f"r{b}.wav", "offset": 0, "duration": 0.1, "text": "z"}]
        (tmp_path / "nemo.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        mldf.pack(tmp_path / "nemo.jsonl", tmp_path / "nemo.mldf", cut=True, overwrite=True)
        ds = mldf.open(tmp_path / "nemo.mldf")
        wave, rate = samples(recordings / f"r{b}.wav")
        assert np.array_equal(ds[1].audio, wave)
        assert np.array_equal(ds[2].audio, wave[: round(0.1 * rate)])


@pytest.mark.parametrize("part", [{"offset": 1e13, "duration": 1e13}, {"offset": 0, "duration": 1e13}])
def test_a_part_beyond_every_recording_is_refused(tmp_path, recordings, part):
    (tmp_path / "r0.wav").write_bytes((recordings / "r0.wav").read_bytes())
    (tmp_path / "nemo.jsonl").write_text(json.dumps({"audio_filepath": "r0.wav", "text": "x", **part}) + "\n")
    with pytest.raises(mldf.Error, match=r"the part from .* s of a recording of"):
        mldf.pack(tmp_path / "nemo.jsonl", tmp_path / "nemo.mldf", cut=True)


def test_rate_and_mono(tmp_path, recordings):
    folder = tmp_path / "mixed"
    folder.mkdir()
    for i in (1, 2):
        (folder / f"r{i}.wav").write_bytes((recordings / f"r{i}.wav").read_bytes())
    mldf.pack(folder, tmp_path / "m.mldf", rate=16000, mono=True)
    ds = mldf.open(tmp_path / "m.mldf")
    assert ds.rows["audio"]["sample_rate"].tolist() == [16000, 16000]
    mldf.pack(folder, tmp_path / "plain.mldf")
    steps = "audio: decode_audio(rate=16000, mono=true) | pad"
    with mldf.Loader(tmp_path / "plain.mldf", 2, pipelines=steps) as loader:
        (want,) = loader
    for i in range(2):
        assert len(ds[i].audio) == want.audio_length[i]
        exact = np.clip(np.rint(want.audio[i, : want.audio_length[i]].astype("f8") * 32768), -32768, 32767)
        assert np.array_equal(ds[i].audio[:, 0], exact.astype("<i2"))


def test_options_that_make_no_sense(tmp_path, recordings):
    with pytest.raises(mldf.errors.ArgumentError, match="only the utterances of a corpus"):
        mldf.pack(recordings, tmp_path / "a.mldf", cut=True)
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(mldf.errors.ArgumentError, match="is for folders of recordings and corpora"):
        mldf.pack(tmp_path / "t.csv", tmp_path / "a.mldf", rate=8000)
