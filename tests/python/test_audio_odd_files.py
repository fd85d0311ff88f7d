"""Recordings as they are found: MP3 with and without headers of VBR, gapless tags, ID3 and APE tags, all rates; Ogg with
packets over several pages; FLAC of odd block sizes; AAC with and without perceptual noise; truncated ends. Counts are
FFmpeg's, windows are slices as docs/spec/fields.md says."""

import struct
import zlib

import codec_files as files
import mldf
import numpy as np
import pytest
from test_pkg_codecs import VARIANTS, load, starts, window

LENGTH = 5000


def packed(path):
    """The dataset of one file, and its floats (t, channels)."""
    target = path.with_suffix(path.suffix + ".mldf")
    mldf.pack(path, target, overwrite=True)
    assert mldf.verify(target, deep=True).ok
    with mldf.open(target) as ds:
        return target, ds[0].audio.copy()


def check_windows(target, whole, tolerance, length=LENGTH):
    """Near the slice; twice, on other threads, back ends and instruction sets the same bits."""
    length = min(length, len(whole))
    for start in starts(len(whole), length)[::2]:
        first = window(target, start, length, **VARIANTS[0])
        assert np.abs(first - whole[start : start + length].T).max() <= tolerance, start
        for variant in VARIANTS[:3]:
            assert np.array_equal(window(target, start, length, **variant), first), (start, variant)


# ---- MP3 ----


def lame(folder, name, options, rate=44100, channels=2, seconds=2.5):
    return files.encoded(folder, name, "lame", rate=rate, channels=channels, seconds=seconds, options=options)


def frame_bytes(data, at):
    """Of the MPEG-1 Layer III frame at a byte."""
    rates = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
    hertz = (44100, 48000, 32000)[data[at + 2] >> 2 & 3]
    return 144000 * rates[data[at + 2] >> 4] // hertz + (data[at + 2] >> 1 & 1)


def without_tag(data):
    """The file without its first frame, which is Xing's or Info's."""
    assert b"Xing" in data[:200] or b"Info" in data[:200]
    return data[frame_bytes(data, 0) :]


def with_vbri(data):
    """A VBRI frame in front, as Fraunhofer's encoder writes it."""
    head = bytearray(data[:4])
    head[2] = head[2] & 0x0D | 9 << 4  # 128 kbit/s, no padding
    tag = b"VBRI" + struct.pack(">HHHIIHHHH", 1, 0, 75, len(data), 100, 0, 1, 2, 1)
    frame = bytes(head) + bytes(32) + tag
    return frame + bytes(frame_bytes(head, 0) - len(frame)) + data


def id3v2(size):
    return b"ID3\x04\0\0" + bytes([size >> 21 & 127, size >> 14 & 127, size >> 7 & 127, size & 127]) + bytes(size)


def ape(items=b"", header=True):
    """An APEv2 tag; with a header it may stand in front."""
    one = struct.pack("<II", 5, 0) + b"Title\0" + b"hello"
    body = one + items
    fields = b"APETAGEX" + struct.pack("<III", 2000, len(body) + 32, 1)
    flags = 1 << 31 if header else 0
    head = fields + struct.pack("<I", flags | 1 << 29) + bytes(8)
    return (head if header else b"") + body + fields + struct.pack("<I", flags) + bytes(8)


ID3V1 = b"TAG" + b"title".ljust(125, b"\0")
TAGS = {
    "id3v1": lambda d: d + ID3V1,
    "id3v2": lambda d: id3v2(3000) + d,
    "two_id3v2": lambda d: id3v2(300) + id3v2(20) + d,
    "ape_at_the_end": lambda d: d + ape(),
    "ape_and_id3v1": lambda d: d + ape(header=False) + ID3V1,
    "ape_in_front": lambda d: ape() + d,
    "all": lambda d: id3v2(500) + ape() + d + ape() + ID3V1,
}


@pytest.mark.parametrize("tags", TAGS)
def test_tags_around_mp3_change_no_sample(tmp_path, tags):
    plain = lame(tmp_path, "plain", ("-V", "4", "-t"))
    _, want = packed(plain)
    path = tmp_path / "tagged.mp3"
    path.write_bytes(TAGS[tags](plain.read_bytes()))
    target, whole = packed(path)
    assert np.array_equal(whole, want)
    check_windows(target, whole, 2.0**-20)
    mldf.extract(target, tmp_path / "out")
    assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


VBR = {
    "xing_and_lame": (("-V", "2"), lambda d: d),
    "no_header": (("-V", "2", "-t"), lambda d: d),
    "vbri": (("-V", "2", "-t"), with_vbri),
    "info": (("-b", "128"), lambda d: d),
    "xing_without_lame": (("-V", "2"), lambda d: d.replace(b"LAME", b"\0\0\0\0", 1)),
    "abr": (("--abr", "128"), lambda d: d),
    "tag_cut_off": (("-V", "5"), without_tag),
}


@pytest.mark.parametrize("name", VBR)
def test_headers_of_vbr_mp3_count_as_ffmpeg_counts(tmp_path, name):
    options, change = VBR[name]
    made = lame(tmp_path, "made", options)
    path = tmp_path / f"{name}.mp3"
    path.write_bytes(change(made.read_bytes()))
    target, whole = packed(path)
    other = files.ffmpeg(path)
    assert other.shape == whole.shape
    assert np.abs(other[1200:] - whole[1200:]).max() < 2e-6  # the first frame may need bits that were cut off
    if name in ("xing_and_lame", "info", "abr"):  # gapless: as many samples as were encoded
        assert len(whole) == 44100 * 5 // 2
    check_windows(target, whole, 2.0**-20)


@pytest.mark.parametrize("delay, padding", [(576, 600), (0, 0), (1105, 2000), (4095, 4095), (576, 100)])
def test_gapless_tags_are_delay_and_padding_with_the_decoder_s_529(tmp_path, delay, padding):
    data = bytearray(lame(tmp_path, "a", ("-b", "128")).read_bytes())
    at = data.index(b"LAME") + 21
    data[at : at + 3] = (delay << 12 | padding).to_bytes(3, "big")
    path = tmp_path / "b.mp3"
    path.write_bytes(data)
    target, whole = packed(path)
    plain = tmp_path / "plain.mp3"
    plain.write_bytes(without_tag(bytes(data)))
    _, every = packed(plain)
    end = len(every) - max(padding - 529, 0)
    assert np.array_equal(whole, every[delay + 529 : end])
    check_windows(target, whole, 2.0**-20)


RATES = (32000, 44100, 48000, 16000, 22050, 24000, 8000, 11025, 12000)


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", RATES)
def test_every_rate_of_mpeg_1_2_and_2_5(tmp_path, rate, channels):
    path = lame(
        tmp_path, "a", ("-b", "32" if rate < 16000 else "64", "--resample", str(rate / 1000)), rate, channels, 1.5
    )
    target, whole = packed(path)
    other = files.ffmpeg(path)
    assert other.shape == whole.shape == (rate * 3 // 2, channels)
    with mldf.open(target) as ds:
        assert ds.rows["audio"]["sample_rate"][0] == rate
    if rate == 24000 or (channels == 2 and rate < 32000):  # FFmpeg alone differs there: libmad and libmpg123 agree
        other = files.sox(path, channels)[576 + 1105 :][: len(whole)]  # libmad plays the frame of the tag, too
    assert np.abs(other - whole[: len(other)]).max() < 2e-6
    check_windows(target, whole, 2.0**-20, 3000)


@pytest.mark.parametrize("cut", [0.31, 0.5, 0.77])
def test_mp3_cut_short_has_its_whole_frames(tmp_path, cut):
    data = lame(tmp_path, "a", ("-V", "3", "-t")).read_bytes()
    path = tmp_path / "cut.mp3"
    path.write_bytes(data[: int(len(data) * cut)])
    target, whole = packed(path)
    _, every = packed(tmp_path / "a.mp3")
    assert np.array_equal(whole, every[: len(whole)]) and len(whole) % 1152 == 0
    assert 0 <= len(files.ffmpeg(path)) - len(whole) <= 1152  # FFmpeg guesses the frame that was cut
    check_windows(target, whole, 2.0**-20)


# ---- Ogg ----


def ogg_crc(page):
    crc = 0
    for byte in page:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
    return crc


def repaged(data, segments):
    """The same packets on pages of so many segments of 255 bytes, so that packets go on over pages."""
    packets, granules, open_ = [], [], b""
    at = 0
    while at < len(data):
        count = data[at + 26]
        lacing, body = data[at + 27 : at + 27 + count], at + 27 + count
        granule, serial = struct.unpack_from("<Q", data, at + 6)[0], data[at + 14 : at + 18]
        ends = []
        for size in lacing:
            open_ += data[body : body + size]
            body += size
            if size < 255:
                packets.append(open_)
                granules.append(None)
                ends.append(len(packets) - 1)
                open_ = b""
        if ends:
            granules[ends[-1]] = granule
        at = body
    for i in range(2, len(packets) - 1):  # Opus says it of every page that ends a packet: 20 ms each
        if packets[0].startswith(b"OpusHead"):
            granules[i] = 960 * (i - 1)
    out, sequence = b"", 0
    for i, packet in enumerate(packets):
        pieces = [packet[k : k + 255] for k in range(0, len(packet) + 1, 255)]
        for k in range(0, len(pieces), segments):
            now = pieces[k : k + segments]
            last = k + segments >= len(pieces)
            flags = (1 if k else 0) | (2 if sequence == 0 else 0) | (4 if last and i == len(packets) - 1 else 0)
            granule = granules[i] if last and granules[i] is not None else 2**64 - 1
            page = b"OggS\0" + bytes([flags]) + struct.pack("<Q", granule) + serial + struct.pack("<II", sequence, 0)
            page += bytes([len(now)]) + bytes(map(len, now)) + b"".join(now)
            out += page[:22] + struct.pack("<I", ogg_crc(page)) + page[26:]
            sequence += 1
    return out


@pytest.mark.parametrize("segments", [1, 2])
@pytest.mark.parametrize("encoder", ["opusenc", "oggenc"])
def test_packets_of_ogg_over_several_pages(tmp_path, encoder, segments):
    options = ("--bitrate", "256") if encoder == "opusenc" else ("-q", "9")
    plain = files.encoded(tmp_path, "plain", encoder, rate=48000, channels=2, seconds=1.2, options=options)
    _, want = packed(plain)
    path = tmp_path / f"pages{plain.suffix}"
    data = repaged(plain.read_bytes(), segments)
    assert data.count(b"OggS\0\x01") > 50  # pages that go on
    path.write_bytes(data)
    target, whole = packed(path)
    assert np.array_equal(whole, want) and files.ffmpeg(path).shape == whole.shape
    check_windows(target, whole, 2.0**-10 if encoder == "opusenc" else 0)
    with mldf.open(target) as ds, mldf.open(tmp_path / f"plain{plain.suffix}.mldf") as other:
        assert ds.rows["audio"]["size"][0] == other.rows["audio"]["size"][0]  # the same packets


# ---- FLAC ----


@pytest.mark.parametrize("block", [16, 100, 1000, 4608, 16384])
def test_flac_of_odd_block_sizes(tmp_path, block):
    path, whole = files.flac(
        tmp_path, "a", rate=32000, channels=2, seconds=0.6, options=("--lax", f"--blocksize={block}", "--no-seektable")
    )
    target, got = packed(path)
    want = whole.astype("f4") / 2**15
    assert np.array_equal(got, want) and np.array_equal(files.ffmpeg(path), want)
    check_windows(target, want, 0, 700)


def test_flac_without_a_stated_length_and_with_id3(tmp_path):
    """STREAMINFO of a stream that was written into a pipe has no length and no MD5."""
    path, whole = files.flac(tmp_path, "a", seconds=0.8)
    data = bytearray(path.read_bytes())
    data[8 + 13] &= 0xF0
    data[8 + 14 : 8 + 18] = bytes(4)
    data[8 + 18 : 8 + 34] = bytes(16)
    (tmp_path / "b.flac").write_bytes(id3v2(200) + bytes(data))
    target, got = packed(tmp_path / "b.flac")
    assert np.array_equal(got[:, 0], whole[:, 0].astype("f4") / 2**15)
    check_windows(target, got, 0)


# ---- AAC ----


@pytest.mark.parametrize(
    "rate, noise, channels, ending",
    [
        (44100, True, 2, "m4a"),
        (44100, False, 2, "aac"),
        (16000, True, 1, "m4a"),
        (16000, False, 1, "m4a"),
        (16000, True, 2, "aac"),
        (44100, True, 1, "aac"),
        (44100, False, 1, "m4a"),
    ],
)
def test_aac_with_and_without_perceptual_noise(tmp_path, rate, noise, channels, ending):
    files.write_wav(tmp_path / "a.wav", files.speech(rate, channels, 4), rate)
    path = tmp_path / f"a.{ending}"
    pns = () if noise else ("-aac_pns", "0")
    files.run("ffmpeg", "-v", "error", "-i", tmp_path / "a.wav", "-c:a", "aac", "-b:a", "48k", *pns, path)
    target, whole = packed(path)
    want = files.ffmpeg(path)
    assert np.array_equal(whole, want)
    differs = False
    for start in starts(len(want), LENGTH):
        first = window(target, start, LENGTH, threads=0)
        for variant in VARIANTS[:3]:
            assert np.array_equal(window(target, start, LENGTH, **variant), first), (start, variant)
        differs |= not np.array_equal(first, want[start : start + LENGTH].T)
    assert noise or not differs


# ---- after the decoder ----


@pytest.mark.parametrize("kind", ["flac", "lame", "oggenc", "opusenc"])
def test_windows_after_resampling_and_in_mel_frames(tmp_path, kind):
    tolerance = {"flac": 0, "lame": 2.0**-19, "oggenc": 0, "opusenc": 2.0**-9}[kind]
    if kind == "flac":
        path, _ = files.flac(tmp_path, "a", rate=44100, channels=2)
    else:
        rate = 48000 if kind == "opusenc" else 44100
        path = files.encoded(tmp_path, "a", kind, rate=rate, channels=2)
    target, _ = packed(path)
    head = "audio: decode_audio(rate=16000, mono=true)"
    whole = load(target, head)["audio"][0]
    mels = load(target, head + " | mel(torchaudio, bins=40)")["audio"][0]
    for start in (0, 7777, len(whole) - 8000):
        text = f"{head} | window(samples=8000, start={start})"
        first = load(target, text, **VARIANTS[0])["audio"][0]
        assert np.abs(first - whole[start : start + 8000]).max() <= tolerance
        for variant in VARIANTS[:3]:
            assert np.array_equal(load(target, text, **variant)["audio"][0], first)
    text = f"{head} | mel(torchaudio, bins=40) | window(samples=60, start=33)"
    for variant in VARIANTS[:3]:  # frames of the whole recording, which is decoded from its beginning
        assert np.array_equal(load(target, text, **variant)["audio"][0], mels[:, 33:93])


@pytest.mark.parametrize("kind", ["flac", "lame", "oggenc", "opusenc"])
def test_noise_in_place_of_packets_is_an_error_and_never_a_hang(tmp_path, kind):
    """What is stored is damaged after it was packed: bytes in the middle, then a cut file."""
    if kind == "flac":
        path, _ = files.flac(tmp_path, "a")
    else:
        path = files.encoded(tmp_path, "a", kind, rate=48000 if kind == "opusenc" else 44100)
    target = tmp_path / "x.mldf"
    mldf.pack(path, target, checksums=False)
    data = target.read_bytes()
    with mldf.open(target) as ds:
        at, size = int(ds.rows["audio"]["ptr"][0]), int(ds.rows["audio"]["size"][0])
    rng = np.random.default_rng(zlib.crc32(kind.encode()))
    errors = 0
    for _ in range(12):
        bad = bytearray(data)
        begin = at + int(rng.integers(size // 4, size - 600))
        bad[begin : begin + 500] = rng.bytes(500)
        target.write_bytes(bad)
        try:
            load(target, "audio: window(3, short=pad)")
        except mldf.Error as error:
            errors += 1
            assert "packet" in str(error) and "x.mldf" in str(error)
    assert errors or kind != "flac"
