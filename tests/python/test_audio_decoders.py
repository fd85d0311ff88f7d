"""Which library decodes a recording: decode_audio(portable=) and (opus=), and the versions that states name."""

import ctypes
import io
import json
import subprocess
import tarfile
import warnings

import codec_files as files
import mldf
import numpy as np
import pytest
from test_pkg_codecs import VARIANTS, load, starts

OPUS = {
    "music": {"rate": 48000, "channels": 2},
    "speech": {"rate": 16000, "options": ("--bitrate", "16")},
    "surround": {"rate": 48000, "channels": 6, "seconds": 2},
    "60ms": {"rate": 16000, "options": ("--framesize", "60")},
}


@pytest.fixture(scope="module")
def opus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("opus")
    out = {}
    for i, (name, how) in enumerate(OPUS.items()):
        path = files.encoded(folder, name, "opusenc", seed=i, **how)
        mldf.pack(path, folder / f"{name}.mldf")
        out[name] = path, folder / f"{name}.mldf"
    return out


@pytest.fixture(scope="module")
def mp3(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mp3")
    path = files.encoded(folder, "a", "lame", rate=44100, channels=2, options=("-b", "128"))
    mldf.pack(path, folder / "a.mldf")
    return path, folder / "a.mldf"


@pytest.mark.parametrize("name", OPUS)
def test_opus_by_ffmpeg_is_what_ffmpeg_gives(opus, name):
    path, target = opus[name]
    want = files.ffmpeg(path)
    got = load(target, "audio: decode_audio(opus=ffmpeg)")["audio"][0]
    assert np.array_equal(got.reshape(-1, got.shape[-1]).T, want)
    usual = load(target, "audio: decode_audio")["audio"][0]
    assert usual.shape == got.shape and not np.array_equal(usual, got)


@pytest.mark.parametrize("name", OPUS)
def test_windows_of_opus_by_ffmpeg_are_the_same_everywhere(opus, name):
    path, target = opus[name]
    whole = files.ffmpeg(path)
    for start in starts(len(whole), 7000):
        text = f"audio: decode_audio(opus=ffmpeg) | window(samples=7000, start={start})"
        first = load(target, text, **VARIANTS[0])["audio"][0]
        assert np.abs(first.reshape(-1, 7000) - whole[start : start + 7000].T).max() <= 2.0**-10
        for variant in VARIANTS[1:3]:
            assert np.array_equal(load(target, text, **variant)["audio"][0], first), (start, variant)


def generic_mpg123(path):
    """What libmpg123's generic decoder makes of a file, gapless: f32 (t, channels)."""
    lib = ctypes.CDLL("libmpg123.so.0")
    lib.mpg123_new.restype = ctypes.c_void_p
    lib.mpg123_init()
    handle = ctypes.c_void_p(lib.mpg123_new(b"generic", None))
    add_flags, force_float, quiet = 2, 0x400, 0x20
    lib.mpg123_param(handle, add_flags, ctypes.c_long(force_float | quiet), ctypes.c_double(0))
    assert lib.mpg123_open(handle, str(path).encode()) == 0
    rate, channels, encoding = ctypes.c_long(), ctypes.c_int(), ctypes.c_int()
    assert lib.mpg123_getformat(handle, ctypes.byref(rate), ctypes.byref(channels), ctypes.byref(encoding)) == 0
    out, room, done = [], ctypes.create_string_buffer(1 << 16), ctypes.c_size_t()
    while lib.mpg123_read(handle, room, ctypes.c_size_t(len(room)), ctypes.byref(done)) == 0 or done.value:
        out.append(room.raw[: done.value])
    lib.mpg123_delete(handle)
    return np.frombuffer(b"".join(out), "<f4").reshape(-1, channels.value)


def test_portable_mp3_is_the_generic_decoder_s(mp3):
    path, target = mp3
    got = load(target, "audio: decode_audio(portable=true)")["audio"][0].T
    assert np.array_equal(generic_mpg123(path), got)
    fast = load(target, "audio: decode_audio")["audio"][0].T
    assert np.abs(fast - got).max() < 2e-6
    for variant in VARIANTS[:3]:
        text = "audio: decode_audio(portable=true) | window(samples=5000, start=44100)"
        window = load(target, text, **variant)["audio"][0].T
        assert np.abs(window - got[44100:49100]).max() <= 2.0**-20


def test_portable_aac_is_ffmpeg_s_without_cpu_flags(tmp_path):
    files.write_wav(tmp_path / "a.wav", files.speech(44100, 2, 2), 44100)
    for ending, options in (("m4a", ()), ("aac", ("-aac_pns", "0"))):
        path, target = tmp_path / f"a.{ending}", tmp_path / f"{ending}.mldf"
        files.run("ffmpeg", "-v", "error", "-y", "-i", tmp_path / "a.wav", "-c:a", "aac", *options, path)
        mldf.pack(path, target)
        command = [
            "ffmpeg",
            "-v",
            "error",
            "-cpuflags",
            "0",
            "-i",
            str(path),
            "-f",
            "f32le",
            "-acodec",
            "pcm_f32le",
            "-",
        ]
        raw = subprocess.run(command, check=True, capture_output=True, env=files.OUTSIDE).stdout
        want = np.frombuffer(raw, "<f4").reshape(-1, 2)
        for threads in (0, 2):
            got = load(target, "audio: decode_audio(portable=true)", threads=threads)["audio"][0].T
            usual = load(target, "audio: decode_audio", threads=threads)["audio"][0].T
            assert np.array_equal(got, want) and np.array_equal(usual, files.ffmpeg(path))


def test_portable_lossless_is_the_same(tmp_path):
    path, whole = files.flac(tmp_path, "a")
    mldf.pack(path, tmp_path / "a.mldf")
    got = load(tmp_path / "a.mldf", "audio: decode_audio(portable=true, opus=ffmpeg)")["audio"][0]
    assert np.array_equal(got, whole[:, 0].astype("f4") / 2**15)


def test_the_text_of_the_usual_choice_is_what_it_was(mp3):
    assert mldf.DecodeAudio() == mldf.DecodeAudio(portable=False, opus="libopus")
    assert mldf._mldf.check_pipeline("x: decode_audio | pad").startswith("x: decode_audio(mono=false, rate=0) | ")
    text = mldf._mldf.check_pipeline("x: decode_audio(opus=ffmpeg, portable=true) | pad")
    assert text.startswith("x: decode_audio(mono=false, rate=0, portable=true, opus=ffmpeg) | ")
    explained = mldf.Loader(mp3[1], 1, pipelines="audio: decode_audio(portable=true) | pad").explain()
    assert "decode_audio(portable=1)" in str(explained)
    with pytest.raises(mldf.Error, match="opus"):
        mldf._mldf.check_pipeline("x: decode_audio(opus=faad) | pad")


# ---- states ----


def state(target, text="audio: decode_audio | pad"):
    with mldf.Loader(target, 1, pipelines=text) as loader:
        return loader.state_dict()


def warned(target, saved, text="audio: decode_audio | pad"):
    with warnings.catch_warnings(record=True) as seen, mldf.Loader(target, 1, pipelines=text) as loader:
        warnings.simplefilter("always")
        loader.load_state_dict(saved)
    return [str(w.message) for w in seen]


def test_states_name_the_libraries_of_lossy_codecs(mp3, opus, tmp_path):
    assert state(mp3[1])["sound"]["mp3"].startswith("libmpg123 1.")
    assert state(opus["music"][1])["sound"]["opus"].startswith("libopus 1.")
    by = state(opus["music"][1], "audio: decode_audio(opus=ffmpeg) | pad")["sound"]
    assert list(by) == ["opus"] and by["opus"].startswith("libavcodec ")
    by = state(mp3[1], "audio: decode_audio(portable=true) | pad")["sound"]
    assert by["mp3"].endswith(", portable")
    path, _ = files.flac(tmp_path, "a")
    mldf.pack(path, tmp_path / "a.mldf")
    assert "sound" not in state(tmp_path / "a.mldf")


def test_a_state_of_another_version_or_decoder_warns(mp3, opus):
    saved = state(mp3[1])
    assert warned(mp3[1], saved) == []
    other = json.loads(json.dumps(saved))
    other["sound"]["mp3"] = "libmpg123 0.9"
    (message,) = warned(mp3[1], other)
    assert "mp3 decoded by libmpg123 0.9, this is libmpg123 1." in message and "last bits" in message
    other["sound"] = {"vorbis": "a codec that is not here"}
    assert warned(mp3[1], other) == []
    del other["sound"]  # of earlier versions
    assert warned(mp3[1], other) == []
    saved = state(opus["music"][1], "audio: decode_audio(opus=ffmpeg) | pad")
    (message,) = warned(opus["music"][1], saved)
    assert "opus decoded by libavcodec" in message and "this is libopus" in message
    assert warned(opus["music"][1], saved, "audio: decode_audio(opus=ffmpeg) | pad") == []
    assert len(warned(mp3[1], state(mp3[1], "audio: decode_audio(portable=true) | pad"))) == 1


def test_several_outputs_of_one_recording_name_all_decoders(opus):
    text = "a = audio: decode_audio | pad\nb = audio: decode_audio(opus=ffmpeg) | pad\naudio: drop"
    saved = state(opus["music"][1], text)
    assert "libopus" in saved["sound"]["opus"] and "libavcodec" in saved["sound"]["opus"]
    assert warned(opus["music"][1], saved, text) == []


def test_portable_and_usual_decoders_of_one_recording_are_both_named(mp3):
    """One name begins with the other."""
    for first, second in (("", "(portable=true)"), ("(portable=true)", "")):
        text = f"a = audio: decode_audio{first} | pad\nb = audio: decode_audio{second} | pad\naudio: drop"
        by = state(mp3[1], text)["sound"]["mp3"].split(" + ")
        assert len(by) == 2 and len({x.removesuffix(", portable") for x in by}) == 1


def test_states_name_decoders_of_fields_that_the_first_file_lacks(opus, tmp_path):
    sound = opus["music"][0].read_bytes()
    for name, keys in (("0", "ab"), ("1", "cd")):
        with tarfile.open(tmp_path / f"{name}.tar", "w") as tar:
            for key in keys:
                for ending, data in (("txt", b"x"), *((("opus", sound),) if name == "1" else ())):
                    info = tarfile.TarInfo(f"{key}.{ending}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
    for order in ("10", "01"):
        with mldf.open([tmp_path / f"{n}.tar" for n in order]) as data:
            (name,) = (n for n in data.schema if "opus" in n or "audio" in n)
            with mldf.Loader(data, 1, pipelines=f"{name}: decode_audio | pad", threads=0) as loader:
                assert loader.state_dict()["sound"]["opus"].startswith("libopus 1."), order
